package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// An entry is an installed file, directory or link.
type entry struct {
	path   string // absolute, with slashes
	mode   fs.FileMode
	source string // of a file, its contents on this machine
	link   string // of a link, its target
}

// A tree has the installed entries in the order of their paths.
type tree []entry

// stage installs below a prefix, with the script of make install, and returns the installed entries.
func (r *release) stage(ctx context.Context, host, prefix string) (tree, error) {
	man3 := filepath.Join(r.work, "man3")
	cmd := exec.CommandContext(ctx, goCommand(), "run", "./scripts/man3", man3)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("scripts/man3: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	dest := r.staged(prefix)
	cmd = exec.CommandContext(ctx, "scripts/install", "install")
	cmd.Env = append(os.Environ(), "BIN="+host, "MAN3="+man3, "DESTDIR="+dest, "PREFIX="+prefix)
	// Directories have these variables of their own, which a releaser may have set for make install.
	for _, name := range []string{"BINDIR", "DATADIR", "MANDIR", "BASHDIR", "ZSHDIR", "FISHDIR", "UNITDIR", "USERUNITDIR", "SYSUSERSDIR", "TMPFILESDIR", "EXAMPLEDIR", "DOCDIR"} {
		cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("scripts/install: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return walk(dest)
}

// staged returns the directory below which the files for a prefix are installed.
func (r *release) staged(prefix string) string {
	return filepath.Join(r.work, "stage", strings.ReplaceAll(strings.Trim(prefix, "/"), "/", "-"))
}

// walk returns the entries below a directory.
func walk(root string) (tree, error) {
	var t tree
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := entry{path: filepath.ToSlash(strings.TrimPrefix(path, root)), mode: info.Mode()}
		switch {
		case info.Mode().IsRegular():
			e.source = path
		case info.Mode()&fs.ModeSymlink != 0:
			if e.link, err = os.Readlink(path); err != nil {
				return err
			}
		case !info.IsDir():
			return fmt.Errorf("%s is neither a file, a directory nor a link", path)
		}
		t = append(t, e)
		return nil
	})
	slices.SortFunc(t, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	return t, err
}

// withProgram returns a copy of the tree with other contents of one file.
func (t tree) withProgram(path, source string) tree {
	t = slices.Clone(t)
	for i := range t {
		if t[i].path == path {
			t[i].source = source
		}
	}
	return t
}

// with returns a copy of the tree with one more program.
func (t tree) with(path, source string) tree {
	t = append(slices.Clone(t), entry{path: path, mode: 0o755, source: source})
	slices.SortFunc(t, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	return t
}

// isGPU reports whether an entry is pcp-gpu, which needs the C library glibc: an image without a base, and packages for
// Alpine Linux, do not have it.
func (e entry) isGPU() bool { return path.Base(e.path) == "pcp-gpu" }
