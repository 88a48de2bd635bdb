package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// again makes the release a second time, in a clone of the repository in another directory and with
// an empty cache of the go command, and reports an error if a file differs.
func (r *release) again(ctx context.Context) error {
	start := time.Now()
	top, err := git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	clone, out := filepath.Join(r.work, "clone", "elsewhere"), filepath.Join(r.work, "again")
	if _, err := git(ctx, "clone", "--quiet", "--no-checkout", top, clone); err != nil {
		return err
	}
	if _, err := git(ctx, "-C", clone, "checkout", "--quiet", r.source.commit); err != nil {
		return err
	}
	args := []string{"-version", r.version, "-revision", r.revision, "-arch", strings.Join(r.arches, ","), "-formats", strings.Join(r.formats, ","), "-out", out}
	if r.keyFile != "" {
		file, err := filepath.Abs(r.keyFile)
		if err != nil {
			return err
		}
		args = append(args, "-key", file)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = clone
	cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(r.work, "cache"))
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("making the release again: %w\n%s", err, strings.TrimSpace(string(b)))
	}
	if err := r.compare(out); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "release: the second build took %v and its %d files are the same\n", time.Since(start).Round(time.Second), len(r.products))
	return nil
}

// compare reports an error for each file of the release that differs from that of another directory.
func (r *release) compare(other string) error {
	var errs []error
	for _, p := range r.products {
		a, err := os.ReadFile(r.path(p.name))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		b, err := os.ReadFile(filepath.Join(other, p.name))
		switch {
		case err != nil:
			errs = append(errs, err)
		case !bytes.Equal(a, b):
			n := 0
			for n < min(len(a), len(b)) && a[n] == b[n] {
				n++
			}
			errs = append(errs, fmt.Errorf("%s: the two builds differ from offset %d on, of %d and %d bytes", p.name, n, len(a), len(b)))
		}
	}
	return errors.Join(errs...)
}
