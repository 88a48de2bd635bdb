package logger

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/push"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/logger"
)

// spool makes the directory of a recording to a URL, with an archive of which earlier volumes were pushed and removed.
func spool(t *testing.T, dir string, start int64) *archive.Writer {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := archive.Create(filepath.Join(dir, spoolName), archive.WriterConfig{Label: archive.Label{Host: "www", PID: 7, Start: pcp.Timestamp{Sec: start}}})
	if err != nil {
		t.Fatal(err)
	}
	id := pcp.NewPMID(60, 1, 2)
	if err := w.Desc(pcp.Desc{PMID: id, InDom: pcp.InDomNull, Type: pcp.TypeU64}, "a.b"); err != nil {
		t.Fatal(err)
	}
	res := &pcp.Result{Time: pcp.Timestamp{Sec: start}}
	res.AddSet(id)
	res.Add(pcp.Uint64Value(1))
	if err := w.WriteResult(res); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestLeftovers has the spools of recordings that were killed. The next recording to the same URL pushes them, and
// those only.
func TestLeftovers(t *testing.T) {
	tmp, to := t.TempDir(), t.TempDir()
	h, err := logger.New(logger.Config{Dir: to, Anybody: true, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	srv := httptest.NewServer(h)
	defer srv.Close()
	const start = 1_700_000_000
	for i, name := range []string{"mine-1", "mine-2", "other-1", "mine-open"} {
		if err := spool(t, filepath.Join(tmp, name), start+int64(i)*3600).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(tmp, "mine-open"), 0o755); err != nil { // others could have put it there
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(tmp, "mine-empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	w := spool(t, filepath.Join(tmp, "mine-current"), start)
	defer w.Close()
	list := leftovers(tmp, "mine-")
	if want := []string{filepath.Join(tmp, "mine-1"), filepath.Join(tmp, "mine-2")}; !slices.Equal(list, want) {
		t.Fatalf("leftovers are %v, want %v", list, want)
	}
	// A part of one was pushed before.
	p, err := push.New(push.Config{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Push(t.Context(), filepath.Join(list[0], spoolName)); err != nil {
		t.Fatal(err)
	}
	p.Close()
	var log bytes.Buffer
	rem := &remote{cfg: push.Config{URL: srv.URL, Interval: time.Millisecond}, w: &log, left: list}
	rem.pushLeft(context.Background())
	if n := strings.Count(log.String(), "Pushed the earlier recording"); n != 2 {
		t.Errorf("log:\n%s", &log)
	}
	got, err := filepath.Glob(filepath.Join(to, "www", "*.0"))
	if err != nil || len(got) != 2 {
		t.Errorf("archives %v, %v", got, err)
	}
	var rest []string
	entries, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		rest = append(rest, e.Name())
	}
	if want := []string{"mine-current", "mine-empty", "mine-open", "other-1"}; !slices.Equal(rest, want) {
		t.Errorf("directories %v are left, want %v", rest, want)
	}
}
