package runwith

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// call runs a command and returns the program that it became, with its arguments, or
// its output.
func call(t *testing.T, c *cli.Command, name string, environ map[string]string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	became := ""
	status := c.Run(context.Background(), &cli.Env{
		Name: name, Args: args, Command: c, Stdout: &out, Stderr: &out,
		Getenv:    func(name string) string { return environ[name] },
		LookupEnv: func(name string) (string, bool) { v, ok := environ[name]; return v, ok },
		Exec: func(path string, args, more []string) error {
			became = strings.Join(append([]string{path}, args...), " ")
			if slices.Contains(more, "PCP_ENV_DONE=y") {
				became += " with settings"
			}
			return errors.New("not now")
		},
	})
	if status != 1 {
		t.Errorf("%s %q: status %d", name, args, status)
	}
	if became != "" {
		return became
	}
	return out.String()
}

func TestSocks(t *testing.T) {
	dir := t.TempDir()
	path := map[string]string{"PATH": dir}
	if got, want := call(t, SocksCommand, "pmsocks", path, "x"), "No tsocks wrapper script found - install the 'tsocks' package\n"; got != want {
		t.Errorf("without tsocks: %q", got)
	}
	tsocks := filepath.Join(dir, "tsocks")
	if err := os.WriteFile(tsocks, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := call(t, SocksCommand, "pmsocks", path, "x"); !strings.HasPrefix(got, "No tsocks") {
		t.Errorf("with a tsocks that is not executable: %q", got)
	}
	if err := os.Chmod(tsocks, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, want := call(t, SocksCommand, "pmsocks", path, "x", "-y"), tsocks+" x -y"; got != want {
		t.Errorf("it became %q, want %q", got, want)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "pminfo")); err != nil {
		t.Fatal(err)
	}
	if got := call(t, SocksCommand, "pmsocks", path, "pminfo"); !strings.HasPrefix(got, "pmsocks: pminfo is a static program") {
		t.Errorf("for a program of ours: %q", got)
	}
	if got, want := call(t, SocksCommand, "pcp socks", path), "Usage: pcp socks [path]program [args ...]\n"; got != want {
		t.Errorf("without arguments: %q", got)
	}
}

func TestPython(t *testing.T) {
	dir := t.TempDir()
	conf, prog := filepath.Join(dir, "pcp.conf"), filepath.Join(dir, "snake")
	for path, text := range map[string]string{conf: "PCP_PYTHON_PROG=snake\n", prog: "#!/bin/sh\n"} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	environ := map[string]string{"PATH": "/nowhere:" + dir, "PCP_CONF": conf}
	if got, want := call(t, PythonCommand, "pmpython", environ, "-c", "x"), prog+" -c x"; got != want {
		t.Errorf("it became %q, want %q", got, want)
	}
	if got, want := call(t, PythonCommand, "pcp python", environ, "x"), prog+" x with settings"; got != want {
		t.Errorf("it became %q, want %q", got, want)
	}
	environ["PCP_PYTHON_PROG"] = ""
	if got, want := call(t, PythonCommand, "pmpython", environ), "pmpython: PCP_PYTHON_PROG not set in "+conf+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	delete(environ, "PCP_CONF")
	environ["PCP_DIR"] = dir
	if got, want := call(t, PythonCommand, "pmpython", environ), "pmpython: PCP_PYTHON_PROG not set in "+dir+"/etc/pcp.conf\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	delete(environ, "PCP_DIR")
	if got, want := call(t, PythonCommand, "pmpython", environ), "pmpython: PCP_PYTHON_PROG not set in /etc/pcp.conf\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
