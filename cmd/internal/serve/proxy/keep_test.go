package proxy

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
)

// TestKeeper has archives of two hosts that changed a minute, a day and a week ago. The first stays, the second is
// compressed, and the third is removed. An archive without records is not touched before it is old.
func TestKeeper(t *testing.T) {
	dir := t.TempDir()
	for _, host := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, host), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, age := range map[string]time.Duration{"new": time.Minute, "old": 24 * time.Hour, "older": 7 * 24 * time.Hour} {
			base := filepath.Join(dir, host, name)
			w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Host: host, PID: int32(os.Getpid()), Start: pcp.Timestamp{Sec: 1_700_000_000}}})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Desc(pcp.Desc{PMID: pcp.NewPMID(60, 1, 2), InDom: pcp.InDomNull, Type: pcp.TypeU64}, "a.b"); err != nil {
				t.Fatal(err)
			}
			if name != "new" || host != "b" {
				res := &pcp.Result{Time: pcp.Timestamp{Sec: 1_700_000_000}}
				res.AddSet(pcp.NewPMID(60, 1, 2))
				res.Add(pcp.Uint64Value(1))
				if err := w.WriteResult(res); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			at := time.Now().Add(-age)
			for _, end := range []string{".0", ".meta", ".index"} {
				if err := os.Chtimes(base+end, at, at); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	// An interrupted compression leaves both files.
	plain, err := os.ReadFile(filepath.Join(dir, "a", "old.meta"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := janitor.Compress(t.Context(), filepath.Join(dir, "a", "old.meta"), janitor.Zstd); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "old.meta"), plain, 0o600); err != nil {
		t.Fatal(err)
	}
	k := &keeper{dir: dir, keep: 3 * 24 * time.Hour, rest: time.Hour, log: slog.New(slog.DiscardHandler), hosts: map[string]*janitor.Janitor{}}
	k.tidy(t.Context())
	for _, host := range []string{"a", "b"} {
		entries, err := os.ReadDir(filepath.Join(dir, host))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if want := []string{"new.0", "new.index", "new.meta", "old.0.zst", "old.index", "old.meta.zst"}; !slices.Equal(got, want) {
			t.Errorf("host %s: %v, want %v", host, got, want)
		}
	}
}
