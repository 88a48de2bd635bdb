package cli

import (
	"errors"
	"io/fs"

	"github.com/go-pcp/pcp"
)

// FileErrText returns the message for an error of a file of the system: its path and
// what ErrText returns. Any other error is its own message.
func FileErrText(err error) string {
	if pe, ok := err.(*fs.PathError); ok {
		return pe.Path + ": " + ErrText(pe.Err)
	}
	return err.Error()
}

// ErrText returns what the C tools print for err: the text of the PMAPI status
// or system error in it (pmErrStr(3)). C does not have errors with a method
// NotInC; for them ErrText returns the whole message.
func ErrText(err error) string {
	if e, ok := errors.AsType[interface {
		error
		NotInC()
	}](err); ok {
		return e.Error()
	}
	return pcp.Code(err).Error()
}
