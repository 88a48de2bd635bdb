//go:build !unix

package loggerdaily

import "errors"

func signalReexec(int) error { return errors.ErrUnsupported }
