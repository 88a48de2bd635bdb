package dstat

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestPace follows the lines and seconds of fetches.
func TestPace(t *testing.T) {
	type at struct {
		line, second int
		definite     bool
	}
	f := func(p pace, want ...at) {
		t.Helper()
		p.began = time.Unix(1000, 0)
		var got []at
		for s := 0.0; p.more(s) && len(got) < 8; s += p.interval() {
			if p.advance(s, p.began.Add(time.Duration(s*float64(time.Second)))) {
				t.Errorf("the fetch at %v is late", s)
			}
			got = append(got, at{p.loop, p.step, p.definite()})
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", p, got, want)
		}
	}
	f(pace{delay: 1, samples: 3, update: true}, at{0, 1, true}, at{1, 1, true}, at{2, 1, true})
	f(pace{delay: 3, samples: 2, update: true}, at{0, 3, true}, at{1, 1, false}, at{1, 2, false}, at{1, 3, true})
	f(pace{delay: 3, samples: 3}, at{0, 3, true}, at{1, 3, true}, at{2, 3, true})
	f(pace{delay: 0.5, samples: 3, update: true}, at{0, 1, true}, at{1, 1, true}, at{2, 1, true})

	p := pace{delay: 1, samples: -1, began: time.Unix(1000, 0)}
	late := time.Unix(1010, 0)
	if p.advance(0, late) {
		t.Error("the first fetch is late")
	}
	if !p.advance(1, late) || !p.advance(2, late) || p.advance(9, late) {
		t.Error("fetches that are more than a second late are left out")
	}
	if got := p.takeMissed(); got != "missed 3 ticks" {
		t.Errorf("missed: %q", got)
	}
	if got := p.takeMissed(); got != "" {
		t.Errorf("missed again: %q", got)
	}
}

// TestCSVFile appends rows to files that exist and to those that do not.
func TestCSVFile(t *testing.T) {
	head := func(first bool) string {
		if first {
			return "first\nhead\n"
		}
		return "head\n"
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	write := func(f *csvFile, row string, values, definite bool, missed string) {
		t.Helper()
		f.row = []byte(row)
		if err := f.write(head, values, definite, missed); err != nil {
			t.Fatal(err)
		}
	}
	file := &csvFile{path: path}
	write(file, "1,2", true, true, "")
	write(file, "3,4", true, false, "") // an interim row
	write(file, "5,6", true, true, "missed 2 ticks")
	write(file, "7,8", false, true, "")
	again := &csvFile{path: path}
	write(again, "9,10", true, true, "")
	got, err := os.ReadFile(path)
	if want := "first\nhead\n1,2\n5,6,\"missed 2 ticks\"\n\n\nhead\n9,10\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	bad := &csvFile{path: filepath.Join(path, "x")}
	if err := bad.write(head, true, true, ""); !errors.Is(err, fs.ErrNotExist) && err == nil {
		t.Errorf("a file below a file: %v", err)
	} else if want := "[Errno 20] Not a directory: '" + bad.path + "'"; err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestScreen chooses the plugins that fit, and the lines with headings.
func TestScreen(t *testing.T) {
	rows, cols := 8, 50
	s := &screen{headings: true, term: terminal{is: true, env: &cli.Env{Rows: func() int { return rows }, Columns: func() int { return cols }}}}
	plugins := []*plugin{{name: "time", names: []string{"a"}, width: 20}, {name: "epoch", names: []string{"b"}, width: 20}}
	f := func(p pace, visible int, heading bool) {
		t.Helper()
		s.showHead = false
		if trimmed := s.layout(plugins, 0, &p); trimmed != (visible < len(plugins)) || len(s.visible) != visible || s.showHead != heading {
			t.Errorf("line %d: %d plugins, heading %t, want %d, %t", p.loop, len(s.visible), s.showHead, visible, heading)
		}
	}
	f(pace{}, 2, true)
	f(pace{loop: 1}, 2, false)
	f(pace{loop: 6}, 2, true)
	f(pace{loop: 6, update: true, step: 1}, 2, false)
	f(pace{loop: 7, update: true, step: 1}, 2, true)
	f(pace{loop: 7, update: true, step: 2}, 2, false)
	cols = 30
	f(pace{loop: 1}, 1, true)
	f(pace{loop: 2}, 1, false)
	rows, cols = 5, 50 // too few lines for headings
	f(pace{loop: 12}, 2, false)
	s.term.is = false
	f(pace{loop: 6}, 2, false)
}
