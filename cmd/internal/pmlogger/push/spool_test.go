package push_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/push"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/logger"
)

// await waits until f returns true.
func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waiting for " + what)
		}
	}
}

// volumes returns the numbers of the volumes of an archive.
func volumes(base string) []int {
	files, err := archive.FindFiles(base)
	if err != nil {
		return nil
	}
	return files.Numbers
}

// TestDrain has a server refuse, hang, and come back without its memory, while an archive is written. All of it
// arrives, and volumes that have arrived are removed here.
func TestDrain(t *testing.T) {
	base, whole, dir := filepath.Join(t.TempDir(), "spool"), filepath.Join(t.TempDir(), "whole"), t.TempDir()
	var h atomic.Pointer[logger.Handler]
	h.Store(receive(t, dir))
	const (
		up = iota
		refuses
		hangs
	)
	var state atomic.Int32
	state.Store(refuses)
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch state.Load() {
		case refuses:
			panic(http.ErrAbortHandler)
		case hangs:
			for state.Load() == hangs {
				time.Sleep(time.Millisecond)
			}
			panic(http.ErrAbortHandler)
		}
		h.Load().ServeHTTP(rw, r)
	}))
	defer srv.Close()
	var warned, back atomic.Int32
	p := newPusher(t, push.Config{
		URL: srv.URL, Interval: time.Millisecond, Timeout: 50 * time.Millisecond,
		Warn: func(error) { warned.Add(1) }, Back: func() { back.Add(1) },
	})
	done, result := make(chan struct{}), make(chan error, 1)
	w, copied := grow(t, base), grow(t, whole)
	go func() { result <- p.Drain(t.Context(), push.Spool{Base: base, Done: done}) }()
	add := func(records int) {
		w.add(records)
		copied.add(records)
	}
	volume := func() {
		for _, w := range []*writer{w, copied} {
			if err := w.w.NewVolume(); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(10)
	await(t, "a refusal", func() bool { return warned.Load() > 0 })
	volume()
	add(20)
	state.Store(up)
	await(t, "the first volume to go", func() bool { v := volumes(base); return len(v) > 0 && v[0] == 1 })
	state.Store(hangs)
	add(5)
	before := warned.Load()
	await(t, "a request that hangs", func() bool { return warned.Load() > before })
	volume()
	add(20)
	h.Load().Close()
	h.Store(receive(t, dir))
	state.Store(up)
	await(t, "the second volume to go", func() bool { v := volumes(base); return len(v) > 0 && v[0] == 2 })
	add(3)
	for _, w := range []*writer{w, copied} {
		if err := w.w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if left, err := p.Left(base); left != 0 || err != nil {
		t.Errorf("%d bytes are left, %v", left, err)
	}
	if back.Load() < 2 {
		t.Errorf("the server came back %d times", back.Load())
	}
	compare(t, whole, pushedTo(t, dir))
}

// TestDrainNothing drains an archive without a label, as if it ended before its first record.
func TestDrainNothing(t *testing.T) {
	base, done := filepath.Join(t.TempDir(), "spool"), make(chan struct{})
	for _, name := range []string{".meta", ".0"} {
		if err := os.WriteFile(base+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	p := newPusher(t, push.Config{URL: "http://127.0.0.1:1"})
	if err := p.Drain(t.Context(), push.Spool{Base: base, Done: done}); err != nil {
		t.Error(err)
	}
}

// TestDrainBounded has no server. The oldest volumes are removed when there are too many, and the rest is
// counted.
func TestDrainBounded(t *testing.T) {
	base := filepath.Join(t.TempDir(), "spool")
	srv := httptest.NewServer(nil)
	srv.Close()
	w := grow(t, base)
	for range 5 {
		w.add(40)
		if err := w.w.NewVolume(); err != nil {
			t.Fatal(err)
		}
	}
	w.add(1)
	st, err := os.Stat(base + ".1")
	if err != nil {
		t.Fatal(err)
	}
	var dropped []int
	var tries atomic.Int32
	p := newPusher(t, push.Config{URL: srv.URL, Interval: time.Millisecond, Warn: func(error) { tries.Add(1) }})
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		result <- p.Drain(ctx, push.Spool{Base: base, Done: make(chan struct{}), Max: 3 * st.Size(), Dropped: func(volume int, bytes int64) {
			dropped = append(dropped, volume)
			if bytes != st.Size() {
				t.Errorf("volume %d of %d bytes, want %d", volume, bytes, st.Size())
			}
		}})
	}()
	await(t, "two attempts", func() bool { return tries.Load() > 1 })
	cancel()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if v := volumes(base); len(v) != 3 || v[0] != 3 || len(dropped) != 3 {
		t.Errorf("volumes %v are there, %v were dropped", v, dropped)
	}
	files, err := archive.FindFiles(base)
	if err != nil {
		t.Fatal(err)
	}
	var want int64
	for _, path := range files.All() {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		want += st.Size()
	}
	if left, err := p.Left(base); err != nil || left != want {
		t.Errorf("%d bytes are left, %v, want %d", left, err, want)
	}
	w.w.Close()
	// A server that is now available gets the rest.
	dir := t.TempDir()
	srv = httptest.NewServer(receive(t, dir))
	defer srv.Close()
	done := make(chan struct{})
	close(done)
	p = newPusher(t, push.Config{URL: srv.URL})
	if err := p.Drain(t.Context(), push.Spool{Base: base, Done: done}); err != nil {
		t.Fatal(err)
	}
	if v := volumes(pushedTo(t, dir)); len(v) != 3 || v[0] != 3 {
		t.Errorf("volumes %v arrived", v)
	}
}
