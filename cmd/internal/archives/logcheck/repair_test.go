package logcheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

// TestRepair repairs an archive whose volume was cut off, and leaves a whole one alone.
func TestRepair(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	id := pcp.NewPMID(245, 0, 1)
	for _, name := range []string{"cut", "whole"} {
		start := pcp.Timestamp{Sec: 1700000000}
		w, err := archive.Create(filepath.Join(dir, name), archive.WriterConfig{Label: archive.Label{PID: 1, Start: start, Host: "cellar", TimeZone: "UTC"}})
		must(err)
		must(w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, "a.count"))
		for i := range 10 {
			var res pcp.Result
			res.Time = start.Add(time.Duration(i) * time.Second)
			res.AddSet(id)
			res.Add(pcp.Uint32Value(uint32(i)))
			must(w.WriteResult(&res))
		}
		must(w.Close())
	}
	cut := filepath.Join(dir, "cut.0")
	st, err := os.Stat(cut)
	must(err)
	must(os.Truncate(cut, st.Size()-10))
	damaged, err := os.ReadFile(cut)
	must(err)
	run := func(args ...string) (status int, text string) {
		r := twin.Call{Tool: "pmlogcheck", Args: args, Dir: dir}.Run(t, true)
		return r.Status, string(r.Out) + string(r.Err)
	}
	if status, text := run("-f", "cut"); status != 1 || !strings.Contains(text, "pmFetch: error:") {
		t.Errorf("-f: status %d: %s", status, text)
	}
	// It needs a terminal for the answer.
	if status, text := run("-r", "cut"); status != 1 || !strings.Contains(text, "not interactive so repair not allowed") {
		t.Errorf("-r: status %d: %s", status, text)
	}
	if b, _ := os.ReadFile(cut); string(b) != string(damaged) {
		t.Error("-r changed the archive without a question")
	}
	if status, text := run("-R", "whole", "cut"); status != 0 || !strings.Contains(text, "Info: cut: repaired, 9 records kept; the damaged archive is cut.damaged\n") {
		t.Errorf("-R: status %d: %s", status, text)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "cut.damaged.0")); string(b) != string(damaged) {
		t.Error("the damaged volume is not kept")
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "whole.damaged*")); len(list) > 0 {
		t.Errorf("the whole archive was repaired: %v", list)
	}
	if status, text := run("cut"); status != 0 || text != "" {
		t.Errorf("after the repair: status %d: %s", status, text)
	}
	if status, text := run("-R", "nosuch"); status != 1 || !strings.Contains(text, "nosuch") {
		t.Errorf("no archive: status %d: %s", status, text)
	}
}
