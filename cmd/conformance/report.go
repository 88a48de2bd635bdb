//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// diffLines is the number of lines of the difference that are shown for a
// failed test.
const diffLines = 20

// A reporter prints the results of tests.
type reporter struct {
	jobs    int    // number of parallel tests
	keep    string // directory for outputs, or ""
	verbose bool
	explain bool // show the difference of a test that fails, and how to repeat it
}

// An outcome is the result of a test.
type outcome struct {
	test
	*result
}

// report runs tests and prints the result of each, and a summary. The last lines name those
// that did not pass, since readers of a long log see the end first.
func (p *reporter) report(r *runner, tests []test) int {
	all := p.run(r, tests)
	crowded := p.repeat(r, all)
	count := make(map[string]int)
	for _, o := range all {
		count[o.Status]++
		if o.Status != pass {
			fmt.Println(line(o.test, o.result, p.verbose))
		}
	}
	if len(crowded) > 0 {
		fmt.Printf("passed only by themselves, to be marked alone in their list: %s\n", strings.Join(crowded, " "))
	}
	var parts []string
	for _, status := range []string{pass, fail, timeout, notRun, noSubst, broken} {
		if n := count[status]; n > 0 || status == pass || status == fail {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	fmt.Println(strings.Join(parts, ", "))
	if count[pass] != len(tests) {
		return 1
	}
	return 0
}

// repeat runs tests that did not pass in parallel again alone, as the suite is meant to be run, and
// returns the names of those that then passed. Tests that are marked alone are not repeated.
func (p *reporter) repeat(r *runner, all []outcome) (crowded []string) {
	for i := range all {
		o := &all[i]
		if o.Status == pass || o.Status == broken || o.alone {
			continue
		}
		fmt.Println("# by itself:")
		if o.result = r.run(o.test); o.Status == pass {
			crowded = append(crowded, o.String())
		}
		p.show(o)
	}
	return crowded
}

// run runs tests in parallel, and then those that must run alone.
func (p *reporter) run(r *runner, tests []test) []outcome {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		all   = make([]outcome, len(tests))
		queue = make(chan int)
	)
	for range p.jobs {
		wg.Go(func() {
			for i := range queue {
				all[i] = outcome{tests[i], r.run(tests[i])}
				mu.Lock()
				p.show(&all[i])
				mu.Unlock()
			}
		})
	}
	// Tests that wait for archives are last.
	for _, wait := range []bool{false, true} {
		for i, t := range tests {
			if !t.alone && r.reads[t.id] == wait {
				queue <- i
			}
		}
	}
	close(queue)
	wg.Wait()
	for i, t := range tests {
		if t.alone {
			all[i] = outcome{t, r.run(t)}
			p.show(&all[i])
		}
	}
	return all
}

// show prints the result of a test, and keeps its output.
func (p *reporter) show(o *outcome) {
	fmt.Println(line(o.test, o.result, p.verbose))
	if p.explain && o.Status != pass {
		fmt.Print(explanation(o.test, o.result))
	}
	if p.keep != "" {
		if err := save(p.keep, o.test, o.result); err != nil {
			failed(err)
		}
	}
}

func line(t test, res *result, verbose bool) string {
	s := fmt.Sprintf("%-12v %-7s %5.1fs", t, res.Status, res.Took.Seconds())
	if verbose && len(res.Ran) > 0 {
		s += "  " + strings.Join(slices.Sorted(slices.Values(res.Ran)), ",")
	}
	if res.Note != "" {
		s += "  [" + res.Note + "]"
	}
	return s
}

// explanation is the first information about a test that did not pass: the
// beginning of the difference, and the command that runs it again.
func explanation(t test, res *result) string {
	var b strings.Builder
	lines := strings.SplitAfter(difference(res.Expected, res.Output), "\n")
	for i, line := range lines {
		if i == diffLines {
			fmt.Fprintf(&b, "    ... and %d lines more\n", len(lines)-i-1)
			break
		}
		if line != "" {
			fmt.Fprintf(&b, "    %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	again := t.String()
	if len(t.tools) > 0 {
		again += ":" + strings.Join(t.tools, ",")
	}
	fmt.Fprintf(&b, "    again: cmd/conformance/run -v -keep /tmp/qa %s\n", again)
	return b.String()
}

// difference is the output of diff for the expected output of a test and its
// output.
func difference(want, got []byte) string {
	if len(got) == 0 && len(want) == 0 {
		return ""
	}
	f, err := os.CreateTemp("", "conformance-")
	if err != nil {
		return err.Error() + "\n"
	}
	defer os.Remove(f.Name())
	_, err = f.Write(want)
	if err := errors.Join(err, f.Close()); err != nil {
		return err.Error() + "\n"
	}
	cmd := exec.Command("diff", "-u", "--label", "expected", "--label", "printed", f.Name(), "-")
	cmd.Stdin = bytes.NewReader(got)
	out, err := cmd.Output() // its status is 1
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return fmt.Sprintf("diff: %v\n", err)
	}
	return string(out)
}

// save writes the output of a test to dir, or removes it if the test passes.
func save(dir string, t test, res *result) error {
	base := filepath.Join(dir, t.id+"."+string(t.mode))
	files := map[string][]byte{
		".out": res.Expected, ".out.bad": res.Output, ".full": res.Full, ".pmcd.log": res.Log,
	}
	for ext, b := range files {
		var err error
		if len(b) == 0 || res.Status == pass {
			err = os.RemoveAll(base + ext)
		} else {
			err = os.WriteFile(base+ext, b, 0o644)
		}
		if err != nil {
			return err
		}
	}
	os.Remove(base + ".diff")
	if res.Status == pass || len(res.Output) == 0 {
		return nil
	}
	return os.WriteFile(base+".diff", []byte(difference(res.Expected, res.Output)), 0o644)
}
