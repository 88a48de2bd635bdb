package lc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// loggerConfig is the initial configuration of the pmlogger processes.
const loggerConfig = `log mandatory on 2 hours {
	sample.bin
	sample.colour [ red, green ]
}
log advisory on 1 hour { sample.long.one sample.long.ten }
log mandatory on once { sample.long.hundred }
log mandatory off { sample.float }
log mandatory maybe { sample.ulong.one sample.ulong.bin }
`

// A theirLogger is a real pmlogger.
type theirLogger struct {
	pid  int
	port string
	fds  int // while it has no client
	dead chan struct{}
}

// startLogger starts a real pmlogger for the metrics of a collector.
func startLogger(t *testing.T, d *oracle.PMCD, name string, args ...string) *theirLogger {
	t.Helper()
	path := oracle.Path("pmlogger")
	if path == "" {
		oracle.Missing(t, "no pmlogger")
	}
	config := filepath.Join(d.Dir, name+".config")
	if err := os.WriteFile(config, []byte(loggerConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	l := &theirLogger{port: strconv.Itoa(oracle.FreePort(t)), dead: make(chan struct{})}
	cmd := exec.Command(path, append(args, "-c", config, "-l", filepath.Join(d.Dir, name+".log"), filepath.Join(d.Dir, name))...)
	cmd.Dir = d.Dir
	cmd.Env = append(append(oracle.Env(), d.Env...), "PMLOGGER_PORT="+l.port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l.pid = cmd.Process.Pid
	go func() { cmd.Wait(); close(l.dead) }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-l.dead:
		case <-time.After(time.Minute):
			cmd.Process.Kill()
			<-l.dead
		}
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(d.Dir, name+".log"))
			t.Logf("log of %s:\n%s", name, log)
		}
	})
	// It listens before it writes its port file, and records each group of its configuration once.
	l.await(t, func() bool {
		_, err := os.Stat(filepath.Join(d.Dir, "tmp/pmlogger", strconv.Itoa(l.pid)))
		volume, _ := os.ReadFile(filepath.Join(d.Dir, name+".0"))
		return err == nil && records(volume) == 5
	})
	l.fds = l.open()
	return l
}

// records counts the records in a volume of an archive.
func records(b []byte) (n int) {
	for len(b) >= 4 {
		size := int(binary.BigEndian.Uint32(b))
		if size < 8 || size > len(b) {
			break
		}
		b = b[size:]
		n++
	}
	return n
}

// await waits for a condition as long as the process lives.
func (l *theirLogger) await(t *testing.T, good func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !good(); time.Sleep(5 * time.Millisecond) {
		select {
		case <-l.dead:
			t.Fatal("the real pmlogger has ended")
		default:
		}
		if time.Now().After(end) {
			t.Fatal("the real pmlogger takes too long")
		}
	}
}

// open returns the number of files that the process has open.
func (l *theirLogger) open() int {
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", l.pid))
	return len(list)
}

// idle waits until the pmlogger has noticed that its client is gone; until then it rejects the next one.
func (l *theirLogger) idle(t *testing.T) {
	t.Helper()
	l.await(t, func() bool { return l.open() <= l.fds })
}

var (
	timesInStatus = regexp.MustCompile(`(\w{3} ){2}[ \d]\d \d\d:\d\d:\d\d\.\d{9} \d{4}`)
	versionInMenu = regexp.MustCompile(`Version \S+`)
	// pmlogger starts recording a moment after the request.
	laterInLog = regexp.MustCompile(`(?m)^(    (?:mand|adv ) (?:on |off) )n[la]`)
	sizeOfLog  = regexp.MustCompile(`(?m)^(log size +)\d+`)
)

// clean replaces what differs between two runs on two pmlogger processes.
func (p *pair) clean(out string, l, other *theirLogger) string {
	out = timesInStatus.ReplaceAllString(out, "TIME")
	out = versionInMenu.ReplaceAllString(out, "VERSION")
	if p.changed {
		out = laterInLog.ReplaceAllString(out, "$1  ")
		out = sizeOfLog.ReplaceAllString(out, "${1}SIZE")
	}
	out = regexp.MustCompile(`\b`+strconv.Itoa(l.pid)+`\b`).ReplaceAllString(out, "PID")
	out = regexp.MustCompile(`\b`+strconv.Itoa(other.pid)+`\b`).ReplaceAllString(out, "OTHER")
	out = strings.ReplaceAll(out, " OTHER PID", " PID OTHER") // in the order of their numbers
	return regexp.MustCompile(`\b`+l.port+`\b`).ReplaceAllString(out, "PORT")
}

// A pair is two pmlogger processes with the same history: one gets requests from the C program,
// the other gets the same from ours.
type pair struct {
	d            *oracle.PMCD
	theirs, ours *theirLogger
	changed      bool // their configuration has been changed
}

func startPair(t *testing.T) *pair {
	t.Helper()
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample", "simple"}})
	return &pair{d: d, theirs: startLogger(t, d, "logger-a"), ours: startLogger(t, d, "logger-b")}
}

// same runs a script with both programs. It replaces PID and PORT in the script and arguments with
// those of the pmlogger.
func (p *pair) same(t *testing.T, text string, args ...string) string {
	t.Helper()
	fill := func(l *theirLogger, s string) string {
		return strings.NewReplacer("PID", strconv.Itoa(l.pid), "PORT", l.port).Replace(s)
	}
	fillAll := func(l *theirLogger) (list []string) {
		for _, a := range args {
			list = append(list, fill(l, a))
		}
		return list
	}
	env := append(p.d.Env, "PMLOGGER_REQUEST_TIMEOUT=20")

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, oracle.Path("pmlc"), fillAll(p.theirs)...)
	cmd.Env = append(oracle.Env(), env...)
	cmd.Stdin = strings.NewReader(fill(p.theirs, text))
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err := cmd.Run()
	if ctx.Err() != nil || cmd.ProcessState.ExitCode() < 0 {
		t.Fatalf("the C program: %v\n%s\n%s", err, text, b.String())
	}
	p.theirs.idle(t)
	got, status := runIn(ctx, env, strings.NewReader(fill(p.ours, text)), fillAll(p.ours)...)
	p.ours.idle(t)
	if want := cmd.ProcessState.ExitCode(); status != want {
		t.Errorf("%q: exit status %d, want %d", text, status, want)
	}
	got = p.clean(got, p.ours, p.theirs)
	if diff := cmp.Diff(p.clean(b.String(), p.theirs, p.ours), got); diff != "" {
		t.Errorf("pmlc %s with %s\n-theirs +ours:\n%s", strings.Join(args, " "), text, diff)
	}
	return got
}

// TestOracleSession compares a session with all statements.
func TestOracleSession(t *testing.T) {
	p := startPair(t)
	const session = `connect PID
status
query sample.bin
query { sample.colour, sample.long
  sample.float sample.ulong }
query sample.colour[red,1,"blue"]
query sample.colour[Red red 0]
query sample.bin[100 bin-200 "bin-300"]
query sample.bin["no such" 7]
query sample.long.one[1]
query { sample.colour[red] sample.colour[green] sample.colour sample.colour[blue] sample.colour sample.bin[bin-100] sample.long.one sample.long.one }
query { sample.colour sample.colour[nobody 17 red] sample.colour[red] }
query { sample.colour[red] sample.colour[red 0 nobody] }
query nosuch
query { nosuch sample.long.one }
query { sample.long.one nosuch sample.bin }
query sample.bad.unknown
query sample.bad.nosupport
query { sample.bad sample.long.one }
query pmcd.agent
query simple.now
log mandatory on 1 minute sample.bin
log mandatory on every 90 seconds sample.long.one
log mandatory on 50 seconds sample.long.ten
log advisory on 10 minutes sample.bin
log advisory off sample.bin
advisory on once sample.ulong.one
log mandatory maybe sample.bin
log advisory on 1500 msec { sample.float.one }
mandatory off { sample.float sample.long.hundred }
log mandatory on 2 hours sample.colour[blue]
log mandatory on 3 hours { sample.colour[red] sample.colour[green] }
log mandatory on 30 hours simple.color
log mandatory on 3 milliseconds simple.numfetch
log mandatory off simple.numfetch
log mandatory on 268435455 msecs simple.time.sys
log mandatory on 268435456 msecs simple.time.sys
log mandatory on 0 seconds simple.time.user
query { sample.bin sample.long sample.float sample.ulong.one sample.colour simple.color simple.time }
new volume
flush
sync
status
timezone "EST5EDT"
status
timezone logger
status
timezone local
status
qa 0
show
show loggers @localhost
help
disconnect
status
quit
status
`
	before, _, _ := strings.Cut(session, "log mandatory")
	first := p.same(t, before)
	p.changed = true
	out := p.same(t, session)
	for _, part := range []string{"mand on ", "adv  on ", "nl ", "hour", "once", "min ", "sec ", "msec", "(times in EST5EDT time)", "New log volume 1", "log volume       1", "unable to change", "Goodbye"} {
		if !strings.Contains(first+out, part) {
			t.Errorf("no %q in\n%s", part, first+out)
		}
	}
	p.same(t, session, "-e", "-i")
	p.same(t, strings.TrimPrefix(session, "connect PID\n"), "-e", "-Dappl0,appl1", "PID")
	p.same(t, "status\nshow\n", "-p", "PORT")
	p.same(t, "status\n", "-p", "PORT", "-h", "localhost", "-Z", "Australia/Sydney")
	p.same(t, "status\n", "-h", "127.0.0.1", "PID")
	p.same(t, "status\n", "-h", "unix:"+p.d.Dir+"/run/pmlogger.PID.socket")
	p.same(t, "connect port PORT @localhost\nstatus\nconnect PID @nosuch.invalid\nstatus\n", "-e")
	p.same(t, "connect socket @unix:"+p.d.Dir+"/run/pmlogger.PID.socket\nstatus\n", "-i")
	p.same(t, "connect primary\nstatus\n", "-P")
}

// A scriptMaker makes scripts, sound and broken.
type scriptMaker struct{ *rand.Rand }

func (m scriptMaker) pick(list ...string) string { return list[m.IntN(len(list))] }

func (m scriptMaker) number() string {
	return m.pick("0", "1", "2", "100", "200", "17", "900", "99999999999", strconv.Itoa(m.IntN(1000)))
}

func (m scriptMaker) metric() string {
	name := m.pick("sample.bin", "sample.colour", "sample.long.one", "sample.long", "sample.float", "sample.ulong", "simple",
		"sample.long.million", "simple.color", "sample.double.bin", "sample.nosuch", "sample.bad", "nosuch", "status", "log",
		"sample.lights", "sample.hordes.one", "pmcd.agent.status")
	if m.IntN(3) > 0 {
		return name
	}
	switch name {
	case "sample.bin", "sample.colour", "sample.long.one", "simple.color", "sample.double.bin", "sample.hordes.one":
	default: // the C program aborts, or reads memory that is not its own
		return name
	}
	var b strings.Builder
	b.WriteString(name + "[")
	for range 1 + m.IntN(3) {
		b.WriteString(m.pick("red", "GREEN", `"blue"`, "0", "1", "100", "bin-200", `"bin-300"`, "nobody", "on", "status", m.number()))
		b.WriteString(m.pick(" ", ",", " , "))
	}
	b.WriteString("x"[:m.IntN(2)] + "]")
	s := b.String()
	return strings.Replace(strings.Replace(s, ", ]", "]", 1), ",]", m.pick("]", "]", "]", ",]"), 1)
}

func (m scriptMaker) metrics() string {
	if m.IntN(2) == 0 {
		return m.metric()
	}
	var b strings.Builder
	b.WriteString("{")
	for range 1 + m.IntN(4) {
		b.WriteString(m.pick("", " ", "\n", "\n # comment { \n ") + m.metric() + m.pick(" ", ", ", "\n", ",\n"))
	}
	s := strings.TrimRight(b.String(), " \n")
	if m.IntN(10) > 0 {
		s = strings.TrimRight(s, ",")
	}
	return s + m.pick("}", " }", "\n}")
}

// interval returns an interval that does not elapse during the test.
func (m scriptMaker) interval() string {
	return m.pick("once", "every 1 hour", "2 hours", "every 90 minutes", "45 mins", "3000 secs", "10000000 milliseconds", "4000000 msec",
		"74 hours", "75 hours", "0 msec", "every once", "10", "seconds", "-5 seconds")
}

func (m scriptMaker) statement() string {
	switch m.IntN(22) {
	case 0, 1, 2, 3, 4:
		return "query " + m.metrics()
	case 5, 6, 7, 8:
		return m.pick("log mandatory on ", "log advisory on ", "mandatory on ", "advisory on ") + m.interval() + " " + m.metrics()
	case 9, 10:
		return m.pick("log mandatory off ", "log advisory off ", "mandatory off ", "log mandatory maybe ", "mandatory maybe ", "log advisory maybe ") + m.metrics()
	case 11:
		return m.pick("status", "new volume", "flush", "sync", "status # how", "  status\t", "status;", "statu", "new", "new status")
	case 12:
		return m.pick("timezone ", "timezone", "Timezone ") + m.pick("local", "logger", `"EST5EDT"`, `"Asia/Tokyo"`, `""`, "UTC", `"UTC`, "'UTC'", `"no such zone"`)
	case 13:
		return m.pick("show", "show loggers", "show logger @localhost", "show loggers at local:", "show @", "show me", `show @"unix:"`)
	case 14:
		return m.pick("help", "h", "?", "help me", "??", "sleep 1", "sleep", "sleep a", "qa 0", "qa", "qa 0 0")
	case 15:
		return m.pick("connect", "connect primary", "connect PID @", "connect port", "connect 1", "connect port 1 @localhost", "connect socket @unix:",
			"connect 99999", "connect PID @a.b-c.invalid", "connect socket @local:/no/such")
	case 16:
		words := []string{
			"log", "mandatory", "advisory", "on", "off", "maybe", "every", "once", "query", "{", "}", "[", "]", ",", "@", "5", "hour", "sample.bin",
			"a-b", `"s"`, `"`, "unix:/x", "local:*", "$", "\\", "é", "\x00", "#", "\n", "quit?", "PID", "at", "connect", "-",
		}
		var b strings.Builder
		for range 1 + m.IntN(8) {
			b.WriteString(m.pick(words...) + m.pick(" ", "", " "))
		}
		return b.String()
	case 17:
		return m.pick("", "   ", "# comment", "#", "\r", "\t\n\n")
	case 18:
		return "query {" + m.metric() + "\n" + m.pick("$", "status", "]", "[ }", "", "}}", "{", "}", "\n\n } x")
	default:
		return "query sample.colour"
	}
}

// TestOracleScripts compares random scripts, whose changes to the state of the pmlogger processes
// accumulate.
func TestOracleScripts(t *testing.T) {
	p := startPair(t)
	p.changed = true
	n := longtest.N(220, 3000)
	seed := longtest.Seed(t)
	for i := range n {
		m := scriptMaker{rand.New(rand.NewPCG(seed, uint64(i)))}
		var b strings.Builder
		if m.IntN(8) > 0 {
			b.WriteString("connect PID\n")
		}
		for range 1 + m.IntN(10) {
			b.WriteString(m.statement() + "\n")
		}
		text := b.String()
		if m.IntN(10) == 0 {
			text = text[:m.IntN(len(text))]
		}
		var args []string
		for _, a := range []string{"-e", "-i", "-Dappl0", "-Dappl1", "-ZUTC"} {
			if m.IntN(4) == 0 && (a != "-ZUTC" || !strings.Contains(text, `"`)) { // it would free the argument
				args = append(args, a)
			}
		}
		p.same(t, text, args...)
		if t.Failed() {
			t.Fatalf("script %d of %d", i, n)
		}
	}
}

// TestArguments compares command lines, and statements that need no pmlogger, without one.
func TestArguments(t *testing.T) {
	oracle.Require(t)
	path := oracle.Path("pmlc")
	if path == "" {
		oracle.Missing(t, "no pmlc")
	}
	dir := t.TempDir()
	conf, err := os.ReadFile("/etc/pcp.conf")
	if err != nil {
		oracle.Missing(t, err.Error())
	}
	conf = fmt.Appendf(nil, "PCP_RUN_DIR=%s\nPCP_TMP_DIR=%[1]s\n%s", dir, conf) // the first line of a name counts
	if err := os.WriteFile(filepath.Join(dir, "pcp.conf"), conf, 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"PCP_CONF=" + dir + "/pcp.conf", "PCP_DIR="}
	dead := strconv.Itoa(oracle.FreePort(t))
	f := func(text string, args ...string) {
		t.Helper()
		text = strings.ReplaceAll(text, "DEAD", dead)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "DEAD", dead)
		}
		cmd := exec.Command(path, args...)
		cmd.Env = append(oracle.Env(), env...)
		cmd.Stdin = strings.NewReader(text)
		want, _ := cmd.CombinedOutput()
		got, status := runIn(t.Context(), env, strings.NewReader(text), args...)
		if status != cmd.ProcessState.ExitCode() {
			t.Errorf("%q: exit status %d, want %d", args, status, cmd.ProcessState.ExitCode())
		}
		clean := func(s string) string { return versionInMenu.ReplaceAllString(s, "VERSION") }
		if diff := cmp.Diff(clean(string(want)), clean(got)); diff != "" {
			t.Errorf("pmlc %s with %q\n-theirs +ours:\n%s", strings.Join(args, " "), text, diff)
		}
	}
	for _, args := range []string{
		"-?", "-V", "-x", "--port", "-P -p 44", "-p 44 -P", "-p x", "-p 0", "-p -3", "-p 5 12", "12 -p 5", "12 13", "0", "x", "12x", "-- -1",
		"-h foo", "-h local:", "-h unix:/no/x -P", "-h unix:/no/x", "-h unix:no", "-h local:/no/x -p DEAD", "-h local:/no/x 12", "-h unix: -p 44",
		"-h unix:/x -p 44", "-h unix:/x 44", "-h unix: 12", "-h a:b -P", "-h ::1 -p DEAD", "-h nosuch.invalid -P", "-h nosuch.invalid -p 12", "-P", "-p DEAD",
		"99999999", "-n /nosuch", "-D foo", "-Z EST -z -P", "-i", "-e", "-ei", "-i -P", "--interactive --echo --primary", "--host=local: 99999999",
	} {
		f("", strings.Fields(args)...)
	}
	for _, text := range []string{
		"status", "status\n", "foo bar\nhelp\n", "status $\nstatus\n", "query {foo\n}\nstatus\n", "show \"abc\nhelp\n", "show \"\"\"a\n\"\"\n\"\n\"x", "\n\n", "\x00a\n",
		"log mandatory on 10 second\n foo\n", "timezone \"abc\"\nquit\n", "connect 1\nconnect 99999999999999999999\nconnect 0\n", "quit\nfoo\n", "q", "h\n?\n", "show\nshow loggers at localhost\n",
		"connect port DEAD\nconnect primary @unix:\nconnect port DEAD @unix:\nconnect socket @unix:\nconnect socket @local:\nconnect socket @local:/no\nconnect socket @unix:/no/x*\n",
		"connect socket @\"unix:/no/x\"\nconnect 44 at localhost\nconnect port DEAD @127.0.0.1\nconnect port DEAD @1.2.3.4.5\nconnect 4 @foo-bar.invalid\nconnect 4 @12-3",
		"show loggers @nosuch.invalid\nshow @\"a b\"\nshow me\n", "disconnect\nsleep 1\nqa 3\nqa 0\nsync\nflush\nnew volume\nnew\nadvisory maybe x\nmandatory maybe\n",
	} {
		f(text)
		f(text, "-e", "-i", "-Dappl0,appl1")
	}
}
