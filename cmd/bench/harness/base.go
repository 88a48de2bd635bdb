package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Commit returns the short name of a commit of the repository at root.
func Commit(ctx context.Context, root, name string) (string, error) {
	// Without --, a name that is also a file would be ambiguous; --verify takes one name only.
	out, err := git(ctx, root, "rev-parse", "--verify", "--quiet", "--short", "--end-of-options", name+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%q is not a commit of %s", name, root)
	}
	return out, nil
}

// Current returns the short name of the checked out commit, with "+" behind it if files were changed.
func Current(ctx context.Context, root string) (string, error) {
	commit, err := Commit(ctx, root, "HEAD")
	if err != nil {
		return "", err
	}
	changed, err := git(ctx, root, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return "", err
	}
	if changed != "" {
		commit += "+"
	}
	return commit, nil
}

// BuildCommit builds the package pkg, such as ./cmd/pcp, of a commit of the repository at root as the program to. It does so in a
// temporary worktree, which it removes. The flags go to go build.
func BuildCommit(ctx context.Context, root, commit, pkg, to string, flags ...string) (err error) {
	to, err = filepath.Abs(to)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "base")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	tree := filepath.Join(dir, "tree")
	if _, err := git(ctx, root, "worktree", "add", "--quiet", "--detach", tree, commit); err != nil {
		return err
	}
	// Also when ctx has ended, which is when someone gave up.
	defer func() {
		_, rerr := git(context.WithoutCancel(ctx), root, "worktree", "remove", "--force", tree)
		err = errors.Join(err, rerr)
	}()
	args := append([]string{"build", "-o", to}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s of %s: %w: %s", pkg, commit, err, bytes.TrimSpace(out))
	}
	return nil
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}
