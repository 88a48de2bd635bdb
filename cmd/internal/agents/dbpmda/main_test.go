package dbpmda_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/agents/agentcmd"
	"github.com/go-pcp/pcp/cmd/internal/agents/dbpmda"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestMain makes this program act as the command by whose name it is called: one of our
// agents, or the debugger.
func TestMain(m *testing.M) {
	if c := cli.Find(append(agentcmd.Commands(), dbpmda.Command), filepath.Base(os.Args[0])); c != nil {
		os.Exit(c.Run(context.Background(), &cli.Env{
			Name: c.Link, Args: os.Args[1:],
			Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			Getenv: os.Getenv, Command: c,
		}))
	}
	os.Exit(m.Run())
}

// link makes a link by which this program runs as the command called name.
func link(t testing.TB, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

const names = `root {
	sample
	simple
}
sample {
	control	29:0:0
	long
	string	29:0:20
	two	29:0:10
	dynamic	29:*:*
}
sample.long {
	one	29:0:10
	million	29:0:14
}
simple {
	numfetch	253:0:0
	color	253:0:1
}
`

func namesFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "names")
	if err := os.WriteFile(path, []byte(names), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// ask runs the debugger on a script and returns its combined output.
func ask(t testing.TB, script string, args ...string) (out string, status int) {
	t.Helper()
	var b bytes.Buffer
	vars := append(oracle.Env(), "PMNS_DEFAULT="+namesFile(t))
	status = dbpmda.Command.Run(context.Background(), &cli.Env{
		Name: "dbpmda", Args: append([]string{"-f"}, args...),
		Stdin: strings.NewReader(script), Stdout: &b, Stderr: &b,
		Command: dbpmda.Command,
		Getenv: func(name string) string {
			for _, v := range vars {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		},
	})
	return b.String(), status
}
