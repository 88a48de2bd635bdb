package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// expectedGaps are the columns, by report, that have values with the real collector and none with
// ours, each with the reason. "*" is an empty report. A closed gap must be removed from the table.
var expectedGaps = map[string]map[string]string{}

// expectedHeadings are the columns that only a report of our collector has.
var expectedHeadings = map[string]map[string]string{}

// A report is a command of the real PCP, with a parser for the columns of its output.
type report struct {
	name string
	args []string
	// columns returns the columns, each with whether there is a value in it.
	columns func(out string) map[string]bool
}

// reports are the reports for people; views of pmrep are added to them.
func reports(t *testing.T) []report {
	table := func(heading string) func(string) map[string]bool {
		return func(out string) map[string]bool { return tableColumns(out, heading) }
	}
	list := []report{
		// The alarm of its interval interrupts a request that is under way, whose reply it then takes for that
		// of the next: on a busy machine a second is too short.
		{"atop", []string{"pcp-atop", "5", "2"}, atopColumns},
		{"dstat", []string{"pcp-dstat", "--noheaders", "-cdgilmnprsy", "--aio", "--fs", "--ipc", "--lock", "--socket", "--tcp", "--udp", "--vm", "1", "2"}, table("usr")},
		{"free", []string{"pcp-free", "-t"}, rowColumns},
		{"free -l", []string{"pcp-free", "-l", "-m"}, rowColumns},
		{"iostat", []string{"pcp-iostat", "-s", "2", "-t", "0.3"}, table("Device")},
		{"vmstat", []string{"pcp-vmstat", "1", "2"}, table("free")},
		{"uptime", []string{"pcp-uptime"}, rowColumns},
		{"mpstat", []string{"pcp-mpstat", "-s", "2", "-t", "0.3"}, table("%idle")},
		{"mpstat -I", []string{"pcp-mpstat", "-I", "SUM", "-s", "2", "-t", "0.3"}, table("intr/s")},
		{"pidstat", []string{"pcp-pidstat", "-s", "2", "-t", "0.3"}, table("%CPU")},
		{"pidstat -r", []string{"pcp-pidstat", "-r", "-s", "2", "-t", "0.3"}, table("%Mem")},
		{"pidstat -k", []string{"pcp-pidstat", "-k", "-s", "2", "-t", "0.3"}, table("StkSize")},
		{"pidstat -B", []string{"pcp-pidstat", "-B", "all", "-p", "1", "-s", "2", "-t", "0.3"}, table("Stime")},
		// Without -p it gives up if a process ends meanwhile.
		{"ps", []string{"pcp-ps", "-p", "1", "-t", "0.3"}, table("PPID")},
		{"ps -o", []string{"pcp-ps", "-o", "tty,rss,vsize,wchan,cls,pri", "-t", "0.3"}, table("RSS")},
		{"numastat", []string{"pcp-numastat"}, rowColumns},
		{"ss", []string{"pcp-ss", "-a"}, table("Recv-Q")},
		{"pmstat", []string{"pmstat", "-x", "-s", "2", "-t", "0.3"}, table("swpd")},
	}
	section := regexp.MustCompile(`(?m)^\[([^\]]+)\]`)
	files, _ := filepath.Glob("/etc/pcp/pmrep/*.conf")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range section.FindAllStringSubmatch(string(text), -1) {
			if m[1] == "options" {
				continue
			}
			args := []string{"pmrep", ":" + m[1], "-o", "csv", "-l", between, "-s", "2", "-t", "0.3"}
			if strings.HasPrefix(m[1], "proc") || strings.HasPrefix(m[1], "pidstat") {
				// Of this process: others end meanwhile, have names of several lines, or may not be looked into,
				// for which the real agent has values of another one.
				args = append(args, "-i", fmt.Sprintf("%06d.*", os.Getpid()))
			}
			list = append(list, report{"pmrep " + m[1], args, viewColumns})
		}
	}
	return list
}

// filled reports whether a value has a meaning.
func filled(value string) bool {
	switch strings.TrimSpace(value) {
	case "", "N/A", "?", "-", "None", "nan":
		return false
	}
	return true
}

// tableColumns finds the columns of a table of words whose heading has a certain one.
func tableColumns(out, heading string) map[string]bool {
	columns := make(map[string]bool)
	var names []string
	for line := range strings.Lines(strings.ReplaceAll(out, "|", " ")) {
		words := strings.Fields(line)
		if slices.Contains(words, heading) {
			names = words
			for i, w := range names {
				if slices.Contains(names[:i], w) {
					names[i] = w + "." + strconv.Itoa(i)
				}
				columns[names[i]] = columns[names[i]] || false
			}
			continue
		}
		for i, w := range words {
			if names != nil && i < len(names) && filled(w) {
				columns[names[i]] = true
			}
		}
	}
	return columns
}

// numeral is a number in a row of a report.
var numeral = regexp.MustCompile(`[0-9][0-9.,:]*`)

// rowColumns takes each number of a row for a column, named for the beginning of the row.
func rowColumns(out string) map[string]bool {
	columns := make(map[string]bool)
	for line := range strings.Lines(out) {
		label := strings.TrimSpace(numeral.Split(line, 2)[0])
		columns[label] = columns[label] || false
		for i := range numeral.FindAllString(line, -1) {
			columns[fmt.Sprint(label, " ", i)] = true
		}
	}
	return columns
}

// atopColumns finds the cells of a page of atop, and the columns of its processes.
func atopColumns(out string) map[string]bool {
	columns := make(map[string]bool)
	processes := false
	var names []string
	for line := range strings.Lines(out) {
		cells := strings.Split(line, "|")
		words := strings.Fields(line)
		switch {
		case len(cells) > 2:
			what := strings.TrimSpace(cells[0])
			for _, cell := range cells[1:] {
				label, value, _ := strings.Cut(strings.TrimSpace(cell), " ")
				if label != "" && !numeral.MatchString(label) {
					key := what + " " + label
					columns[key] = columns[key] || filled(value)
				}
			}
		case slices.Contains(words, "PID"):
			processes, names = true, words
			for _, n := range names {
				columns[n] = columns[n] || false
			}
		case processes && len(words) == len(names):
			for i, w := range words {
				columns[names[i]] = columns[names[i]] || filled(w)
			}
		}
	}
	return columns
}

// between separates the columns of views. No name contains it.
const between = "\x1f"

// viewColumns finds the columns of a view: one for each metric, whatever its instances are called.
func viewColumns(out string) map[string]bool {
	columns := make(map[string]bool)
	var names []string
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), between)
		if names == nil {
			for _, f := range fields {
				metric, _, _ := strings.Cut(strings.Trim(f, `"`), "-")
				names = append(names, metric)
				columns[metric] = false
			}
			continue
		}
		for i, v := range fields {
			if i < len(names) && filled(strings.Trim(v, `"`)) {
				columns[names[i]] = true
			}
		}
	}
	return columns
}

// startUp starts "pcp up", with agents in its process, and returns the specification of its host.
func startUp(t *testing.T, env []string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "up")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cmd := exec.Command(twin.Tool(t, "pcp"), "up", "--dir", dir, "--port", strconv.Itoa(oracle.FreePort(t)))
	cmd.Env = append(append(oracle.Env(), "HOME="+dir), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(time.Minute):
			cmd.Process.Kill()
			t.Error("pcp up did not stop within a minute")
		}
	})
	socket := filepath.Join(dir, "pmcd.socket")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			return "unix:" + socket
		}
		select {
		case <-done:
			t.Fatalf("pcp up ended: %s", out.Bytes())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("pcp up does not answer")
		}
	}
}

// show runs a report of a collector. Programs that fail print no columns.
func (r report) show(ctx context.Context, env []string) (columns map[string]bool, out string) {
	path := oracle.Path(r.args[0])
	if path == "" {
		return nil, r.args[0] + " is not installed"
	}
	cmd := exec.CommandContext(ctx, path, r.args[1:]...)
	cmd.Env = append(append(oracle.Env(), "TERM=dumb", "COLUMNS=200", "PCP_DERIVED_CONFIG=/var/lib/pcp/config/derived"), env...)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && r.name != "atop" { // which ends with status 1
		return nil, fmt.Sprintf("%v: %s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	return r.columns(stdout.String()), stdout.String() + stderr.String()
}

// A comparison is the result of a report: the columns that only ours has, those with values on
// one side only, and those with values on both sides or none.
type comparison struct {
	headings, ours, theirs, none, both []string
	err                                string
}

// showings is the number of showings before a column without a value counts as empty: some columns
// have a value only while something happens.
const showings = 4

func (r report) compare(ctx context.Context, theirs, ours []string) comparison {
	want, got := make(map[string]bool), make(map[string]bool)
	add := func(to, from map[string]bool) {
		for name, full := range from {
			to[name] = to[name] || full
		}
	}
	var c comparison
	for range showings {
		var a, b map[string]bool
		var outA, outB string
		var wg sync.WaitGroup
		wg.Go(func() { a, outA = r.show(ctx, theirs) })
		b, outB = r.show(ctx, ours)
		wg.Wait()
		c = comparison{}
		switch {
		case len(a) == 0 && len(b) == 0:
			c.none = []string{"*"}
			c.err = outA
			continue
		case len(a) == 0:
			c.ours, c.err = []string{"*"}, outA
			continue
		case len(b) == 0:
			c.theirs, c.err = []string{"*"}, outB
			continue
		}
		add(want, a)
		add(got, b)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			full, there := got[name]
			switch {
			case !there || want[name] && !full:
				c.theirs = append(c.theirs, name)
			case want[name]:
				c.both = append(c.both, name)
			case full:
				c.ours = append(c.ours, name)
			default:
				c.none = append(c.none, name)
			}
		}
		for name := range got {
			if _, there := want[name]; !there {
				c.headings = append(c.headings, name)
			}
		}
		if len(c.theirs)+len(c.ours)+len(c.headings) == 0 {
			return c
		}
	}
	slices.Sort(c.headings)
	return c
}

// busy keeps a disk reading and writing until the function that it returns is called: shares of an
// idle disk have no value.
func busy(t *testing.T) (stop func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "busy"))
	if err != nil {
		t.Fatal(err)
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer f.Close()
		block := make([]byte, 4096)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			_, err1 := f.WriteAt(block, 0)
			err2 := f.Sync()
			err3 := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
			_, err4 := f.ReadAt(block, 0)
			if err := errors.Join(err1, err2, err3, err4); err != nil {
				t.Errorf("keeping a disk busy: %v", err)
				return
			}
			select {
			case <-tick.C:
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// TestReports has the reports of the real PCP read a real collector and ours, and compares which columns have
// values.
func TestReports(t *testing.T) {
	if oracle.Path("pmrep") == "" {
		oracle.Missing(t, "no pmrep")
	}
	const sockets = "/var/lib/pcp/pmdas/sockets/"
	cfg := oracle.Config{Agents: []string{"pmcd", "linux", "proc", "mmv", "xfs", "jbd2", "kvm"}}
	if names, err := os.ReadFile(sockets + "pmns"); err == nil {
		cfg.Lines = []string{"sockets 154 pipe binary " + sockets + "pmdasockets -d 154"}
		cfg.PMNS = "#define SOCKETS 154\nroot {\n\tnetwork\n}\n" + string(names)
	}
	d := oracle.StartPMCD(t, cfg)
	theirs := slices.Concat(d.Env, []string{"PCP_HOST=" + d.Unix})
	ours := slices.Concat(d.Env, []string{"PCP_HOST=" + startUp(t, d.Env)})

	defer busy(t)()
	list := reports(t)
	results := make([]comparison, len(list))
	// Most wait for the second sample.
	free := make(chan struct{}, 3*runtime.NumCPU())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for i, r := range list {
		wg.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			results[i] = r.compare(ctx, theirs, ours)
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		t.Fatal("the reports take too long")
	}
	both, silent := 0, 0
	for i, r := range list {
		c := results[i]
		both += len(c.both)
		gaps := expectedGaps[r.name]
		for _, name := range c.theirs {
			if gaps[name] == "" {
				t.Errorf("%s: %s: a value of the real collector, none of ours %s", r.name, name, c.err)
			}
		}
		for _, name := range c.ours {
			if name == "*" {
				t.Errorf("%s: nothing of the real collector: %s", r.name, c.err)
			}
			// The real agents leave a metric out if a process ends meanwhile.
			t.Logf("%s: %s: a value of ours, none of the real collector", r.name, name)
		}
		for _, name := range c.headings {
			if expectedHeadings[r.name][name] == "" {
				t.Errorf("%s: only ours has a column %q", r.name, name)
			}
		}
		for name := range gaps {
			if slices.Contains(c.both, name) || name == "*" && len(c.both) > 0 {
				t.Errorf("%s: %s is an expected gap, and is filled now: take it out of the table", r.name, name)
			}
		}
		if len(c.both) == 0 {
			silent++
			t.Logf("%s: nothing to compare: %s", r.name, c.err)
		}
	}
	for name := range expectedGaps {
		if !slices.ContainsFunc(list, func(r report) bool { return r.name == name }) && !strings.HasPrefix(name, "pmrep ") {
			t.Errorf("expected gap of %s: there is no such report", name)
		}
	}
	t.Logf("%d reports, %d columns with values of both, %d reports without values", len(list), both, silent)
	if both < 500 {
		t.Errorf("only %d columns have values: what do these reports say?", both)
	}
}
