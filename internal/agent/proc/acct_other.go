//go:build !linux

package proc

import (
	"errors"
	"os"
)

func switchAccounting(string) error { return errors.ErrUnsupported }

func grows(*os.File) bool { return false }

func openAcct(path string, own bool) (*os.File, error) {
	if own {
		return nil, errors.ErrUnsupported
	}
	return os.Open(path)
}
