package linux

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

func TestFromEnvironment(t *testing.T) {
	f := func(env map[string]string, want Config) {
		t.Helper()
		var got Config
		got.fromEnvironment(func(name string) string { return env[name] })
		if got != want {
			t.Errorf("%v: %+v, want %+v", env, got, want)
		}
	}
	f(nil, Config{})
	f(map[string]string{"LINUX_STATSPATH": "/x/y/"}, Config{Root: "/x/y", Replaced: true})
	f(map[string]string{"LINUX_HERTZ": "250", "LINUX_PAGESIZE": " 16384"}, Config{HZ: 250, PageSize: 16384})
	f(map[string]string{"LINUX_HERTZ": "fast", "LINUX_PAGESIZE": "-1"}, Config{HZ: 1, PageSize: 1})
	f(map[string]string{"LINUX_NNODES": "7"}, Config{OneNode: true})
	f(map[string]string{"LINUX_MDADM": "/bin/true"}, Config{MDAdm: "/bin/true"})
	f(map[string]string{"LINUX_ACCESS": "1"}, Config{AllAccess: true})
	f(map[string]string{"LINUX_ACCESS": "0"}, Config{})
}

// TestReplacedTree replaces files while an agent reads them, and takes
// processors and their node away.
func TestReplacedTree(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		// After a rename, programs with the old file open keep it.
		if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	cpus := func(a *Agent) (n int) {
		t.Helper()
		ids := []pcp.PMID{pcp.NewPMID(Domain, 0, 32)} // hinv.ncpu
		if err := a.Refresh(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		res := new(pcp.Result)
		if err := a.Fetch(t.Context(), &pmda.FetchRequest{Client: new(pmda.Client), PMIDs: ids, Result: res}); err != nil {
			t.Fatal(err)
		}
		return int(res.Sets[0].Values[0].Uint32())
	}
	const stat = "cpu 4 0 0 0\ncpu0 1 0 0 0\ncpu1 1 0 0 0\ncpu2 1 0 0 0\ncpu3 1 0 0 0\n"
	write("proc/stat", stat)
	for _, name := range []string{"node0/cpu0/x", "node0/cpu1/x", "node1/cpu2/x", "node1/cpu3/x"} {
		write(nodeDir+"/"+name, "")
	}
	a := New(Config{Root: root, Replaced: true})
	if n := cpus(a); n != 4 {
		t.Errorf("%d processors, want 4", n)
	}
	write("proc/stat", "cpu 2 0 0 0\ncpu0 1 0 0 0\ncpu3 1 0 0 0\n")
	if n := cpus(a); n != 2 {
		t.Errorf("%d processors in another file, want 2", n)
	}
	write("proc/stat", stat)
	if err := os.RemoveAll(filepath.Join(root, nodeDir, "node1")); err != nil {
		t.Fatal(err)
	}
	if n := cpus(New(Config{Root: root, Replaced: true})); n != 2 {
		t.Errorf("%d processors in nodes, want 2", n)
	}
	if n := cpus(New(Config{Root: root, OneNode: true})); n != 4 {
		t.Errorf("%d processors in one node, want 4", n)
	}
}
