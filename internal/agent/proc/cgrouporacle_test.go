package proc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/proc"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
)

// TestOracleFromCgroup runs the real agent with -r, and ours as made by Builtin for that
// option.
func TestOracleFromCgroup(t *testing.T) {
	dir := proc.WriteTree(t)
	const group = "/sys/fs/cgroup/box"
	// The real agent reads a group below, as made by podman; ours reads the group itself.
	below := filepath.Join(dir, group, "container")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(below, "cgroup.procs"), []byte("1\n77\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d := oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd", "proc"}, Lines: []string{"proc 3 pipe binary $PMDAS/proc/pmdaproc -d 3 -r " + group}, Env: []string{"PROC_STATSPATH=" + dir},
	})
	c, err := pmapi.Dial(t.Context(), d.Unix)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a := proc.New(proc.Config{Root: dir, CGroup: group})
	for _, m := range [][2]int{{8, 0}, {8, 1}, {8, 99}, {13, 0}, {24, 0}, {10, 3}} {
		id := pcp.NewPMID(proc.Domain, m[0], m[1])
		want, got := fetchReal(t, c, a, id), fetch(t, a, id)
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%v:\n got %q\nwant %q", id, got, want)
		}
	}
}
