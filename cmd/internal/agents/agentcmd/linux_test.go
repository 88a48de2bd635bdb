package agentcmd

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/wire"
)

// TestLinuxAllAccess starts pmdalinux with and without the option -A, which stock
// configurations have, and requests metrics that are otherwise for root only.
func TestLinuxAllAccess(t *testing.T) {
	tree, err := filepath.Abs("../../../../internal/agent/linux/testdata/odd")
	if err != nil {
		t.Fatal(err)
	}
	var in []byte
	in = wire.Append(in, 1, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
	in = wire.Append(in, 1, &wire.Profile{})
	in = wire.Append(in, 1, &wire.Fetch{PMIDs: []pcp.PMID{pcp.NewPMID(60, 20, 2)}})
	for args, want := range map[string]bool{"-l -": false, "-A -l -": true, "--no-access-checks -l -": true} {
		c := cli.Find(Commands(), "pmdalinux")
		var out, log bytes.Buffer
		status := c.Run(t.Context(), &cli.Env{
			Name: "pmdalinux", Command: c, Args: strings.Fields(args), Stdin: bytes.NewReader(in), Stdout: &out, Stderr: &log,
			Getenv: func(name string) string { return map[string]string{"LINUX_STATSPATH": tree}[name] },
		})
		if status != 0 {
			t.Errorf("%s: exit status %d\n%s", args, status, &log)
		}
		var res wire.Result
		for r := wire.NewReader(&out); ; {
			h, body, err := r.Next()
			if err != nil {
				t.Fatalf("%s: no result: %v\n%s", args, err, &log)
			}
			if h.Type == wire.TypeResult {
				if err := res.DecodeBody(body); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		if vs := res.Result.Sets[0]; (len(vs.Values) > 0) != want {
			t.Errorf("%s: %d values, error %v", args, len(vs.Values), vs.Err)
		}
	}
}
