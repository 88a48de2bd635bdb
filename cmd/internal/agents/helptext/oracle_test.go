package helptext_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/agents/helptext"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestMain makes this program act as the command by whose name it is called.
func TestMain(m *testing.M) {
	commands := []*cli.Command{helptext.NewCommand, helptext.CheckCommand}
	if c := cli.Find(commands, filepath.Base(os.Args[0])); c != nil {
		os.Exit(run(c, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func run(c *cli.Command, args []string, stdin *os.File, stdout, stderr *os.File) int {
	return c.Run(context.Background(), &cli.Env{
		Name: c.Link, Args: args, Stdin: stdin, Stdout: stdout, Stderr: stderr,
		Getenv: os.Getenv, Command: c,
	})
}

// A side runs the two tools in its own directory.
type side struct {
	bin string
	dir string
}

func sides(t *testing.T) (theirs, ours side) {
	t.Helper()
	oracle.Require(t)
	newhelp := oracle.Path("newhelp")
	if newhelp == "" {
		t.Skip("SKIPPED: real PCP has no newhelp")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, name := range []string{"newhelp", "chkhelp"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return side{filepath.Dir(newhelp), t.TempDir()}, side{bin, t.TempDir()}
}

// result is the output and the files of a run.
type result struct {
	Out, Err string
	Exit     int
	Files    map[string]string
}

func (s side) run(t *testing.T, stdin, tool string, args ...string) result {
	t.Helper()
	cmd := exec.Command(filepath.Join(s.bin, tool), args...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.dir, oracle.Env(), strings.NewReader(stdin)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	r := result{Files: map[string]string{}}
	if e := cmd.Run(); e != nil && cmd.ProcessState == nil {
		t.Fatal(e)
	}
	r.Exit = cmd.ProcessState.ExitCode()
	r.Out = out.String()
	r.Err = strings.ReplaceAll(err.String(), s.bin+"/", "") // of getopt(3)
	files, _ := filepath.Glob(filepath.Join(s.dir, "*.*"))
	for _, f := range files {
		text, e := os.ReadFile(f)
		if e != nil {
			t.Fatal(e)
		}
		r.Files[filepath.Base(f)] = string(text)
	}
	return r
}

// clean removes the output of newhelp.
func (s side) clean() {
	files, _ := filepath.Glob(filepath.Join(s.dir, "*.*"))
	for _, f := range files {
		os.Remove(f)
	}
}

const names = `root {
	a	60:0:1
	b
	dyn	60:*:*
}
b {
	c	60:0:2
	d	60:1:3
	e	60:1:4
	c2	60:0:2
}
`

// setup writes files into both directories.
func setup(t *testing.T, files map[string]string, sides ...side) {
	t.Helper()
	for _, s := range sides {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func same(t *testing.T, theirs, ours side, stdin, tool string, args ...string) result {
	t.Helper()
	want, got := theirs.run(t, stdin, tool, args...), ours.run(t, stdin, tool, args...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s %s (-theirs +ours):\n%s\ninput %q", tool, strings.Join(args, " "), diff, stdin)
	}
	return got
}

func TestOracleNewhelp(t *testing.T) {
	theirs, ours := sides(t)
	setup(t, map[string]string{"pmns": names, "in1": "@ a one\ntext\n", "in2": "junk\n@ b.c two\n"}, theirs, ours)
	long, longest := strings.Repeat("x", 200), strings.Repeat("0123456789abcdef\n", 80)
	for _, in := range []string{
		"", "\n", "@", "@\n", "@ a", "@ a\n", "@a one line\nhelp\n", "@   a   one   line  \n\n\nhelp\n\n\n",
		"# comment\nnothing\n@ a one\n# more\nhelp\n#\nmore help\n@ b.c two\n", "@ b one\n@ nothing two\n@ dyn three\n@ dyn.x four\n",
		"@ 60.3 an indom\ntext\n@ 60.0.9 a metric\ntext\n@ b.d d\n@ 60.2 other\n@ a a\n@ 29.1 x\n", "@ 60 x\n@ 60.1.2.3 y\n@ 60.1x z\n@ 60.x z\n@ -1.5 w\n@ 60.-1.5 v\n",
		"@ a one\n@ a two\n@ b.c x\n@ b.c y\n@ 60.0.2 z\n@ a w\n@ 60.1 i\n@ 60.1 j\n@ 60.1 k\n", "@ a\n@ b.c\n\n@ b.d \n@ b.e x\ny\n",
		"@ a " + long + "\n" + long + "\n" + long, "@" + long + "\n", long + "@ a one\n@ b.c two\n", "@ a one\n" + longest + "@ b.c two\nhelp\n@ b.d three\nhelp\n",
		"@ a one\n" + longest + long + "\n@b.c two\n", "@ a one\n" + longest, "@ a one\r\nhelp\r\n@\tb.c\ttwo\n", "@ a on\x00e\nhe\x00lp\n\x00\nx\n@ b.c two\n",
		"@\n@ a one\n@  \n\nlost\n@ b.c two\n", "@ a one\n\n# x\n\n@ b.c two", "@ a one\n" + strings.Repeat("y", 127) + "\n" + strings.Repeat("z", 126) + "\n",
	} {
		same(t, theirs, ours, in, "newhelp", "-n", "pmns", "-o", "out")
		same(t, theirs, ours, in, "newhelp", "-V", "-n", "pmns", "--output=out")
	}
	for _, args := range [][]string{
		{"-n", "pmns", "in1"},
		{"-n", "pmns", "in1", "in2"},
		{"-n", "pmns", "-o", "x", "in2", "in1"},
		{"-n", "pmns", "in1", "none"},
		{"-n", "pmns", "none"},
		{"-n", "pmns"},
		{"-n", "none", "in1"},
		{"-n", "in1", "in1"},
		{"-x"},
		{"-?"},
		{"-v", "2", "-n", "pmns", "in1"},
		{"-v", "1", "in1"},
		{"-v", "x", "in1"},
		{"-D", "foo"},
		{"-n", "pmns", "-o", "no/such/dir", "in1"},
		{"-o"},
		{"--nonsense"},
		{"-n", "pmns", "."},
	} {
		theirs.clean()
		ours.clean()
		same(t, theirs, ours, "@ a from stdin\n", "newhelp", args...)
	}
}

// TestOracleNewhelpRandom compiles random sources.
func TestOracleNewhelpRandom(t *testing.T) {
	theirs, ours := sides(t)
	setup(t, map[string]string{"pmns": names}, theirs, ours)
	for seed := range uint64(80) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		var b strings.Builder
		for range rnd.IntN(60) {
			switch rnd.IntN(8) {
			case 0, 1:
				fmt.Fprintf(&b, "@ %s %s\n", []string{"a", "b.c", "b.d", "b.e", "60.1", "60.0.7", "zz", "", "b.c2"}[rnd.IntN(9)], strings.Repeat("w ", rnd.IntN(80)))
			case 2:
				b.WriteString("#" + strings.Repeat("#", rnd.IntN(200)) + "\n")
			case 3:
				b.WriteString(strings.Repeat("\n", rnd.IntN(3)))
			case 4:
				b.WriteString(strings.Repeat("@# ", rnd.IntN(100)) + "\n")
			default:
				b.WriteString(strings.Repeat("t", rnd.IntN(140)) + "\n")
			}
		}
		args := []string{"-n", "pmns", "-o", "out"}
		if seed%2 == 0 {
			args = append(args, "-V")
		}
		same(t, theirs, ours, b.String(), "newhelp", args...)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestOracleShipped compiles the help of the agents that are shipped as sources, as
// their Install scripts do.
func TestOracleShipped(t *testing.T) {
	theirs, ours := sides(t)
	for _, agent := range []string{"sample", "simple", "trivial", "txmon"} {
		dir := "/var/lib/pcp/pmdas/" + agent
		if _, err := os.Stat(dir + "/help"); err != nil {
			t.Logf("SKIPPED: %v", err)
			continue
		}
		source := oracle.Run(t, "pmcpp", "-rs", "-I", dir, dir+"/help").Stdout
		if out := oracle.Run(t, "pmcpp", "-P", "-r", "-s", dir+"/domain.h"); out.Exit == 0 {
			source = out.Stdout + source
		}
		domain := map[string]string{"sample": "29", "simple": "253", "trivial": "250", "txmon": "251"}[agent]
		symbol := strings.ToUpper(agent)
		source = strings.ReplaceAll(source, symbol, domain)
		setup(t, map[string]string{"pmns": "#define " + symbol + " " + domain + "\nroot {\n\t" + agent + "\n}\n#include \"" + dir + "/pmns\"\n"}, theirs, ours)
		made := same(t, theirs, ours, source, "newhelp", "-V", "-n", "pmns", "-o", "help")
		if len(made.Files["help.dir"]) < 24 {
			t.Errorf("help of %s has %d bytes", agent, len(made.Files["help.dir"]))
		}
		for _, args := range [][]string{{}, {"-i"}, {"-p"}, {"-ip"}, {"-H", "-i"}, {"-HOp"}, {"-e"}} {
			same(t, theirs, ours, "", "chkhelp", append(append([]string{"-n", "pmns"}, args...), "help")...)
		}
		// Each reads the other's files.
		theirs.dir, ours.dir = ours.dir, theirs.dir
		same(t, theirs, ours, "", "chkhelp", "-n", "pmns", "-HOip", "help")
		theirs.dir, ours.dir = ours.dir, theirs.dir
	}
}

// TestOracleInstalled inspects the help of installed agents.
func TestOracleInstalled(t *testing.T) {
	theirs, ours := sides(t)
	files, _ := filepath.Glob("/var/lib/pcp/pmdas/*/help.dir")
	if len(files) == 0 {
		t.Skip("SKIPPED: no agent is installed")
	}
	setup(t, map[string]string{"pmns": names}, theirs, ours)
	for _, f := range files {
		base := strings.TrimSuffix(f, ".dir")
		pmns := "/var/lib/pcp/pmns/root_" + filepath.Base(filepath.Dir(f))
		if _, err := os.Stat(pmns); err != nil {
			pmns = "pmns"
		}
		same(t, theirs, ours, "", "chkhelp", "-n", pmns, "-HOip", base)
		same(t, theirs, ours, "", "chkhelp", "-n", pmns, "-e", base)
	}
}

func TestOracleChkhelp(t *testing.T) {
	theirs, ours := sides(t)
	setup(t, map[string]string{"pmns": names}, theirs, ours)
	same(t, theirs, ours, "@ a one\nhelp of a\n@ b.c\n\n@ b.d three\n@ 60.1 indom\nits help\n@ 60.2\n@ 60.5.5 five\n", "newhelp", "-n", "pmns", "-o", "h")
	setup(t, map[string]string{"bad1.dir": "", "bad2.dir": strings.Repeat("x", 100), "bad3.dir": "hPcP\x00\x0021\x00\x00\x00\x00", "bad2.pag": ""}, theirs, ours)
	for _, args := range [][]string{
		{},
		{"-n", "pmns"},
		{"-x", "h"},
		{"-?"},
		{"-n", "pmns", "h"},
		{"-n", "pmns", "-i", "h"},
		{"-n", "pmns", "-p", "h"},
		{"-n", "pmns", "-ipHO", "h"},
		{"-n", "pmns", "-H", "h"},
		{"-n", "pmns", "-O", "h"},
		{"-n", "pmns", "h", "a"},
		{"-n", "pmns", "h", "a", "b.c", "b.e", "b", "nothing", "dyn", "b.c2"},
		{"-n", "pmns", "-H", "h", "a", "b.c", "b.e"},
		{"-n", "pmns", "-HO", "h", "b.c", "b.e", "60.5.5"},
		{"-n", "pmns", "-i", "h", "a"},
		{"-n", "pmns", "-e", "h"},
		{"-n", "pmns", "-e", "h", "b"},
		{"-n", "pmns", "-e", "h", "nothing", "b.e", "a"},
		{"-e", "-p", "h"},
		{"-e", "-i", "h", "a"},
		{"-n", "pmns", "none"},
		{"-n", "pmns", "bad1"},
		{"-n", "pmns", "bad2"},
		{"-n", "pmns", "bad3"},
		{"-n", "none", "h"},
		{"-v", "2", "-n", "pmns", "-p", "h"},
		{"-v", "1", "h"},
		{"-v", "zwei", "h"},
		{"-D", "nonsense", "h"},
		{"-D", "appl0", "-n", "pmns", "h"},
		{"h", "-n", "pmns", "-p"},
	} {
		same(t, theirs, ours, "", "chkhelp", args...)
	}
}
