//go:build !linux

package xfs

import "errors"

func quotactl(uint32, string, uint32, []byte) error { return errors.ErrUnsupported }
