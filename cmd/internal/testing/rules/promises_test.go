package rules

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// promising are the pages that list guarantees for failures, in a table with this head.
var promising = []string{"docs/recording.md", "docs/alerts.md", "docs/web.md"}

const promiseHead = "| what happens | what holds | shown by |"

// TestPromises checks that each guarantee for failures names tests that exist, as rows of cmd/conformance/status.md do. The part
// after a slash is the name of a subtest, each part of which is a word of the test's package.
func TestPromises(t *testing.T) {
	shown := evidence(t)
	for _, page := range promising {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		rows, in := 0, false
		for i, line := range strings.Split(string(text), "\n") {
			switch {
			case line == promiseHead:
				in = true
			case !strings.HasPrefix(line, "|"):
				in = false
			case in && !strings.HasPrefix(line, "| ---"):
				rows++
				at := fmt.Sprintf("%s:%d", page, i+1)
				cells := strings.Split(strings.Trim(line, "| "), " | ")
				if len(cells) != 3 {
					t.Errorf("%s: %d cells, want three", at, len(cells))
					continue
				}
				for name := range strings.SplitSeq(cells[2], ", ") {
					if err := shows(shown, name); err != nil {
						t.Errorf("%s: shown by %s: %v", at, name, err)
					}
				}
			}
		}
		if rows < 5 {
			t.Errorf("%s: %d promises; is there still a table with the head %q?", page, rows, promiseHead)
		}
	}
}

// shows returns an error if there is no test of this name.
func shows(shown things, name string) error {
	dir, test, ok := strings.Cut(name, " ")
	test, sub, _ := strings.Cut(test, "/")
	if !ok || !shown[dir+" "+test] {
		return fmt.Errorf("there is no such test")
	}
	if sub == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(sub, "/") {
		if !slices.ContainsFunc(files, func(path string) bool {
			text, err := os.ReadFile(path)
			return err == nil && bytes.Contains(text, []byte(`name: "`+part+`"`))
		}) {
			return fmt.Errorf("no subtest is called %q", part)
		}
	}
	return nil
}
