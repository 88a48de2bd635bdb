package pmns

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
)

func id(cluster, item int) pcp.PMID { return pcp.NewPMID(29, cluster, item) }

func sampleTree(t testing.TB) *Tree {
	t.Helper()
	tree := New()
	for _, m := range []struct {
		name string
		id   pcp.PMID
	}{
		{"sample.control", id(0, 0)},
		{"sample.bin", id(0, 6)},
		{"sample.dupnames.two.bin", id(0, 6)},
		{"sample.dupnames.three.bin", id(0, 6)},
		{"sample.secret", pcp.DynamicRoot(29)},
		{"hinv.ncpu", pcp.NewPMID(60, 0, 32)},
	} {
		if err := tree.Add(m.name, m.id); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func leaves(t *Tree, name string) string {
	var b strings.Builder
	leaves, _ := t.Leaves(name)
	for name, id := range leaves {
		fmt.Fprintf(&b, "%s=%v\n", name, id)
	}
	return b.String()
}

func TestLookup(t *testing.T) {
	tree := sampleTree(t)
	f := func(name string, want pcp.PMID, wantErr error) {
		t.Helper()
		got, err := tree.Lookup(name)
		if got != want || err != wantErr {
			t.Errorf("Lookup(%q) = %v, %v, want %v, %v", name, got, err, want, wantErr)
		}
	}
	f("sample.bin", id(0, 6), nil)
	f("sample.dupnames.two.bin", id(0, 6), nil)
	f("sample", pcp.PMIDNull, pcp.ErrNonLeaf)
	f("sample.dupnames", pcp.PMIDNull, pcp.ErrNonLeaf)
	f("sample.secret", pcp.DynamicRoot(29), pcp.ErrNonLeaf)
	f("sample.secret.bar", pcp.DynamicRoot(29), nil)
	f("sample.secret.foo.bar", pcp.DynamicRoot(29), nil)
	f("sample.secret.", pcp.PMIDNull, pcp.ErrName)
	f("sample.secret..x", pcp.PMIDNull, pcp.ErrName)
	f("", pcp.PMIDNull, pcp.ErrName)
	f(".", pcp.PMIDNull, pcp.ErrName)
	f("sample.", pcp.PMIDNull, pcp.ErrName)
	f("sample.bin.", pcp.PMIDNull, pcp.ErrName)
	f("sample.bin.x", pcp.PMIDNull, pcp.ErrName)
	f("root.sample.bin", pcp.PMIDNull, pcp.ErrName)
	f("Sample.bin", pcp.PMIDNull, pcp.ErrName)
	if n := testing.AllocsPerRun(100, func() { tree.Lookup("sample.dupnames.two.bin") }); n != 0 {
		t.Errorf("Lookup allocates %v times", n)
	}
}

func TestNames(t *testing.T) {
	tree := sampleTree(t)
	names, err := tree.Names(id(0, 6))
	want := []string{"sample.dupnames.three.bin", "sample.dupnames.two.bin", "sample.bin"}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("Names = %q, %v, want %q", names, err, want)
	}
	// The order is that of the tree, not of the additions.
	tree.Add("hinv.bin", id(0, 6))
	tree.Prepend("sample.first", id(0, 6))
	names, _ = tree.Names(id(0, 6))
	if want := append(append([]string{"hinv.bin"}, want...), "sample.first"); !slices.Equal(names, want) {
		t.Errorf("Names = %q, want %q", names, want)
	}
	for _, id := range []pcp.PMID{id(9, 9), pcp.DynamicRoot(29), pcp.PMIDNull} {
		if names, err := tree.Names(id); err != pcp.ErrPMID || names != nil {
			t.Errorf("Names(%v) = %q, %v, want %v", id, names, err, pcp.ErrPMID)
		}
	}
}

func TestChildren(t *testing.T) {
	tree := sampleTree(t)
	f := func(name string, want ...Child) {
		t.Helper()
		got, err := tree.Children(name)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Children(%q) = %v, %v, want %v", name, got, err, want)
		}
	}
	f("", Child{"sample", false}, Child{"hinv", false})
	f("sample", Child{"control", true}, Child{"bin", true}, Child{"dupnames", false}, Child{"secret", false})
	f("sample.bin")
	f("sample.secret")
	for _, name := range []string{"x", "sample.x", "sample.secret.x", "sample."} {
		if got, err := tree.Children(name); err != pcp.ErrName {
			t.Errorf("Children(%q) = %v, %v, want %v", name, got, err, pcp.ErrName)
		}
		below, err := tree.Leaves(name)
		if err != pcp.ErrName {
			t.Errorf("Leaves(%q) = %v, want %v", name, err, pcp.ErrName)
		}
		for leaf := range below {
			t.Errorf("Leaves(%q) has %s", name, leaf)
		}
	}
	if d, ok := tree.DynamicRoot("sample.secret.x.y"); d != 29 || !ok {
		t.Errorf("DynamicRoot = %v, %v", d, ok)
	}
	if _, ok := tree.DynamicRoot("sample.bin"); ok {
		t.Error("sample.bin is a dynamic root")
	}
	n := 0
	for range tree.All() { // a loop may end early, below inner nodes too
		if n++; n == 2 {
			break
		}
	}
}

// TestManyChildren uses the map of large nodes.
func TestManyChildren(t *testing.T) {
	tree := New()
	for i := range 100 {
		if err := tree.Add(fmt.Sprintf("a.n%d", i), id(1, i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		name := fmt.Sprintf("a.n%d", i)
		if got, err := tree.Lookup(name); got != id(1, i) || err != nil {
			t.Fatalf("Lookup(%s) = %v, %v", name, got, err)
		}
	}
	if _, err := tree.Lookup("a.n100"); err != pcp.ErrName {
		t.Errorf("Lookup(a.n100) = %v", err)
	}
}

func TestAddErrors(t *testing.T) {
	f := func(name string, want error) {
		t.Helper()
		tree := sampleTree(t)
		before := leaves(tree, "")
		if err := tree.Add(name, id(3, 3)); !errors.Is(err, want) {
			t.Errorf("Add(%.40q) = %v, want %v", name, err, want)
		}
		if after := leaves(tree, ""); after != before {
			t.Errorf("Add(%.40q) left %q", name, after)
		}
	}
	for _, name := range []string{
		"", ".", "1x.y", "x.1y", "a..b", ".a", "a.", "a-b", "a b", "_a", "é",
		"sample", "sample.bin", "sample.bin.x", "sample.secret.x",
		strings.Repeat("x", MaxName+1), "a" + strings.Repeat(".a", maxDepth),
	} {
		f(name, pcp.ErrPMNS)
	}
	tree := New()
	if err := tree.Add("a"+strings.Repeat(".a", 19), id(0, 1)); err != nil {
		t.Errorf("Add of 20 levels: %v", err)
	}
	if err := tree.Add("b", pcp.PMIDNull); !errors.Is(err, pcp.ErrPMID) {
		t.Errorf("Add(PMIDNull) = %v", err)
	}
}

func TestPrepend(t *testing.T) {
	tree := New()
	for i, name := range []string{"a.x", "b.y", "a.z", "a.x", "odd-name.1"} {
		if err := tree.Prepend(name, id(0, i%3)); err != nil {
			t.Fatalf("Prepend(%s): %v", name, err)
		}
	}
	want := "odd-name.1=29.0.1\nb.y=29.0.1\na.z=29.0.2\na.x=29.0.0\n"
	if got := leaves(tree, ""); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, want := range map[string]error{"a.x": pcp.ErrPMID, "a": pcp.ErrPMNS, "a.x.y": pcp.ErrPMNS, "": pcp.ErrPMNS, "b..c": pcp.ErrPMNS, "b.": pcp.ErrPMNS} {
		if err := tree.Prepend(name, id(7, 7)); !errors.Is(err, want) {
			t.Errorf("Prepend(%q) = %v, want %v", name, err, want)
		}
	}
	if _, err := tree.WriteTo(&bytes.Buffer{}); !errors.Is(err, pcp.ErrPMNS) {
		t.Errorf("WriteTo writes odd-name: %v", err)
	}
}

// TestMergeShares pins that a merged tree has no names of its own: it allocates a node for each node, and few other things.
func TestMergeShares(t *testing.T) {
	other := New()
	const leaves = 1000
	for i := range leaves {
		if err := other.Add(fmt.Sprintf("a.b%d", i), id(i/500, i%500+1)); err != nil {
			t.Fatal(err)
		}
	}
	n := testing.AllocsPerRun(5, func() {
		if err := New().Merge(other); err != nil {
			t.Fatal(err)
		}
	})
	if n > 1.5*leaves {
		t.Errorf("%v allocations for %d leaves", n, leaves)
	}
}

func TestMerge(t *testing.T) {
	tree, other := sampleTree(t), New()
	other.Add("sample.bin", id(0, 6))
	other.Add("sample.new.leaf", id(5, 5))
	other.Add("x", id(5, 6))
	want := leaves(tree, "sample") + "sample.new.leaf=29.5.5\n" + leaves(tree, "hinv") + "x=29.5.6\n"
	if err := tree.Merge(other); err != nil {
		t.Fatal(err)
	}
	if got := leaves(tree, ""); got != want {
		t.Errorf("merged %q, want %q", got, want)
	}
	for name, clash := range map[string]pcp.PMID{"sample.bin": id(0, 7), "sample": id(9, 9), "sample.bin.x": id(9, 9), "sample.secret.x": id(9, 9)} {
		bad := New()
		bad.Add("aaa", id(8, 8))
		bad.Add(name, clash)
		if err := tree.Merge(bad); !errors.Is(err, pcp.ErrPMNS) {
			t.Errorf("Merge of %s: %v", name, err)
		}
		if got := leaves(tree, ""); got != want {
			t.Errorf("after the failed merge of %s: %q", name, got)
		}
	}
}

func TestEvents(t *testing.T) {
	if got := leaves(Events(), ""); got != "event.flags=511.0.1\nevent.missed=511.0.2\n" {
		t.Errorf("Events has %q", got)
	}
	for _, id := range []pcp.PMID{EventFlags, EventMissed} {
		if d, ok := EventDesc(id); !ok || d.PMID != id || !id.IsDerived() || EventText(id) == "" {
			t.Errorf("EventDesc(%v) = %v, %v", id, d, ok)
		}
	}
	if _, ok := EventDesc(id(0, 1)); ok {
		t.Error("29.0.1 is an event metric")
	}
}

func TestWriteTo(t *testing.T) {
	tree := sampleTree(t)
	var b bytes.Buffer
	n, err := tree.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("WriteTo = %d, %v, wrote %d", n, err, b.Len())
	}
	again, err := Parse(bytes.NewReader(b.Bytes()), "F", true)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := leaves(again, ""), leaves(tree, ""); got != want {
		t.Errorf("read back %q, want %q", got, want)
	}
}

// installedRoot is the name space of the machine's real PCP. Until a collector first
// starts there is none; then it is merged from its parts by pmnsmerge.
func installedRoot(t testing.TB) string {
	t.Helper()
	path := DefaultPath(config.New(func(string) string { return "" }))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	parts, _ := filepath.Glob(filepath.Dir(path) + "/root_*")
	if len(parts) == 0 {
		t.Skipf("real PCP is not installed: no %s", filepath.Dir(path))
	}
	made := filepath.Join(t.TempDir(), "root")
	cmd := exec.Command("/usr/lib/pcp/bin/pmnsmerge", append(append([]string{"-a", "-f"}, parts...), made)...)
	cmd.Dir = filepath.Dir(path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return made
}

// TestOracleRoot compares the installed name space, and that of the sample
// agent, with those that pminfo lists. Metrics that the library derives are left out.
func TestOracleRoot(t *testing.T) {
	pminfo := realTool(t, "pminfo")
	root := installedRoot(t)
	inDir(t, "#define SAMPLE 29\nroot {\n\tsample\n}\n#include \"/var/lib/pcp/pmdas/sample/pmns\"\n")
	for _, path := range []string{root, "F"} {
		tree, err := Load(path, true)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(pminfo, "-n", path, "-m")
		cmd.Env = append(os.Environ(), "PCP_DERIVED_CONFIG=")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for line := range strings.Lines(string(out)) {
			name, id, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " PMID: ")
			if !strings.HasPrefix(id, "511.") {
				fmt.Fprintf(&want, "%s=%s\n", name, id)
			}
		}
		if got := leaves(tree, ""); got != want.String() {
			// The leaves are long: only their sizes are printed.
			t.Errorf("%s: %d bytes of leaves, pminfo has %d", path, len(got), want.Len())
		}
		if path != "F" {
			continue
		}
		// Several names of one metric: pmNameAll returns this list, of which
		// pminfo shows the first.
		names, err := tree.Names(id(0, 6))
		all := "sample.dupnames.five.bin sample.dupnames.four.bin sample.dupnames.three.bin sample.dupnames.two.bin sample.bin"
		if err != nil || strings.Join(names, " ") != all {
			t.Errorf("Names(29.0.6) = %q, %v, want %s", names, err, all)
		}
		out, err = exec.Command(pminfo, "-n", path, "-m", "29.0.6").Output()
		if first, _, _ := strings.Cut(string(out), " "); err != nil || first != names[0] {
			t.Errorf("pminfo -m 29.0.6 says %q, %v, want %s", out, err, names[0])
		}
	}
}

// TestInstalledLayout checks that writing is the inverse of reading, byte for byte.
func TestInstalledLayout(t *testing.T) {
	path := installedRoot(t)
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Parse(bytes.NewReader(want), path, true)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := tree.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("wrote %d bytes that differ from %s", b.Len(), path)
	}
}
