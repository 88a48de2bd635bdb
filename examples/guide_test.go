package examples_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/oracle/demos"
)

// guide runs an example of the Programmer's Guide and returns its output, and its status unless it is 0.
func (m *machine) guide(t *testing.T, stdin, name string, args ...string) string {
	t.Helper()
	cmd := m.command(t, name, args...)
	cmd.Env = append(cmd.Env, "PMCD_SOCKET="+strings.TrimPrefix(m.host, "unix:"))
	return outputOf(t, cmd, stdin)
}

func outputOf(t *testing.T, cmd *exec.Cmd, stdin string) string {
	t.Helper()
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err != nil {
		fmt.Fprintf(&out, "status %d\n", exit.ExitCode())
	}
	return out.String()
}

// TestGuideClients runs the clients of the guide with our collector.
func TestGuideClients(t *testing.T) {
	m := newMachine(t)
	m.collect(t, "--sample", "--no-record", "--no-web")
	for _, call := range []struct{ command, want string }{
		{"freemem", `^local::mem\.freemem = +\d+ Kbyte\n$`},
		{"freemem local: sample.string.hullo", `^local::sample\.string\.hullo = "hullo world!" \n$`},
		{"freemem local: sample.nosuch", `^Error looking up sample\.nosuch: Unknown metric name\nstatus 1\n$`},
		{"freemem local: sample.bad.unknown", `^Error getting descriptor for local::sample\.bad\.unknown: Unknown or illegal metric identifier\nstatus 1\n$`},
		{"freemem unix:/no/socket", `^Error connecting to pmcd on unix:/no/socket: No such file or directory\nstatus 1\n$`},
		{"poll -s 2 -t 10msec simple.numfetch simple.color", `^\n@ .* \d{4}\nPMID: 253\.0\.0 \[-1\]       1\nPMID: 253\.0\.1 \[0\]       1 \[1\]     101 \[2\]     201\n` +
			`\n@ .* \d{4}\nPMID: 253\.0\.0 \[-1\]       2\nPMID: 253\.0\.1 \[0\]       2 \[1\]     102 \[2\]     202\n$`},
		{"poll", `^poll: no metricname\nUsage: poll \[options\] metricname \.\.\.\n`},
		{"poll nosuch", `^poll: .*Unknown metric name\nstatus 1\n$`},
		{"events local: sample.event.records", `^instance 0: 0 event records\ninstance 1: 2 event records\n[\d:.]+ flags 0x1 \(point\)\n    sample\.event\.param_string "fetch #0"\n`},
		{"events local: sample.bin", `status 1\n$`},
		{"pmclient -s 2 -t 50msec", `^Host: .*\n +CPU .*\n Util .*\n( +(\d+(\.\d+)?|\?))+\n( +(\d+(\.\d+)?|\?))+\n$`},
		{"pmclient_fg -s 1 -t 50msec", `^Host: .*\n +CPU .*\n Util .*\n( +(\d+(\.\d+)?|\?|NaN))+\n$`},
		{"procmemstat -u mbytes", `(?s)^memory metrics for pid \d+ \(sizes in mbytes\)\n +\d+ proc\.memory\.rss\n.*\nAfter malloc \.\.\.\n.*proc\.memory\.datrss\n$`},
		{"procmemstat -u parsecs", `status 1\n$`},
	} {
		words := strings.Fields(call.command)
		if got := m.guide(t, "", words[0], words[1:]...); !regexp.MustCompile(call.want).MatchString(got) {
			t.Errorf("%s:\n%s\nwant %s", call.command, got, call.want)
		}
	}
}

// guideTable is a table of seven seconds between lines.
func guideTable() string {
	var b strings.Builder
	for i := range 7 {
		fmt.Fprintln(&b, 1796000000+7*i, float64(i)/10, 1.5, 1000+3000*i, 500+600*i*i, 100+10*i, 200+300*i, 100000+1234*i, 5+77*i)
	}
	return b.String()
}

// TestGuideArchive makes an archive of a table and reads it. Where the C implementation is installed,
// its programs do the same with their archive and with ours.
func TestGuideArchive(t *testing.T) {
	m := newMachine(t)
	ours := filepath.Join(m.dir, "ours")
	if out := m.guide(t, guideTable(), "table2archive", ours); out != "" {
		t.Fatalf("table2archive: %s", out)
	}
	for stdin, want := range map[string]string{"1 2\n": "line 1: 2 columns, not 9\n", "x 1 1 1 1 1 1 1 1\n": "line 1: strconv", "1 x 1 1 1 1 1 1 1\n": "line 1: "} {
		if out := m.guide(t, stdin, "table2archive", filepath.Join(m.dir, "bad")); !strings.HasPrefix(out, want) || !strings.HasSuffix(out, "status 1\n") {
			t.Errorf("table2archive of %q: %s", stdin, out)
		}
	}
	const head = ", Host: shop.example, 2 cpu(s), Mon Nov 30 00:53:30 2026\n  CPU  Busy    Busy  Free Mem   Disk     Load Average\n Util   CPU    Util  (Mbytes)   IOPS    1 Min  15 Min\n"
	calls := map[string]string{
		"sequence ARCHIVE kernel.all.load": "00:53:20.000 0 1.5\n00:53:27.000 0.1 1.5\n00:53:34.000 0.2 1.5\n00:53:41.000 0.30000001 1.5\n" +
			"00:53:48.000 0.40000001 1.5\n00:53:55.000 0.5 1.5\n00:54:02.000 0.60000002 1.5\n",
		"backwards ARCHIVE kernel.percpu.cpu.user": "00:54:02.000 19000 22100\n00:53:52.000 14714 13186\n00:53:42.000 10429 6500\n00:53:32.000 6143 2386\n00:53:22.000 1857 671\n",
		"pmclient -a ARCHIVE -t 10sec -s 3":        "Archive: ARCHIVE" + head + " 0.42     0    0.43   100.066     11     0.20     1.50\n 0.55     1    0.66   102.477     11     0.40     1.50\n 0.66     1    0.90   103.682     11     0.50     1.50\n",
		"pmclient_fg -a ARCHIVE -t 10sec -s 3":     "Archive: ARCHIVE" + head + " 0.42     0    0.43   100.066     11     0.20    1.50\n 0.55     1    0.66   102.477     11     0.40    1.50\n 0.66     1    0.90   103.682     11     0.50    1.50\n",
	}
	for call, want := range calls {
		words := strings.Fields(strings.ReplaceAll(call, "ARCHIVE", ours))
		if got := m.guide(t, "", words[0], words[1:]...); got != strings.ReplaceAll(want, "ARCHIVE", ours) {
			t.Errorf("%s: %s", call, cmp.Diff(want, got))
		}
	}
	for _, name := range []string{"sequence", "backwards"} {
		if out := m.guide(t, "", name, filepath.Join(m.dir, "none"), "x"); !strings.HasSuffix(out, "status 1\n") {
			t.Errorf("%s of no archive: %s", name, out)
		}
	}

	t.Run("C", func(t *testing.T) {
		theirs := filepath.Join(m.dir, "theirs")
		run := func(stdin, program string, args ...string) string {
			t.Helper()
			if program == "sequence" || program == "backwards" || program == "table2archive" {
				program, args = "guide", append([]string{program}, args...)
			}
			cmd := exec.Command(demos.Build(t, program), args...)
			cmd.Env = oracle.Env()
			return outputOf(t, cmd, stdin)
		}
		if out := run(guideTable(), "table2archive", theirs); out != "" {
			t.Fatalf("table2archive: %s", out)
		}
		pid := regexp.MustCompile(`(?m)^PID for pmlogger: \d+$`)
		dump := func(path string) string {
			return pid.ReplaceAllString(oracle.Run(t, "pmdumplog", "-a", path).Stdout, "")
		}
		if want, got := dump(theirs), dump(ours); want != got || want == "" {
			t.Errorf("archives (-C, +ours):\n%s", cmp.Diff(want, got))
		}
		for call, want := range calls {
			for _, path := range []string{theirs, ours} {
				words := strings.Fields(strings.ReplaceAll(call, "ARCHIVE", path))
				if got := run("", words[0], words[1:]...); got != strings.ReplaceAll(want, "ARCHIVE", path) {
					t.Errorf("C %s (-our program, +C):\n%s", strings.Join(words, " "), cmp.Diff(want, got))
				}
				if got := m.guide(t, "", words[0], words[1:]...); got != strings.ReplaceAll(want, "ARCHIVE", path) {
					t.Errorf("%s: %s", strings.Join(words, " "), got)
				}
			}
		}
	})
}

// TestGuideRecord has our pmlogger record our collector.
func TestGuideRecord(t *testing.T) {
	m := newMachine(t)
	m.collect(t, "--no-record", "--no-web")
	programs, err := bin()
	if err != nil {
		t.Fatal(err)
	}
	m.env = append(m.env, "PCP_BINADM_DIR="+programs)
	for _, limit := range []string{"1s", "10s", "1m"} { // on a busy machine pmlogger needs some time
		folio := filepath.Join(m.dir, limit+".folio")
		out := m.guide(t, "", "record", "-for", limit, folio, m.host)
		path, ok := strings.CutPrefix(strings.TrimSpace(out), m.host+": ")
		if !ok {
			t.Logf("record: %s", out)
			continue
		}
		out = m.guide(t, "", "sequence", path, "kernel.all.load")
		if !regexp.MustCompile(`^(\d\d:\d\d:\d\d\.\d{3} [^ ]+ [^ ]+ [^ ]+\n)+$`).MatchString(out) {
			t.Logf("the archive has %s", out)
			continue
		}
		if text, err := os.ReadFile(folio); err != nil || !strings.Contains(string(text), filepath.Base(path)) {
			t.Errorf("the folio: %s, %v", text, err)
		}
		return
	}
	t.Error("nothing is recorded")
}

// TestGuideTrace sends traces to our agent.
func TestGuideTrace(t *testing.T) {
	m := newMachine(t)
	port := fmt.Sprint(oracle.FreePort(t))
	m.env = append(m.env, "PCP_TRACE_PORT="+port, "PCP_TRACE_TIMEOUT=60", "PCP_TRACE_REQTIMEOUT=60")
	m.serve(t, "trace", 10, "BIN/pmdatrace -d 10 -I "+port)
	eventually(t, func() bool { return strings.Contains(m.tool(t, "pminfo", "-f", "trace.control.reset"), " value ") })
	if out := m.guide(t, "", "app1"); !strings.Contains(out, "'imouttahere'") || strings.Contains(out, "status") {
		t.Errorf("app1: %s", out)
	}
	for _, call := range []string{"app2 -turns 6 -pause 1ms", "app3 -loops 4 -pause 1ms"} {
		words := strings.Fields(call)
		if out := m.guide(t, "", words[0], words[1:]...); strings.Contains(out, "status") {
			t.Errorf("%s: %s", call, out)
		}
	}
	for metric, want := range map[string]string{
		"trace.transact.count": `"simple"] value 1|"ascanbe"] value 1|"time_sucker"] value 2|"io_sucker"] value 2|"cpu_sucker"] value 2|"ptime_sucker"] value 12`,
		"trace.point.count":    `"imouttahere"] value 1|"mainloop"] value 6`,
		"trace.observe.value":  `"observe"] value 101`,
		"trace.counter.value":  `"counter"] value 101.1`,
	} {
		for _, part := range strings.Split(want, "|") {
			eventually(t, func() bool { return strings.Contains(m.tool(t, "pminfo", "-f", metric), part+"\n") })
		}
	}
}

// TestGuideTrivial runs the shortest agent.
func TestGuideTrivial(t *testing.T) {
	m := newMachine(t)
	c := m.serve(t, "trivial", 250, "BIN/trivial -d 250")
	if got := values(t, c, "trivial.time"); !regexp.MustCompile(`^\d{10}$`).MatchString(got) {
		t.Errorf("trivial.time is %q", got)
	}
}

// TestGuideSimple fetches from the agent, stores values, and changes its file.
func TestGuideSimple(t *testing.T) {
	m := newMachine(t)
	conf := filepath.Join(m.dir, "simple.conf")
	m.serve(t, "simple", 253, "BIN/simple -d 253 -c DIR/simple.conf")
	check := func(want string, tool string, args ...string) {
		t.Helper()
		if got := m.tool(t, tool, args...); !strings.Contains(got, want) {
			t.Errorf("%s %q: %s, want %s", tool, args, got, want)
		}
	}
	check("inst [0 or \"red\"] value 1\n    inst [1 or \"green\"] value 101\n    inst [2 or \"blue\"] value 201\n", "pminfo", "-f", "simple.color")
	check("value 2\n", "pminfo", "-f", "simple.numfetch")
	check("old value=202 new value=7\n", "pmstore", "-i", "blue", "simple.color", "7")
	check("inst [2 or \"blue\"] value 8\n", "pminfo", "-f", "simple.color")
	check(`"role":"testing","units":"sec","unitsystem":"SI"`, "pminfo", "-l", "simple.now")
	for _, part := range []string{"sec", "min", "hour"} {
		check(`or "`+part+`"] value `, "pminfo", "-f", "simple.now")
	}
	if err := os.WriteFile(conf, []byte("hour,hour,day\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := m.tool(t, "pminfo", "-f", "simple.now"); strings.Contains(got, "sec") || !strings.Contains(got, `inst [2 or "hour"]`) {
		t.Errorf("simple.now: %s", got)
	}
	check("value ", "pminfo", "-f", "simple.time.user")
	cmd := m.command(t, "pmstore", "-h", m.host, "-i", "red", "simple.color", "256")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "Bad input to pmstore") {
		t.Errorf("pmstore of 256: %s", out)
	}
}

// TestGuideNames checks that docs/guide.md names only what the library has.
func TestGuideNames(t *testing.T) {
	api, err := os.ReadFile("../api/library.txt")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{} // package.Name, Type.Method and Type.Field
	for _, m := range regexp.MustCompile(`(?m)^pkg (?:\S*/)?(\S+), (?:func|type|const|var) (\w+)(?: struct, (\w+))?|^pkg \S*, method \(\*?(\w+)(?:\[\w+\])?\) (\w+)`).FindAllStringSubmatch(string(api), -1) {
		has[m[1]+"."+m[2]], has[m[2]+"."+m[3]], has[m[4]+"."+m[5]] = true, true, true
	}
	n := 0
	for _, m := range regexp.MustCompile("`\\*?([A-Za-z]\\w+)\\.([A-Z]\\w+)`").FindAllStringSubmatch(string(page), -1) {
		if m[1] == "time" || m[1] == "context" {
			continue
		}
		n++
		if !has[m[1]+"."+m[2]] {
			t.Errorf("the library has no %s.%s", m[1], m[2])
		}
	}
	if n < 120 {
		t.Errorf("only %d names", n)
	}
}
