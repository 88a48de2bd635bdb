package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An event is a line of go test -json, see go doc test2json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// A report turns events into text for a person.
type report struct {
	mu sync.Mutex // guards what follows

	w       interface{ Flush() error }
	out     io.Writer
	output  map[[2]string]*strings.Builder // of a test that runs, by package and name
	skipped map[string][]string            // tests by the reason that they were skipped for
	took    map[string]float64             // seconds, by package
	failed  []string                       // tests and packages
	tests   [][2]string                    // that failed, with package and name, without subtests
	broken  bool                           // something other than a test failed
	running map[[2]string]time.Time        // tests and packages, by when they began
}

func newReport(w *bufio.Writer) *report {
	return &report{
		w: w, out: w, output: make(map[[2]string]*strings.Builder),
		skipped: make(map[string][]string), took: make(map[string]float64), running: make(map[[2]string]time.Time),
	}
}

func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, "{") {
			var e event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
			r.add(e)
		} else if line != "" {
			r.mu.Lock()
			fmt.Fprint(r.out, line)
			r.mu.Unlock()
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) add(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "start", "run", "cont":
		r.running[key] = time.Now()
	case "pause": // it waits for a place among parallel tests
		delete(r.running, key)
	case "output":
		if r.output[key] == nil {
			r.output[key] = new(strings.Builder)
		}
		r.output[key].WriteString(e.Output)
		if strings.Contains(e.Output, "WARNING: DATA RACE") {
			r.broken = true
		}
	case "build-output":
		r.broken = true
		fmt.Fprint(r.out, e.Output)
		r.w.Flush()
	case "pass", "fail", "skip":
		delete(r.running, key)
		text := ""
		if b := r.output[key]; b != nil {
			text = b.String()
			delete(r.output, key)
		}
		if e.Test == "" {
			r.ended(e, text)
			return
		}
		switch e.Action {
		case "fail":
			r.failed = append(r.failed, e.Package+" "+e.Test)
			if !strings.Contains(e.Test, "/") {
				r.tests = append(r.tests, key)
			}
			fmt.Fprint(r.out, text)
			r.w.Flush()
		case "skip":
			why := reason(text)
			r.skipped[why] = append(r.skipped[why], e.Package+" "+e.Test)
		}
	}
}

// ended reports the result of a package. For a failed package it shows all output of
// its tests and itself: a test that never ended has no event of its own.
func (r *report) ended(e event, text string) {
	r.took[e.Package] = e.Elapsed
	for key := range r.running {
		if key[0] == e.Package {
			r.broken = r.broken || e.Action == "fail" && key[1] != "" // a panic, or the time-out
			delete(r.running, key)
		}
	}
	if e.Action == "fail" {
		if !slices.ContainsFunc(r.tests, func(t [2]string) bool { return t[0] == e.Package }) {
			r.broken = true
		}
		r.failed = append(r.failed, e.Package)
		for _, key := range slices.SortedFunc(maps.Keys(r.output), func(a, b [2]string) int { return cmp.Compare(a[1], b[1]) }) {
			if key[0] == e.Package {
				fmt.Fprint(r.out, r.output[key])
				delete(r.output, key)
			}
		}
		fmt.Fprint(r.out, text)
	} else {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "FAIL") {
				fmt.Fprint(r.out, line)
			}
		}
	}
	r.w.Flush()
}

// retryable returns the failed tests. It is false if something else failed too.
func (r *report) retryable() ([][2]string, bool) {
	return r.tests, !r.broken && len(r.tests) > 0
}

// watch prints the running tests at each interval, until stop is called.
func (r *report) watch(every time.Duration) (stop func()) {
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				r.mu.Lock()
				fmt.Fprint(r.out, r.progress(now))
				r.w.Flush()
				r.mu.Unlock()
			}
		}
	})
	return func() {
		close(done)
		watching.Wait()
	}
}

// progress returns a line for each package that still runs, with its tests that do, the longest first. A test whose
// subtests run is left out. Called with r.mu held.
func (r *report) progress(now time.Time) string {
	var b strings.Builder
	longest := func(x, y [2]string) int {
		return cmp.Or(r.running[x].Compare(r.running[y]), cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
	}
	keys := slices.SortedFunc(maps.Keys(r.running), longest)
	for _, p := range keys {
		if p[1] != "" {
			continue
		}
		fmt.Fprintf(&b, "still running: %s for %v", short(p[0]), now.Sub(r.running[p]).Round(time.Second))
		shown := 0
		for _, t := range keys {
			above := func(o [2]string) bool { return o[0] == t[0] && strings.HasPrefix(o[1], t[1]+"/") }
			if t[0] != p[0] || t[1] == "" || slices.ContainsFunc(keys, above) {
				continue
			}
			if shown++; shown > maxShown {
				b.WriteString(", ...")
				break
			}
			fmt.Fprintf(&b, ", %s %v", t[1], now.Sub(r.running[t]).Round(time.Second))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// maxShown is how many tests of a package progress names.
const maxShown = 5

// reason finds in the output of a skipped test why it was: what follows the last
// place in a Go file, as in "    a_test.go:8: no oracle".
func reason(text string) string {
	last := "no reason given"
	for line := range strings.Lines(text) {
		_, after, found := strings.Cut(strings.TrimSpace(line), ".go:")
		number, why, ok := strings.Cut(after, ": ")
		if _, err := strconv.Atoi(number); found && ok && err == nil {
			last = why
		}
	}
	return strings.TrimPrefix(last, "SKIPPED: ")
}

// excused has parts of the reasons for which a test may be skipped in CI too: those that
// no machine can do anything about, and those of long forms, which make test-long runs.
var excused = []string{
	"PCP_TEST_LONG",
	"little-endian",         // bytes of the machine's own order
	"root may read every",   // needs another user than the rest
	"root may do every",     // the same
	"published for good",    // once in a process
	" are not made here",    // records of some ciphers
	"files of this machine", // would be read
	"more records than exercise expects",
	"SIGHUP is ignored here", // by nohup
	"tracefs is not mounted", // a container cannot
	"eBPF is refused here",   // by the kernel, or to a container
	"no suitable disk here",  // whose requests the kernel counts and limits
	"no suitable control groups here",
	"cannot slow packets",     // nor load a module of the kernel
	"npm",                     // a program of others for one test, and a registry that may be away
	"victoria-metrics is not", // for one section of a page; other tests that use it log that they lack it
	"PCP has no",              // what Prometheus has and archives cannot record: its tests of that
}

func isExcused(why string) bool {
	return slices.ContainsFunc(excused, func(part string) bool { return strings.Contains(why, part) })
}

// finish lists the skipped tests, the slowest packages and the failures. It
// reports whether, in CI, a test was skipped that must not be.
func (r *report) finish(ci bool) (bad bool) {
	slow := slices.SortedFunc(maps.Keys(r.took), func(a, b string) int { return cmp.Compare(r.took[b], r.took[a]) })
	if len(slow) > 3 {
		fmt.Fprint(r.out, "slowest:")
		for _, p := range slow[:min(len(slow), 8)] {
			fmt.Fprintf(r.out, " %s %.0fs", short(p), r.took[p])
		}
		fmt.Fprintln(r.out)
	}
	for _, why := range slices.Sorted(maps.Keys(r.skipped)) {
		tests := r.skipped[why]
		head := "SKIPPED"
		if ci && !isExcused(why) {
			head, bad = "SKIPPED, which CI does not allow", true
		}
		fmt.Fprintf(r.out, "%s: %s (%d tests: %s)\n", head, why, len(tests), some(tests))
	}
	if len(r.failed) > 0 {
		fmt.Fprintln(r.out, "FAILED:")
		for _, name := range r.failed {
			fmt.Fprintln(r.out, "\t"+short(name))
		}
	}
	return bad
}

func short(name string) string {
	return strings.TrimPrefix(name, "github.com/go-pcp/pcp/")
}

// some names the first few of many tests.
func some(tests []string) string {
	const few = 3
	var names []string
	for _, t := range tests[:min(len(tests), few)] {
		names = append(names, short(t))
	}
	s := strings.Join(names, ", ")
	if len(tests) > few {
		s += ", ..."
	}
	return s
}
