package interop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// A randomConfig makes configurations of pmlogger, sound and broken.
type randomConfig struct{ *rand.Rand }

func (r randomConfig) one(list ...string) string { return list[r.IntN(len(list))] }

func (r randomConfig) metric() string {
	name := r.one("sample.colour", "sample.bin", "sample.long.one", "sample.dupnames", "sample.many.int", "sample.string.hullo", "sample.double",
		"sample.colour", "sample.bin", "sample.bin", "sample.long", "sample", "nosuch", "nosuch.metric", "pmcd.version", "pmcd.agent.status", "sample.lights",
		"sample.nosuch")
	if r.IntN(20) == 0 {
		name = r.one("all", "once", "sample.-x", "9", "a:b")
	}
	if r.IntN(3) > 0 {
		return name
	}
	var insts []string
	for range 1 + r.IntN(3) {
		insts = append(insts, r.one("red", "green", `"blue"`, "0", "1", "2", `"bin-100"`, `"bin-300"`, "400", "sample"))
	}
	if r.IntN(20) == 0 {
		insts = append(insts, r.one("-1", `""`, "bin-100"))
	}
	if r.IntN(20) == 0 {
		return name + " [" + strings.Join(insts, ",")
	}
	return name + " [" + strings.Join(insts, r.one(" ", ", ", ",", "\n")) + r.one("]", " ]")
}

func (r randomConfig) statement() string {
	var b strings.Builder
	b.WriteString(r.one("log ", "", "log\n"))
	b.WriteString(r.one("mandatory ", "advisory ", "", "mandatory ", "# comment\n"))
	if r.IntN(20) == 0 {
		b.WriteString(r.one("maybe", "on", "on every 1 fortnight", "on every 100000000 hours", "on every once"))
	} else {
		b.WriteString(r.one("on once", "on once", "on default", "on every 10 seconds", "on 1 hour", "on every 100 msec", "off", "on every 0 sec", "on 5min"))
	}
	b.WriteByte(' ')
	if r.IntN(4) == 0 {
		b.WriteString(r.metric())
	} else {
		b.WriteByte('{')
		for range 1 + r.IntN(5) {
			b.WriteString(r.one("\n\t", " ", ", ", "\n") + r.metric())
		}
		b.WriteString(r.one("\n}", "}", " }"))
	}
	b.WriteString(r.one("\n", "\n\n", " "))
	return b.String()
}

func (r randomConfig) access() string {
	var b strings.Builder
	b.WriteString(r.one("[access]\n", "[ access ]", "[access]", "[acess]"))
	for range r.IntN(4) {
		fmt.Fprintf(&b, "%s %s%s : %s%s\n", r.one("allow", "disallow", "allow", "disallow", "allow", "disallow", "permit"),
			r.one("localhost", "10.1.2.3", "10.*", "*", "127.0.0.1", "fe80::1", "local:*", "::1", "no.such-host"), r.one("", "", fmt.Sprintf(", 10.%d.*", r.IntN(1000))),
			r.one("all", "advisory", "enquire, mandatory", "all except enquire", "all", "all except"), r.one(";", ";", ";", ";", ";", ""))
	}
	return b.String()
}

func (r randomConfig) text() string {
	var b strings.Builder
	for range r.IntN(5) {
		b.WriteString(r.statement())
	}
	if r.IntN(10) == 0 {
		b.WriteString(r.one("%include \"/nonexistent\"\n", "%define M sample.bin\nlog on once #{M}\n", "%ifdef X\nlog on once {\n%endif\n", "@\n", "log on once \"x\"\n"))
	}
	if r.IntN(3) == 0 {
		b.WriteString(r.access())
	}
	return b.String()
}

var (
	// Lines with the time, and those of the real one about its cache of names.
	loggerLines = regexp.MustCompile(`(?m)^(\[.*\] pmlogger\(\d+\) Info: Start|preprocessor cmd: .*|cache_bind\(\): .*)\n`)
	loggerError = regexp.MustCompile(`(?m)^\[.*\] pmlogger\(\d+\) Error:`)
	// Ours names the clash.
	loggerClash = regexp.MustCompile(`(?m) \[spec:\w+ deny:\w+\]`)
	// The real one prints no number of an instance.
	loggerInstance = regexp.MustCompile(`(?m)( and instance )"(\(null\)|\d+)"$`)
	loggerHint     = regexp.MustCompile(` \("[^"]*" lists the names [^)]*\)`) // under pcp, not under the classic name
)

// runLogger runs a recorder, and returns its output.
func runLogger(env []string, program string, args ...string) (string, error) {
	return runLoggerFor(20*time.Second, env, program, args...)
}

// runLoggerFor is runLogger with a limit of time.
func runLoggerFor(limit time.Duration, env []string, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = slices.Concat(oracle.Env(), env)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return string(out), ctx.Err()
	}
	return string(out), err
}

// TestLoggerConfigs compares the messages of both recorders about random configurations, and the
// archives by valid ones: by some of them, or in the long form by all.
func TestLoggerConfigs(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	ours := twin.Tool(t, "pcp")
	seed := longtest.Seed(t)
	r := randomConfig{rand.New(rand.NewPCG(seed, 0))}
	dir := t.TempDir()
	said := make(map[string]int)
	var sound []int
	const configs = 200
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i := range configs {
		path := filepath.Join(dir, fmt.Sprintf("config%d", i))
		text := r.text()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			run := func(program string, args ...string) string {
				out, err := runLogger(d.Env, program, append(args, "-C", "-h", d.Unix, "-c", path)...)
				out = loggerClash.ReplaceAllString(loggerError.ReplaceAllString(out, "Error:"), "")
				out = loggerInstance.ReplaceAllString(loggerLines.ReplaceAllString(out, ""), `$1"N"`)
				return fmt.Sprintf("%s%v\n", out, err)
			}
			want := run(oracle.Path("pmlogger"))
			if strings.Contains(want, "Procedure call traceback") || strings.HasSuffix(want, "deadline exceeded\n") {
				// When one statement takes instances from another, it frees memory twice, or does not end.
				mu.Lock()
				defer mu.Unlock()
				said["crash"]++
				return
			}
			if i := strings.Index(want, "pmcpp: Error:"); i >= 0 {
				// The real one continues with the output of the preprocessor so far.
				n := strings.IndexByte(want[i:], '\n')
				want = want[:i+n+1] + "exit status 1\n"
			}
			got := loggerHint.ReplaceAllString(strings.ReplaceAll(run(ours, "logger"), "pcp logger:", "pmlogger:"), "")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("seed %d, configuration %d (-real +ours):\n%s\nconfiguration:\n%s", seed, i, diff, text)
			}
			mu.Lock()
			defer mu.Unlock()
			if strings.HasSuffix(want, "<nil>\n") {
				sound = append(sound, i)
			}
			switch {
			case strings.Contains(want, "Specification error"):
				said["error"]++
			case strings.Contains(want, "Warning"):
				said["warning"]++
			default:
				said["nothing"]++
			}
		})
	}
	wg.Wait()
	t.Logf("%d configurations: %v", configs, said)
	for _, what := range []string{"error", "warning", "nothing"} {
		if said[what] < 10 {
			t.Errorf("%d configurations with %s: too few to show anything", said[what], what)
		}
	}
	if said["crash"] > configs/10 {
		t.Errorf("the real recorder did not survive %d configurations", said["crash"])
	}
	slices.Sort(sound)
	recordBoth(t, d, ours, dir, sound[:min(len(sound), longtest.N(12, configs))])
}

// recordBoth has both recorders record by configurations for a second, and compares which metrics and instances they recorded.
func recordBoth(t *testing.T, d *oracle.PMCD, ours, dir string, configs []int) {
	t.Helper()
	var wg sync.WaitGroup
	var some atomic.Int32
	slots := make(chan struct{}, 4)
	for _, i := range configs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			config := filepath.Join(dir, fmt.Sprintf("config%d", i))
			run := func(name, program string, args ...string) string {
				base := filepath.Join(dir, fmt.Sprint(name, i))
				args = append(args, "-h", d.Unix, "-c", config, "-T", "1sec", "-l", base+".log", base)
				_, err := runLoggerFor(time.Minute, slices.Concat(d.Env, []string{"PCP_TMP_DIR=" + dir}), program, args...)
				return fmt.Sprint(err)
			}
			want, got := run("real", oracle.Path("pmlogger")), run("ours", ours, "logger")
			if want != got {
				t.Errorf("configuration %d: the real one ends with %s, ours with %s", i, want, got)
				return
			}
			if want != "<nil>" {
				return // there was nothing to record
			}
			a, b := recording(t, filepath.Join(dir, fmt.Sprint("real", i))), recording(t, filepath.Join(dir, fmt.Sprint("ours", i)))
			for _, m := range []map[string]*recorded{a, b} {
				for name, rec := range m { // instances that change with each fetch by anyone, or at random
					if (strings.HasPrefix(name, "sample.proc.") || strings.HasPrefix(name, "sample.mirage") || name == "sample.scramble.bin") && rec.Desc.InDom != pcp.InDomNull {
						rec.Instances = nil
					}
				}
			}
			for name, rec := range a {
				if b := b[name]; b != nil && moreInGroup(a, rec, b) {
					rec.Instances = b.Instances
				}
			}
			if diff := cmp.Diff(a, b, cmpopts.IgnoreUnexported(recorded{})); diff != "" {
				text, _ := os.ReadFile(config)
				t.Errorf("configuration %d (-real +ours):\n%s\nconfiguration:\n%s", i, diff, text)
			}
			if len(a) > 5 { // more than the prologue has
				some.Add(1)
			}
		})
	}
	wg.Wait()
	t.Logf("recorded by %d configurations, metrics of its own by %d", len(configs), some.Load())
	if int(some.Load()) < len(configs)/4 {
		t.Errorf("only %d of %d configurations recorded anything", some.Load(), len(configs))
	}
}

// moreInGroup reports whether the real recorder wrote more instances of a metric than ours because it fetched the metric
// with another of the same instance domain, of which it recorded those instances too. Where single instances of a metric
// are recorded, and all of it by another name, the two may put the metric into different groups.
func moreInGroup(real map[string]*recorded, m, ours *recorded) bool {
	if len(ours.Instances) == 0 || len(ours.Instances) >= len(m.Instances) {
		return false
	}
	for _, inst := range ours.Instances {
		if !slices.Contains(m.Instances, inst) {
			return false
		}
	}
	for _, other := range real {
		if other != m && other.Desc.InDom == m.Desc.InDom && slices.Equal(other.Instances, m.Instances) {
			return true
		}
	}
	return false
}

// TestLoggersSideBySide has both recorders record the same from one collector, for seconds or, in the long form, minutes.
func TestLoggersSideBySide(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample", "linux"}})
	ours := twin.Tool(t, "pcp")
	dir := t.TempDir()
	config := filepath.Join(dir, "config")
	text := `log mandatory on once { hinv.ncpu sample.string pmcd.version }
log on 200 msec { sample.bin sample.colour ["red"] sample.long kernel.all.load [1, "5 minute"] }
log on 1 sec { sample.many.int mem.util sample.dynamic disk.dev.read kernel.all.cpu.user }
log on 500 msec { sample.colour ["green"] sample.double }
`
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	long := longtest.N(4, 120) // seconds
	for _, version := range []string{"2", "3"} {
		var wg sync.WaitGroup
		for name, program := range map[string][]string{"real": {oracle.Path("pmlogger")}, "ours": {ours, "logger"}} {
			wg.Go(func() {
				base := filepath.Join(dir, name+version)
				args := append(program[1:], "-h", d.Unix, "-c", config, "-V", version, "-T", fmt.Sprint(long, "sec"), "-l", base+".log", base)
				env := append(slices.Clone(d.Env), "PCP_TMP_DIR="+dir)
				if out, err := runLoggerFor(time.Duration(long)*time.Second+time.Minute, env, program[0], args...); err != nil {
					log, _ := os.ReadFile(base + ".log")
					t.Errorf("%s: %v\n%s%s", name, err, out, log)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		compareRecordings(t, filepath.Join(dir, "real"+version), filepath.Join(dir, "ours"+version))
		for _, name := range []string{"real", "ours"} {
			if out := oracle.Run(t, "pmlogcheck", filepath.Join(dir, name+version)); out.Exit != 0 || out.Stdout+out.Stderr != "" {
				t.Errorf("pmlogcheck of %s%s: status %d\n%s%s", name, version, out.Exit, out.Stdout, out.Stderr)
			}
		}
	}
}

// A recorded is the data of a metric in an archive.
type recorded struct {
	Desc      pcp.Desc
	Instances []int32
	samples   int
}

// compareRecordings compares the metrics of two archives, their instances and how often they were recorded.
func compareRecordings(t *testing.T, real, ours string) {
	t.Helper()
	want, got := recording(t, real), recording(t, ours)
	if len(want) < 20 {
		t.Fatalf("%s has only %d metrics", real, len(want))
	}
	for name, w := range want {
		g, ok := got[name]
		if !ok {
			t.Errorf("ours did not record %s", name)
			continue
		}
		if diff := cmp.Diff(w, g, cmp.AllowUnexported(recorded{}), cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "samples" }, cmp.Ignore())); diff != "" {
			t.Errorf("%s: (-real +ours)\n%s", name, diff)
		}
		// A busy machine delays one or the other, which counts in seconds and not in minutes.
		may := 1
		if strings.Contains(name, "sample.colour") {
			may++ // two statements record it
		}
		if !longtest.Enabled() {
			may += w.samples / 5
		}
		if n := w.samples - g.samples; max(n, -n) > may {
			t.Errorf("%s: %d samples, the real one took %d", name, g.samples, w.samples)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("only ours recorded %s", name)
		}
	}
}

func recording(t *testing.T, base string) map[string]*recorded {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	all := make(map[pcp.PMID]*recorded)
	for rec, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range rec.Sets {
			m := all[s.PMID]
			if m == nil {
				d, err := a.Meta().Desc(s.PMID)
				if err != nil {
					t.Fatalf("%s: %v: %v", base, s.PMID, err)
				}
				m = &recorded{Desc: d}
				all[s.PMID] = m
			}
			m.samples++
			for _, v := range s.Values {
				if s.PMID.Domain() == 2 && s.PMID.Cluster() == 3 {
					continue // the number of the recorder is the instance
				}
				if !slices.Contains(m.Instances, v.Inst) {
					m.Instances = append(m.Instances, v.Inst)
				}
			}
		}
	}
	names := make(map[string]*recorded)
	for id, m := range all {
		slices.Sort(m.Instances)
		all := slices.Clone(a.Meta().Names(id)) // in an order that a collector may change
		slices.Sort(all)
		names[strings.Join(all, " ")] = m
	}
	return names
}
