package archive_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-pcp/pcp/cmd/bench/archive"
)

func TestWorkloads(t *testing.T) {
	set := archive.Set{Data: filepath.Join(t.TempDir(), "data")}
	seen := map[string]bool{}
	all := set.Workloads()
	for _, w := range all {
		if seen[w.Name] {
			t.Errorf("%s is there twice", w.Name)
		}
		seen[w.Name] = true
		inputs := set.Inputs(w)
		if len(inputs) == 0 {
			t.Errorf("%s: no archive among %q", w.Name, w.Args)
		}
		for _, in := range inputs {
			if filepath.Ext(in) == ".config" {
				t.Errorf("%s: %s is not an archive", w.Name, in)
			}
		}
		if w.Floor == archive.Copy && !slices.Contains(w.Args, archive.Out) {
			t.Errorf("%s copies nothing", w.Name)
		}
	}
	for _, name := range []string{"v3.open.descs.wide", "v2.rewrite.types.wide", "v3.many.first", "v3.report.minute", "v3.xz.dump"} {
		if !seen[name] {
			t.Errorf("%s is missing from %d workloads", name, len(all))
		}
	}
	merge := all[slices.IndexFunc(all, func(w archive.Workload) bool { return w.Name == "v3.extract.merge4" })]
	if got := set.Inputs(merge); len(got) != 4 {
		t.Errorf("a merge of four reads %v", got)
	}
}
