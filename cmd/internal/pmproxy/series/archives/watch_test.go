package archives

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

func TestEventsThatMatter(t *testing.T) {
	f := func(name string, op fsnotify.Op, want bool) {
		t.Helper()
		if got := matters(fsnotify.Event{Name: name, Op: op}); got != want {
			t.Errorf("%v of %s matters: %t, want %t", op, name, got, want)
		}
	}
	f("/a/20260102.0", fsnotify.Write, true)
	f("/a/20260102.meta", fsnotify.Write, true)
	f("/a/pmlogger.log", fsnotify.Write, false)
	f("/a/series.db", fsnotify.Write, false)
	f("/a/host", fsnotify.Create, true)
	f("/a/host", fsnotify.Remove, true)
	f("/a/host", fsnotify.Chmod, true)
}

// TestWatch checks that changes are noticed, of files and in directories that a later scan finds.
func TestWatch(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("directories are watched on Linux")
	}
	w := newWatch(true)
	defer w.close()
	noticed := func(what string, change func() error) {
		t.Helper()
		for drained := false; !drained; {
			select {
			case <-w.changed:
			case <-time.After(20 * time.Millisecond):
				drained = true
			}
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-w.changed:
		case <-time.After(time.Minute):
			t.Errorf("%s was not noticed", what)
		}
	}
	dir := t.TempDir()
	w.begin()
	w.add(dir)
	if w.blind.Load() {
		t.Error("a directory is not watched")
	}
	volume := filepath.Join(dir, "a.0")
	noticed("a new file", func() error { return os.WriteFile(volume, []byte("1"), 0o600) })
	noticed("a longer file", func() error { return os.WriteFile(volume, []byte("12"), 0o600) })
	sub := filepath.Join(dir, "sub")
	noticed("a new directory", func() error { return os.Mkdir(sub, 0o700) })
	w.add(sub)
	noticed("a file in it", func() error { return os.WriteFile(filepath.Join(sub, "b.0"), nil, 0o600) })
	noticed("its removal", func() error { return os.RemoveAll(sub) })

	w.add(sub)
	if !w.blind.Load() {
		t.Error("a directory that does not exist is watched")
	}
	w.begin()
	if w.blind.Load() {
		t.Error("blind at the begin of a scan")
	}
}

func TestNoWatch(t *testing.T) {
	w := newWatch(false)
	w.begin()
	w.add(t.TempDir())
	if !w.blind.Load() {
		t.Error("sees without a watcher")
	}
	w.close()
}

// TestStoreWatches checks that a store whose scans are an hour apart finds a file at once that appears in a new directory.
func TestStoreWatches(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("directories are watched on Linux")
	}
	dir := t.TempDir()
	s, err := Open(t.Context(), Config{Dirs: []string{dir}, Index: filepath.Join(t.TempDir(), "series.db"), Interval: 10 * time.Millisecond, Rescan: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	// The store lists these files as a damaged archive.
	for _, part := range []string{"a.0", "a.meta"} {
		if err := os.WriteFile(filepath.Join(sub, part), []byte("not an archive"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wait := func(what string, damaged int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); s.Stats().Damaged != damaged; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %d damaged archives, want %d", what, s.Stats().Damaged, damaged)
			}
		}
	}
	wait("new", 1)
	if err := os.RemoveAll(sub); err != nil {
		t.Fatal(err)
	}
	wait("removed", 0)
}
