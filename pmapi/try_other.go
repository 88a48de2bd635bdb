//go:build !linux

package pmapi

import "errors"

// canTry says that tryRead and tryWrite work here.
const canTry = false

func tryRead(uintptr, []byte) (int, error)  { return 0, errors.ErrUnsupported }
func tryWrite(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
