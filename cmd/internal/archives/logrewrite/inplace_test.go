package logrewrite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/cmd/internal/tool/parts"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/testdir"
)

const rules = `global { hostname -> attic }
metric cellar.one.tu32 { name -> attic.one  type -> U64 }
indom 245.1 { iname "white" -> "green"  inst 2 -> delete }
`

// call runs our tool in a directory with the rules above in the file "rules".
func call(t *testing.T, dir string, env []string, args ...string) twin.Result {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "rules"), []byte(rules), 0o666); err != nil {
		t.Fatal(err)
	}
	return twin.Call{Tool: "pmlogrewrite", Args: args, Dir: dir, Env: env}.Run(t, true)
}

// host opens an archive, reads it to its end, and returns its host and its records.
func host(t *testing.T, base string) (string, int, error) {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		return "", 0, err
	}
	defer a.Close()
	n := 0
	s := archive.NewScanner(a)
	defer s.Close()
	for _, err := range s.Records() {
		if err != nil {
			return "", 0, err
		}
		n++
	}
	// The metadata must belong to the records.
	_, old := a.Meta().LookupName("cellar.one.tu32")
	if old != (a.Label().Host == "cellar") || a.Meta().Label().Host != a.Label().Host {
		return "", 0, fmt.Errorf("host %s with the metadata of the other archive", a.Label().Host)
	}
	return a.Label().Host, n, nil
}

// TestInPlace replaces an archive, and leaves no other files.
func TestInPlace(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "a")
	makeCellar(t, base, archive.Version2, 50)
	for _, suffix := range []string{".0", ".meta", ".index"} {
		if err := os.Chmod(base+suffix, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if r := call(t, dir, nil, "-i", "-V", "3", "-c", "rules", "a"); r.Status != 0 || len(r.Err) > 0 {
		t.Fatalf("status %d: %s", r.Status, r.Err)
	}
	if h, n, err := host(t, base); h != "attic" || n != 50 || err != nil {
		t.Errorf("host %q, %d records, %v", h, n, err)
	}
	files := testdir.Contents(t, dir)
	if len(files) != 4 {
		t.Errorf("%d files", len(files))
	}
	if runtime.GOOS != "windows" {
		if st, err := os.Stat(base + ".0"); err != nil || st.Mode().Perm() != 0o640 {
			t.Errorf("mode %v, %v", st.Mode(), err)
		}
	}
	// Once more, by the name of a file: there is nothing left to change, and -q sees it.
	before := files["a.0"]
	if r := call(t, dir, nil, "-iq", "-c", "rules", "a.meta"); r.Status != 0 {
		t.Errorf("status %d: %s", r.Status, r.Err)
	}
	if after := testdir.Contents(t, dir)["a.0"]; len(after) != len(before) {
		t.Errorf("%d bytes, were %d", len(after), len(before))
	}
}

// TestKilled kills the tool at any moment. The archive is complete, old or new, or
// cannot be opened and is complete under its second name; the next call repairs it.
func TestKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: no signals")
	}
	r := rand.New(rand.NewPCG(longtest.Seed(t), 5))
	source := filepath.Join(t.TempDir(), "a")
	const records = 3000
	makeCellar(t, source, archive.Version3, records)
	files, _ := filepath.Glob(source + ".*")

	// The time that it takes.
	span := time.Duration(0)
	states := make(map[string]int)
	for i := range longtest.N(40, 1000) {
		dir := t.TempDir()
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "rules"), []byte(rules), 0o666); err != nil {
			t.Fatal(err)
		}
		cmd := twin.Call{Tool: "pmlogrewrite", Args: []string{"-i", "-c", "rules", "a"}, Dir: dir}.Command(context.Background(), t, true)
		start := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			// Mostly near the end, when files are renamed.
			at := span - time.Duration(r.Int64N(int64(span)/3))
			if r.IntN(4) == 0 {
				at = time.Duration(r.Int64N(int64(span)))
			}
			time.Sleep(at - time.Since(start))
			cmd.Process.Kill()
		}
		await.Exit(t, cmd)
		if i == 0 {
			span = time.Since(start)
		}
		base := filepath.Join(dir, "a")
		state, n, err := host(t, base)
		if err != nil {
			if _, statErr := os.Stat(base + ".meta"); !errors.Is(statErr, fs.ErrNotExist) {
				t.Fatalf("%d: %v", i, err)
			}
			if state, n, err = host(t, oldBase(base)); err != nil || state != "cellar" {
				t.Fatalf("%d: the second name: %q, %v", i, state, err)
			}
			state = "second name"
		}
		if n != records {
			t.Fatalf("%d: %d records in %s", i, n, state)
		}
		states[state]++
		// The next call does it all.
		out := call(t, dir, nil, "-i", "-c", "rules", "a")
		if h, n, err := host(t, base); out.Status != 0 || h != "attic" || n != records || err != nil {
			t.Fatalf("%d: then: status %d, host %q, %d records, %v: %s", i, out.Status, h, n, err, out.Err)
		}
		if list, _ := os.ReadDir(dir); len(list) != 4 {
			t.Fatalf("%d: %d files are left", i, len(list))
		}
	}
	t.Log(states)
}

// TestInterrupted interrupts a replacement at every step.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "a")
	prepare := func() (old, made []parts.Part) {
		for name := range testdir.Contents(t, dir) {
			os.Remove(filepath.Join(dir, name))
		}
		makeCellar(t, base, archive.Version3, 20)
		call(t, dir, nil, "-c", "rules", "a", newBase("a"))
		old, err := parts.List(base)
		if err != nil {
			t.Fatal(err)
		}
		if made, err = parts.List(newBase(base)); err != nil || len(made) != 3 {
			t.Fatal(made, err)
		}
		return old, made
	}
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for step := range 10 {
		old, made := prepare()
		want, restored := "cellar", false
		for k := range step {
			switch {
			case k < 3: // second names
				must(os.Link(old[k].Path, oldBase(base)+old[k].Suffix))
			case k < 6: // the old files are removed, the metadata first
				must(os.Remove(old[5-k].Path))
				restored = true
			default: // the new files appear, the metadata last
				p := made[k-6]
				must(os.Rename(p.Path, base+p.Suffix))
				if p.Meta {
					want, restored = "attic", false
				}
			}
		}
		got, err := recoverArchive(base)
		if err != nil || got != restored {
			t.Errorf("step %d: restored %v, want %v: %v", step, got, restored, err)
		}
		if h, n, err := host(t, base); h != want || n != 20 || err != nil {
			t.Errorf("step %d: host %q, %d records, %v; want %s", step, h, n, err, want)
		}
		if list, _ := os.ReadDir(dir); len(list) != 4 {
			t.Errorf("step %d: %d files", step, len(list))
		}
	}
}

// TestNoRoom runs with a limit on the size of files, like a full disk.
func TestNoRoom(t *testing.T) {
	for _, inPlace := range []bool{false, true} {
		dir := t.TempDir()
		makeCellar(t, filepath.Join(dir, "a"), archive.Version3, 50)
		before := testdir.Contents(t, dir)
		args := []string{"-c", "rules", "a", "out"}
		if inPlace {
			args = []string{"-i", "-c", "rules", "a"}
		}
		r := call(t, dir, []string{twin.Limit(5000)}, args...)
		if r.Status != 1 || !bytes.Contains(r.Err, []byte("rror")) {
			t.Errorf("status %d: %s", r.Status, r.Err)
		}
		if !inPlace && !strings.HasSuffix(string(r.Err), "Archive \"out\" not created.\n") {
			t.Errorf("stderr: %s", r.Err)
		}
		after := testdir.Contents(t, dir)
		delete(after, "rules")
		if len(after) != len(before) {
			t.Errorf("%d files, were %d", len(after), len(before))
		}
		for name, b := range before {
			if after[name] != b {
				t.Errorf("%s has changed", name)
			}
		}
	}
}

// TestDesperate checks that -d keeps the output of a damaged archive so far.
func TestDesperate(t *testing.T) {
	dir := t.TempDir()
	makeCellar(t, filepath.Join(dir, "a"), archive.Version3, 50)
	path := filepath.Join(dir, "a.0")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b[:len(b)-100], 0o666); err != nil {
		t.Fatal(err)
	}
	r := call(t, dir, nil, "-c", "rules", "a", "out")
	if files, _ := filepath.Glob(filepath.Join(dir, "out.*")); r.Status != 1 || len(files) != 0 {
		t.Errorf("status %d, %d files: %s", r.Status, len(files), r.Err)
	}
	r = call(t, dir, nil, "-d", "-c", "rules", "a", "out")
	if !bytes.Contains(r.Err, []byte("will not be processed")) || !bytes.Contains(r.Err, []byte(`Archive "out" creation truncated.`)) {
		t.Errorf("stderr: %s", r.Err)
	}
	if h, n, err := host(t, filepath.Join(dir, "out")); r.Status != 1 || h != "attic" || n != 49 || err != nil {
		t.Errorf("status %d, host %q, %d records, %v", r.Status, h, n, err)
	}
}

// TestSwap gives two instances each other's numbers, and moves more in a circle.
func TestSwap(t *testing.T) {
	dir := t.TempDir()
	makeCellar(t, filepath.Join(dir, "a"), archive.Version3, 10)
	text := "indom 245.1 { inst 0 -> 1  inst 1 -> 2  inst 2 -> 0 }\n"
	if err := os.WriteFile(filepath.Join(dir, "swap"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if r := call(t, dir, nil, "-c", "swap", "a", "out"); r.Status != 0 {
		t.Fatalf("status %d: %s", r.Status, r.Err)
	}
	read := func(base string) map[string]string {
		a, err := archive.Open(filepath.Join(dir, base))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		values := make(map[string]string)
		for res, err := range a.Records(a.Label().Start, archive.Forward) {
			if err != nil {
				t.Fatal(err)
			}
			for _, vs := range res.Sets {
				desc, _ := a.Meta().Desc(vs.PMID)
				view := a.Meta().View(desc.InDom, res.Time)
				for _, v := range vs.Values {
					name, _ := view.Name(v.Inst)
					values[fmt.Sprint(res.Time, vs.PMID, name)] = v.As(desc.Type).String()
				}
			}
		}
		return values
	}
	want, got := read("a"), read("out")
	if len(want) != len(got) || len(want) < 200 {
		t.Errorf("%d values, were %d", len(got), len(want))
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %s, was %s", k, got[k], v)
		}
	}
}

// TestRedact removes names from an archive with the built-in rules.
func TestRedact(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "a")
	makeSecrets(t, base)
	env := []string{"PCP_CONF=" + filepath.Join(dir, "nosuch"), "PCP_SYSCONF_DIR=" + dir}
	c := twin.Call{Tool: "pmlogredact", Args: []string{"a", "out"}, Dir: dir, Env: env}
	if r := c.Run(t, true); r.Status != 0 || len(r.Err) > 0 {
		t.Fatalf("status %d: %s", r.Status, r.Err)
	}
	for name, b := range testdir.Contents(t, dir) {
		if strings.HasPrefix(name, "out.") && strings.Contains(b, "secret") {
			t.Errorf("%s has a secret", name)
		}
	}
	a, err := archive.Open(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if a.Label().Host != "[redacted]" {
		t.Errorf("host %q", a.Label().Host)
	}
	sets, _ := a.Meta().LookupLabels(pcp.LabelContext, uint32(pcp.PMIDNull), a.Label().Start)
	if want := `{"domainname":"[redacted]","groupid":7,"hostname":"[redacted]","machineid":"[redacted]"}`; len(sets) != 1 || sets[0].JSON != want {
		t.Errorf("labels %v, want %s", sets, want)
	}
	list, _ := a.Meta().Lifetimes(secretProc)
	if len(list) != 1 || list[0].Name != "17 vault" {
		t.Errorf("processes %v", list)
	}
	// With -x there are no rules, and the output is a copy.
	c.Args = []string{"-x", "a", "copy"}
	if r := c.Run(t, true); r.Status != 0 {
		t.Fatalf("status %d: %s", r.Status, r.Err)
	}
	if b := testdir.Contents(t, dir); b["copy.meta"] != b["a.meta"] {
		t.Error("the copy without rules is different")
	}
	c.Args = []string{"a"}
	if r := c.Run(t, true); r.Status != 1 || !bytes.Contains(r.Err, []byte("Usage:")) {
		t.Errorf("status %d: %s", r.Status, r.Err)
	}
}
