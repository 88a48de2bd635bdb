package archive

import "strings"

// A urlError is the error of the address of a server where an archive is to be named. It is one of a file that is
// not there, but says what to do.
type urlError struct{ err error }

func (e *urlError) Error() string {
	return `an archive is read from files, not from a URL; ask a server for series with "pcp series -h HOST -p PORT"`
}

func (e *urlError) Unwrap() error { return e.err }

// NotInC has tools print the whole message.
func (e *urlError) NotInC() {}

func isURL(path string) bool {
	return strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")
}
