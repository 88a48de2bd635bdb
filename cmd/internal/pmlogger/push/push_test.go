package push_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/push"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/logger"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// receive returns a handler for a directory, closed at the end.
func receive(t *testing.T, dir string) *logger.Handler {
	t.Helper()
	h, err := logger.New(logger.Config{Dir: dir, Anybody: true, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func newPusher(t *testing.T, cfg push.Config) *push.Pusher {
	t.Helper()
	p, err := push.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// contents returns the contents of an archive's files after their labels, by file name suffix.
func contents(t *testing.T, base string) map[string][]byte {
	t.Helper()
	files, err := archive.FindFiles(base)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string][]byte{}
	for _, path := range files.All() {
		f, err := archive.OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		size, err := f.Size()
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, size)
		if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		f.Close()
		_, part, _ := archive.BaseName(path)
		m[part] = b[archive.LabelSize(int(b[7])):]
	}
	return m
}

// compare checks that a pushed archive equals the original.
func compare(t *testing.T, base, pushed string) {
	t.Helper()
	want, got := contents(t, base), contents(t, pushed)
	for part, b := range want {
		if !bytes.Equal(got[part], b) {
			t.Errorf("%s: %s has %d bytes, want %d", base, part, len(got[part]), len(b))
		}
	}
	if len(got) != len(want) && !(len(got) == len(want)+1 && want["index"] == nil) {
		t.Errorf("%s: %d files, want %d", base, len(got), len(want))
	}
}

func pushedTo(t *testing.T, dir string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*", "*.meta"))
	if err != nil || len(list) != 1 {
		t.Fatalf("archives: %v, %v", list, err)
	}
	return strings.TrimSuffix(list[0], ".meta")
}

// TestSuite pushes archives from PCP's test suite.
func TestSuite(t *testing.T) {
	list, _ := filepath.Glob("/var/lib/pcp/testsuite/archives/*.meta*")
	if len(list) == 0 {
		t.Skip("the QA suite of PCP is not installed")
	}
	step := len(list) / longtest.N(12, len(list))
	for i := 0; i < len(list); i += step {
		base, _, ok := archive.BaseName(list[i])
		a, err := archive.Open(base)
		if !ok || err != nil {
			continue
		}
		a.Close()
		dir := t.TempDir()
		srv := httptest.NewServer(receive(t, dir))
		p := newPusher(t, push.Config{URL: srv.URL})
		err = p.Push(t.Context(), base)
		if err == nil {
			compare(t, base, pushedTo(t, dir))
			err = newPusher(t, push.Config{URL: srv.URL}).Push(t.Context(), base) // again: nothing to do
			compare(t, base, pushedTo(t, dir))
		}
		if err != nil {
			t.Errorf("%s: %v", base, err)
		}
		srv.Close()
	}
}

// A writer writes a growing archive.
type writer struct {
	t *testing.T
	w *archive.Writer
	n int64
}

func grow(t *testing.T, base string) *writer {
	t.Helper()
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Host: "www", PID: 7, Start: pcp.Timestamp{Sec: 1_700_000_000}}, IndexBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Desc(pcp.Desc{PMID: pcp.NewPMID(60, 1, 2), InDom: pcp.InDomNull, Type: pcp.TypeU64}, "a.b"); err != nil {
		t.Fatal(err)
	}
	return &writer{t: t, w: w}
}

func (w *writer) add(records int) {
	w.t.Helper()
	for range records {
		res := &pcp.Result{Time: pcp.Timestamp{Sec: 1_700_000_000 + w.n}}
		res.AddSet(pcp.NewPMID(60, 1, 2))
		res.Add(pcp.Uint64Value(uint64(w.n)))
		w.n++
		if err := w.w.WriteResult(res); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := w.w.Flush(); err != nil {
		w.t.Fatal(err)
	}
}

// TestFollow pushes an archive while it is written, despite a restart of the server and lost answers.
func TestFollow(t *testing.T) {
	base, dir := filepath.Join(t.TempDir(), "a"), t.TempDir()
	w := grow(t, base)
	w.add(3)
	var h atomic.Pointer[logger.Handler]
	h.Store(receive(t, dir))
	var down, lose atomic.Bool
	lose.Store(true)
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case down.Load():
			panic(http.ErrAbortHandler)
		case strings.Contains(r.URL.Path, "/volume/") && lose.CompareAndSwap(true, false):
			h.Load().ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler) // the request was executed, but the client does not know
		}
		h.Load().ServeHTTP(rw, r)
	}))
	defer srv.Close()
	var warned atomic.Int32
	p := newPusher(t, push.Config{URL: srv.URL, Interval: time.Millisecond, Warn: func(error) { warned.Add(1) }})
	result := make(chan error, 1)
	go func() {
		result <- p.Follow(t.Context(), base, func() bool {
			writing, err := archive.Written(base)
			return err == nil && !writing
		})
	}()
	wait := func(what string, f func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !f(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("waiting for " + what)
			}
		}
	}
	arrived := func() bool {
		st, err := os.Stat(base + ".0")
		list, _ := filepath.Glob(filepath.Join(dir, "www", "*.0"))
		if err != nil || len(list) != 1 {
			return false
		}
		got, err := os.Stat(list[0])
		return err == nil && got.Size() == st.Size()
	}
	wait("the first records", arrived)
	down.Store(true)
	w.add(200)
	before := warned.Load()
	wait("a failure", func() bool { return warned.Load() > before })
	h.Load().Close()
	h.Store(receive(t, dir)) // a restarted server, without its numbers
	down.Store(false)
	wait("what was written meanwhile", arrived)
	if err := w.w.NewVolume(); err != nil {
		t.Fatal(err)
	}
	w.add(50)
	if err := w.w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
	compare(t, base, pushedTo(t, dir))
}

// TestErrors checks permanent errors.
func TestErrors(t *testing.T) {
	for _, u := range []string{"", "host", "ftp://a:1", "http://", "http://a:1/path", "http://u:p@a:1", "http://a:1?x", "http://%zz"} {
		if _, err := push.New(push.Config{URL: u}); err == nil {
			t.Errorf("%q is accepted", u)
		}
	}
	base := filepath.Join(t.TempDir(), "a")
	w := grow(t, base)
	w.add(2)
	w.w.Close()
	never := func() bool { return true }
	for _, c := range []struct {
		status int
		body   string
		want   string
	}{
		{400, `{"success":false}`, "/logger/label HTTP error: bad request (400)"},
		{403, `{"message":"go away","success":false}`, "/logger/label HTTP error: forbidden (403) - go away"},
		{409, `x`, "conflict (409)"},
		{422, `{}`, "unprocessable (422)"},
		{302, ``, "server error (302)"},
		{200, `<html>`, "unexpected answer"},
		{200, `{"success":true}`, "no number of an archive"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(c.status)
			fmt.Fprint(rw, c.body)
		}))
		p := newPusher(t, push.Config{URL: srv.URL})
		if err := p.Follow(t.Context(), base, never); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %s: %v", c.status, c.body, err)
		}
		if err := p.Ping(t.Context()); (err == nil) != (c.body == `{"success":true}`) {
			t.Errorf("ping, %d %s: %v", c.status, c.body, err)
		}
		srv.Close()
		if err := p.Push(t.Context(), base); err == nil || !strings.Contains(err.Error(), "/logger/label POST failed") {
			t.Errorf("no server: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := p.Follow(ctx, base, never); err != nil {
			t.Errorf("until ctrl-C: %v", err)
		}
		cancel()
	}
	srv := httptest.NewServer(receive(t, t.TempDir()))
	defer srv.Close()
	p := newPusher(t, push.Config{URL: srv.URL})
	if err := p.Push(t.Context(), base+"none"); err == nil {
		t.Error("an archive that is not there is pushed")
	}
	if err := os.Truncate(base+".meta", 100); err != nil {
		t.Fatal(err)
	}
	if err := p.Push(t.Context(), base); !errors.Is(err, pcp.ErrLabel) {
		t.Errorf("without a label: %v", err)
	}
}

// TestSocket pushes over a Unix socket, and reports each request.
func TestSocket(t *testing.T) {
	base, dir := filepath.Join(t.TempDir(), "a"), t.TempDir()
	w := grow(t, base)
	w.add(2)
	w.w.Close()
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: receive(t, dir)}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	var said []string
	p := newPusher(t, push.Config{URL: "http://localhost", Socket: path, Say: func(line string) { said = append(said, line) }})
	if err := p.Push(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	compare(t, base, pushedTo(t, dir))
	if !slices.Contains(said, "HTTP POST v3 label log from host www [808 bytes]") || !slices.Contains(said, `POST /logger/meta/`+strings.Split(strings.SplitN(said[1], `"archive":`, 2)[1], ",")[0]+` result: {"success":true}`) {
		t.Errorf("said %q", said)
	}
	srv.Close()
	<-done
}
