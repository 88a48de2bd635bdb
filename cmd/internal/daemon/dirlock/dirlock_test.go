package dirlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/processes"
)

// TestOneAtATime takes a lock in many goroutines, after a stale lock that is removed once.
func TestOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, nil, 0); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-31 * time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	var in, most, removed atomic.Int32
	var wg sync.WaitGroup
	cfg := Config{Wait: time.Minute, Pause: time.Millisecond, Removing: func(_, why string) {
		removed.Add(1)
		if why != "older than 30 minutes" {
			t.Errorf("it goes because it is %s", why)
		}
	}}
	for range 20 {
		wg.Go(func() {
			l, err := Take(context.Background(), path, cfg)
			if err != nil {
				t.Error(err)
				return
			}
			most.Store(max(most.Load(), in.Add(1)))
			in.Add(-1)
			l.Release()
		})
	}
	wg.Wait()
	if most.Load() != 1 || removed.Load() != 1 {
		t.Errorf("%d had it at a time, %d removed the old one", most.Load(), removed.Load())
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the lock stays")
	}
}

func TestHeld(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	l, err := Take(context.Background(), path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(context.Background(), path, Config{Wait: time.Millisecond, Pause: time.Millisecond}); !errors.Is(err, ErrHeld) {
		t.Errorf("another takes it: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Take(ctx, path, Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	// Another program's lock stays.
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.Release()
	if _, err := os.Lstat(path); err != nil {
		t.Error("the lock of another is gone")
	}
	if _, err := Take(context.Background(), filepath.Join(dir, "none", "lock"), Config{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

// TestGone takes locks whose process has ended, or is unknown.
func TestGone(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	f := func(text string, want bool) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "lock")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var why []string
		l, err := Take(context.Background(), path, Config{Wait: time.Nanosecond, Pause: time.Millisecond, Removing: func(_, w string) { why = append(why, w) }})
		if (err == nil) != want || want && (len(why) != 1 || !strings.HasPrefix(why[0], "of process ")) {
			t.Errorf("%q: %v, %q", text, err, why)
		}
		if err == nil {
			l.Release()
		}
	}
	if processes.Exists(pid) {
		t.Skip("a process that has ended cannot be told from others here")
	}
	f(fmt.Sprintf("%d %s\n", pid, host()), true)
	f(fmt.Sprintf("%d %s\n", pid, "another.host"), false)
	f(fmt.Sprintf("%d\n", pid), false)
	f(fmt.Sprintf("%d %s\n", os.Getppid(), host()), false)
	f("", false)
	f("-5 "+host(), false)
	f(strings.Repeat("9 ", 10000), false)
}
