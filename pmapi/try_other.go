//go:build !linux

package pmapi

import "errors"

// canTry reports whether tryRead and tryWrite work on this system.
const canTry = false

func tryRead(uintptr, []byte) (int, error)  { return 0, errors.ErrUnsupported }
func tryWrite(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
