// Gotest runs go test with the given arguments, shows failures, prints each minute which tests
// still run, and lists at the end the tests that did not run and why.
//
//	go run ./scripts/gotest -timeout=20m ./...
//
// By itself go test does not report skipped tests, so that a machine without the
// real PCP looks as good as a machine that compared everything. With CI set in the
// environment a test that is skipped for a reason not in the table excused is a
// failure. No test runs twice.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"
)

func main() {
	os.Exit(run())
}

func run() int {
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		return 1
	}
	signal.Ignore(os.Interrupt) // go test ends, and then this
	out := bufio.NewWriter(os.Stdout)
	r := newReport(out)
	stop := r.watch(time.Minute)
	if err := r.read(events); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		io.Copy(io.Discard, events)
	}
	failed := cmd.Wait() != nil
	stop()
	ci := os.Getenv("CI")
	bad := r.finish(ci != "" && ci != "false" && ci != "0")
	out.Flush()
	if failed || bad {
		return 1
	}
	return 0
}
