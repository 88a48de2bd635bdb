package passwd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/sasl"
)

// call runs the command on a file.
func call(t *testing.T, path, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := &cli.Env{
		Name: "pcp passwd", Args: append([]string{"-f", path}, args...),
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
		Getenv: func(string) string { return "" }, Command: Command,
	}
	status = run(t.Context(), env)
	return status, out.String(), errs.String()
}

func users(t *testing.T, path string) sasl.Users {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	u, err := sasl.ParseUsers(file)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestPasswd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	ok := func(stdin string, args ...string) string {
		t.Helper()
		status, out, errs := call(t, path, stdin, args...)
		if status != 0 {
			t.Fatalf("%q: status %d: %s", args, status, errs)
		}
		return out
	}
	bad := func(want, stdin string, args ...string) {
		t.Helper()
		status, _, errs := call(t, path, stdin, args...)
		if status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%q: status %d, %q, want one that tells %q", args, status, errs, want)
		}
	}
	if out := ok("", "list"); out != "" {
		t.Errorf("list of no file: %q", out)
	}
	ok("secret\nmore\n", "add", "root")
	ok("other", "add", "daemon")
	if mode := stat(t, path).Mode().Perm(); mode != 0o640 {
		t.Errorf("mode %v, want 0640", mode)
	}
	u := users(t, path)
	for _, v := range u["root"] {
		if !v.Matches("secret") {
			t.Errorf("%s: not the password", v.Mechanism)
		}
	}
	if out, want := ok("", "list"), "daemon\tSCRAM-SHA-256 SCRAM-SHA-512\nroot\tSCRAM-SHA-256 SCRAM-SHA-512\n"; out != want {
		t.Errorf("list: %q, want %q", out, want)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ok("new\r\n", "change", "root")
	if v := users(t, path)["root"][0]; !v.Matches("new") || v.Matches("secret") {
		t.Error("change did not change the password")
	}
	ok("", "remove", "daemon")
	if _, there := users(t, path)["daemon"]; there {
		t.Error("remove did not remove")
	}
	if mode := stat(t, path).Mode().Perm(); mode != 0o600 {
		t.Errorf("mode %v after changes, want 0600", mode)
	}
	if text, err := os.ReadFile(path); err != nil || bytes.Contains(text, []byte("new")) || bytes.Contains(text, []byte("secret")) {
		t.Errorf("%v: the file has a password:\n%s", err, text)
	}

	bad("already", "x", "add", "root")
	bad("no account", "x", "change", "daemon")
	bad("no account", "", "remove", "daemon")
	bad("empty", "\n", "add", "daemon")
	bad("more than", strings.Repeat("x", 2000), "add", "daemon")
	bad("NUL", "a\x00b", "add", "daemon")
	bad("starts with", "x", "add", "#x")
	bad("Usage:", "", "add")
	bad("Usage:", "x", "list", "root")
	bad("Usage:", "", "rename", "x")
	status, _, errs := call(t, path, "x", "add", "no-such-user")
	if status != 0 || !strings.Contains(errs, "no user") {
		t.Errorf("user who is none of this host: status %d, %q", status, errs)
	}

	if err := os.WriteFile(path, []byte("root nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad("users: line 1:", "x", "add", "daemon")
	if text, _ := os.ReadFile(path); string(text) != "root nonsense\n" {
		t.Errorf("a file with errors became\n%s", text)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v: %v are left", err, entries)
	}
}

// TestChangedMeanwhile has two make changes at a time.
func TestChangedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	one, err := readFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if status, _, errs := call(t, path, "x", "add", "root"); status != 0 {
		t.Fatal(errs)
	}
	if err := one.write(); err == nil || !strings.Contains(err.Error(), "meanwhile") {
		t.Errorf("second of two: %v", err)
	}
	if _, there := users(t, path)["root"]; !there {
		t.Error("the first change is lost")
	}
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}
