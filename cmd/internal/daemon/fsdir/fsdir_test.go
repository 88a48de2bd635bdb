package fsdir

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestLock(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: there are no locks of directories here")
	}
	dir := t.TempDir()
	unlock, err := TryLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(dir); !errors.Is(err, ErrBusy) {
		t.Errorf("a second lock: %v", err)
	}
	locked := make(chan error)
	go func() {
		unlock, err := Lock(dir)
		if err == nil {
			defer unlock()
		}
		locked <- err
	}()
	select {
	case err := <-locked:
		t.Fatalf("Lock did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	unlock()
	if err := <-locked; err != nil {
		t.Error(err)
	}
}

func TestAbsent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "absent")
	if _, err := Lock(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Lock: %v", err)
	}
	if err := Sync(dir); runtime.GOOS != "windows" && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Sync: %v", err)
	}
	if err := Sync(t.TempDir()); err != nil {
		t.Error(err)
	}
}
