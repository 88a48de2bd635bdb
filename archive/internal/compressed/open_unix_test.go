//go:build unix

package compressed

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestNotAFile opens a FIFO without a writer, and a device: an error that names them, at once.
func TestNotAFile(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "a.0")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, "/dev/zero"} {
		for name, open := range map[string]func(string) (*File, error){"Open": Open, "OpenDamaged": OpenDamaged} {
			f, err := open(path)
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, syscall.EINVAL) && !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s of %s: %v", name, path, err)
			}
		}
	}
}
