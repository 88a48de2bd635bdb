package cli

import (
	"io/fs"

	"github.com/go-pcp/pcp/getopt"
)

// FileErrText returns the message for an error of a file of the system: its path and
// what ErrText returns. Any other error is its own message.
func FileErrText(err error) string {
	if pe, ok := err.(*fs.PathError); ok {
		return pe.Path + ": " + ErrText(pe.Err)
	}
	return err.Error()
}

// ErrText returns what the C tools print for err, as [getopt.ErrText] does.
func ErrText(err error) string { return getopt.ErrText(err) }

// Atoi reads a number as [getopt.Atoi] does.
func Atoi(s string) (n int, ok bool) { return getopt.Atoi(s) }
