//go:build !unix

package housekeeping

import "os"

// Writable reports whether there is a directory.
func Writable(dir string) bool {
	st, err := os.Stat(dir)
	return err == nil && st.IsDir()
}
