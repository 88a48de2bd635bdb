//go:build !unix

package findfilter

import (
	"errors"
	"os"
	"time"
)

var errNoCtime = errors.New("there is no ctime on this system")

// changed returns the time when a file was written. Other changes are not known
// here.
func changed(path string, anything bool) (time.Time, error) {
	if anything {
		return time.Time{}, errNoCtime
	}
	st, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return st.ModTime(), nil
}
