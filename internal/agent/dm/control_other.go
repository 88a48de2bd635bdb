//go:build !linux

package dm

import "errors"

// A control only exists on Linux.
type control struct{ path string }

func (*control) call(int, string, uint32, []byte) ([]byte, int, uint32, error) {
	return nil, 0, 0, errors.ErrUnsupported
}
