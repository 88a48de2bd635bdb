package parts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

func TestParts(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	for _, suffix := range []string{".meta.xz", ".0", ".index", ".10", "b.0", ".note"} {
		if err := os.WriteFile(base+suffix, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a.0", base+".1"); err != nil {
		t.Skip(err)
	}
	suffixes := func(list []Part, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var s []string
		for _, p := range list {
			if p.Path != base+p.Suffix {
				t.Errorf("path of %s is %s", p.Suffix, p.Path)
			}
			s = append(s, p.Suffix)
		}
		return strings.Join(s, " ")
	}
	if got, want := suffixes(List(base)), ".0 .1 .10 .index .meta.xz"; got != want {
		t.Errorf("List: %s, want %s", got, want)
	}
	list, err := Regular(base)
	if got, want := suffixes(list, err), ".0 .10 .index .meta.xz"; got != want {
		t.Errorf("Regular: %s, want %s", got, want)
	}
	if err := Sync(list); err != nil {
		t.Error(err)
	}
	if err := Remove(append(list, list[0])); err != nil {
		t.Error(err)
	}
	if got, want := suffixes(List(base)), ".1"; got != want {
		t.Errorf("after Remove: %s, want %s", got, want)
	}
	if _, err := List(filepath.Join(base, "none")); err == nil {
		t.Error("List of a directory that is not there: no error")
	}
}

// TestCutOff has volumes with and without an end.
func TestCutOff(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Host: "a", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	desc := pcp.Desc{PMID: pcp.NewPMID(60, 0, 4), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter}
	if err := w.Desc(desc, "a.b"); err != nil {
		t.Fatal(err)
	}
	res := pcp.Result{Time: pcp.Timestamp{Sec: 1}}
	res.AddSet(desc.PMID)
	res.Add(pcp.Uint64Value(1).WithInst(-1))
	if err := w.WriteResult(&res); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if CutOff(base + ".0") {
		t.Error("a whole volume is cut off")
	}
	st, err := os.Stat(base + ".0")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(base+".0", st.Size()-3); err != nil {
		t.Fatal(err)
	}
	if !CutOff(base+".0") || !CutOff(base+".1") {
		t.Error("a volume without an end, or without a file, is not cut off")
	}
}
