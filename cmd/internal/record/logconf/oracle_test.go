package logconf

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// installed is the directory of the groups that the C implementation installs.
const installed = "/var/lib/pcp/config/pmlogconf"

var (
	stamps  = regexp.MustCompile(`(?m)^((?:\*\*\*|---) \S+)\t.*$`)
	shown   = regexp.MustCompile(`Differences \.\.\.\n(?:(?:[-+! ] |\*\*\*|---|\\).*\n)*`)
	created = regexp.MustCompile(`(?m)^((?:[-+!] )?# Auto-generated) by pm(?:log|rep)conf on: .*$`)
)

// A pair runs both tools, each in its own directory.
type pair struct {
	d    *oracle.PMCD
	tool string
	dirs [2]string // of the real one and of ours

	// anyDiff ignores the form of differences: among equally short ones, diff has its own preference
	// where lines often repeat.
	anyDiff bool
}

func newPair(t *testing.T, d *oracle.PMCD) *pair {
	return &pair{d: d, tool: "pmlogconf", dirs: [2]string{t.TempDir(), t.TempDir()}}
}

// write writes a file for both.
func (p *pair) write(t *testing.T, name, text string) {
	t.Helper()
	for _, dir := range p.dirs {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs one of the tools, and returns its output and the files it left.
func (p *pair) run(t *testing.T, side int, stdin string, args ...string) string {
	t.Helper()
	c := twin.Call{Tool: p.tool, Args: args, Dir: p.dirs[side], Env: p.d.Env, Stdin: stdin}
	res := c.Run(t, side == 1)
	var b strings.Builder
	fmt.Fprintf(&b, "status %d\n%s---- stderr\n%s", res.Status, stamps.ReplaceAll(res.Out, []byte("$1 TIME")), res.Err)
	err := filepath.WalkDir(p.dirs[side], func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.Contains(path, "/groups/") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil || len(text) == 0 && slices.Contains(args, "-g") {
			return err // the C tool leaves an empty file when asked about a missing file
		}
		fmt.Fprintf(&b, "---- %s %v\n%s", filepath.Base(path), info.Mode(), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text := created.ReplaceAllString(b.String(), "$1")
	if p.anyDiff {
		text = shown.ReplaceAllString(text, "Differences ...\n")
	}
	return text
}

// same runs both and compares them.
func (p *pair) same(t *testing.T, stdin string, args ...string) bool {
	t.Helper()
	theirs, ours := p.run(t, 0, stdin, args...), p.run(t, 1, stdin, args...)
	if d := cmp.Diff(theirs, ours); d != "" {
		t.Errorf("%s %q, answers %q (-theirs +ours)\n%s", p.tool, args, stdin, d)
		return false
	}
	return true
}

// TestInstalledGroups makes configurations of the groups that the C implementation installs, for a collector with
// the agents that it has, and changes them.
func TestInstalledGroups(t *testing.T) {
	t.Parallel()
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "proc", "xfs", "mmv", "kvm", "sample", "jbd2"}})
	if _, err := os.Stat(installed); err != nil {
		oracle.Missing(t, err.Error())
	}
	p := newPair(t, d)
	p.same(t, "", "new")
	p.same(t, "", "-c", "auto")
	p.same(t, "", "-v", "-d", installed, "verbose")
	p.same(t, "", "-g", "all", "new")
	p.same(t, "", "-v", "-g", "kernel/load", "new")
	p.same(t, "", "-g", "all", "none")
	os.Remove(filepath.Join(p.dirs[0], "none"))
	p.same(t, "q\n", "new")
	p.same(t, "n\ny\n10 sec\ny\n\n\n/disk.dev\ny\nonce\nq\n\n", "new")
	p.same(t, "n\ny\n/vmstat\ny\nq\nn\n", "-q", "new")
	p.same(t, strings.Repeat("y\n5 minutes\n", 30)+"q\ny\n", "-r", "new")
	p.same(t, strings.Repeat("n\n", 300), "-r", "-q", "new")
	// Each changes the configuration that the other wrote.
	p.dirs[0], p.dirs[1] = p.dirs[1], p.dirs[0]
	p.same(t, "", "-c", "-r", "auto")
	p.same(t, "", "-c", "new")
	p.same(t, "m\nwhat\n?\nm\nq\n\n", "-v", "new")
	p.same(t, "/nothing has this\n\nx\ny\nq\n\n", "new")
	err := filepath.WalkDir(installed, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			p.same(t, "", "-v", "-s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A groupMaker makes group files, sound and broken.
type groupMaker struct{ *rand.Rand }

func (r groupMaker) one(list ...string) string { return list[r.IntN(len(list))] }

func (r groupMaker) space() string { return r.one(" ", " ", " ", "\t", "  ", " \t ", "\v", "\r") }

func (r groupMaker) metric() string {
	return r.one("sample.long.one", "sample.long.ten", "sample.string.hullo", "sample.colour", "sample.double.one", "sample.float.hundred", "sample.bin",
		"sample.longlong.million", "sample.ulonglong.bin", "sample.noinst", "sample.aggregate.hullo", "sample.string.null", "sample.secret.foo.one",
		"sample.nosuch", "sample", "sample.long", "nosuch.metric", "pmcd.version", "pmcd.numagents", "simple.numfetch.x", "", "sample.event.records",
		"sample.error", "sample.bad.unknown", "sample.needprofile", "no..name", ".", "sample.long.write_me")
}

func (r groupMaker) state() string {
	return r.one("include", "exclude", "available", "include", "exclude", "available", "Include", "includes", "", "include exclude", "x")
}

func (r groupMaker) probe() string {
	line := r.metric()
	if r.IntN(5) == 0 {
		return line
	}
	line += r.space()
	if op := r.one("exists", "values", "==", "!=", ">", ">=", "<", "<=", "~", "!~", "=", "exist", "", "values"); true {
		line += op
		if r.IntN(6) > 0 && !strings.HasPrefix(op, "ex") && op != "values" && op != "" {
			line += r.space() + r.one("1", "10", "100", "0", "1e0", "0x10", "1x", "-1", "hullo", `"hullo"`, "h.l+o", "^[0-9]+$", "^1", "[", "red", "nan", "inf", "world!", `"`, "*", "(1|100)", "million", `"10"`, "6.0.3", "^6")
		}
	}
	if r.IntN(4) > 0 {
		line += r.space() + r.one("?", "?", "?", "?", "!", "") + r.one(" ", " ", "", "\t")
		line += r.state() + r.space() + r.one(":", ":", ":", ":", "", ";") + r.one(" ", " ", "") + r.state() + r.one("", "", "", " ", "\t", " more")
	}
	return line
}

func (r groupMaker) file() string {
	var b strings.Builder
	b.WriteString(r.one("#pmlogconf-setup 2.0\n", "#pmlogconf-setup 2.0\n", "#pmlogconf-setup 2.0\n", "#pmlogconf-setup 2.0\n", "#pmlogconf-setup 2.0\n",
		"#pmlogconf-setup 2.0\n", "#pmlogconf-setup 1.0\n", "#pmlogconf-setup 2.1\n", "#pmlogconf-setup 3.1\n", "#pmlogconf-setup\t2 .0\n", "#pmlogconf-setup 2. 0\n\n  ",
		"#pmlogconf-setup 2.0 more\n", "#pmlogconf-setup\n", "", "# pmlogconf-setup 2.0\n", "#pmlogconf-setup 2.0", "#pmlogconf-setup2.0\n"))
	for range r.IntN(3) {
		b.WriteString(r.one("ident", "ident", "ident", " ident") + r.space() + r.one("some words", "a very long line of words that goes on and on, until it must be broken into two lines or more by who writes it",
			strings.Repeat("x", 100), "", "caf\xc3\xa9 \xff", "a  b") + "\n")
	}
	switch r.IntN(10) {
	case 0:
	case 1, 2:
		b.WriteString("force" + r.space() + r.state() + "\n")
	case 3:
		b.WriteString("force" + r.space() + r.state() + "\nprobe" + r.space() + r.probe() + "\n")
	case 4:
		b.WriteString(r.one("probe\n", "force\n", "probed x\n", "forced x\n", "PROBE x\n"))
	default:
		b.WriteString("probe" + r.space() + r.probe() + "\n")
	}
	if r.IntN(3) == 0 {
		b.WriteString("delta" + r.space() + r.one("1 minute", "once", "default", "10 sec", "every 5 sec", "never", "") + "\n")
	}
	for range r.IntN(4) {
		b.WriteString(r.one("\t", " ", "", "    ") + r.metric() + r.one("", " [ a b ]", " # comment", "\t[\"x y\"]", " ") + "\n")
	}
	b.WriteString(r.one("", "", "", "\n", "# the end", "   ", "\tlast.metric", "a\x00b\n", strings.Repeat("m", 1500)+"\n"))
	return b.String()
}

// onlyProbe allows for the one intended difference, see docs/differences.md: if the only probed metric
// does not exist, the C tool looks at the wrong group.
const onlyProbe = "#pmlogconf-setup 2.0\nident always there\nprobe pmcd.numagents exists ? include : exclude\n\tpmcd.numagents\n"

// TestBrokenGroups compares the output for group files drawn at random, alone and together, valid and broken.
func TestBrokenGroups(t *testing.T) {
	t.Parallel()
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample", "simple"}})
	r := groupMaker{rand.New(rand.NewPCG(longtest.Seed(t), 3))}
	for n := range longtest.N(25, 400) {
		files := map[string]string{"0/a": onlyProbe, "zz": onlyProbe}
		for i := range 8 {
			files[fmt.Sprintf("%s/g%d", r.one("a", "b", "c/d", "x y"), i)] = r.file()
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := newPair(t, d)
			for name, text := range files {
				p.write(t, "groups/"+name, text)
			}
			good := true
			for name := range files {
				good = p.same(t, "", "-v", "-s", "groups/"+name) && good
			}
			good = p.same(t, "", "-v", "-d", "groups", "conf") && good
			good = p.same(t, "", "-d", "groups", "-g", "all", "-v", "conf") && good
			good = p.same(t, "y\n\ny\n1 hour\nn\ny\n", "-d", "groups", "conf") && good
			if !good {
				for name, text := range files {
					t.Logf("%s:\n%q", name, text)
				}
			}
		})
	}
}

// TestCommandLines compares wrong command lines, and files and directories that cannot be used.
func TestCommandLines(t *testing.T) {
	t.Parallel()
	d := oracle.StartPMCD(t, oracle.Config{})
	p := newPair(t, d)
	p.write(t, "groups/g", "#pmlogconf-setup 2.0\nident it\nprobe sample.bin values ? include : exclude\n\tsample.bin\n")
	p.write(t, "plain", "")
	if err := os.Mkdir(filepath.Join(p.dirs[0], "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(p.dirs[1], "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{},
		{"x", "y"},
		{"-V"},
		{"-?"},
		{"--bogus", "x"},
		{"-d"},
		{"-c", "-g", "all", "x"},
		{"-c", "-s", "groups/g"},
		{"-d", "groups", "-s", "groups/g"},
		{"-g", "all", "-s", "groups/g"},
		{"-d", "missing", "x"},
		{"-d", "plain", "x"},
		{"-s", "missing"},
		{"-s", "groups"},
		{"-s", "plain"},
		{"-h", "localhost:1", "x"},
		{"-h", "no.such-host", "x"},
		{"-d", "groups", "missing/x"},
		{"-d", "groups", "folder"},
		{"-d", "groups", "plain"},
		{"--groups", "groups", "--quiet", "plain"},
		{"--groups=groups", "--reprobe", "--verbose", "-c", "plain"},
		{"--setup=groups/g"},
		{"--group=g", "-d", "groups", "plain"},
		{"-g", "no", "-d", "groups", "plain"},
		{"-d", "folder", "fresh"},
		{"-d", "", "fresh2", "more"},
		{"-D", "appl0", "-s", "missing"},
	} {
		p.same(t, "", args...)
	}
}

// TestUpdate compares how both update configurations that were edited by hand.
func TestUpdate(t *testing.T) {
	t.Parallel()
	d := oracle.StartPMCD(t, oracle.Config{})
	r := groupMaker{rand.New(rand.NewPCG(longtest.Seed(t), 5))}
	lines := []string{
		"#pmlogconf 2.0\n", "# comment\n", "#+ groupdir groups\n", "#+ groupdir /elsewhere\n", "#\n", "#+ a:y:default:\n", "#+ a:n:10 sec:\n", "#+ b:x::\n", "#+ b:y:once:\n",
		"#+ c:n:nonsense:\n", "#+ c/d:y:5 min:\n", "#+ gone:y:1 hour:\n", "#+ gone/too:n:default:\n", "#+ :y::\n", "#+ a:maybe::\n", "#+ a\n", "#+ a:y\n", "#+ a::\n", "## words\n",
		"log mandatory on default {\n", "log advisory on 10 sec {\n", "\tsample.bin\n", "\tsample.long [ x ]\n", "}\n", "#----\n", "#----\n", "#----\n", "\n", "log x on y {\n",
	}
	for n := range longtest.N(60, 1500) {
		p := newPair(t, d)
		p.anyDiff = true
		p.write(t, "groups/a", "#pmlogconf-setup 2.0\nident first\nprobe sample.bin values ? include : exclude\n\tsample.bin\n")
		p.write(t, "groups/b", "#pmlogconf-setup 2.0\nident second\ndelta 1 min\nprobe sample.nosuch exists ? include : available\n\tsample.nosuch\n")
		p.write(t, "groups/c/d", "#pmlogconf-setup 2.0\nident third\nforce "+r.one("include", "exclude", "available")+"\n\tsample.long\n")
		text := r.one("#pmlogconf 2.0\n", "#pmlogconf 2.0\n", "")
		idents := 0
		for range 1 + r.IntN(14) {
			l := r.one(lines...)
			// The C tool reads a second line of a description as an empty metric the next time.
			if strings.HasPrefix(l, "#+ ") {
				idents = 0
			} else if strings.HasPrefix(l, "## ") {
				if idents++; idents > 1 {
					continue
				}
			}
			text += l
		}
		// The C tool writes the user's part twice if no group is before it.
		if strings.Contains(text, "#+ a:n:10 sec:") {
			text += r.one("", "#+ a:y:default:\n#----\n# DO NOT UPDATE THE FILE ABOVE THIS LINE\nmine\n#+ b:y::\n\n[access]\nallow * : all;\n")
		}
		p.write(t, "conf", text)
		args := append([]string{"-d", "groups"}, r.one("-q", "-c", "-r", "-v"), "conf")
		good := p.same(t, r.one("", "q\n", "y\ny\n\n", "n\nn\nn\n\n", "q\nn\n", "/sec\ny\n1 min\nq\ny\n"), args...)
		p.dirs[0], p.dirs[1] = p.dirs[1], p.dirs[0]
		if good = good && p.same(t, "", "-c", "-r", "-d", "groups", "conf"); !good {
			t.Fatalf("%d: %q", n, text)
		}
	}
}
