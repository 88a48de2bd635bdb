// Package leak looks for goroutines that tests leave behind.
package leak

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines have to end. One that is told to does so at
// once, but on a busy machine once can be a while: goleak by itself gives them
// less than a second.
const patience = time.Minute

// Main runs the tests of a package, and fails if they leave goroutines behind.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		end := time.Now().Add(patience)
		err := goleak.Find()
		for err != nil && time.Now().Before(end) {
			err = goleak.Find()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "tests leave goroutines behind:", err)
			code = 1
		}
	}
	os.Exit(code)
}
