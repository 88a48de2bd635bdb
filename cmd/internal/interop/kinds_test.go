package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// moving are metrics whose values are times, processes or memory, change by
// themselves, or depend on other activity.
var moving = regexp.MustCompile(`^(simple\.(now|time\.)|trivial\.time|` +
	`sample(dso)?\.(seconds|milliseconds|dupnames\.two\.seconds|daemon_pid|dupnames\.(daemon_pid|pid_daemon)|` +
	`sysinfo|datasize|ulonglong\.bin|proc\.time|step|pdu|recv_pdu|xmit_pdu|percontext\.|secret\.foo\.bar\.max\.redirect|` +
	`mirage|scramble|dodgey|ghosts|event\.)|` +
	`openmetrics\.control\.|(swap|kernel|mem|network|disk|proc|filesys)\.|netfilter\.|zswap\.)`)

var (
	valueText = regexp.MustCompile(`^( {4}value .*|No value\(s\) available!)$`)
	instText  = regexp.MustCompile(`^ {4}inst \[.*`)
)

// masked replaces values of moving metrics, and times of day.
func masked(out string) string {
	var lines []string
	moves := false
	for line := range strings.SplitSeq(out, "\n") {
		if headLine.MatchString(line) {
			moves = moving.MatchString(line)
		}
		if moves {
			if instText.MatchString(line) || strings.HasPrefix(line, "        ") {
				continue // they may come and go; TestCollectorsAgree compares them
			}
			line = valueText.ReplaceAllString(line, "    value NOW")
		}
		lines = append(lines, clock.ReplaceAllString(line, "TIME"))
	}
	return strings.Join(lines, "\n")
}

// A reading is all that pminfo prints of some subtrees.
type reading struct {
	names []string
	all   string
}

// read asks for the names below group, and for all there is about each. Names
// are sorted, since some agents list theirs in a different order each time.
func (cl client) read(t *testing.T, c collector, group string) reading {
	t.Helper()
	out := cl.run(t, c.env, "pminfo", "-h", c.unix, group)
	// A metric of pmcd itself, with each collector's own texts.
	names := slices.DeleteFunc(strings.Fields(out.Stdout), func(name string) bool { return name == "sample.secret.foo.bar.max.redirect" })
	slices.Sort(names)
	if out.Exit != 0 || len(names) == 0 {
		return reading{all: fmt.Sprintf("exit %d: %s", out.Exit, strings.ReplaceAll(out.Stderr, c.unix, "HOST"))}
	}
	out = cl.run(t, c.env, "pminfo", append([]string{"-h", c.unix, "-dmtTlx"}, names...)...)
	return reading{names, masked(out.Stdout) + "--\n" + strings.ReplaceAll(out.Stderr, c.unix, "HOST") + fmt.Sprintf("--\nexit %d\n", out.Exit)}
}

// compareWorlds reads the same subtrees of both collectors, and wants at least
// one metric in each, and a value somewhere.
func compareWorlds(t *testing.T, theirs, ours collector, trees []string) {
	t.Helper()
	settled(t, func(errorf func(string, ...any)) {
		for _, tree := range trees {
			want, got := realTools.read(t, theirs, tree), realTools.read(t, ours, tree)
			if diff := cmp.Diff(want.names, got.names); diff != "" {
				errorf("%s: names (-real pmcd, +ours):\n%s", tree, diff)
			} else if diff := cmp.Diff(want.all, got.all); diff != "" {
				errorf("%s: pminfo -dmtTlx (-real pmcd, +ours):\n%s", tree, diff)
			}
			if len(want.names) == 0 || strings.Contains(want.all, "No PMCD agent") {
				errorf("%s: the real pmcd has nothing of it: %s", tree, want.all)
			}
		}
	})
}

// ourConf is the configuration of our collector with some lines.
func ourConf(d *oracle.PMCD, lines []string) string {
	const pmcd = "pmcd 2 dso pmcd_init /none/pmda_pmcd.so\n"
	return pmcd + strings.ReplaceAll(strings.Join(lines, "\n"), "$PMDAS", d.PMDAs) + "\n[access]\nallow \"*\" : all;\n"
}

// sockets are the ways to reach an agent, each with the line's type and the
// agent's option for it. Each collector has an address of its own.
var sockets = []struct {
	kind string
	line func(t *testing.T, domain int, program string) string
}{
	{"pipe", func(_ *testing.T, domain int, program string) string {
		return fmt.Sprintf("pipe binary %s -d %d", program, domain)
	}},
	{"inet", func(t *testing.T, domain int, program string) string {
		port := oracle.FreePort(t)
		return fmt.Sprintf("socket inet %d %s -d %d -i %d", port, program, domain, port)
	}},
	{"unix", func(t *testing.T, domain int, program string) string {
		dir, err := os.MkdirTemp("", "agent")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := os.Chmod(dir, 0o777); err != nil { // agents are PCP's user
			t.Fatal(err)
		}
		path := filepath.Join(dir, "socket")
		return fmt.Sprintf("socket unix %s %s -d %d -u %s", path, program, domain, path)
	}},
}

// TestTransports runs the C agents simple and sample, and ours, under both
// collectors, by pipe, TCP and Unix socket: all four have the same names,
// descriptions, instances, labels and values.
func TestTransports(t *testing.T) {
	for _, s := range sockets {
		t.Run(s.kind, func(t *testing.T) {
			lines := func(simple, sample string) []string {
				return []string{
					"simple 253 " + s.line(t, 253, simple),
					"sample 29 " + s.line(t, 29, sample),
				}
			}
			agents := []string{"pmcd", "simple", "sample"}
			real := func() []string { return lines("$PMDAS/simple/pmdasimple", "$PMDAS/sample/pmdasample") }
			mine := func() []string {
				return lines(twin.Tool(t, "pmdasimple"), twin.Tool(t, "pmdasample"))
			}
			start := func(lines []string) (*oracle.PMCD, collector) {
				d := oracle.StartPMCD(t, oracle.Config{Agents: agents, Lines: lines})
				return d, collector{name: "real pmcd", tcp: d.TCP, unix: d.Unix, env: d.Env}
			}
			d, realReal := start(real())
			_, mineReal := start(mine())
			realMine := startOurs(t, d, ourConf(d, real()))
			mineMine := startOurs(t, d, ourConf(d, mine()))
			// All four in step: values follow from how often an agent was asked.
			settled(t, func(errorf func(string, ...any)) {
				for _, tree := range []string{"simple", "sample"} {
					want := realTools.read(t, realReal, tree)
					for _, c := range []struct {
						what string
						collector
						text func(string) string
					}{
						{"real agents, our pmcd", realMine, func(s string) string { return s }},
						{"our agents, real pmcd", mineReal, withoutText},
						{"our agents, our pmcd", mineMine, withoutText},
					} {
						got := realTools.read(t, c.collector, tree)
						if diff := cmp.Diff(c.text(want.all), c.text(got.all)); diff != "" {
							errorf("%s, %s: (-real agents and pmcd, +these):\n%s", c.what, tree, diff)
						}
					}
					if len(want.names) < 5 {
						errorf("%s: the real pmcd has only %q", tree, want.names)
					}
				}
			})
		})
	}
}

var (
	oneLiner  = regexp.MustCompile(`^(\S.* PMID: \S+|    InDom .*) \[.*\]$`)
	afterText = regexp.MustCompile(`^ {4}(inst \[|value )|^No value|^--$|^\S+: pm[A-Z]|^\S+: [A-Z]`)
)

// withoutText replaces help texts, which differ in our agents, by a mark that
// there is one.
func withoutText(out string) string {
	var lines []string
	text := false
	for line := range strings.SplitSeq(out, "\n") {
		head := headLine.MatchString(line)
		switch {
		case strings.HasPrefix(line, "Help:"):
			text = true
			lines = append(lines, "Help: TEXT")
			continue
		case text && head:
			lines = append(lines, "")
			text = false
		case text && afterText.MatchString(line):
			text = false
		case text:
			continue
		}
		lines = append(lines, oneLiner.ReplaceAllString(line, "$1 [TEXT]"))
	}
	return strings.Join(lines, "\n")
}

// A script is an agent in Python or Perl.
type script struct {
	tree, domain, program string // program below the directory of agents
	args                  string
	notReady              bool // as its message states
}

// TestScriptAgents runs agents in Python and Perl under both collectors.
func TestScriptAgents(t *testing.T) {
	oracle.Require(t)
	for _, language := range []struct {
		name, interpreter, module string
		scripts                   []script
	}{
		{"python", "/usr/bin/python3", "import cpmda, requests", []script{
			{"simple", "253", "simple/pmdasimple.python", "", false},
			{"trivial", "250", "trivial/pmdatrivial.python", "", false},
			{"gluster", "118", "gluster/pmdagluster.python", "", false},
			{"nfsclient", "62", "nfsclient/pmdanfsclient.python", "", false},
			{"zswap", "125", "zswap/pmdazswap.python", "", false},
			{"openmetrics", "144", "openmetrics/pmdaopenmetrics.python", "-d 144 -c CONFIG -n", true},
		}},
		{"perl", "/usr/bin/perl", "use PCP::PMDA", []script{
			{"simple", "253", "simple/pmdasimple.perl", "", false},
			{"bonding", "96", "bonding/pmdabonding.pl", "", false},
			{"netfilter", "97", "netfilter/pmdanetfilter.pl", "", false},
			{"pdns", "101", "pdns/pmdapdns.pl", "", false},
			{"gpfs", "135", "gpfs/pmdagpfs.pl", "", false},
		}},
	} {
		t.Run(language.name, func(t *testing.T) {
			flag := map[string]string{"python": "-c", "perl": "-e"}[language.name]
			if out, err := exec.Command(language.interpreter, flag, language.module).CombinedOutput(); err != nil {
				t.Skipf("SKIPPED: %s cannot %q: %v: %s", language.interpreter, language.module, err, out)
			}
			config := t.TempDir()
			for _, dir := range []string{filepath.Dir(config), config} { // agents are PCP's user
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			const source = "# HELP boiler_temperature water\n# TYPE boiler_temperature gauge\n" +
				"boiler_temperature{room=\"cellar\",pipe=\"in\"} 41.5\nboiler_temperature{room=\"cellar\",pipe=\"out\"} 63\n" +
				"# TYPE boiler_starts counter\nboiler_starts 17\n"
			if err := os.WriteFile(filepath.Join(config, "boiler.url"), []byte("file://"+config+"/boiler.txt\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(config, "boiler.txt"), []byte(source), 0o644); err != nil {
				t.Fatal(err)
			}
			var lines, trees []string
			names := "root {\n"
			for _, s := range language.scripts {
				kind := "pipe binary"
				if s.notReady {
					kind += " notready"
				}
				// In the order of a hash table some of them number metrics.
				lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s /usr/bin/env PYTHONHASHSEED=0 PERL_HASH_SEED=0 %s /var/lib/pcp/pmdas/%s %s", s.tree, s.domain, kind,
					language.interpreter, s.program, strings.ReplaceAll(s.args, "CONFIG", config))))
				trees = append(trees, s.tree)
				if s.tree != "simple" { // with the names of the C agent
					names += fmt.Sprintf("\t%s %s:*:*\n", s.tree, s.domain)
				}
			}
			d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "simple"}, Lines: lines, PMNS: names + "}\n"})
			theirs := collector{name: "real pmcd", tcp: d.TCP, unix: d.Unix, env: d.Env}
			ours := startOurs(t, d, ourConf(d, lines))
			for i, s := range language.scripts {
				if s.notReady {
					theirs.await(t, trees[i])
					ours.await(t, trees[i])
				}
			}
			compareWorlds(t, theirs, ours, trees)
		})
	}
}

// await waits for an agent that is not ready when the collector is.
func (c collector) await(t *testing.T, tree string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out := realTools.run(t, c.env, "pminfo", "-h", c.unix, tree)
		if strings.Contains(out.Stdout, "\n") && out.Stderr == "" && !strings.Contains(out.Stdout, "pmLookupName") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s does not become ready: %q %q", c.name, tree, out.Stdout, out.Stderr)
		}
	}
}
