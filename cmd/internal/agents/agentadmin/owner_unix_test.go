//go:build unix

package agentadmin_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/agents/agentadmin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// edit disables the agent a in a new file after calling prepare on it.
func edit(t *testing.T, prepare func(path string) error) (path, out string, status int) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "pmcd.conf")
	if err := os.WriteFile(path, []byte("a 400 pipe binary /bin/true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := prepare(path); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	status = agentadmin.Command.Run(t.Context(), &cli.Env{
		Name: "pcp agent", Args: []string{"disable", "-c", path, "a"}, Stdout: &b, Stderr: &b,
		Getenv: func(string) string { return "" }, Command: agentadmin.Command,
	})
	return path, b.String(), status
}

func TestOwnerStays(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give files away")
	}
	path, out, status := edit(t, func(path string) error { return os.Chown(path, 12345, 23456) })
	if status != 0 {
		t.Fatal(out)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if sys := st.Sys().(*syscall.Stat_t); sys.Uid != 12345 || sys.Gid != 23456 {
		t.Errorf("owner is %d:%d", sys.Uid, sys.Gid)
	}
}

func TestNoPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: root may do everything")
	}
	for _, prepare := range []func(path string) error{
		func(path string) error { return os.Chmod(path, 0o444) },
		func(path string) error { return os.Chmod(filepath.Dir(path), 0o555) },
	} {
		path, out, status := edit(t, prepare)
		os.Chmod(filepath.Dir(path), 0o755)
		if status != 1 || !strings.Contains(out, "pmcd.conf: ") || !strings.Contains(strings.ToLower(out), "permission denied") {
			t.Errorf("status %d, %q", status, out)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "a 400 pipe binary /bin/true\n" {
			t.Errorf("file is %q, %v", text, err)
		}
	}
}
