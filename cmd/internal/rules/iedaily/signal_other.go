//go:build !unix

package iedaily

import "errors"

func hangUp(int) error { return errors.ErrUnsupported }
