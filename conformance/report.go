//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// mostAgain is how many tests are given a second chance. Where more fail it is
// not for the machine being busy.
const mostAgain = 25

// A reporter says what becomes of tests.
type reporter struct {
	jobs    int    // how many run at a time
	again   int    // how many more chances one has that does not pass
	keep    string // directory for outputs, or ""
	verbose bool
}

// An outcome is what became of a test, the last time that it ran.
type outcome struct {
	test
	*result
	tries int
}

// report runs tests and says what became of each, and of all.
func (p *reporter) report(r *runner, tests []test) int {
	all := p.run(r, tests)
	p.runAgain(r, all)
	count := make(map[string]int)
	var late []string
	for _, o := range all {
		count[o.Status]++
		if o.tries > 1 && o.Status == pass {
			late = append(late, o.String())
		}
	}
	if len(late) > 0 {
		fmt.Printf("# %d passed when they ran again, alone: %s\n", len(late), strings.Join(late, " "))
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

// run runs tests side by side.
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
				all[i] = outcome{tests[i], r.run(tests[i]), 1}
				mu.Lock()
				p.show(&all[i])
				mu.Unlock()
			}
		})
	}
	// Those that wait for archives come last.
	for _, wait := range []bool{false, true} {
		for i, t := range tests {
			if r.reads[t.id] == wait {
				queue <- i
			}
		}
	}
	close(queue)
	wg.Wait()
	return all
}

// runAgain runs those that did not pass once more, one after the other: many
// tests wait for something for as long as it takes on a machine that does
// nothing else.
func (p *reporter) runAgain(r *runner, all []outcome) {
	for range p.again {
		var list []*outcome
		for i := range all {
			if all[i].Status != pass {
				list = append(list, &all[i])
			}
		}
		if len(list) == 0 || len(list) > mostAgain {
			return
		}
		fmt.Printf("# again, alone: %d\n", len(list))
		for _, o := range list {
			o.result = r.run(o.test)
			o.tries++
			p.show(o)
		}
	}
}

// show prints what became of a test, and keeps its output.
func (p *reporter) show(o *outcome) {
	fmt.Println(line(o.test, o.result, p.verbose))
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

// save leaves what a test printed, or removes what it left when it passes.
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
	diff, _ := exec.Command("diff", "-u", base+".out", base+".out.bad").Output() // its status is 1
	return os.WriteFile(base+".diff", diff, 0o644)
}
