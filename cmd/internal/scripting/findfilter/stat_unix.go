//go:build unix

package findfilter

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// changed returns the time when a file was written, or when anything about it
// changed.
func changed(path string, anything bool) (time.Time, error) {
	var st unix.Stat_t
	for {
		err := unix.Stat(path, &st)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return time.Time{}, err
		}
		t := st.Mtim
		if anything {
			t = st.Ctim
		}
		return time.Unix(t.Unix()), nil
	}
}
