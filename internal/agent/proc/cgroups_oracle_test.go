package proc_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/proc"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
)

// groupMistakes are metrics of control groups with wrong values in the real agent, and
// the reasons.
var groupMistakes = map[string]string{
	"avg10sec": "it is a whole number, whose bits are taken for those of a float",
	"avg1min":  "as avg10sec",
	"avg5min":  "as avg10sec",
}

// groupSide is one side's data of a metric: values and labels by the names of instances.
type groupSide struct{ values, labels map[string]string }

// unlike returns the differences between two sides.
func unlike(got, want map[string]string) string {
	var b strings.Builder
	for name, v := range got {
		if w, ok := want[name]; !ok || v != w {
			fmt.Fprintf(&b, "\n%q is %s, want %s (%t)", name, v, w, ok)
		}
	}
	for name, w := range want {
		if _, ok := got[name]; !ok {
			fmt.Fprintf(&b, "\n%q is missing, want %s", name, w)
		}
	}
	return b.String()
}

// ourGroups asks our agent. Its client is unknown: control groups are open to all.
func ourGroups(t *testing.T, a *proc.Agent, id pcp.PMID) groupSide {
	t.Helper()
	client := &pmda.Client{}
	ctx := pmda.WithClient(t.Context(), client)
	req := &pmda.FetchRequest{Client: client, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
	if err := a.Refresh(ctx, req.PMIDs); err != nil {
		t.Fatal(err)
	}
	if err := a.Fetch(ctx, req); err != nil {
		t.Fatal(err)
	}
	desc, err := a.Desc(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	var insts []pcp.Instance
	var sets []pcp.LabelSet
	if desc.InDom != pcp.InDomNull {
		if insts, err = a.Instances(ctx, desc.InDom); err != nil {
			t.Fatal(err)
		}
		if sets, err = a.Labels(ctx, uint32(desc.InDom), pcp.LabelInstances); err != nil {
			t.Fatal(err)
		}
	}
	return newSide(byInstance(&req.Result.Sets[0]), insts, sets)
}

// realGroups asks the real agent.
func realGroups(t *testing.T, c *pmapi.Context, a *proc.Agent, id pcp.PMID) groupSide {
	t.Helper()
	values := fetchReal(t, c, a, id)
	desc, err := a.Desc(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var insts []pcp.Instance
	var sets []pcp.LabelSet
	if desc.InDom != pcp.InDomNull {
		if insts, err = c.GetInDom(t.Context(), desc.InDom); err != nil {
			t.Fatal(err)
		}
		if sets, err = c.Labels(t.Context(), pcp.LabelInstances, uint32(desc.InDom)); err != nil {
			t.Fatal(err)
		}
	}
	return newSide(values, insts, sets)
}

func newSide(values map[int32]string, insts []pcp.Instance, sets []pcp.LabelSet) groupSide {
	s := groupSide{make(map[string]string), make(map[string]string)}
	if v, ok := values[-1]; ok {
		s.values[""] = v
	}
	for _, inst := range insts {
		if strings.Contains(inst.Name, " ") && strings.Contains(inst.Name, "::") {
			continue // of names with the same first word the real agent keeps one
		}
		if v, ok := values[inst.Inst]; ok {
			s.values[inst.Name] = v
		}
		// The real agent does not escape names for JSON, so that some have no labels.
		if i := slices.IndexFunc(sets, func(set pcp.LabelSet) bool { return set.Inst == inst.Inst }); i >= 0 && utf8.ValidString(inst.Name) && !strings.ContainsAny(inst.Name, "\n\"\\") {
			s.labels[inst.Name] = sets[i].JSON
		}
	}
	return s
}

// TestOracleGroups compares names of instances, values and labels of unchanging trees of
// control groups with the real agent.
func TestOracleGroups(t *testing.T) {
	for _, version := range []string{"1", "2", "hybrid"} {
		t.Run(version, func(t *testing.T) {
			dir := proc.WriteGroups(t, version)
			c, names, ids := startReal(t, "PROC_STATSPATH="+dir)
			a := proc.New(proc.Config{Root: dir})
			compared := 0
			for i, id := range ids {
				if !strings.HasPrefix(names[i], "cgroup.") {
					continue
				}
				want, got := realGroups(t, c, a, id), ourGroups(t, a, id)
				last := names[i][strings.LastIndexByte(names[i], '.')+1:]
				if why := groupMistakes[last]; why != "" {
					t.Logf("values of %s are not compared: in the real agent %s", names[i], why)
					for _, values := range []map[string]string{got.values, want.values} {
						for name := range values {
							values[name] = ""
						}
					}
				}
				if diff := unlike(got.values, want.values); diff != "" {
					t.Errorf("%s:%s", names[i], diff)
				}
				if diff := unlike(got.labels, want.labels); diff != "" {
					t.Errorf("labels of %s:%s", names[i], diff)
				}
				compared += len(want.values)
			}
			t.Logf("%d values", compared)
			if compared < 500 {
				t.Errorf("only %d values", compared)
			}
			// Labels of domains, and help for each.
			for _, serial := range []int{16, 17, 20, 21, 22, 23, 24, 25, 26, 27, 37, 38} {
				indom := pcp.NewInDom(proc.Domain, serial)
				got, err := a.Labels(t.Context(), uint32(indom), pcp.LabelInDom)
				if err != nil {
					t.Fatal(err)
				}
				want, err := c.Labels(t.Context(), pcp.LabelInDom, uint32(indom))
				if err != nil {
					t.Fatal(err)
				}
				if g, w := labelOf(got, "device_type"), labelOf(want, "device_type"); g != w {
					t.Errorf("domain %d is of %q, want %q", serial, g, w)
				}
				if text, err := a.Text(t.Context(), uint32(indom), pcp.TextInDom|pcp.TextOneLine); err != nil || text == "" {
					t.Errorf("domain %d: help %q, %v", serial, text, err)
				}
			}
		})
	}
}

// labelOf returns the value of a label of the sets, "" if none has it.
func labelOf(sets []pcp.LabelSet, name string) string {
	for i := range sets {
		if l, ok := sets[i].Lookup(name); ok {
			return l.Value
		}
	}
	return ""
}

// TestOracleGroupsHere compares the control groups of this machine, ours before and after the real
// one; values that did not change between must be equal.
func TestOracleGroupsHere(t *testing.T) {
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Skipf("not run: %v", err)
	}
	both := strings.Contains(string(mounts), " cgroup ") && strings.Contains(string(mounts), " cgroup2 ")
	c, names, ids := startReal(t)
	a := proc.New(proc.Config{})
	for i, id := range ids {
		if !strings.HasPrefix(names[i], "cgroup.") {
			continue
		}
		if id.Cluster() >= 39 && id.Cluster() <= 49 && both {
			continue // the real agent takes the hierarchy that was mounted last
		}
		if groupMistakes[names[i][strings.LastIndexByte(names[i], '.')+1:]] != "" || id.Cluster() == 47 || id.Cluster() == 39 {
			continue // netclass does not work there, cpuset not in version 2
		}
		diffs := differentGroups(t, c, a, id)
		for range tries {
			if len(diffs) == 0 {
				break
			}
			again := differentGroups(t, c, a, id)
			maps.DeleteFunc(diffs, func(inst, _ string) bool { return again[inst] == "" })
		}
		for inst, diff := range diffs {
			t.Errorf("%s of %q: %s", names[i], inst, diff)
		}
	}
}

func differentGroups(t *testing.T, c *pmapi.Context, a *proc.Agent, id pcp.PMID) map[string]string {
	t.Helper()
	before, want, after := ourGroups(t, a, id), realGroups(t, c, a, id), ourGroups(t, a, id)
	diffs := make(map[string]string)
	for inst, v := range before.values {
		if w, ok := want.values[inst]; after.values[inst] == v && w != v {
			diffs[inst] = fmt.Sprintf("%s, want %q (%t)", v, w, ok)
		}
	}
	for inst, w := range want.values {
		_, was := before.values[inst]
		if _, is := after.values[inst]; !was && !is {
			diffs[inst] = fmt.Sprintf("no value, want %s", w)
		}
	}
	return diffs
}
