// Package leak finds goroutines that still run after tests.
package leak

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience is the maximum time for goroutines to end. They end at once when asked, but on a busy
// machine that can take a while.
const patience = time.Minute

// Main runs the tests of a package, and fails if they leave goroutines running.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		left := find()
		for end := time.Now().Add(patience); left != nil && time.Now().Before(end); left = find() {
			time.Sleep(10 * time.Millisecond)
		}
		if left != nil {
			fmt.Fprintf(os.Stderr, "tests leave %d goroutines behind:\n%s\n", len(left), strings.Join(left, "\n\n"))
			code = 1
		}
	}
	os.Exit(code)
}

// own are functions of goroutines that Go's runtime and libraries keep.
var own = []string{
	"testing.(*T).Run(", "testing.(*M).", "testing.runFuzz", "testing.tRunner.func", // tests
	"os/signal.signal_recv", "os/signal.loop", // once a program asks for signals
	"oracle.starter(", // starts processes that end with the tests
	"runtime.ReadTrace", "runtime/trace.", "runtime.ensureSigM",
}

// find returns the stacks of the goroutines that belong to neither the runtime nor this one.
func find() []string {
	buf := make([]byte, 1<<16)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	var left []string
next:
	for i, stack := range strings.Split(string(buf[:n]), "\n\n") {
		if i == 0 {
			continue // this goroutine
		}
		for _, f := range own {
			if strings.Contains(stack, f) {
				continue next
			}
		}
		left = append(left, stack)
	}
	return left
}
