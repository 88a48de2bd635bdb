package logrewrite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

// TestFirstRecord: the message about a damaged first record has the size of its volume.
func TestFirstRecord(t *testing.T) {
	dir := t.TempDir()
	w, err := archive.Create(filepath.Join(dir, "a"), archive.WriterConfig{Label: archive.Label{Version: archive.Version2, Start: pcp.Timestamp{Sec: 1700000000}}})
	if err != nil {
		t.Fatal(err)
	}
	desc := pcp.Desc{PMID: pcp.NewPMID(245, 0, 1), Type: pcp.Type32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
	res := &pcp.Result{Time: pcp.Timestamp{Sec: 1700000000}}
	res.AddSet(desc.PMID)
	res.Add(pcp.Int32Value(7))
	if err := errors.Join(w.Desc(desc, "cellar.one"), w.WriteResult(res), w.Close(), os.WriteFile(filepath.Join(dir, "rules"), []byte("metric cellar.one { name -> cellar.two }\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	volume := filepath.Join(dir, "a.0")
	b, err := os.ReadFile(volume)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1]++ // the length at the end of the record
	if err := os.WriteFile(volume, b, 0o644); err != nil {
		t.Fatal(err)
	}
	r := (twin.Call{Tool: "pmlogrewrite", Args: []string{"-c", "rules", "a", "out"}, Dir: dir}).Run(t, true)
	if want := "Error occurred at byte offset 132 into a file of 172 bytes."; r.Status != 1 || !strings.Contains(string(r.Err), want) {
		t.Errorf("status %d, %s; want %q", r.Status, r.Err, want)
	}
}
