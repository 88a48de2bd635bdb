package kvm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

var agents = []string{"pmcd", "kvm"}

const points = "[trace]\nkvm_exit\n  kvm_entry  \n\n# none\nkvm_mmio\n[more]\nx\n[dynamic]\nlast_one\n"

// start starts a collector whose agent reads the tree.
func start(t *testing.T, tr testTree, more string) *agenttest.Real {
	t.Helper()
	d := oracle.StartPMCD(t, oracle.Config{Agents: agents, Env: []string{"PCP_PMDAS_DIR=" + tr.conf(more), "KVM_NCPUS=3"}})
	return agenttest.Dial(t, d.Unix, Domain, "kvm")
}

var indom = pcp.NewInDom(Domain, 0)

// TestOracleDescriptors compares names, PMIDs, descriptors and labels with the real agent,
// with the configuration installed here.
func TestOracleDescriptors(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: agents})
	r := agenttest.Dial(t, d.Unix, Domain, "kvm")
	if len(r.IDs) != 49 {
		t.Errorf("the real agent has %d metrics", len(r.IDs))
	}
	var cfg Config
	if err := cfg.ReadConf(filepath.Join(d.PMDAs, "kvm/kvm.conf")); err != nil {
		t.Fatal(err)
	}
	a := New(cfg)
	defer a.Close()
	r.Descriptors(t, a, nil)
	r.Values(t, a, func(id pcp.PMID, _, _ string) bool { return id.Cluster() == clusterDebug && virtual() })
	r.Instances(t, a, indom)
	r.Instances(t, a, pcp.NewInDom(Domain, 1))
	for _, l := range []struct {
		kind  pcp.LabelFlags
		ident uint32
	}{{pcp.LabelDomain, Domain}, {pcp.LabelInDom, uint32(indom)}, {pcp.LabelItem, uint32(r.IDs[0])}} {
		want, err := r.Labels(t.Context(), l.kind, l.ident)
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Labels(t.Context(), l.ident, l.kind)
		if err != nil || len(got) != len(want) || len(got) > 0 && string(got[0].JSON) != string(want[0].JSON) {
			t.Errorf("labels %#x: %v, %v, want %v", l.kind, got, err, want)
		}
	}
}

// virtual reports whether this machine counts, so that values change.
func virtual() bool {
	_, err := os.Stat("/sys/kernel/debug/kvm/exits")
	return err == nil
}

// TestOracleTree has both agents read the same files, which come and go.
func TestOracleTree(t *testing.T) {
	tr := testTree{t, t.TempDir()}
	r := start(t, tr, points)
	a := New(tr.config(points))
	compare := func(what string) {
		t.Helper()
		t.Run(what, func(t *testing.T) {
			r.Values(t, a, nil)
			r.Instances(t, a, indom)
		})
	}
	compare("nothing")
	tr.counters(1000)
	compare("counters")
	for i := range 2 {
		for j, text := range oddNumbers {
			tr.write("debug/kvm/"+debugCounters[(i*len(oddNumbers)+j)%len(debugCounters)].name, text)
		}
		compare("odd numbers")
	}
	tr.counters(5000)
	for _, name := range []string{"exits", "hypercalls"} {
		if err := os.Remove(filepath.Join(tr.dir, "debug/kvm", name)); err != nil {
			t.Fatal(err)
		}
	}
	compare("some are gone")
	if err := os.Mkdir(filepath.Join(tr.dir, "debug/kvm/exits"), 0o755); err != nil {
		t.Fatal(err)
	}
	compare("a directory")
	if err := os.RemoveAll(filepath.Join(tr.dir, "debug")); err != nil {
		t.Fatal(err)
	}
	compare("all are gone")
}

// TestOracleTracing has trace points that the kernel does not know.
func TestOracleTracing(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"unknown": {"kvm_exit/id": "999999999\n", "kvm_entry/id": "x\n"},
		"others":  {"kvm_other/id": "1\n", "enable": "0\n", "filter": "0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := testTree{t, t.TempDir()}
			for file, text := range files {
				tr.write("tracing/events/kvm/"+file, text)
			}
			const points = points + "[trace]\nenable\n"
			r, a := start(t, tr, points), New(tr.config(points))
			r.Descriptors(t, a, nil)
			for range 2 {
				r.Values(t, a, nil)
				r.Instances(t, a, indom)
			}
		})
	}
}

// TestOracleLockdown checks a kernel that is locked down, or not.
func TestOracleLockdown(t *testing.T) {
	for _, text := range []string{"none [integrity] confidentiality\n", "none integrity [confidentiality]", "[none] integrity confidentiality\n", "x\n[integrity", "[integrity]"} {
		tr := testTree{t, t.TempDir()}
		tr.counters(7)
		tr.write("lockdown", text)
		r, a := start(t, tr, points), New(tr.config(points))
		t.Run(text, func(t *testing.T) {
			r.Values(t, a, nil)
			r.Instances(t, a, indom)
		})
	}
}

// TestOracleConf compares the names for configurations.
func TestOracleConf(t *testing.T) {
	for _, more := range []string{"", "[trace]", "[trace] \nkvm_exit", "trace\nx\n", "[paths]\nx\n[dynamic]\nb\na\n[trace]\nc\n#d\n\t#e\n"} {
		tr := testTree{t, t.TempDir()}
		r, a := start(t, tr, more), New(tr.config(more))
		t.Run(strings.ReplaceAll(more, "\n", ";"), func(t *testing.T) {
			r.Descriptors(t, a, nil)
			r.Values(t, a, nil)
			names, err := r.LookupName(t.Context(), "kvm.trace.count")
			if err != nil || !slices.Contains(r.IDs, names[0]) {
				t.Errorf("%v, %v", names, err)
			}
		})
	}
}
