package jbd2

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

var (
	_ pmda.Agent      = (*Agent)(nil)
	_ pmda.Refresher  = (*Agent)(nil)
	_ pmda.NameSpacer = (*Agent)(nil)
	_ pmda.Texter     = (*Agent)(nil)
)

func ids(a *Agent) []pcp.PMID {
	var ids []pcp.PMID
	for _, id := range a.NameSpace().All() {
		ids = append(ids, id)
	}
	return ids
}

func TestValues(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "new", "10 transactions (4 requested), each up to 1024 blocks\naverage: \n  1ms waiting for transaction\n  2ms request delay\n  3ms running transaction\n  4ms transaction was being locked\n  5ms flushing data (in ordered mode)\n  6ms logging transaction\n  7us average transaction commit time\n  8 handles per transaction\n  9 blocks per transaction\n  10 logged blocks per transaction\n")
	write(t, dir, "old", "3 transaction, each up to 512 blocks\naverage: \n  2ms waiting for transaction\n")
	a := New(Config{Dir: dir})
	insts, err := a.Instances(t.Context(), pcp.NewInDom(Domain, 0))
	if err != nil || len(insts) != 2 {
		t.Fatalf("%v, %v", insts, err)
	}
	inst := func(name string) int32 {
		return insts[slices.IndexFunc(insts, func(i pcp.Instance) bool { return i.Name == name })].Inst
	}
	f := func(name string, want map[string]uint64) {
		t.Helper()
		set := agenttest.Fetch(t, a, nil, agenttest.Lookup(t, a.NameSpace(), "jbd2."+name)...).Sets[0]
		if len(set.Values) != len(want) {
			t.Errorf("%s: %v, want %v", name, set.Values, want)
		}
		for _, v := range set.Values {
			for journal, w := range want {
				if inst(journal) == v.Inst && v.Bits() != w {
					t.Errorf("%s of %s is %d, want %d", name, journal, v.Bits(), w)
				}
			}
		}
	}
	f("transaction.count", map[string]uint64{"new": 10, "old": 3})
	f("transaction.requested", map[string]uint64{"new": 4})
	f("transaction.max_blocks", map[string]uint64{"new": 1024, "old": 512})
	f("transaction.total.time.waiting", map[string]uint64{"new": 10, "old": 6})
	f("transaction.total.time.request_delay", map[string]uint64{"new": 8})
	f("transaction.average.time.request_delay", map[string]uint64{"new": 2})
	f("transaction.average.time.committing", map[string]uint64{"new": 7, "old": 0})
	f("transaction.total.blocks_logged", map[string]uint64{"new": 100, "old": 0})
	f("transaction.average.handles", map[string]uint64{"new": 8, "old": 0})
	count := agenttest.Fetch(t, a, nil, pcp.NewPMID(Domain, 0, 0)).Sets[0]
	if got := agenttest.Text(&count, pcp.TypeU32); got != " -1=2" {
		t.Errorf("journals %s", got)
	}
}

// TestNumbers restarts the agent after adding a journal before the others.
func TestNumbers(t *testing.T) {
	dir, kept := t.TempDir(), t.TempDir()
	write(t, dir, "b", info(3, 1))
	list := func() string {
		insts, err := New(Config{Dir: dir, Cache: kept}).Instances(t.Context(), pcp.NewInDom(Domain, 0))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, in := range insts {
			names = append(names, in.Name)
		}
		return strings.Join(names, " ")
	}
	if got := list(); got != "b" {
		t.Error(got)
	}
	write(t, dir, "a", info(3, 1))
	if got := list(); got != "b a" {
		t.Error(got)
	}
	if err := os.RemoveAll(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "0", info(3, 1))
	if got := list(); got != "a 0" {
		t.Error(got)
	}
	// The agent works even if its file is damaged or cannot be written.
	if err := os.WriteFile(filepath.Join(kept, "122.0"), []byte("\x00\xff\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(list()); len(got) != 2 {
		t.Error(got)
	}
	kept = filepath.Join(kept, "122.0", "below a file")
	if got := strings.Fields(list()); len(got) != 2 {
		t.Error(got)
	}
}

// TestOption opens the agent as its program does.
func TestOption(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "sda1-8", info(3, 1))
	b := Builtin()
	env := builtin.Env{Config: config.New(func(name string) string {
		if name == "PCP_VAR_DIR" {
			return dir
		}
		return ""
	}), Settings: []builtin.Setting{{Option: b.Program.Options[0], Arg: dir}}}
	a, err := b.Open(env)
	if err != nil {
		t.Fatal(err)
	}
	insts, err := a.Instances(t.Context(), pcp.NewInDom(Domain, 0))
	if err != nil || len(insts) != 1 || insts[0].Name != "sda1-8" {
		t.Errorf("%v, %v", insts, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "config/pmda/122.0")); err != nil {
		t.Error(err)
	}
}

// TestAllocs limits the allocations of a refresh and a fetch.
func TestAllocs(t *testing.T) {
	dir := t.TempDir()
	a := New(Config{Dir: dir})
	none := agenttest.Refresh(t, a, ids(a))
	none()
	empty := testing.AllocsPerRun(20, none)
	for i, name := range []string{"a", "b", "c", "d"} {
		write(t, dir, name, info(3, i))
	}
	none()
	if n := testing.AllocsPerRun(20, none); empty > 10 || n > empty+4*4 {
		t.Errorf("%v allocations without journals and %v with 4, want 10 and 4 for each", empty, n)
	}
}

func BenchmarkFetch(b *testing.B) {
	dir := b.TempDir()
	for i, name := range []string{"a", "b", "c", "d"} {
		write(b, dir, name, info(3, i))
	}
	a := New(Config{Dir: dir})
	once := agenttest.Refresh(b, a, ids(a))
	b.ReportAllocs()
	for b.Loop() {
		once()
	}
}

func BenchmarkParse(b *testing.B) {
	text := []byte(info(3, 1))
	var j journal
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if !j.parse(text) {
			b.Fatal("no journal")
		}
	}
}

func FuzzInfo(f *testing.F) {
	f.Add([]byte(info(3, 1)))
	f.Add([]byte(info(2, 1)))
	f.Add([]byte(info(0, 1)))
	for _, text := range oddFiles {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var one, two journal
		ok := one.parse(b)
		if again := two.parse(b); again != ok || one != two {
			t.Errorf("%t %+v, then %t %+v", ok, one, again, two)
		}
		if ok && two.parse(b) != ok || ok && one != two {
			t.Errorf("%+v, read again %+v", one, two)
		}
		if one.most > 1<<32-1 {
			t.Errorf("%d blocks", one.most)
		}
		row := make([]column.Cell, numCols)
		one.fill(row)
		if row[colRequested].OK != one.counts {
			t.Errorf("requests %+v of %+v", row[colRequested], one)
		}
	})
}
