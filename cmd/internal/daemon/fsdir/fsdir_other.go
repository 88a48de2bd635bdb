//go:build !unix

package fsdir

import "os"

// Sync does nothing: directories cannot be synced here.
func Sync(string) error { return nil }

// Lock checks that a directory exists. There are no locks here.
func Lock(dir string) (unlock func(), err error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	return func() {}, nil
}

// TryLock is Lock.
func TryLock(dir string) (unlock func(), err error) { return Lock(dir) }
