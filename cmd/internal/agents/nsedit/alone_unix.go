//go:build unix

package nsedit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/internal/pacing"
)

// alone waits until no other process of this program changes files in the directory of
// path, and makes others wait until unlock is called. The lock differs from that of a
// script, which holds its lock while it runs several commands.
func alone(ctx context.Context, path string) (unlock func(), err error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil { // it does not exist, or is not readable; the file's error shows which
		return func() {}, nil
	}
	for {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { dir.Close() }, nil
		case errors.Is(err, unix.EINTR):
		case !errors.Is(err, unix.EWOULDBLOCK):
			// The file system has no locks.
			return func() { dir.Close() }, nil
		case !pacing.Sleep(ctx, 10*time.Millisecond):
			dir.Close()
			return nil, context.Cause(ctx)
		}
	}
}
