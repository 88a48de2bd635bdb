package proc

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// countReads fills reads with the files that root's view reads, by their names below the
// directory of the process.
func countReads(t *testing.T, a *Agent) (reads map[string]int) {
	t.Helper()
	v, err := a.viewOf(root)
	if err != nil {
		t.Fatal(err)
	}
	reads = make(map[string]int)
	for _, p := range v.lists {
		p.opened = func(path string) {
			rel, err := filepath.Rel(p.dir, path)
			if err != nil {
				t.Error(err)
			}
			_, file, _ := strings.Cut(rel, "/")
			reads[file]++
		}
	}
	return reads
}

// TestOnlyItsFile checks for each metric that the files of its cluster are read, each once
// for a process, and no others.
func TestOnlyItsFile(t *testing.T) {
	tr := newTree(t)
	a := New(Config{Root: tr.dir})
	get(t, a, root, "proc.psinfo.psargs") // processes are found, and their arguments read
	reads := countReads(t, a)
	processes := len(get(t, a, root, "proc.psinfo.pid"))
	if len(reads) > 0 {
		t.Errorf("to list processes, files are read: %v", reads)
	}
	for name, file := range map[string]string{
		"proc.psinfo.utime": "stat", "proc.psinfo.cmd": "stat", "proc.runq.runnable": "stat", "proc.memory.vmrss": "status", "proc.id.uid_nm": "status",
		"proc.memory.rss": "statm", "proc.memory.maps": "maps", "proc.schedstat.pcount": "schedstat", "proc.io.rchar": "io",
		"proc.smaps.pss": "smaps_rollup", "proc.fd.count": "fd", "proc.psinfo.cgroups": "cgroup", "proc.id.container": "cgroup",
		"proc.psinfo.labels": "attr/current", "proc.psinfo.wchan_s": "wchan", "proc.psinfo.environ": "environ",
		"proc.psinfo.oom_score": "oom_score", "proc.autogroup.id": "autogroup",
		"proc.psinfo.exe": "exe", "proc.psinfo.cwd": "cwd",
	} {
		clear(reads)
		get(t, a, root, name)
		if want := fmt.Sprint(map[string]int{file: processes}); fmt.Sprint(reads) != want {
			t.Errorf("%s reads %v, want %s", name, reads, want)
		}
	}
}

// TestOneReading has 100 clients fetch in one round, as a collector does with requests that
// wait for the agent, and checks that each file is read once.
func TestOneReading(t *testing.T) {
	tr := newTree(t)
	a := New(Config{Root: tr.dir})
	get(t, a, root, "proc.psinfo.psargs")
	var ids []pcp.PMID
	for _, name := range []string{"proc.psinfo.utime", "proc.psinfo.cmd", "proc.io.rchar"} {
		id, err := a.LookupName(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	reads := countReads(t, a)
	if err := a.Refresh(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	var first *pcp.Result
	for i := range 100 {
		c := &pmda.Client{ID: 10 + i, Attrs: root.Attrs}
		req := &pmda.FetchRequest{Client: c, PMIDs: ids, Result: new(pcp.Result)}
		if err := a.Fetch(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = req.Result
			continue
		}
		for j, set := range req.Result.Sets {
			if !slices.EqualFunc(set.Values, first.Sets[j].Values, func(a, b pcp.Value) bool { return a.Inst == b.Inst && a.String() == b.String() }) {
				t.Fatalf("client %d gets other values of %v", i, ids[j])
			}
		}
	}
	if want := fmt.Sprint(map[string]int{"stat": 7, "io": 7}); fmt.Sprint(reads) != want {
		t.Errorf("100 clients read %v, want %s", reads, want)
	}
}

// TestKept reads the processes of this machine again: files that may stay open are not
// opened again, are closed with their client, and never exceed the limit.
func TestKept(t *testing.T) {
	a := New(Config{})
	if a.machine.maxOpen == 0 {
		t.Skip("not run: /proc is not the kernel's, or the limit of open files is 0")
	}
	names := []string{"proc.psinfo.utime", "proc.memory.vmrss", "proc.memory.rss", "proc.schedstat.pcount", "proc.psinfo.oom_score"}
	get(t, a, root, "proc.memory.rss")
	open := a.machine.open
	if open == 0 {
		t.Error("no file stays open")
	}
	reads := countReads(t, a)
	processes := len(get(t, a, root, "proc.memory.rss"))
	if reads["statm"] > processes-open/2 { // of new processes, and to find that others have ended
		t.Errorf("of %d processes, files that are open are opened anew: %v", processes, reads)
	}
	a.EndContext(root)
	if a.machine.open != 0 {
		t.Errorf("%d files are open without a client", a.machine.open)
	}
	a.machine.maxOpen = 3
	for range 2 {
		for _, name := range names {
			if got := get(t, a, root, name); len(got) < 2 {
				t.Errorf("%s: %v", name, got)
			}
			if a.machine.open > 3 {
				t.Errorf("%d files are open, more than 3", a.machine.open)
			}
		}
	}
	a.EndContext(root)
}

// TestDirectory counts and lists names without a string for each.
func TestDirectory(t *testing.T) {
	tr := newTree(t)
	for i := range 1200 {
		tr.write(fmt.Sprintf("many/%d", i), "")
	}
	tr.write("many/4294967297", "")
	tr.write("many/2147483648", "")
	tr.write("many/1x", "")
	tr.write("many/-1", "")
	var d directory
	var pids []int32
	dir := filepath.Join(tr.dir, "many")
	if err := d.pids(dir, func(pid int32) { pids = append(pids, pid) }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(pids)
	if len(pids) != 1200 || pids[0] != 0 || pids[1199] != 1199 {
		t.Errorf("%d identifiers", len(pids))
	}
	if n, err := d.count(dir, false); n != 1204 || err != nil {
		t.Errorf("%d names, %v", n, err)
	}
	if err := d.pids(filepath.Join(tr.dir, "none"), func(int32) {}); err == nil {
		t.Error("a directory that is not there is listed")
	}
}
