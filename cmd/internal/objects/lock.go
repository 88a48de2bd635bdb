package objects

import (
	"context"
	"fmt"
	"os"
	"time"
)

// lock waits until no other process has a file locked, and locks it until unlock is called. The file is made if it is missing, and
// stays. On a file system without locks it fails, because writers could not share it.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		ok, err := tryLock(f)
		switch {
		case err != nil:
			f.Close()
			return nil, fmt.Errorf("the file system has no locks: %w", err)
		case ok:
			return func() { f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}
