package fleet_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/pmapi"
)

// TestReadWhileWritten reads a directory repeatedly, while archives in it grow, end, are
// compressed, and others begin.
func TestReadWhileWritten(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	serve(t, socket)
	r := start(t, fleet.Config{Interval: 5 * time.Millisecond, Janitor: &janitor.Config{
		RotateBytes: 3000, Interval: 5 * time.Millisecond,
	}}, fleet.Host{Spec: "unix:" + socket, Name: "h"})
	r.until(t, "it records", func(m map[string]fleet.Status) bool { return m["h"].Samples > 0 })
	dir := filepath.Join(r.dir, "h")
	compressed := func() bool {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if strings.HasSuffix(e.Name(), ".0.xz") || strings.HasSuffix(e.Name(), ".0.zst") {
				return true
			}
		}
		return false
	}
	deadline := time.Now().Add(time.Minute)
	for n := 0; n < 60 || !compressed(); n++ {
		if time.Now().After(deadline) {
			t.Fatalf("nothing was compressed in a minute")
		}
		a, err := pmapi.OpenArchive(dir)
		if err != nil {
			t.Fatalf("opened for the %d. time: %v", n+1, err)
		}
		records := 0
		for {
			_, err := a.FetchArchive(t.Context())
			if errors.Is(err, pcp.ErrEOL) {
				break
			}
			if err != nil {
				t.Fatalf("opened for the %d. time, after %d records: %v", n+1, records, err)
			}
			records++
		}
		if records == 0 {
			t.Fatalf("opened for the %d. time: no record", n+1)
		}
		a.Close()
	}
	r.end(t)
}
