package mmv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPermission has a directory without permission, and another is used.
func TestPermission(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		// Root may write anywhere; this thread temporarily may not.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := unix.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer unix.Setfsuid(0)
	}
	if _, err := New("a", Options{Dir: dir}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a directory without permission: %v", err)
	}
}

// TestDiskFull fills a small file system: values without space are dropped, and no
// process is killed.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=160k"); err != nil {
		t.Skipf("SKIPPED: only root may mount: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	reg := newRegistry(t, Options{Dir: dir, MaxValues: 10000})
	v := reg.CounterVec(Metric{Name: "v", OneLine: "values"})
	s := reg.StringVec(Metric{Name: "s", InDom: v.m.inDom})
	h := reg.Histogram(Metric{Name: "h"})
	for i := range 1000 {
		name := fmt.Sprintf("instance %d", i)
		v.With(name).Inc()
		s.With(name).Set("text")
		h.Observe(1)
		reg.Counter(Metric{Name: fmt.Sprintf("c%d", i)}).Inc()
	}
	reg.Flush()
	if err := reg.Err(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Err = %v", err)
	}
	got := dump(t, reg.Path())
	if !slices.Contains(got, "v[instance 0] 1") || !slices.Contains(got, "s[instance 0] text") || !slices.Contains(got, "c0 1") {
		t.Errorf("%d values: %q", len(got), got[:min(10, len(got))])
	}
	fixed, err := New("fixed", Options{Dir: dir, Fixed: true})
	if err != nil {
		t.Fatal(err)
	}
	c := fixed.CounterVec(Metric{Name: "c"})
	text := fixed.String(Metric{Name: "s"})
	for i := range 10000 {
		c.With(fmt.Sprint(i)).Inc()
	}
	if err := fixed.Start(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Start = %v", err)
	}
	c.With("7").Inc()
	text.Set("nowhere")
	fixed.Gauge(Metric{Name: "g"}).Set(1)
	if c.With("7").Value() != 2 || text.Value() != "nowhere" {
		t.Error("handles do not work after a Start that failed")
	}
	fixed.Close()
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
}

// TestContinuePipe has a pipe in place of the file, and does not wait for its other end.
func TestContinuePipe(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(dir+"/test", 0o644); err != nil {
		t.Fatal(err)
	}
	reg := newRegistry(t, Options{Dir: dir, Continue: true})
	reg.Counter(Metric{Name: "c"}).Inc()
	wantDump(t, reg, "c 1")
}
