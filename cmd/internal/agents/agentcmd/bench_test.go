package agentcmd_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/wire"
)

// BenchmarkFetch measures one fetch from an agent through a pipe, the C agent simple
// and ours, without a collector.
func BenchmarkFetch(b *testing.B) {
	oracle.Require(b)
	c, dir := theirs(b), links(b)
	for _, agent := range []struct{ side, path string }{
		{"theirs", filepath.Join(c.PMDAs, "simple", "pmdasimple")},
		{"ours", filepath.Join(dir, "pmdasimple")},
	} {
		for _, ids := range [][]pcp.PMID{
			{pcp.NewPMID(253, 0, 0)},
			{pcp.NewPMID(253, 0, 0), pcp.NewPMID(253, 0, 1), pcp.NewPMID(253, 1, 2), pcp.NewPMID(253, 1, 3), pcp.NewPMID(253, 2, 4)},
		} {
			b.Run(fmt.Sprintf("metrics=%d/%s", len(ids), agent.side), func(b *testing.B) {
				benchmarkFetch(b, agent.path, append(c.Env, "PCP_PMDAS_DIR="+dir), ids)
			})
		}
	}
}

func benchmarkFetch(b *testing.B, path string, env []string, ids []pcp.PMID) {
	cmd := exec.Command(path, "-d", "253", "-U", "root")
	cmd.Dir = b.TempDir()
	cmd.Env = append(oracle.Env(), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer await.Exit(b, cmd)
	defer in.Close()
	r := wire.NewReader(out)
	next := func(want wire.Type) {
		if h, _, err := r.Next(); err != nil || h.Type != want {
			b.Fatalf("agent sends %v, %v, want %v", h.Type, err, want)
		}
	}
	next(wire.TypeCreds)
	in.Write(wire.Append(nil, 1, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}}))
	in.Write(wire.Append(nil, 1, &wire.Profile{}))
	request := wire.Append(nil, 1, &wire.Fetch{PMIDs: ids})
	for b.Loop() {
		if _, err := in.Write(request); err != nil {
			b.Fatal(err)
		}
		next(wire.TypeResult)
	}
}
