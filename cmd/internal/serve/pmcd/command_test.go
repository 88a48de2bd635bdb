package pmcd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/daemon/detach"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
)

// testArgs has the arguments for a process that detach made.
const testArgs = "PMCD_TEST_ARGS"

func TestMain(m *testing.M) {
	if os.Getenv(detach.Variable) != "" {
		if os.Getenv("LISTEN_PID") == "me" {
			os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid())) // which its parent does not know
		}
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		status := Command.Run(ctx, testEnv(os.Stdout, os.Stderr, os.Getenv, strings.Split(os.Getenv(testArgs), "\n")...))
		stop()
		os.Exit(status)
	}
	os.Exit(m.Run())
}

func testEnv(stdout, stderr interface{ Write([]byte) (int, error) }, getenv func(string) string, args ...string) *cli.Env {
	return &cli.Env{
		Name: "pmcd", Args: args, Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr,
		Getenv: getenv, Version: "test", Command: Command,
	}
}

// getenv returns an environment in which no file of the system counts.
func getenv(dir string) func(string) string {
	return func(name string) string {
		switch name {
		case "PMNS_DEFAULT":
			return filepath.Join(dir, "no-name-space")
		case "PMCD_ROOT_AGENT":
			return "0" // whatever real one runs on this machine
		case "PCP_RUN_DIR", "PCP_PMCDCONF_PATH", "PCP_SYSCONF_DIR":
			return filepath.Join(dir, name)
		}
		return ""
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	return strconv.Itoa(oracle.FreePort(t))
}

func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pmcd") // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const confText = `
pmcd	2	dso	pmcd_init	/var/lib/pcp/pmdas/pmcd/pmda_pmcd.so
linux	60	dso	linux_init	/var/lib/pcp/pmdas/linux/pmda_linux.so
odd	61	dso	odd_init	/var/lib/pcp/pmdas/odd/pmda_odd.so
bad	62	dso
gone	63	pipe	binary	/no/such/agent -d 63
[access]
allow "*" : all;
`

// ready waits for a collector.
func ready(t *testing.T, spec string) *pmapi.Context {
	t.Helper()
	ctx := context.Background()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		c, err := pmapi.Dial(ctx, spec)
		if err == nil {
			return c
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func TestForeground(t *testing.T) {
	dir := tempDir(t)
	port, socket, log := freePort(t), filepath.Join(dir, "socket"), filepath.Join(dir, "pmcd.log")
	var out, errs bytes.Buffer
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	status := make(chan int)
	args := []string{
		"-f", "-A", "-i", "127.0.0.1", "-p", port, "-s", socket, "-l", log, "-H", "myhost", "-t", "7", "-D", "appl2",
		"-c", writeFile(t, filepath.Join(dir, "conf"), confText),
	}
	environment := func(name string) string {
		if name == "PMCD_MAXPENDING" {
			return "70"
		}
		return getenv(dir)(name)
	}
	go func() { status <- Command.Run(ctx, testEnv(&out, &errs, environment, args...)) }()

	for _, spec := range []string{"unix:" + socket, "localhost:" + port} {
		c := ready(t, spec)
		ids, err := c.LookupName(ctx, "pmcd.hostname", "pmcd.control.timeout", "kernel.all.load")
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Fetch(ctx, ids)
		if err != nil {
			t.Fatal(err)
		}
		if host := string(res.Sets[0].Values[0].Bytes()); host != "myhost" {
			t.Errorf("pmcd.hostname is %q", host)
		}
		if n := res.Sets[1].Values[0].Uint32(); n != 7 {
			t.Errorf("pmcd.control.timeout is %d", n)
		}
		if len(res.Sets[2].Values) != 3 {
			t.Errorf("kernel.all.load is %+v", res.Sets[2])
		}
		c.Close()
	}

	// A second one finds the place taken.
	var errs2 bytes.Buffer
	if n := Command.Run(ctx, testEnv(&out, &errs2, getenv(dir), args...)); n != 1 {
		t.Errorf("a second one exits with %d", n)
	}
	if s := errs2.String(); !strings.Contains(s, "in use") || !strings.Contains(s, "pmcd may already be running") {
		t.Errorf("a second one says %q", s)
	}

	stop()
	if n := <-status; n != 0 || out.Len() > 0 || errs.Len() > 0 {
		t.Errorf("it exits with %d and prints %q %q", n, out.String(), errs.String())
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Warning: maxpending=70 from PMCD_MAXPENDING=70 in environment",
		`^Log for pmcd on \S+ started [A-Z]`,
		`no-name-space cannot be used`,
		`config\[line 5\]: Error: expected DSO entry point`,
		`agent not started agent=odd domain=61 dso=/var/lib/pcp/pmdas/odd/pmda_odd.so err=".*cannot load DSOs`,
		`agent not started agent=gone .*no such file`,
		`\npmcd           2                 2 dso i:7  lib=/var/lib/pcp/pmdas/pmcd/pmda_pmcd.so entry=pmcd_init\n`,
		`\nconfig: agent "pmcd" domain 2 dso entry "pmcd_init" path`,
		`\nHost access list:\n00 01 Cur/MaxCons`,
		fmt.Sprintf(`\npmcd: PID = %d, PDU version = 2\n`, os.Getpid()),
		`\npmcd request port\(s\):\n  sts fd   port  family address\n`,
		`ok +\d+ +unix +` + socket,
		`ok +\d+ +` + port + ` inet +127.0.0.1\n`,
		`pmcd Shutdown\n`,
		`\nLog finished [A-Z]`,
	} {
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("log does not have %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("its socket is left behind: %v", err)
	}
}

// TestToStderr runs one without access rules, whose log is its standard error
// and whose labels change.
func TestToStderr(t *testing.T) {
	dir := tempDir(t)
	t.Chdir(dir)
	labels := filepath.Join(dir, "PCP_SYSCONF_DIR", "labels")
	if err := os.MkdirAll(labels, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(labels, "site"), `{"site":"north"}`)
	port := freePort(t)
	var out, errs bytes.Buffer
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	status := make(chan int)
	args := []string{
		"-f", "-A", "-i", "127.0.0.1", "-p", port, "-s", "socket", "-l", "-", "-c",
		writeFile(t, filepath.Join(dir, "conf"), "pmcd 2 dso pmcd_init /x/pmda_pmcd.so\nlinux 60 dso linux_init /x/pmda_linux.so\n"),
	}
	go func() { status <- Command.Run(ctx, testEnv(&out, &errs, getenv(dir), args...)) }()

	c := ready(t, "localhost:"+port)
	defer c.Close()
	ids, err := c.LookupName(ctx, "pmcd.labels", "pmda.version", "pmcd.control.timeout")
	if err != nil {
		t.Fatal(err)
	}
	values := func() *pcp.Result {
		t.Helper()
		res, err := c.Fetch(ctx, ids)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := values()
	if l, v := string(res.Sets[0].Values[0].Bytes()), string(res.Sets[1].Values[0].Bytes()); l != `{"site":"north"}` || v != "test" {
		t.Errorf("pmcd.labels is %s and pmda.version %s", l, v)
	}
	// As in C everybody may store if there is no [access].
	set := &pcp.Result{Sets: []pcp.ValueSet{{PMID: ids[2], Values: []pcp.Value{pcp.Uint32Value(6)}}}}
	if err := c.Store(ctx, set); err != nil {
		t.Errorf("store by TCP: %v", err)
	}
	writeFile(t, filepath.Join(labels, "site"), `{"site":"south"}`)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); string(values().Sets[0].Values[0].Bytes()) != `{"site":"south"}`; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("labels do not change")
		}
	}
	c.Close()
	stop()
	if n := <-status; n != 0 || out.Len() > 0 {
		t.Errorf("it exits with %d and prints %q", n, out.String())
	}
	for _, want := range []string{`^Log for pmcd on`, `\nHost access list empty: host-based access control turned off\n`, `labels changed .*south`, `\nLog finished`} {
		if !regexp.MustCompile(want).MatchString(errs.String()) {
			t.Errorf("the standard error does not have %q: %s", want, &errs)
		}
	}
	if _, err := os.Stat("-"); !os.IsNotExist(err) {
		t.Errorf("there is a file -: %v", err)
	}
}

// TestDaemon has it leave its parent.
func TestDaemon(t *testing.T) {
	dir := tempDir(t)
	socket := filepath.Join(dir, "socket")
	run := filepath.Join(dir, "PCP_RUN_DIR")
	if err := os.Mkdir(run, 0o755); err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"-A", "-i", "127.0.0.1", "-p", freePort(t), "-s", socket, "-l", filepath.Join(dir, "log"), "-U", me.Username,
		"-c", writeFile(t, filepath.Join(dir, "conf"), confText),
	}
	t.Setenv(testArgs, strings.Join(args, "\n"))
	t.Setenv("PCP_RUN_DIR", run)
	t.Setenv("PMNS_DEFAULT", filepath.Join(dir, "none"))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stderr := os.Stderr
	os.Stderr = w
	n := Command.Run(context.Background(), testEnv(os.Stdout, os.Stderr, os.Getenv, args...))
	os.Stderr = stderr
	w.Close()
	if n != 0 {
		t.Fatalf("it exits with %d", n)
	}
	c := ready(t, "unix:"+socket)
	defer c.Close()
	// The daemon continues when its standard error has no reader any more.
	if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || len(b) > 0 {
		t.Errorf("standard error of the daemon: %q, %v", b, err)
	}
	text, err := os.ReadFile(filepath.Join(run, "pmcd.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid == os.Getpid() {
		t.Fatalf("its process is %q", text)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		if f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):])); f[3] != strconv.Itoa(pid) {
			t.Errorf("it is in session %s, not its own", f[3])
		}
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(run, "pmcd.pid")); os.IsNotExist(err) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it does not end")
		}
	}
}

func TestOptions(t *testing.T) {
	dir := tempDir(t)
	f := func(want int, message string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		got := Command.Run(context.Background(), testEnv(&out, &errs, getenv(dir), args...))
		if got != want || !strings.Contains(errs.String(), message) {
			t.Errorf("pmcd %s: exits with %d, says %q; want %d, %q", strings.Join(args, " "), got, errs.String(), want, message)
		}
	}
	f(0, "Usage: pmcd [options]", "-?")
	f(1, "Usage: pmcd [options]", "-f", "extra")
	f(1, "pmcd: -p requires a positive numeric argument (x)", "-f", "-p", "x")
	f(1, "pmcd: -t requires a positive numeric argument", "-f", "-t", "x")
	f(1, "pmcd: -q requires a positive numeric argument", "-f", "-q", "0")
	f(1, "pmcd: -L requires a positive value", "-f", "-L", "0")
	f(1, "pmcd: -C requires a positive value", "-f", "-C", "0")
	f(1, "pmcd: -M requires a positive value", "-f", "-M", "x")
	f(1, "pmcd: -T requires a positive numeric argument", "-f", "-T", "x")
	f(1, "not an IP address", "-f", "-i", "nonsense", "-s", filepath.Join(dir, "no", "dir"))
	f(1, "No such file or directory", "-f", "-i", "127.0.0.1", "-p", freePort(t), "-s", filepath.Join(dir, "s"), "-l", filepath.Join(dir, "l"), "-c", filepath.Join(dir, "none"))
	f(1, "\"pcp up\" collects without any file", "-f", "-i", "127.0.0.1", "-p", freePort(t), "-s", filepath.Join(dir, "s"), "-l", filepath.Join(dir, "l"), "-c", filepath.Join(dir, "none"))
	f(1, "\"pcp up\" collects without any file", "-c", filepath.Join(dir, "none"), "-x", filepath.Join(dir, "fatal"))
	f(1, "No PMDAs found", "-f", "-i", "127.0.0.1", "-p", freePort(t), "-s", filepath.Join(dir, "s"), "-l", filepath.Join(dir, "l"), "-c", writeFile(t, filepath.Join(dir, "empty"), "\n"))
	f(0, "", "-v", "-c", writeFile(t, filepath.Join(dir, "good"), "pmcd 2 dso x /y\n"))
	f(1, "pmcd config[line 2]: Error: expected `dso', `socket' or `pipe'", "-v", "-c", writeFile(t, filepath.Join(dir, "bad"), "#\nx 3 y\n"))
	f(0, "access control error for host 'no-such-host.invalid': ", "-v", "-c", writeFile(t, filepath.Join(dir, "host"), "pmcd 2 dso x /y\n[access]\nallow no-such-host.invalid, 10.1.2.3 : all;\n"))
	f(1, "pmcd verify "+dir+"/none: No such file or directory", "-v", "-c", filepath.Join(dir, "none"))
}

// TestUsage is the real one's, word for word.
func TestUsage(t *testing.T) {
	oracle.Require(t)
	want := oracle.Run(t, "pmcd", "-?")
	var out, errs bytes.Buffer
	got := Command.Run(context.Background(), testEnv(&out, &errs, getenv(t.TempDir()), "-?"))
	if got != want.Exit || errs.String() != want.Stderr || out.String() != want.Stdout {
		t.Errorf("got %d\n%s%s\nwant %d\n%s%s", got, &out, &errs, want.Exit, want.Stdout, want.Stderr)
	}
}

func TestDefaultsInHelp(t *testing.T) {
	for short, want := range map[rune]time.Duration{'q': pmcd.DefaultCredsTimeout, 't': pmcd.DefaultAgentTimeout} {
		for _, o := range Command.OptionList() {
			if o.Short == short && !strings.Contains(o.Help, fmt.Sprintf("[default %d]", want/time.Second)) {
				t.Errorf("-%c: %q, but the default is %s", short, o.Help, want)
			}
		}
	}
}
