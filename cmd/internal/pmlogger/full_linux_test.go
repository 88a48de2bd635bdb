package pmlogger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/pmapi"
)

// small mounts a file system of a given size, in bytes, and returns its directory.
func small(t *testing.T, bytes int) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes a file that uses up all space.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// TestFull fills the file system of a recorder and frees it again: the recorder logs it,
// continues, and loses only samples that did not fit into memory either.
func TestFull(t *testing.T) {
	for _, hold := range []int64{1 << 20, 2000} {
		t.Run(fmt.Sprint(hold), func(t *testing.T) { testFull(t, hold) })
	}
}

func testFull(t *testing.T, hold int64) {
	dir := small(t, 1<<20)
	socket := filepath.Join(t.TempDir(), "socket")
	stop := count(t, socket)
	defer stop()
	c, err := pmapi.Dial(t.Context(), "unix:"+socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	base, filler := filepath.Join(dir, "a"), filepath.Join(dir, "filler")
	l := &said{text: make(chan string, 1000)}
	times := make(chan bool, 10000)
	r, err := pmlogger.New(t.Context(), c, pmlogger.Config{Archive: base, Log: l, Full: func(err error) {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("full: %v", err)
		}
		select {
		case times <- true:
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.Hold(hold)
	if _, err := r.Configure(t.Context(), strings.NewReader("log on 1 msec count.fetched"), "config"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	for range 3 {
		if err := r.Call(t.Context(), func() {}); err != nil { // the archive is there
			t.Fatal(err, <-done)
		}
		fill(t, filler)
		l.wait(t, "the recorder goes on")
		for range 100 {
			select {
			case <-times:
			case <-time.After(time.Minute):
				t.Fatal("it did not try again")
			}
		}
		if hold < 10000 {
			l.wait(t, "samples are dropped from now on")
		}
		var rotated error
		if err := r.Call(t.Context(), func() {
			rotated = r.Rotate(t.Context(), base+"1")
			checkFull(t, base) // others can read it in this state
		}); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(rotated, syscall.ENOSPC) {
			t.Errorf("rotated without space: %v", rotated)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		l.wait(t, "there is space again for")
		l.all.Reset()
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	first, last, n := checkFull(t, base)
	if all := last - first + 1; n < 100 || n > all || hold > 10000 && n != all {
		t.Errorf("%d of %d samples", n, all)
	}
	if left, err := filepath.Glob(base + "1*"); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// checkFull reads an archive, and returns the first and the last sample, and their number.
func checkFull(t *testing.T, base string) (first, last, n uint64) {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		t.Error(err)
		return 0, 0, 0
	}
	defer a.Close()
	for rec, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			t.Error(err)
			break
		}
		for _, s := range rec.Sets {
			if s.PMID == pcp.NewPMID(400, 0, 0) {
				v := s.Values[0].Uint64()
				if v <= last {
					t.Errorf("sample %d after %d", v, last)
				}
				if first == 0 {
					first = v
				}
				last = v
				n++
			}
		}
	}
	return first, last, n
}
