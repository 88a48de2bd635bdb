package agentadmin_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/agents/agentadmin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// generate writes a new agent that builds with this checkout.
func generate(t *testing.T, args ...string) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // PCP's user must be able to read it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var b bytes.Buffer
	if status := agentadmin.Command.Run(t.Context(), &cli.Env{
		Name: "pcp agent", Args: append([]string{"new", "--dir", dir, "--module-dir", "../../../.."}, args...), Stdout: &b, Stderr: &b,
		Getenv: os.Getenv, Version: "v1.2.3", Command: agentadmin.Command,
	}); status != 0 {
		t.Fatal(b.String())
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func goTool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestNew builds an agent written by new, runs its tests, and tests the agent as its
// author would.
func TestNew(t *testing.T) {
	for _, form := range []struct {
		name string
		args []string
		want string
	}{
		{"clock", []string{"--trivial"}, "clock: domain 400, 1 metric, 0 instance domains, 1 value: 0 problems\n"},
		{"files", nil, "files: domain 400, 3 metrics, 1 instance domain, "},
	} {
		t.Run(form.name, func(t *testing.T) {
			dir := generate(t, append(form.args, form.name)...)
			source, err := os.ReadFile(filepath.Join(dir, "main.go"))
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(source, []byte("\n")); form.args != nil && n > 25 {
				t.Errorf("the trivial form has %d lines", n)
			}
			gofmt := exec.Command("gofmt", "-l", ".")
			gofmt.Dir = dir
			if out, err := gofmt.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("gofmt -l: %v %s", err, out)
			}
			program := filepath.Join(dir, "pmda"+form.name)
			goTool(t, dir, "build", "-o", program, ".")
			goTool(t, dir, "vet", ".")
			goTool(t, dir, "test", ".")
			var b bytes.Buffer
			status := agentadmin.Command.Run(t.Context(), &cli.Env{
				Name: "pcp agent", Args: []string{"test", "--timeout", "60", program, "-l", os.DevNull}, Stdout: &b, Stderr: &b,
				Getenv: os.Getenv, Command: agentadmin.Command,
			})
			if out := b.String(); status != 0 || !strings.HasPrefix(out, form.want) || !strings.HasSuffix(out, ": 0 problems\n") {
				t.Errorf("pcp agent test: status %d, %q", status, out)
			}
		})
	}
}
