package harness_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/bench/harness"
)

// TestBuildCommit builds an older commit of a small repository while the newer one is checked out.
func TestBuildCommit(t *testing.T) {
	root := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v: %s", name, args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("git", "init", "--quiet", "--initial-branch=main")
	write("go.mod", "module example.org/fake\n")
	write("main.go", "package main\n\nfunc main() { print(\"old\") }\n")
	run("git", "add", ".")
	run("git", "commit", "--quiet", "-m", "old")
	write("main.go", "package main\n\nfunc main() { print(\"new\") }\n")
	run("git", "commit", "--quiet", "-a", "-m", "new")
	t.Setenv("GOWORK", "off")

	base, err := harness.Commit(t.Context(), root, "HEAD~1")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	if err := harness.BuildCommit(t.Context(), root, base, ".", program, "-buildvcs=false"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil || string(out) != "old" {
		t.Errorf("the program of %s prints %q, %v", base, out, err)
	}
	err = harness.BuildCommit(t.Context(), root, base, "./none", program, "-buildvcs=false")
	if err == nil || !strings.Contains(err.Error(), "build ./none of "+base) {
		t.Errorf("a package that is not there: %v", err)
	}
	// No worktree is left, also of a build that fails.
	cmd := exec.Command("git", "-C", root, "worktree", "list")
	if out, err := cmd.Output(); err != nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("worktrees that are left: %s, %v", out, err)
	}

	if _, err := harness.Commit(t.Context(), root, "--all"); err == nil || !strings.Contains(err.Error(), `"--all" is not a commit`) {
		t.Errorf("Commit of an option: %v", err)
	}
	now, err := harness.Current(t.Context(), root)
	if err != nil || strings.HasSuffix(now, "+") || now == base {
		t.Errorf("Current = %q, %v", now, err)
	}
	write("main.go", "package main\n\nfunc main() {}\n")
	if changed, err := harness.Current(t.Context(), root); err != nil || changed != now+"+" {
		t.Errorf("Current of changed files = %q, %v, want %s+", changed, err, now)
	}
}
