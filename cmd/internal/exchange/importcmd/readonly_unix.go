//go:build unix

package importcmd

import (
	"errors"
	"syscall"
)

// readOnly reports whether a file system cannot be written.
func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
