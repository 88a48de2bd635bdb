//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWrittenLists writes the lists as -update would.
func TestWrittenLists(t *testing.T) {
	for _, name := range []string{"must-pass.list", "long.list", "candidates.list"} {
		list, err := parseArgs([]string{"@" + name})
		if err != nil {
			t.Error(err)
		}
		for _, x := range list {
			if len(x.tools) == 0 {
				t.Errorf("%s: %v names no command", name, x)
			}
		}
		// A list that was written is the same when it is written again.
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		once := formatList(string(text), list)
		again, err := parseList(strings.NewReader(once))
		if err != nil || formatList(once, again) != once || len(again) != len(list) {
			t.Errorf("%s: %d tests, %v, after writing it", name, len(again), err)
		}
	}
}

func TestCandidates(t *testing.T) {
	t.Chdir("../..")
	r := &runner{links: map[string]string{"pminfo": "/x/pminfo", "pmcd": "/x/pmcd"}}
	list, err := r.candidates([]string{"own"})
	if err != nil || len(list) == 0 {
		t.Fatalf("%d tests, %v", len(list), err)
	}
	for _, x := range list {
		if x.mode != ownPMCD || !slices.Contains(x.tools, "pminfo") {
			t.Errorf("%v %q", x, x.tools)
		}
	}
	if left, err := notListed(append(list, test{id: "99999", mode: ownPMCD})); err != nil || len(left) >= len(list) || left[len(left)-1].id != "99999" {
		t.Errorf("%d of %d are in no list, %v", len(left), len(list), err)
	}
	if _, err := r.candidates([]string{"002"}); err == nil {
		t.Error("a test is taken for a mode")
	}
}

func TestCompareList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(path, []byte("# About it.\n# More.\n\n002 pmcd pminfo\n009 offline pmval # odd\n1001 offline pmerr\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{"009:offline": true, "010:own": true, "002:offline": true}
	now := []test{{id: "010", mode: ownPMCD, tools: []string{"pmval", "pmcd"}}, {id: "002", mode: offline, tools: []string{"pminfo"}, alone: true}}
	for _, update := range []bool{false, true} {
		before, _ := os.ReadFile(path)
		if err := compareList(path, now, tried, update); err != nil {
			t.Fatal(err)
		}
		after, _ := os.ReadFile(path)
		want := "# About it.\n# More.\n\n002   offline  pminfo alone\n002   pmcd     pminfo\n010   own      pmval,pmcd\n1001  offline  pmerr\n"
		if !update {
			want = string(before)
		}
		if string(after) != want {
			t.Errorf("update %v: the list is\n%s\nwant\n%s", update, after, want)
		}
	}
}
