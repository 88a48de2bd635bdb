//go:build !unix

package iedaily

import "errors"

func hangUp(int) error { return errors.ErrUnsupported }

func exists(int) bool { return true }
