package dumplog

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

// TestSeveral dumps a directory of three archives, the second of which ends with a mark.
func TestSeveral(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	start := pcp.Timestamp{Sec: 1700000000}
	id := pcp.NewPMID(245, 0, 1)
	for i, name := range []string{"a", "b", "c"} {
		at := start.Add(time.Duration(i) * time.Minute)
		w, err := archive.Create(filepath.Join(dir, name), archive.WriterConfig{Label: archive.Label{Version: archive.Version2, PID: 1, Start: at, Host: "cellar", TimeZone: "UTC"}})
		must(err)
		must(w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, "a.count"))
		var res pcp.Result
		for k := range 2 {
			res.Reset()
			res.Time = at.Add(time.Duration(k) * time.Second)
			res.AddSet(id)
			res.Add(pcp.Uint32Value(uint32(10*i + k)))
			must(w.WriteResult(&res))
		}
		if name == "b" {
			must(w.Mark(res.Time.Add(time.Second)))
		}
		must(w.Close())
	}
	dump := func(args ...string) []string {
		t.Helper()
		r := twin.Call{Tool: "pmdumplog", Args: append([]string{"-Z", "UTC"}, args...), Dir: dir, Env: []string{"PCP_COMPAT=7"}}.Run(t, true)
		if r.Status != 0 || len(r.Err) > 0 {
			t.Fatalf("%q: status %d: %s", args, r.Status, r.Err)
		}
		var lines []string
		for line := range strings.Lines(string(r.Out)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "Note: timezone") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	const note = "Note: multi-archive context with 3 archives\n"
	f := func(want string, args ...string) {
		t.Helper()
		if got := strings.Join(dump(args...), "\n"); got != want {
			t.Errorf("%q:\n%s\nwant:\n%s", args, got, want)
		}
	}
	records := []string{
		"22:13:20.000000 1 metric\n245.0.1 (a.count): value 0", "22:13:21.000000 1 metric\n245.0.1 (a.count): value 1", "22:13:21.001000  <mark>",
		"22:14:20.000000 1 metric\n245.0.1 (a.count): value 10", "22:14:21.000000 1 metric\n245.0.1 (a.count): value 11", "22:14:22.000000  <mark>",
		"22:15:20.000000 1 metric\n245.0.1 (a.count): value 20", "22:15:21.000000 1 metric\n245.0.1 (a.count): value 21",
	}
	f(note+strings.Join(records, "\n"), "-m", ".")
	f(note+strings.Join(records, "\n"), "c,a,b")
	f(note+strings.Join(records[4:], "\n"), "-S", "@22:14:21", ".")
	f(note+records[1]+"\n"+records[3], "-S", "@22:13:21", "-T", "@22:14:20", ".", "a.count")
	f(note+records[0]+"\n"+records[1]+"\n"+records[2]+"\n"+records[3], "-M", "-S", "@22:13:20", "-T", "@22:14:20", ".", "a.count")
	f(note+"Log finished at Tue Nov 14 22:15:21 2023 - dump in reverse order\n"+records[7]+"\n"+records[6]+"\n22:15:19.999000  <mark>\n"+
		records[5]+"\n"+records[4], "-r", "-S", "@22:14:21", ".")
	f(note+"--- archive ./a ---\nLog Label (Log Format Version 2)\nPerformance metrics from host cellar\ncommencing Tue Nov 14 22:13:20.000000 2023\n"+
		"ending     Tue Nov 14 22:13:21.000000 2023\n--- archive ./b ---\nLog Label (Log Format Version 2)\nPerformance metrics from host cellar\n"+
		"commencing Tue Nov 14 22:14:20.000000 2023\nending     Tue Nov 14 22:14:22.000000 2023\n--- archive ./c ---\nLog Label (Log Format Version 2)\n"+
		"Performance metrics from host cellar\ncommencing Tue Nov 14 22:15:20.000000 2023\nending     Tue Nov 14 22:15:21.000000 2023", "-l", ".")
	if lines := dump("-d", "."); len(lines) != 5 {
		t.Errorf("-d: %q", lines)
	}
	if got := strings.Count(strings.Join(dump("-t", "."), "\n"), "Temporal Index"); got != 3 {
		t.Errorf("%d indexes", got)
	}
	if r := (twin.Call{Tool: "pmdumplog", Args: []string{"a,nosuch"}, Dir: dir, Env: []string{"PCP_COMPAT=7"}}).Run(t, true); r.Status != 1 || !strings.Contains(string(r.Err), "a,nosuch") {
		t.Errorf("a missing archive: status %d: %s", r.Status, r.Err)
	}
	for _, compat := range []string{"6", "7"} {
		r := twin.Call{Tool: "pmdumplog", Args: []string{"-D", "log", "-l", "a"}, Dir: dir, Env: []string{"PCP_COMPAT=" + compat}}.Run(t, true)
		log := string(r.Err)
		if r.Status != 0 || strings.Contains(log, "__pmStat") != (compat == "6") || strings.Contains(log, "__pmLogFindOpen: inspect") != (compat == "7") {
			t.Errorf("PCP_COMPAT=%s: status %d: %s", compat, r.Status, log)
		}
	}
}
