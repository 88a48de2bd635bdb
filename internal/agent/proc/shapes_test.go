package proc

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// oddNames are possible names of programs.
var oddNames = []string{
	"sh", "two words", "a) R (b", "(sd-pam)", ")", "((", "new\nline", "tab\there", "caf\xe9", "\xff\xfe\xfd", "kworker/127:3-mm", "fifteen-letters", "a:b", "%s%n", "-", " lead", "0",
}

// WriteShapes writes n processes of all kinds below a new root directory and returns it, with
// those whose files are damaged: missing, empty, or cut short.
func WriteShapes(t testing.TB, n int, damage bool, random *rand.Rand) (dir string, damaged map[int32]bool) {
	tr := newTree(t)
	damaged = make(map[int32]bool)
	pid := 1000
	for i := range n {
		pid += 1 + random.IntN(5)
		name := oddNames[i%len(oddNames)]
		state, vsize, args := string("RSDTtZIX"[i%8]), 1+random.IntN(1<<20), fmt.Sprintf("/bin/%s\x00-x\x00%d\x00", name, i)
		switch i % 11 {
		case 3: // a thread of the kernel
			state, vsize, args = "I", 0, ""
		case 7: // a zombie
			state, vsize, args = "Z", 0, ""
		}
		tr.process(pid, strings.ReplaceAll(name, "\n", "\\n"), state, 34816+i%7, vsize, args)
		// The kernel writes a line break in a name unchanged in stat, and escaped in
		// status.
		line := statLine(pid, name, state, 34816+i%7, vsize)
		line = strings.Replace(line, " 17 6 40 2 ", fmt.Sprintf(" 17 %d %d %d ", i%128, i%100, i%7), 1)
		tr.write(fmt.Sprintf("proc/%d/stat", pid), line)
		if vsize == 0 {
			tr.write(fmt.Sprintf("proc/%d/smaps_rollup", pid), "")
			tr.write(fmt.Sprintf("proc/%d/maps", pid), "")
			tr.write(fmt.Sprintf("proc/%d/environ", pid), "")
		}
		if damage && i%5 == 0 {
			damaged[int32(pid)] = true
			tr.damage(fmt.Sprintf("proc/%d", pid), random)
		}
	}
	return tr.dir, damaged
}

// damage removes, empties or cuts some files of a directory.
func (tr tree) damage(dir string, random *rand.Rand) {
	entries, err := os.ReadDir(filepath.Join(tr.dir, dir))
	if err != nil {
		tr.t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(tr.dir, dir, e.Name())
		switch random.IntN(4) {
		case 0:
			err = os.RemoveAll(path)
		case 1:
			if info, err2 := os.Stat(path); err2 == nil && info.Mode().IsRegular() {
				err = os.Truncate(path, random.Int64N(info.Size()+1))
			}
		}
		if err != nil {
			tr.t.Fatal(err)
		}
	}
}

// TestEndsMeanwhile has processes end while their files are read, at each file in turn: a
// fetch of everything succeeds, and has the remaining values.
func TestEndsMeanwhile(t *testing.T) {
	all := func(a *Agent) *pmda.FetchRequest {
		req := &pmda.FetchRequest{Client: root, Result: new(pcp.Result)}
		for _, id := range a.NameSpace().All() {
			req.PMIDs = append(req.PMIDs, id)
		}
		return req
	}
	files := 0
	for stop := 0; stop == 0 || stop < files; stop += 20 {
		tr := newTree(t)
		a := New(Config{Root: tr.dir})
		v, err := a.viewOf(root)
		if err != nil {
			t.Fatal(err)
		}
		files = 0
		for _, p := range v.lists {
			p.opened = func(string) {
				if files++; files == stop+1 {
					if err := os.RemoveAll(filepath.Join(tr.dir, "proc/77")); err != nil {
						t.Error(err)
					}
				}
			}
		}
		req := all(a)
		if err := a.Refresh(t.Context(), req.PMIDs); err != nil {
			t.Fatal(err)
		}
		if err := a.Fetch(t.Context(), req); err != nil {
			t.Fatalf("after %d files: %v", stop, err)
		}
		for i, set := range req.Result.Sets {
			if set.Err != 0 && set.Err != pcp.ErrAppVersion {
				t.Errorf("after %d files: %v: %v", stop, req.PMIDs[i], set.Err)
			}
		}
		if got := get(t, a, root, "proc.psinfo.cmd"); files > stop && (got[1] != `"init"` || got[77] != "") {
			t.Errorf("after %d files: commands %v", stop, got)
		}
	}
	if files < 50 {
		t.Errorf("only %d files are read", files)
	}
}
