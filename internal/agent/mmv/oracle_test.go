package mmv_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/mmv"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	file "github.com/go-pcp/pcp/mmv"
)

// sides are three collectors with the same folder.
type sides struct {
	dir    string
	real   *oracle.PMCD // with pmdammv of the C implementation
	daemon *oracle.PMCD // with our agent as a process
	ours   string       // the host specification of our collector, with our agent
	log    *logBuffer   // of the latter
	make   string       // the program mmvmake
}

func startSides(t *testing.T) *sides {
	t.Helper()
	oracle.Require(t)
	s := &sides{log: new(logBuffer), make: compile(t)}
	s.real = oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "mmv"}})
	s.dir = s.real.Dir + "/tmp/mmv"

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(s.real.Dir, "pmdammv")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	s.daemon = oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd"},
		Lines:  []string{"mmv 70 pipe binary " + link + " -d 70"},
		PMNS:   "root {\n\tmmv\t70:*:*\n}\n",
		Env:    []string{"PCP_TMP_DIR=" + filepath.Dir(s.dir), "HOME=/nowhere"},
	})
	s.ours = startOurs(t, mmv.Config{Dirs: []string{s.dir}, Log: s.log.logger()})
	return s
}

// startOurs runs our collector with the agent alone.
func startOurs(t testing.TB, cfg mmv.Config) (host string) {
	t.Helper()
	a, err := mmv.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return agenttest.Serve(t, "mmv", mmv.Domain, a)
}

// shortDir is t.TempDir with a path short enough for sockets.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mmv")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// compile makes mmvmake, which makes files with libpcp_mmv.
func compile(t *testing.T) string {
	t.Helper()
	out := filepath.Join(shortDir(t), "mmvmake")
	if text, err := exec.Command("cc", "-o", out, "../../../mmv/testdata/mmvmake.c", "-lpcp_mmv", "-lpcp").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no C compiler, or no headers of PCP: %v\n%s", err, text)
	}
	return out
}

// c makes a file with libpcp_mmv; a bar means a tab. name is the first word of
// the first line.
func (s *sides) c(t *testing.T, text string) {
	t.Helper()
	cmd := exec.Command(s.make)
	cmd.Env = append(oracle.Env(), "PCP_TMP_DIR="+filepath.Dir(s.dir))
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(strings.TrimSpace(text), "|", "\t") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("mmvmake: %v\n%s", err, out)
	}
}

var (
	ownLabels = regexp.MustCompile(`,?"(domainname|hostname|machineid|groupid|userid)":("[^"]*"|\d+)`)
	inPairs   = regexp.MustCompile(`\{,`)
)

// same runs a real tool against all sides and compares the outputs.
func (s *sides) same(t *testing.T, tool string, args ...string) string {
	t.Helper()
	steady := func(o oracle.Output) oracle.Output {
		o.Stdout = inPairs.ReplaceAllString(ownLabels.ReplaceAllString(o.Stdout, ""), "{")
		return o
	}
	run := func(host string) oracle.Output {
		return steady(oracle.RunEnv(t, s.real.Env, tool, append([]string{"-h", host}, args...)...))
	}
	want := run(s.real.Unix)
	for name, host := range map[string]string{"our pmcd": s.ours, "our pmdammv": s.daemon.Unix} {
		if d := cmp.Diff(want, run(host)); d != "" {
			t.Errorf("%s: %s %s (-theirs +ours):\n%s", name, tool, strings.Join(args, " "), d)
		}
	}
	return want.Stdout
}

// files returns the names of the subtrees other than the controls.
func (s *sides) names(t *testing.T) []string {
	t.Helper()
	// A fetch notices files that have changed in place; looking up names
	// soon after a check need not.
	s.same(t, "pminfo", "-f", "mmv.control.files")
	out := s.same(t, "pminfo", "-m", "mmv")
	var names []string
	for line := range strings.Lines(out) {
		if name, _, _ := strings.Cut(line, " "); !strings.HasPrefix(name, "mmv.control.") {
			names = append(names, name)
		}
	}
	return names
}

func (s *sides) compare(t *testing.T) string {
	t.Helper()
	names := s.names(t)
	s.same(t, "pminfo", "-dfm", "mmv.control")
	if len(names) == 0 {
		return ""
	}
	s.same(t, "pmprobe", append([]string{"-I"}, names...)...)
	return s.same(t, "pminfo", append([]string{"-dfmtTl"}, names...)...)
}

const acme = `
registry|acme|321|0
indom|1|Products|The products of Acme
instance|1|0|Anvils
instance|1|1|Rockets
instance|1|2|Giant Rubber Bands
metric|products.count|7|3|1|0|0|1|0|0|0|1|factory output|Long help of the thing
metric|products.time|8|9|1|0|1|0|0|2|0|1|short|-
metric|products.queuetime|10|9|1|0|1|0|0|2|0|1||
metric|name|9|6|4|0|0|0|0|0|0|-1|-|-
metric|kinds|19|6|3|0|0|0|0|0|0|1|-|-
metric|i32|11|0|3|0|0|0|0|0|0|-1|-|-
metric|u32|12|1|3|1|-1|0|1|3|0|-1|-|-
metric|i64|13|2|3|0|0|0|0|0|0|-1|-|-
metric|float|14|4|0|0|0|0|0|0|0|-1|-|-
metric|double|15|5|0|0|0|0|0|0|0|-1|-|-
metric|nosup|16|-1|3|0|0|0|0|0|0|-1|one|long
metric|elapsed|17|9|3|0|0|0|0|0|0|-1|-|-
label|registry|0|0|plant|"here"|1|0
label|registry|0|0|site|"there"|1|1
label|indom|1|0|il|3|2|0
label|metric|7|0|ml|true|3|1
label|instance|1|1|instl|null|4|0
label|instance|1|1|more|[1,2]|5|1
start
inc|products.count|Rockets
add|products.time|Anvils|17
set|i32|-|-5
set|u32|-|4294967295
set|i64|-|-9000000000
set|float|-|1.5
set|double|-|-2.25e100
string|name|-|hello world
string|kinds|Rockets|loud
`

// TestOracle compares the metrics served for files of all writers.
func TestOracle(t *testing.T) {
	s := startSides(t)
	s.compare(t)
	s.c(t, acme)
	out := s.compare(t)
	for _, part := range []string{
		"mmv.acme.products.count PMID: 70.321.7 [factory output]", `inst [1 or "Rockets"] value 1`, `"plant":"here"`, "value -2.25e+100",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing:\n%s", part, out)
		}
	}

	// Files that share clusters, items, serials and, without a prefix, names.
	for i, f := range []struct {
		name           string
		cluster, flags int
		typ, sem       int
	}{
		{"a", 2, 0, 3, 1}, {"b", 1, 0, 3, 1}, {"c", 0, 0, 3, 1}, {"d", 0, 4, 2, 3}, {"e", 7, 1, 3, 1}, {"f", 7, 1, 3, 1}, {"g.h_1", 0, 0, 3, 1}, {"1num", 0, 0, 3, 1}, {"od-d", 0, 0, 3, 1},
	} {
		s.c(t, fmt.Sprintf(`
registry|%[1]s|%[2]d|%[3]d
indom|1|dom %[1]s|dom help %[1]s
indom|2||
instance|1|%[4]d|inst%[1]s
instance|1|50|fifty%[1]s
metric|m.x|1|%[5]d|%[6]d|0|0|1|0|0|0|1|one %[1]s|two
metric|m.q%[4]d|2|%[5]d|%[6]d|0|0|1|0|0|0|-1|one %[1]s|two
metric|m.x|4|3|1|0|0|1|0|0|0|1|one %[1]s|two
metric|m.dup|2|3|1|0|0|1|0|0|0|1|one %[1]s|two
metric|m.none|5|3|1|0|0|1|0|0|0|2|one %[1]s|two
metric|m|6|3|1|0|0|1|0|0|0|-1|one %[1]s|two
metric|n|7|3|1|0|0|1|0|0|0|-1|one %[1]s|two
metric|n.below|8|3|1|0|0|1|0|0|0|-1|one %[1]s|two
metric|s|9|6|1|0|0|1|0|0|0|-1|one %[1]s|two
metric|u|10|3|1|0|0|1|0|0|0|-1|one %[1]s|two
metric|i|11|0|1|0|0|1|0|0|0|-1|one %[1]s|two
start
add|m.x|inst%[1]s|7
add|m.q%[4]d|-|8
add|m.dup|inst%[1]s|9
set|u|-|18446744073709551615
set|i|-|-1
`, f.name, f.cluster, f.flags, i, f.typ, f.sem))
		s.compare(t)
	}

	// Long names make version 2.
	long := strings.Repeat("long", 40)
	s.c(t, fmt.Sprintf("registry|long|0|2\nindom|1|-|-\ninstance|1|3|%[1]s and\nmetric|%[1]s|1|3|1|0|0|1|0|0|0|1|-|-\nstart", long))
	s.compare(t) // of a process that has ended by now: missing

	s.same(t, "pmstore", "mmv.control.reload", "1")
	s.same(t, "pmstore", "mmv.control.debug", "0")
	for _, args := range [][]string{
		{"mmv.control.files", "1"}, {"mmv.acme.i32", "1"}, {"-i", "Rockets", "mmv.acme.products.count", "7"}, {"mmv.control.reload", "x"},
	} {
		s.same(t, "pmstore", args...)
	}
	s.compare(t)

	// Removed and replaced.
	os.Remove(s.dir + "/b")
	s.compare(t)
	s.c(t, strings.ReplaceAll(acme, "321", "17"))
	s.compare(t)
	s.same(t, "pmval", "-s", "1", "-i", "Rockets,Anvils", "mmv.acme.products.time")
	s.same(t, "pmval", "-s", "1", "-i", "Giant", "mmv.acme.products.time")
	s.same(t, "pminfo", "-f", "mmv.acme", "mmv.nothing", "mmv.acme.products", "mmv")
}

// TestOracleOurs compares the metrics served for files of our library, while they
// grow.
func TestOracleOurs(t *testing.T) {
	s := startSides(t)
	for _, fixed := range []bool{false, true} {
		reg, err := file.New(fmt.Sprintf("own%v", fixed), file.Options{Dir: s.dir, Fixed: fixed, Refresh: time.Hour, Labels: []file.Label{{Name: "kind", Value: "own"}}})
		if err != nil {
			t.Fatal(err)
		}
		defer reg.Close()
		dom := reg.InDom(file.InDomDef{OneLine: "things", Instances: []string{"a", "b"}})
		count := reg.CounterVec(file.Metric{Name: "count", InDom: dom, OneLine: "how many", Help: "How many there are."})
		gauge := reg.Gauge(file.Metric{Name: "level"})
		text := reg.String(file.Metric{Name: "text"})
		hist := reg.Histogram(file.Metric{Name: "sizes", Units: pcp.Units{DimSpace: 1}})
		if fixed {
			if err := reg.Start(); err != nil {
				t.Fatal(err)
			}
		}
		s.compare(t)
		for i := range 3 {
			count.With("b").Add(3)
			gauge.Set(1.5)
			text.Set(fmt.Sprintf("text %d", i))
			hist.Observe(5)
			s.compare(t)
			if !fixed {
				count.With(fmt.Sprintf("new %d", i)).Inc()
				reg.Counter(file.Metric{Name: fmt.Sprintf("more%d", i)}).Inc()
				out := s.compare(t)
				if !strings.Contains(out, fmt.Sprintf(`or "new %d"] value 1`, i)) {
					t.Errorf("instance is missing:\n%s", out)
				}
			}
		}
		if err := reg.Err(); err != nil {
			t.Error(err)
		}
	}
}

// TestOraclePython compares the metrics served for a file of python3-pcp.
func TestOraclePython(t *testing.T) {
	s := startSides(t)
	out := oracle.Python(t, append(s.real.Env, "PCP_TMP_DIR="+filepath.Dir(s.dir)), `
from pcp import mmv, pmapi
import cmmv, cpmapi as c
v = mmv.MemoryMappedValues("python", 0, 42)
dom = mmv.mmv_indom(1, "short", "long")
dom.set_instances([mmv.mmv_instance(0, "zero"), mmv.mmv_instance(7, "the seven")])
v.add_indom(dom)
one = pmapi.pmUnits(0, 0, 1, 0, 0, c.PM_COUNT_ONE)
none = pmapi.pmUnits(0, 0, 0, 0, 0, 0)
for i, (name, typ, sem, indom) in enumerate([
        ("requests.done", cmmv.MMV_TYPE_U64, cmmv.MMV_SEM_COUNTER, 1),
        ("requests.size", cmmv.MMV_TYPE_DOUBLE, cmmv.MMV_SEM_INSTANT, 1),
        ("state", cmmv.MMV_TYPE_STRING, cmmv.MMV_SEM_INSTANT, 0),
        ("busy", cmmv.MMV_TYPE_ELAPSED, cmmv.MMV_SEM_COUNTER, 0),
        ("temperature", cmmv.MMV_TYPE_I32, cmmv.MMV_SEM_DISCRETE, 0)]):
    v.add_metric(mmv.mmv_metric(name, i + 1, typ, sem, one if sem == cmmv.MMV_SEM_COUNTER else none, indom, "" if i == 2 else "about " + name, ""))
v.start()
v.lookup_add("requests.done", "the seven", 12)
v.lookup_set("requests.size", "zero", 1.25)
v.lookup_set_string("state", "", "running")
v.lookup_set("temperature", "", -40)
`)
	if out.Exit != 0 || out.Stderr != "" {
		t.Fatalf("python: %+v", out)
	}
	text := s.compare(t)
	for _, part := range []string{"mmv.python.requests.done PMID: 70.42.1 [about requests.done]", `inst [7 or "the seven"] value 12`, `value "running"`, "value -40"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing:\n%s", part, text)
		}
	}
}

// TestOraclePerl compares the metrics served for a file of PCP::MMV.
func TestOraclePerl(t *testing.T) {
	s := startSides(t)
	if out, err := exec.Command("perl", "-MPCP::MMV", "-e", "1").CombinedOutput(); err != nil {
		oracle.Missing(t, "perl has no module PCP::MMV: "+strings.TrimSpace(string(out)))
	}
	cmd := exec.Command("perl", "-e", `
use strict;
use PCP::MMV;
my @indoms = ([1, [0 => 'zero', 7 => 'the seven'], 'short', 'long']);
my @metrics = (
	['requests.done', 1, MMV_TYPE_U64, 1, mmv_units(0,0,1,0,0,MMV_COUNT_ONE), MMV_SEM_COUNTER, 'about requests', 'All of them.'],
	['requests.size', 2, MMV_TYPE_DOUBLE, 1, mmv_units(1,0,0,MMV_SPACE_KBYTE,0,0), MMV_SEM_INSTANT, '', ''],
	['state', 3, MMV_TYPE_STRING, MMV_INDOM_NULL, mmv_units(0,0,0,0,0,0), MMV_SEM_INSTANT, 'state', ''],
	['temperature', 4, MMV_TYPE_I32, MMV_INDOM_NULL, mmv_units(0,0,0,0,0,0), MMV_SEM_DISCRETE, '', ''],
);
my $h = mmv_stats_init('perl', 43, 0, \@metrics, \@indoms);
die "mmv_stats_init failed\n" unless defined $h;
mmv_stats_add($h, 'requests.done', 'the seven', 12);
mmv_stats_set($h, 'requests.size', 'zero', 1.25);
mmv_stats_set_string($h, 'state', '', 'running');
mmv_stats_set($h, 'temperature', '', -40);
`)
	cmd.Env = append(append(oracle.Env(), s.real.Env...), "PCP_TMP_DIR="+filepath.Dir(s.dir), "PERL5LIB="+os.Getenv("PERL5LIB"))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("perl: %v\n%s", err, out)
	}
	text := s.compare(t)
	for _, part := range []string{"mmv.perl.requests.done PMID: 70.43.1 [about requests]", `inst [7 or "the seven"] value 12`, `inst [0 or "zero"] value 1.25`, `value "running"`, "value -40"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing:\n%s", part, text)
		}
	}
}

// TestOraclePMLogger records a file that changes, and replays it.
func TestOraclePMLogger(t *testing.T) {
	s := startSides(t)
	s.c(t, acme)
	dir := shortDir(t)
	config := filepath.Join(dir, "config")
	if err := os.WriteFile(config, []byte("log mandatory on 100 msec { mmv.acme }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var want oracle.Output
	for i, host := range []string{s.real.Unix, s.ours, s.daemon.Unix} {
		archive := filepath.Join(dir, fmt.Sprintf("archive%d", i))
		out := oracle.RunEnv(t, s.real.Env, "pmlogger", "-h", host, "-c", config, "-s", "3", "-l", archive+".log", "-t", "100msec", archive)
		if out.Exit != 0 {
			log, _ := os.ReadFile(archive + ".log")
			t.Fatalf("%s: pmlogger: %+v\n%s", host, out, log)
		}
		got := oracle.RunEnv(t, nil, "pminfo", "-a", archive, "-dfmtTl", "mmv")
		got.Stdout = ownLabels.ReplaceAllString(got.Stdout, "")
		if i == 0 {
			want = got
			if !strings.Contains(got.Stdout, `inst [1 or "Rockets"] value 1`) || !strings.Contains(got.Stdout, `"instl":null`) {
				t.Fatalf("pminfo -a: %+v", got)
			}
		} else if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-theirs +ours):\n%s", host, d)
		}
	}
}
