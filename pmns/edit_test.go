package pmns

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

// treeOf parses names of the form a.b=1:2:3.
func treeOf(t *testing.T, specs string) *Tree {
	t.Helper()
	tree := New()
	for _, spec := range strings.Fields(specs) {
		name, id, _ := strings.Cut(spec, "=")
		var d, c, i int
		if _, err := fmt.Sscanf(id, "%d.%d.%d", &d, &c, &i); err != nil {
			t.Fatal(spec, err)
		}
		if err := tree.Add(name, pcp.NewPMID(d, c, i)); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func list(tree *Tree) string {
	var b strings.Builder
	for name, id := range tree.All() {
		fmt.Fprintf(&b, "%s=%v ", name, id)
	}
	return strings.TrimSpace(b.String())
}

func TestOverlay(t *testing.T) {
	f := func(base, other, want, wantConflicts string) {
		t.Helper()
		tree := treeOf(t, base)
		var conflicts []string
		err := tree.Overlay(treeOf(t, other), func(name string, kept, ignored pcp.PMID) {
			conflicts = append(conflicts, fmt.Sprintf("%s %v %v", name, kept, ignored))
		})
		if err != nil {
			t.Errorf("%s: %v", other, err)
		}
		if got := list(tree); got != want {
			t.Errorf("%s over %s = %s, want %s", other, base, got, want)
		}
		if got := strings.Join(conflicts, ", "); got != wantConflicts {
			t.Errorf("%s over %s: conflicts %q, want %q", other, base, got, wantConflicts)
		}
	}
	f("a=1.1.1", "b=1.1.2 a=1.1.1", "a=1.1.1 b=1.1.2", "")
	f("a.x=1.1.1", "a.y.z=1.1.2 a.w=1.1.3", "a.x=1.1.1 a.w=1.1.3 a.y.z=1.1.2", "")
	f("a=1.1.1", "a=1.1.2", "a=1.1.1", "a 1.1.1 1.1.2")
	f("a.b=1.1.1", "a=1.1.2", "a.b=1.1.1", "a PM_ID_NULL 1.1.2")
	f("a=1.1.1", "a.b=1.1.2", "a.b=1.1.2", "")
}

func TestRemove(t *testing.T) {
	f := func(base, name, want string) {
		t.Helper()
		tree := treeOf(t, base)
		if err := tree.Remove(name); err != nil {
			t.Errorf("Remove(%q): %v", name, err)
		}
		if got := list(tree); got != want {
			t.Errorf("%s without %s = %s, want %s", base, name, got, want)
		}
		if again := treeOf(t, want); again.Len() != tree.Len() {
			t.Errorf("%s without %s: Len = %d, want %d", base, name, tree.Len(), again.Len())
		}
	}
	f("a=1.1.1 b=1.1.2 c=1.1.3", "a", "b=1.1.2 c=1.1.3")
	f("a=1.1.1 b=1.1.2 c=1.1.3", "c", "a=1.1.1 b=1.1.2")
	f("a.b.c=1.1.1 d=1.1.2", "a.b.c", "d=1.1.2")
	f("a.b.c=1.1.1 a.b.d=1.1.1 a.e=1.1.3", "a.b", "a.e=1.1.3")
	f("a.b=1.1.1", "a.b", "")

	tree := treeOf(t, "a.b=1.1.1 c=1.1.1 d=1.1.1")
	for _, name := range []string{"", "x", "a.x", "a.", "c.d", ".a"} {
		if err := tree.Remove(name); !errors.Is(err, pcp.ErrName) {
			t.Errorf("Remove(%q) = %v, want ErrName", name, err)
		}
	}
	if err := tree.Remove("c"); err != nil {
		t.Fatal(err)
	}
	if names, err := tree.Names(pcp.NewPMID(1, 1, 1)); err != nil || fmt.Sprint(names) != "[d a.b]" {
		t.Errorf("Names after Remove = %v, %v", names, err)
	}
	if err := tree.Add("e", pcp.NewPMID(1, 1, 4)); err != nil || list(tree) != "a.b=1.1.1 d=1.1.1 e=1.1.4" {
		t.Errorf("Add after Remove: %s, %v", list(tree), err)
	}
}
