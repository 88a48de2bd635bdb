package archive

import "strings"

// A urlError is the error for the address of a server in place of an archive. It is the error for a missing file
// with a message that names the remedy.
type urlError struct{ err error }

func (e *urlError) Error() string {
	return `an archive is read from files, not from a URL; ask a server for series with "pcp series -h HOST -p PORT"`
}

func (e *urlError) Unwrap() error { return e.err }

// NotInC makes tools print the whole message.
func (e *urlError) NotInC() {}

func isURL(path string) bool {
	return strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")
}
