package rules

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestStatus checks cmd/conformance/status.md: each row that works, wholly or partly,
// names its proof, and each thing it names exists. A row that is not provided has
// its reason, in docs/decisions.md too. It runs none of them.
func TestStatus(t *testing.T) {
	rows, head := readStatus(t)
	shown := evidence(t)
	lines := map[string]int{}
	count := map[string]int{}
	for _, r := range rows {
		at := fmt.Sprintf("cmd/conformance/status.md:%d: %s", r.line, r.id)
		if old, ok := lines[r.id]; ok {
			t.Errorf("%s: line %d has the same id", at, old)
		}
		lines[r.id] = r.line

		word, note, _ := strings.Cut(r.status, " (")
		word, reason, _ := strings.Cut(word, ", because ")
		count[word]++
		switch word {
		case "works":
		case "partly":
			if note == "" {
				t.Errorf("%s: works partly: say in parentheses what is missing", at)
			}
		case "not provided":
			if reason == "" || !strings.Contains(r.shown, "docs/decisions.md") {
				t.Errorf("%s: is not provided: give the reason, after \", because \", and in docs/decisions.md", at)
			}
		case "not yet":
			if r.shown != "" {
				t.Errorf("%s: is not there yet, and something shows it: %s", at, r.shown)
			}
			continue
		default:
			t.Errorf("%s: status %q is not works, partly, not provided or not yet", at, r.status)
			continue
		}
		if r.shown == "" {
			t.Errorf("%s: name what shows that it %s, or make it \"not yet\"", at, word)
			continue
		}
		for name := range strings.SplitSeq(r.shown, ", ") {
			if err := shown.has(name); err != nil {
				t.Errorf("%s: shown by %s: %v", at, name, err)
			}
		}
	}
	want := fmt.Sprintf("%d rows work, %d partly, %d not yet, %d not provided.", count["works"], count["partly"], count["not yet"], count["not provided"])
	if head != want {
		t.Errorf("cmd/conformance/status.md: its head says %q; the rows say %q", head, want)
	}
}

// A statusRow is a row of cmd/conformance/status.md.
type statusRow struct {
	line       int
	id, status string
	shown      string // its proof
}

var (
	statusID   = regexp.MustCompile(`^[A-Z]+[0-9]?-[0-9]+$`)
	statusHead = regexp.MustCompile(`^[0-9]+ rows work`)
)

// readStatus returns the rows of cmd/conformance/status.md and the line that counts them.
func readStatus(t *testing.T) (rows []statusRow, head string) {
	t.Helper()
	b, err := os.ReadFile("cmd/conformance/status.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.SplitSeq(string(b), "\n") {
		n++
		if statusHead.MatchString(line) {
			head = line
		}
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
		if len(cells) < 2 || !statusID.MatchString(strings.TrimSpace(cells[1])) {
			continue
		}
		if len(cells) != 6 {
			t.Errorf("cmd/conformance/status.md:%d: %d cells: want id, feature, status, shown by", n, len(cells)-2)
			continue
		}
		rows = append(rows, statusRow{
			line: n, id: strings.TrimSpace(cells[1]),
			status: strings.TrimSpace(cells[3]), shown: strings.TrimSpace(cells[4]),
		})
	}
	return rows, head
}

// things are the things that a row of cmd/conformance/status.md may name:
//
//	pmapi TestReconnect          a test, fuzz target or example of a package; pcp is the root
//	cmd/pcp script/usage.txtar   a script in its testdata
//	conformance 1059             a test of PCP's own suite that must pass
//	docs/instrumenting.md        a page, where the feature is one
type things map[string]bool

func (s things) has(name string) error {
	if strings.HasSuffix(name, ".md") {
		_, err := os.Stat(name)
		return err
	}
	dir, what, ok := strings.Cut(name, " ")
	switch {
	case !ok:
		return fmt.Errorf("it is not a package and a name")
	case strings.HasSuffix(what, ".txtar"):
		_, err := os.Stat(filepath.Join(dir, "testdata", what))
		return err
	case !s[name]:
		return fmt.Errorf("there is no such thing")
	}
	return nil
}

// evidence finds the tests of all packages, and those of PCP's suite that must pass.
func evidence(t *testing.T) things {
	t.Helper()
	s := things{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() != "." && (d.Name()[0] == '.' || d.Name()[0] == '_' || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if dir == "." {
			dir = "pcp"
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && testName.MatchString(fn.Name.Name) {
				s[dir+" "+fn.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("cmd/conformance/must-pass.list")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if id, _, ok := strings.Cut(lines.Text(), " "); ok && id != "#" {
			s["conformance "+id] = true
		}
	}
	return s
}

var testName = regexp.MustCompile(`^(Test|Fuzz|Example)`)
