// Gotest runs go test with the given arguments, shows failures, prints each minute which tests
// still run, and lists at the end the tests that did not run and why.
//
//	go run ./scripts/gotest -timeout=20m ./...
//
// By itself go test does not report skipped tests, so that a machine without the
// real PCP looks as good as a machine that compared everything. With CI set in the
// environment a test that is skipped for a reason not in the table excused is a
// failure.
//
// With -again=N, up to N failed tests run once more, each by itself. Those that pass then are
// listed as FLAKY, and do not fail the run. There is no second run after a data race, a panic,
// a time-out, or a failure that is not of a test.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

func main() {
	os.Exit(run())
}

func run() int {
	args, most := os.Args[1:], 0
	if len(args) > 0 {
		if n, ok := strings.CutPrefix(args[0], "-again="); ok {
			var err error
			if most, err = strconv.Atoi(n); err != nil || most < 0 {
				fmt.Fprintf(os.Stderr, "gotest: -again=%s: want a number of tests\n", n)
				return 2
			}
			args = args[1:]
		}
	}
	signal.Ignore(os.Interrupt) // go test ends, and then this
	out := bufio.NewWriter(os.Stdout)
	r := newReport(out)
	failed, err := r.test(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		return 1
	}
	ci := os.Getenv("CI")
	bad := r.finish(ci != "" && ci != "false" && ci != "0")
	out.Flush()
	if failed && most > 0 {
		failed = r.again(args, most)
	}
	out.Flush()
	if failed || bad {
		return 1
	}
	return 0
}

// test runs go test with the arguments and reads its events. It reports whether it failed.
func (r *report) test(args []string) (failed bool, err error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return true, err
	}
	stop := r.watch(time.Minute)
	if err := r.read(events); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		io.Copy(io.Discard, events)
	}
	failed = cmd.Wait() != nil
	stop()
	return failed, nil
}

// again runs the failed tests once more, unless these are more than most or something else failed.
// It reports whether the run remains failed.
func (r *report) again(args []string, most int) (failed bool) {
	tests, ok := r.retryable()
	if !ok || len(tests) > most {
		return true
	}
	for _, t := range tests {
		fmt.Fprintf(r.out, "again: %s %s\n", short(t[0]), t[1])
		r.w.Flush()
		second := newReport(bufio.NewWriter(r.out))
		bad, err := second.test(append(flags(args), "-count=1", "-run=^"+t[1]+"$", t[0]))
		second.w.Flush()
		if err != nil || bad {
			return true
		}
	}
	for _, t := range tests {
		fmt.Fprintf(r.out, "FLAKY: %s %s failed, and passes by itself\n", short(t[0]), t[1])
	}
	return false
}

// flags returns the flags of go test among the arguments, without -run, -coverprofile, which the
// second run would overwrite, and the packages.
func flags(args []string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-run":
			i++
		case strings.HasPrefix(args[i], "-run="), strings.HasPrefix(args[i], "-coverprofile="):
		case strings.HasPrefix(args[i], "-"):
			kept = append(kept, args[i])
		}
	}
	return kept
}
