//go:build !unix

package root

import "errors"

func makePipe(string) error { return errors.ErrUnsupported }
