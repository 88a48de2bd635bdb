//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/bench/harness"
)

const (
	// flameTime is how long perf records a workload.
	flameTime = 3 * time.Second
	// flameShare is the share of the samples below which a function is left out.
	flameShare = 0.01
)

// flames records where the processor time of each workload is spent, before and now, and writes a file for each to dir: the flame graph
// as text, which the next commit can be compared with. It needs perf.
func (c *compare) flames(ctx context.Context, dir string, workloads []harness.Workload) error {
	if _, err := exec.LookPath("perf"); err != nil {
		return fmt.Errorf("-flames: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	programs := map[string]string{harness.Before: c.before, harness.Now: c.pcp}
	for _, w := range workloads {
		sides, _, stop, err := w.Open(ctx)
		if err != nil {
			fmt.Printf("%s is left out: %v\n", w.Name, err)
			continue
		}
		for _, s := range sides {
			if program := programs[s.Name]; program != "" {
				if err := c.flame(ctx, filepath.Join(dir, w.Name+"."+s.Name+".txt"), w, s, program); err != nil {
					stop()
					return fmt.Errorf("%s, %s: %w", w.Name, s.Name, err)
				}
			}
		}
		stop()
	}
	return ctx.Err()
}

// flame records one side of a workload, and writes the graph to path.
func (c *compare) flame(ctx context.Context, path string, w harness.Workload, s harness.Side, program string) error {
	data := filepath.Join(c.dir, "perf.data")
	perf := exec.CommandContext(ctx, "perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F", "1999", "-o", data)
	var out bytes.Buffer
	perf.Stderr = &out
	if err := perf.Start(); err != nil {
		return err
	}
	var err error
	for begin := time.Now(); err == nil && time.Since(begin) < flameTime; {
		_, err = s.Measure(ctx)
	}
	perf.Process.Signal(os.Interrupt)
	if perr := perf.Wait(); perr != nil && perf.ProcessState.ExitCode() > 0 {
		err = errors.Join(err, fmt.Errorf("perf record: %w: %s", perr, out.Bytes()))
	}
	if err != nil {
		return err
	}
	script := exec.CommandContext(ctx, "perf", "script", "-i", data, "-F", "ip,sym,dso")
	stacks, err := script.StdoutPipe()
	if err != nil {
		return err
	}
	if err := script.Start(); err != nil {
		return err
	}
	root, err := readStacks(stacks, program)
	if err = errors.Join(err, script.Wait()); err != nil {
		return fmt.Errorf("perf script: %w", err)
	}
	if root.samples == 0 {
		return fmt.Errorf("no sample has a frame of %s", program)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s, a %s, %s: percent of %d samples of processor time; functions below %.0f %% are left out\n", w.Name, w.Unit, s.Name, root.samples, 100*flameShare)
	root.write(&text, 0, float64(root.samples))
	return os.WriteFile(path, text.Bytes(), 0o644)
}

// A frame is a function that the same functions have called, with the samples in which it was running or had called another.
type frame struct {
	name    string
	samples int
	callees []*frame
}

// callee returns the frame of a function called by f.
func (f *frame) callee(name string) *frame {
	for _, c := range f.callees {
		if c.name == name {
			return c
		}
	}
	c := &frame{name: name}
	f.callees = append(f.callees, c)
	return c
}

// readStacks reads the output of perf script: for each sample the addresses, functions and files of its frames, the innermost first, and an
// empty line. It takes the samples that have a frame of the program.
func readStacks(r io.Reader, program string) (*frame, error) {
	root := new(frame)
	var stack []string
	ours := false
	add := func() {
		if ours {
			f := root
			f.samples++
			for _, name := range slices.Backward(stack) {
				f = f.callee(name)
				f.samples++
			}
		}
		stack, ours = stack[:0], false
	}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			add()
			continue
		}
		_, line, _ = strings.Cut(line, " ")
		at := strings.LastIndex(line, " (")
		if at < 0 {
			return nil, fmt.Errorf("%q is not a frame", line)
		}
		name, file := line[:at], strings.Trim(line[at:], " ()")
		ours = ours || file == program
		stack = append(stack, strings.TrimPrefix(name, "github.com/go-pcp/"))
	}
	add()
	return root, lines.Err()
}

// write writes the functions that f called, the dearest first, each deeper than its caller. Functions that one caller called for all of
// its time are in the same line.
func (f *frame) write(w io.Writer, depth int, all float64) {
	slices.SortStableFunc(f.callees, func(a, b *frame) int { return b.samples - a.samples })
	for _, c := range f.callees {
		if float64(c.samples)/all < flameShare {
			break
		}
		fmt.Fprintf(w, "%s%5.1f %s", strings.Repeat("  ", depth), 100*float64(c.samples)/all, c.name)
		for len(c.callees) == 1 && c.callees[0].samples == c.samples {
			c = c.callees[0]
			fmt.Fprintf(w, " > %s", c.name)
		}
		fmt.Fprintln(w)
		c.write(w, depth+1, all)
	}
}
