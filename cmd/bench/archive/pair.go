package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// A workload is one command that both sides run.
type workload struct {
	label string
	tool  string
	args  []string // outArg represents an archive to write
	slow  bool     // for the C tool: it runs once
	alone bool     // the C tool cannot do it
}

// outArg represents the base name of the archive that a tool writes.
const outArg = "@out"

// A run is what one run of a command took.
type run struct {
	wall, cpu time.Duration
	rss       int64 // bytes at the most
}

// pair runs both sides in turn and prints their times.
func (b *bench) pair(ctx context.Context, w workload) error {
	ours := filepath.Join(b.links, w.tool)
	theirs := realTool(w.tool)
	if _, err := os.Stat(ours); err != nil {
		return err
	}
	if w.alone {
		theirs = ""
	}
	dir, err := os.MkdirTemp(b.data, "run")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	note := ""
	if b.check && theirs != "" && !w.slow {
		mine, err := b.digest(ctx, ours, w, dir+"/mine")
		if err != nil {
			return err
		}
		other, err := b.digest(ctx, theirs, w, dir+"/other")
		if err != nil {
			return err
		}
		if mine != other {
			note = "  OUTPUT DIFFERS"
		}
	}
	var a, c []run
	for i := range b.runs {
		if theirs != "" && (i == 0 || !w.slow) {
			r, err := b.once(ctx, theirs, w, fmt.Sprintf("%s/c%d", dir, i), io.Discard)
			if err != nil {
				return err
			}
			c = append(c, r)
		}
		r, err := b.once(ctx, ours, w, fmt.Sprintf("%s/o%d", dir, i), io.Discard)
		if err != nil {
			return err
		}
		a = append(a, r)
	}
	o := median(a)
	if len(c) == 0 {
		fmt.Printf("%-24s %9s %9s %7s %9s %9s %7s %9s %9.1f%s\n", w.label, "-", short(o.wall), "-", "-", short(o.cpu), "-", "-", mib(o.rss), note)
		return nil
	}
	t := median(c)
	fmt.Printf("%-24s %9s %9s %7.2f %9s %9s %7.2f %9.1f %9.1f%s\n", w.label,
		short(t.wall), short(o.wall), float64(t.wall)/float64(o.wall),
		short(t.cpu), short(o.cpu), float64(t.cpu)/float64(o.cpu), mib(t.rss), mib(o.rss), note)
	return nil
}

// once runs a command, and removes its output files afterwards.
func (b *bench) once(ctx context.Context, tool string, w workload, out string, stdout io.Writer) (run, error) {
	args := slices.Clone(w.args)
	for i, arg := range args {
		if arg == outArg {
			args[i] = out
		}
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	// Derived metrics of the machine's configuration are not measured.
	cmd.Env = append(os.Environ(), "PCP_DERIVED_CONFIG=")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	if stdout == io.Discard {
		cmd.Stdout = nil // the null device, without a pipe in between
	}
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		return run{}, fmt.Errorf("%v: %w: %s", cmd.Args, err, stderr.Bytes())
	}
	for _, part := range []string{".0", ".meta", ".index"} {
		if stdout == io.Discard {
			os.Remove(out + part)
		}
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return run{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), usage.Maxrss << 10}, nil
}

// digest returns the digest of a command's output, or, if it writes an archive,
// of a dump of that.
func (b *bench) digest(ctx context.Context, tool string, w workload, out string) (string, error) {
	sum := sha256.New()
	if _, err := b.once(ctx, tool, w, out, sum); err != nil {
		return "", err
	}
	if slices.Contains(w.args, outArg) {
		dump := workload{args: []string{"-z", "-d", "-i", "-t", "-m", out}}
		if _, err := b.once(ctx, filepath.Join(b.links, "pmdumplog"), dump, out, sum); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// median returns the run with the median wall time.
func median(runs []run) run {
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.wall, b.wall) })
	return runs[len(runs)/2]
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

func short(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2fms", d.Seconds()*1e3)
	case d < time.Second:
		return fmt.Sprintf("%.0fms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.2fs", d.Seconds())
}
