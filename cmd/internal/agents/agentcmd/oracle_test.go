package agentcmd_test

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/agents/agentcmd"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestMain makes this program act as the command by whose name it is called, so that a
// real collector can start our agents.
func TestMain(m *testing.M) {
	if c := cli.Find(agentcmd.Commands(), filepath.Base(os.Args[0])); c != nil {
		os.Exit(c.Run(context.Background(), &cli.Env{
			Name: c.Link, Args: os.Args[1:],
			Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			Getenv: os.Getenv, Command: c,
		}))
	}
	os.Exit(m.Run())
}

// links creates a directory with our agents, and their configuration in the place that
// PCP_PMDAS_DIR uses. Agents started by root run as PCP's user, who must be able to
// read it.
func links(t testing.TB) (dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = os.MkdirTemp("", "agents"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	errs := []error{
		os.Chmod(dir, 0o755),
		os.Mkdir(filepath.Join(dir, "simple"), 0o755),
		os.WriteFile(filepath.Join(dir, "simple", "simple.conf"), []byte("sec,min,hour\n"), 0o644),
	}
	for _, c := range agentcmd.Commands() {
		errs = append(errs, os.Symlink(self, filepath.Join(dir, c.Link)))
	}
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const ourNames = `root {
	simple
	trivial
}
simple {
	numfetch	253:0:0
	color	253:0:1
	time
	now	253:2:4
}
simple.time {
	user	253:1:2
	sys	253:1:3
}
trivial {
	time	250:0:0
}
`

// A side is a real collector with either kind of agents, and their configuration.
type side struct {
	*oracle.PMCD
	conf string // path of simple.conf
	log  string // directory of logs
}

func ours(t testing.TB, names string) side {
	t.Helper()
	dir := links(t)
	d := oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd"},
		Lines: []string{
			fmt.Sprintf("simple 253 pipe binary %s/pmdasimple -d 253", dir),
			fmt.Sprintf("trivial 250 pipe binary %s/pmdatrivial -d 250", dir),
		},
		PMNS: names,
		Env:  []string{"PCP_PMDAS_DIR=" + dir},
	})
	return side{d, filepath.Join(dir, "simple", "simple.conf"), filepath.Dir(d.Log)}
}

func theirs(t testing.TB) side {
	t.Helper()
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "simple", "trivial"}})
	return side{d, filepath.Join(d.PMDAs, "simple", "simple.conf"), filepath.Dir(d.Log)}
}

var (
	clockMetric = regexp.MustCompile(`^(simple\.now|simple\.time\.|trivial\.time)`)
	clockValue  = regexp.MustCompile(`value [0-9.e+-]+$`)
	clockProbe  = regexp.MustCompile(`^((?:simple\.now|simple\.time\.\w+|trivial\.time) \d+) .*$`)
	helpText    = regexp.MustCompile(`(?s)Help:\n.*?(\n    (?:inst|value))`)
	oneLine     = regexp.MustCompile(`\[.+\]$`)
)

// steady replaces output that varies: times of day, processor times, and help text,
// which is in our own words.
func steady(out string) string {
	out = helpText.ReplaceAllString(out, "Help: some$1")
	var lines []string
	clock := false
	for line := range strings.SplitSeq(out, "\n") {
		if line != "" && line[0] != ' ' && !strings.HasPrefix(line, "Help:") {
			clock = clockMetric.MatchString(line)
			line = oneLine.ReplaceAllString(line, "[some]")
		}
		if clock {
			line = clockValue.ReplaceAllString(line, "value NOW")
		}
		line = clockProbe.ReplaceAllString(line, "$1 NOW")
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestOracleAgents runs the same tools against the C agents and ours, under
// the C collector, in the same order from the start on.
func TestOracleAgents(t *testing.T) {
	oracle.Require(t)
	c, g := theirs(t), ours(t, ourNames)
	same := func(tool string, args ...string) string {
		t.Helper()
		// The second may change between the two. Then both are queried again, so that
		// they stay in step.
		var diff string
		var got oracle.Output
		for try := 0; try == 0 || diff != "" && try < 5; try++ {
			var want oracle.Output
			want, got = c.Run(t, tool, args...), g.Run(t, tool, args...)
			want.Stdout, got.Stdout = steady(want.Stdout), steady(got.Stdout)
			diff = cmp.Diff(want, got)
		}
		if diff != "" {
			t.Errorf("%s %s (-theirs +ours):\n%s", tool, strings.Join(args, " "), diff)
		}
		return got.Stdout
	}
	configure := func(text string) {
		t.Helper()
		// Seconds count for the C agent, so the time of change must differ
		// by one at least.
		changed := time.Now().Add(time.Hour)
		for _, path := range []string{c.conf, g.conf} {
			if fi, err := os.Stat(path); err == nil {
				changed = fi.ModTime().Add(2 * time.Second)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, changed, changed); err != nil {
				t.Fatal(err)
			}
		}
	}

	out := same("pminfo", "-dfmtTl", "simple", "trivial")
	for _, part := range []string{
		"PMID: 253.2.4 [some]", "Help: some", `inst [1 or "min"] value NOW`, `"units":"hour","unitsystem":"SI"`, `inst [2 or "blue"] value 201`,
	} {
		if !strings.Contains(out, part) {
			t.Errorf("pminfo prints no %q:\n%s", part, out)
		}
	}
	for range 2 {
		same("pminfo", "-f", "simple.color", "simple.numfetch")
	}
	same("pminfo", "-I", "simple.color", "simple.now")
	same("pminfo", "-x", "-f", "simple.color")
	same("pmprobe", "-i", "simple", "trivial")
	same("pmprobe", "-I", "simple", "trivial")
	same("pmprobe", "-v", "simple", "trivial")
	for _, args := range [][]string{
		{"-s", "3", "-t", "10msec", "simple.color"},
		{"-s", "2", "-t", "10msec", "-i", "green", "simple.color"},
		{"-s", "2", "-t", "10msec", "-i", "red,blue", "simple.color"},
		{"-s", "2", "-t", "10msec", "-i", "pink", "simple.color"},
		{"-s", "1", "simple.numfetch"},
	} {
		same("pmval", args...)
	}

	// Stores, including rejected ones.
	for _, args := range [][]string{
		{"simple.numfetch", "42"},
		{"simple.numfetch", "0"},
		{"simple.numfetch", "4294967295"}, // -1 to the C agent
		{"simple.numfetch", "2147483648"},
		{"simple.numfetch", "2147483647"},
		{"simple.numfetch", "-1"},
		{"simple.color", "17"},
		{"-i", "blue", "simple.color", "255"},
		{"-i", "red", "simple.color", "256"},
		{"-i", "green", "simple.color", "-1"},
		{"-i", "pink", "simple.color", "1"},
		{"simple.color", "abc"},
		{"simple.time.user", "1"},
		{"simple.time.sys", "1"},
		{"simple.now", "1"},
		{"-i", "sec", "simple.now", "1"},
		{"trivial.time", "0"},
	} {
		same("pmstore", args...)
		same("pminfo", "-f", "simple.color", "simple.numfetch")
	}

	// The instance domain follows its file, and instances keep their numbers.
	for _, text := range []string{
		"hour,sec\n", "min\nsec\n", "sec,bogus,min\n", "bogus\n", "\n", "sec, min\n", ",,hour,,sec", "sec,sec\n",
		strings.Repeat("x,", 130) + "min\n", "sec,min,hour\n",
	} {
		configure(text)
		if out := same("pminfo", "-fl", "simple.now"); out == "" {
			t.Errorf("pminfo prints nothing for %q", text)
		}
		same("pmprobe", "-I", "simple.now")
	}
	configure("min\n") // requested the instances without a fetch
	same("pmval", "-s", "1", "-i", "min", "simple.now")
	same("pmval", "-s", "1", "-i", "sec", "simple.now")

	for _, name := range []string{"simple.log", "trivial.log"} {
		text, err := os.ReadFile(filepath.Join(g.log, name))
		if err != nil || !strings.HasPrefix(string(text), "Log for pmda"+strings.TrimSuffix(name, ".log")+" on ") {
			t.Errorf("%s: %v, %q", name, err, text)
		}
		if strings.Contains(string(text), "Error") {
			t.Errorf("%s has errors:\n%s", name, text)
		}
	}
	g.Stop(t)
	for _, name := range []string{"simple.log", "trivial.log"} {
		text, _ := os.ReadFile(filepath.Join(g.log, name))
		if strings.Contains(string(text), "panic") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// TestOracleNow compares simple.now with the clock.
func TestOracleNow(t *testing.T) {
	oracle.Require(t)
	g := ours(t, ourNames)
	value := regexp.MustCompile(`value (\d+)\n`)
	for try := 1; ; try++ {
		before := time.Now().UTC()
		out := g.Run(t, "pminfo", "-f", "simple.now", "trivial.time")
		after := time.Now().UTC()
		var got []string
		for _, m := range value.FindAllStringSubmatch(out.Stdout, -1) {
			got = append(got, m[1])
		}
		if before.Unix() != after.Unix() && try < 20 {
			continue // a second has just ended
		}
		want := strings.Fields(fmt.Sprint(before.Second(), before.Minute(), before.Hour(), before.Unix()))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sec, min, hour, time:\n%s%s", diff, out.Stderr)
		}
		return
	}
}

// TestOracleDynamicNames gives the C collector only the names of the roots: the agents
// provide the others.
func TestOracleDynamicNames(t *testing.T) {
	oracle.Require(t)
	g := ours(t, "root {\n\tsimple\t253:*:*\n\ttrivial\t250:*:*\n}\n")
	out := g.Run(t, "pminfo", "-m", "simple", "trivial")
	want := "simple.numfetch PMID: 253.0.0\nsimple.color PMID: 253.0.1\nsimple.now PMID: 253.2.4\n" +
		"simple.time.user PMID: 253.1.2\nsimple.time.sys PMID: 253.1.3\ntrivial.time PMID: 250.0.0\n"
	if out.Stdout != want || out.Exit != 0 {
		t.Errorf("pminfo -m prints %+v, want %s", out, want)
	}
	out = g.Run(t, "pminfo", "-f", "simple.time.sys", "simple.nothing", "simple.time")
	if !strings.Contains(out.Stdout, "simple.time.user\n    value ") || !strings.Contains(out.Stdout+out.Stderr, "simple.nothing: Unknown metric name") {
		t.Errorf("pminfo prints %+v", out)
	}
	out = g.Run(t, "pmprobe", "simple.color", "trivial")
	if out.Stdout != "simple.color 3\ntrivial.time 1\n" {
		t.Errorf("pmprobe prints %+v", out)
	}
}

// TestOracleSockets makes the C collector start our agent and connect to it, and checks
// the user that it runs as.
func TestOracleSockets(t *testing.T) {
	oracle.Require(t)
	dir := links(t)
	port := oracle.FreePort(t)
	agent, sock := dir+"/pmdasimple", dir+"/socket"
	for name, line := range map[string]string{
		"inet": fmt.Sprintf("simple 253 socket inet %d %s -d 253 -D libpmda -i %d", port, agent, port),
		"unix": fmt.Sprintf("simple 253 socket unix %s %s -d 253 -D libpmda -u %s", sock, agent, sock),
		"pipe": fmt.Sprintf("simple 253 pipe binary %s -d 253 -D libpmda -p -U nobody", agent),
	} {
		t.Run(name, func(t *testing.T) {
			d := oracle.StartPMCD(t, oracle.Config{
				Agents: []string{"pmcd"}, Lines: []string{line}, PMNS: "root {\n\tsimple\t253:*:*\n}\n",
				Env: []string{"PCP_PMDAS_DIR=" + dir},
			})
			// The collector gives a socket agent two seconds to listen. An agent that
			// is late on a busy machine gets another chance.
			const want = "simple.numfetch 1\nsimple.color 3\nsimple.now 3\nsimple.time.user 1\nsimple.time.sys 1\n"
			out := d.Run(t, "pmprobe", "simple")
			for try := 0; out.Stdout != want && try < 5; try++ {
				t.Logf("pmprobe prints %+v", out)
				d.Stop(t)
				d.Start(t)
				out = d.Run(t, "pmprobe", "simple")
			}
			if out.Stdout != want {
				t.Errorf("pmprobe prints %+v", out)
			}
			log, err := os.ReadFile(filepath.Join(filepath.Dir(d.Log), "simple.log"))
			if err != nil {
				t.Fatal(err)
			}
			pid := regexp.MustCompile(`pmdasimple\((\d+)\) Debug: request type=FETCH`).FindSubmatch(log)
			if pid == nil {
				t.Fatalf("simple.log tells of no fetch:\n%s", log)
			}
			name := "pcp"
			if strings.Contains(line, "nobody") {
				name = "nobody"
			}
			u, err := user.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			threads, err := filepath.Glob("/proc/" + string(pid[1]) + "/task/*/status")
			if err != nil || len(threads) == 0 {
				t.Fatalf("threads of %s: %v", pid[1], err)
			}
			owner := regexp.MustCompile(fmt.Sprintf(`(?s)\nUid:\t%[1]s\t%[1]s\t%[1]s\t%[1]s\nGid:\t%[2]s\t%[2]s\t%[2]s\t%[2]s\n.*\nGroups:\t%[2]s *\n`, u.Uid, u.Gid))
			for _, path := range threads {
				if status, err := os.ReadFile(path); err == nil && !owner.Match(status) {
					t.Errorf("a thread is not %s's:\n%s", name, status)
				}
			}
		})
	}
}
