package cli

import (
	"io/fs"

	"github.com/go-pcp/pcp/getopt"
)

// FileErrText returns the message for an error: for a file system error its path and
// the result of ErrText, else the error's own message.
func FileErrText(err error) string {
	if pe, ok := err.(*fs.PathError); ok {
		return pe.Path + ": " + ErrText(pe.Err)
	}
	return err.Error()
}

// ErrText returns the C tools' message for err, as [getopt.ErrText] does. It leaves out
// the operation and the object of the error, such as the name of an unknown metric.
func ErrText(err error) string { return getopt.ErrText(err) }

// Atoi reads a number as [getopt.Atoi] does.
func Atoi(s string) (n int, ok bool) { return getopt.Atoi(s) }
