package fleet

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
)

// TestRecordings shows of two owners of a host the one with the newest sample, and the errors that are newer than the last sample.
func TestRecordings(t *testing.T) {
	dir := t.TempDir()
	store, err := share.OpenStore(dir, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Truncate(time.Second)
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	write := func(id string, hosts ...share.Host) {
		t.Helper()
		if err := share.WriteStatus(t.Context(), store, &share.Status{ID: id, Time: now, Start: ago(1000), Hosts: hosts}); err != nil {
			t.Fatal(err)
		}
	}
	write("one", share.Host{Name: "alpha", Last: ago(5)}, share.Host{Name: "beta", Last: ago(90), Err: "no route", ErrTime: ago(20)}, share.Host{Name: "both", Last: ago(30)})
	write("two", share.Host{Name: "both", Last: ago(3), Err: "old", ErrTime: ago(500)}, share.Host{Name: "new", Err: "refused", ErrTime: ago(1)})
	var log bytes.Buffer
	r := &Recorders{store: store, log: slog.New(slog.NewTextHandler(&log, nil)), now: func() time.Time { return now }}
	got, err := r.Recordings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Recording{
		{Host: "alpha", Owner: "one", Lag: 5 * time.Second},
		{Host: "beta", Owner: "one", Lag: 90 * time.Second, Error: "no route"},
		{Host: "both", Owner: "two", Lag: 3 * time.Second},
		{Host: "new", Owner: "two", Lag: -1, Error: "refused"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// A status that cannot be read is reported, and the others are shown. Until it is time, nothing is read.
	if err := os.WriteFile(filepath.Join(dir, "fleet", "status", "one.json"), []byte("this was a status"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Recordings(t.Context()); err != nil || len(got) != 4 {
		t.Errorf("at the same time %v, %v", got, err)
	}
	now = now.Add(share.StatusEvery)
	if got, err := r.Recordings(t.Context()); err != nil || len(got) != 2 || !strings.Contains(log.String(), "recorder one") {
		t.Errorf("%v, %v, and the log has %s", got, err, &log)
	}
	gone := recordingsOf([]share.Status{{ID: "x", Time: now, Gone: true, Hosts: []share.Host{{Name: "h", Last: now}}}})
	if len(gone) != 1 || gone[0].Error != "recorder x is gone" {
		t.Errorf("hosts of a recorder that is gone: %v", gone)
	}
}
