package xfs

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

var agents = []string{"pmcd", "xfs"}

// later reports whether a metric came with version 7 of the C agent.
func later(name string) bool {
	for _, part := range [...]string{"zoned", "defer_relog", "metafile", "btree.rmap_mem", "btree.rcbag", "btree.rtrmap", "btree.rtrmap_mem", "btree.rtrefcount"} {
		if strings.Contains(name+".", "."+part+".") {
			return true
		}
	}
	return false
}

// TestOracleDescriptors compares names, PMIDs, descriptors, instance domains and values of
// this machine with the real agent.
func TestOracleDescriptors(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: agents})
	r := agenttest.Dial(t, d.Unix, Domain, "xfs", "quota")
	if len(r.IDs) != 397 {
		t.Errorf("the real agent has %d metrics", len(r.IDs))
	}
	a := New(Config{})
	r.Descriptors(t, a, later)
	for _, serial := range [...]int{filesystemsSerial, devicesSerial, projectsSerial, 7} {
		r.Instances(t, a, pcp.NewInDom(Domain, serial))
	}
	r.Values(t, a, nil, nameless...)
	// Counters do not change between the two readings unless the machine uses XFS.
	if busy := procMountsXFS(t); busy {
		t.Log("values are not compared: a file system of XFS is in use here")
	} else {
		r.Values(t, a, swapped(t, a))
	}
}

// nameless are the metrics without names.
var nameless = []pcp.PMID{
	pcp.NewPMID(Domain, clusterAll, itemShakeReclaims), pcp.NewPMID(Domain, clusterAll, itemInactReclaims),
	pcp.NewPMID(Domain, clusterDevice, itemShakeReclaims), pcp.NewPMID(Domain, clusterDevice, itemInactReclaims), pcp.NewPMID(Domain, clusterDevice, itemReset),
}

func procMountsXFS(t *testing.T) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/mounts")
	return err != nil || strings.Contains(string(b), " xfs ")
}

// swapped returns a function that accepts a difference between the two agents: in the real
// one lookups and comparisons of four kinds of btrees have each other's values.
func swapped(t *testing.T, a *Agent) func(id pcp.PMID, got, want string) bool {
	return func(id pcp.PMID, _, want string) bool {
		other := id.Item()
		switch other {
		case 125, 140, 155, 170:
			other++
		case 126, 141, 156, 171:
			other--
		default:
			return false
		}
		set := agenttest.Fetch(t, a, nil, pcp.NewPMID(Domain, id.Cluster(), other)).Sets[0]
		return agenttest.Text(&set, pcp.TypeU32) == want
	}
}

// TestOracleTrees has both agents read several trees of files, so that devices come and go,
// and compares everything.
func TestOracleTrees(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	d := oracle.StartPMCD(t, oracle.Config{Agents: agents, Env: []string{"XFS_STATSPATH=" + root}})
	r := agenttest.Dial(t, d.Unix, Domain, "xfs", "quota")
	a := New(Config{Root: root, Replaced: true})
	order := []string{"none", "2.6", "3.10", "xqm", "4.4", "none", "5.10", "6.18", "odd", "empty", "folder", "5.10"}
	for _, name := range order {
		os.Remove(root)
		if err := os.Symlink(newTree(t, name), root); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			r.Instances(t, a, pcp.NewInDom(Domain, devicesSerial))
			r.Values(t, a, swapped(t, a))
			r.Values(t, a, nil, nameless...)
		})
	}
}

// TestOracleUnreadable removes the files of devices while they are listed.
func TestOracleUnreadable(t *testing.T) {
	root := newTree(t, "5.10")
	d := oracle.StartPMCD(t, oracle.Config{Agents: agents, Env: []string{"XFS_STATSPATH=" + root}})
	r := agenttest.Dial(t, d.Unix, Domain, "xfs")
	a := New(Config{Root: root, Replaced: true})
	r.Values(t, a, swapped(t, a))
	for _, n := range [...]string{"sda1", "dm-0", "dm-1", "loop0", "md127"} {
		if err := os.RemoveAll(filepath.Join(root, "sys/fs/xfs", n)); err != nil {
			t.Fatal(err)
		}
		r.Values(t, a, swapped(t, a))
	}
}

// TestOracleStore stores valid and invalid values into both agents, and compares their
// answers and files.
func TestOracleStore(t *testing.T) {
	theirs, ours := newTree(t, "5.10"), newTree(t, "5.10")
	d := oracle.StartPMCD(t, oracle.Config{Agents: agents, Env: []string{"XFS_STATSPATH=" + theirs}})
	r := agenttest.Dial(t, d.Unix, Domain, "xfs")
	a := New(Config{Root: ours, Replaced: true})
	store := func(want string, cluster, item int, v pcp.Value) {
		t.Helper()
		res := new(pcp.Result)
		res.AddSet(pcp.NewPMID(Domain, cluster, item))
		res.Add(v)
		wantErr, err := r.Store(t.Context(), res), a.Store(t.Context(), nil, res)
		if pcp.Code(err) != pcp.Code(wantErr) {
			t.Errorf("store %v into %d.%d: %v, want %v", v, cluster, item, err, wantErr)
		}
		for _, dir := range [...]string{theirs, ours} {
			for _, name := range [...]string{"sys/fs/xfs/stats_clear", "proc/sys/fs/xfs/stats_clear"} {
				b, err := os.ReadFile(filepath.Join(dir, name))
				if err == nil && string(b) != want || err != nil && want != "" && strings.HasPrefix(name, "sys") {
					t.Errorf("after %v: %s has %q, %v, want %q", v, name, b, err, want)
				}
			}
		}
	}
	store("", clusterAll, 0, pcp.Uint32Value(1))
	store("", clusterDevice, 0, pcp.Uint32Value(1))
	store("", clusterAll, itemReset, pcp.Uint32Value(1<<31))
	store("1\n", clusterAll, itemReset, pcp.Uint32Value(1))
	store("0\n", clusterAll, itemReset, pcp.Uint32Value(0))
	for _, dir := range [...]string{theirs, ours} { // the directory of old kernels
		if err := os.Rename(filepath.Join(dir, "sys"), filepath.Join(dir, "was")); err != nil {
			t.Fatal(err)
		}
	}
	store("", clusterAll, itemReset, pcp.Uint32Value(1))
}

// TestOracleTexts checks that our texts differ from those of the real agent.
func TestOracleTexts(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: agents})
	r := agenttest.Dial(t, d.Unix, Domain, "xfs", "quota")
	a := New(Config{})
	seen := make(map[string]string)
	for name, id := range a.NameSpace().All() {
		if strings.HasPrefix(name, "xfs.perdev.") {
			continue // share the texts of the others
		}
		help, err := a.Text(t.Context(), uint32(id), pcp.TextPMID|pcp.TextHelp)
		if err != nil || len(help) < 20 {
			t.Errorf("%s: %q, %v", name, help, err)
		}
		line, _ := a.Text(t.Context(), uint32(id), pcp.TextPMID|pcp.TextOneLine)
		if other := seen[line]; other != "" {
			t.Errorf("%s has the text of %s: %s", name, other, line)
		}
		seen[line] = name
		if !slices.Contains(r.Names, name) {
			continue
		}
		if theirs, err := r.LookupText(t.Context(), id, pcp.TextHelp); err == nil && strings.Join(strings.Fields(theirs), " ") == strings.Join(strings.Fields(help), " ") {
			t.Errorf("%s has the text of the real agent", name)
		}
	}
}
