// Command mmv measures the cost of instrumenting a program: our library, a bare
// atomic addition on the same memory, libpcp_mmv, speed, and libraries that Go
// programs use elsewhere. See README.md.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

// A contender is a library to measure.
type contender struct {
	group string
	name  string
	// run does n updates. Several goroutines call it at once.
	run func(n int)
	// create, for contenders that create metrics, creates them once and returns a
	// function that removes them.
	create func() (undo func())
	alone  bool // only one goroutine may run it
	slow   int  // divides the number of updates
}

// A sample is the result of one round, for 1 and 2 goroutines.
type sample struct {
	ns   [2][]float64
	lost float64 // percentage, at worst
}

type key struct{ group, name string }

func main() {
	os.Exit(private(func(dir string) int {
		rounds := flag.Int("rounds", 9, "measure everything so many times, in turn")
		n := flag.Int("n", 1000000, "updates in one measurement")
		only := flag.String("only", "", "measure what matches this regular expression")
		flag.Parse()
		match, err := regexp.Compile(*only)
		if err == nil {
			err = measure(os.Stdout, dir, *rounds, *n, match)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "mmv:", err)
			return 1
		}
		return 0
	}))
}

func measure(w io.Writer, dir string, rounds, n int, match *regexp.Regexp) error {
	var all []contender
	for _, set := range []func() ([]contender, error){ours, speedClient, elsewhere} {
		cs, err := set()
		if err != nil {
			return err
		}
		for _, c := range cs {
			if match.MatchString(c.group + "/" + c.name) {
				all = append(all, c)
			}
		}
	}
	c, err := newLibpcp(dir)
	if err != nil {
		fmt.Fprintln(w, "libpcp_mmv is not measured:", err)
	}
	results := map[key]*sample{}
	result := func(group, name string) *sample {
		s := results[key{group, name}]
		if s == nil {
			s = &sample{}
			results[key{group, name}] = s
		}
		return s
	}
	for range rounds {
		// In each round the order is the same and everything runs once, so that
		// a disturbance of the machine affects all.
		for _, c := range all {
			s := result(c.group, c.name)
			if c.create != nil {
				start := time.Now()
				undo := c.create()
				s.ns[0] = append(s.ns[0], float64(time.Since(start)))
				undo()
				continue
			}
			n := n / max(c.slow, 1)
			s.ns[0] = append(s.ns[0], timed(1, n, c.run))
			if !c.alone {
				s.ns[1] = append(s.ns[1], timed(2, n, c.run))
			}
		}
		if c == nil {
			continue
		}
		lines, err := c.round(n)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if !match.MatchString(l.group + "/" + l.name) {
				continue
			}
			s := result(l.group, l.name)
			s.ns[l.threads-1] = append(s.ns[l.threads-1], l.ns)
			s.lost = max(s.lost, l.lost)
		}
	}
	return report(w, results)
}

// timed returns the nanoseconds of one update, when g goroutines do n each.
func timed(g, n int, run func(int)) float64 {
	if g == 1 {
		start := time.Now()
		run(n)
		return float64(time.Since(start)) / float64(n)
	}
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for range g {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-begin
			run(n)
		})
	}
	ready.Wait()
	start := time.Now()
	close(begin)
	done.Wait()
	return float64(time.Since(start)) / float64(g*n)
}

// report prints a table for each group: medians, and the best time.
func report(w io.Writer, results map[key]*sample) error {
	median := func(ns []float64) float64 {
		if len(ns) == 0 {
			return 0
		}
		ns = slices.Clone(ns)
		slices.Sort(ns)
		return ns[len(ns)/2]
	}
	for _, group := range groups {
		var names []string
		for k := range results {
			if k.group == group {
				names = append(names, k.name)
			}
		}
		slices.SortFunc(names, func(a, b string) int {
			return int(1000 * (median(results[key{group, a}].ns[0]) - median(results[key{group, b}].ns[0])))
		})
		if len(names) == 0 {
			continue
		}
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
		unit, scale := "ns", 1.0
		if group == create {
			unit, scale = "ms", 1e6
		}
		fmt.Fprintf(w, "\n%s\n", group)
		fmt.Fprintf(t, "%s, 1 goroutine\tbest\t2 goroutines\tbest\t\t\n", unit)
		for _, name := range names {
			s := results[key{group, name}]
			fmt.Fprintf(t, "%.2f\t%.2f\t", median(s.ns[0])/scale, slices.Min(s.ns[0])/scale)
			if len(s.ns[1]) > 0 {
				fmt.Fprintf(t, "%.2f\t%.2f\t", median(s.ns[1])/scale, slices.Min(s.ns[1])/scale)
			} else {
				fmt.Fprint(t, "\t\t")
			}
			if s.lost > 0 {
				name += fmt.Sprintf(" (2 threads lose up to %.0f %%)", s.lost)
			}
			fmt.Fprintf(t, "  %s\n", name)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
