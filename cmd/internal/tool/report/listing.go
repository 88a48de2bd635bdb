package report

import (
	"fmt"
	"os"
	"time"
)

// listRecent is how old a file may be for its listing to have the time of day.
const listRecent = 31556952 / 2 * time.Second

// Listing returns the line that "ls -l" prints for a file in the locale POSIX, without
// the newline.
func Listing(path string, now time.Time) (string, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	links, user, group := owner(st)
	mode := []byte(st.Mode().Perm().String())
	switch m := st.Mode(); {
	case m.IsDir():
		mode[0] = 'd'
	case m&os.ModeSymlink != 0:
		mode[0] = 'l'
	case m&os.ModeSocket != 0:
		mode[0] = 's'
	case m&os.ModeNamedPipe != 0:
		mode[0] = 'p'
	}
	layout, t := "Jan _2 15:04", st.ModTime().In(now.Location())
	if t.After(now) || now.Sub(t) > listRecent {
		layout = "Jan _2  2006"
	}
	return fmt.Sprintf("%s %d %s %s %d %s %s", mode, links, user, group, st.Size(), t.Format(layout), path), nil
}
