package up

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/agent/simple"
	"github.com/go-pcp/pcp/internal/agent/trivial"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// A screen is a terminal that two goroutines use.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func testEnv(out, errs *screen, vars map[string]string, args ...string) *cli.Env {
	return &cli.Env{
		Name: "pcp up", Args: args, Stdin: strings.NewReader(""), Stdout: out, Stderr: errs,
		Getenv: func(name string) string { return vars[name] }, Version: "test", Command: Command,
	}
}

// tempDir is t.TempDir with a path short enough for sockets.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "up")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// start runs pcp up until the end of the test or a call of stop.
func start(t *testing.T, vars map[string]string, args ...string) (out *screen, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out = new(screen)
	errs := new(screen)
	status := make(chan int, 1)
	go func() { status <- run(ctx, testEnv(out, errs, vars, args...)) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if n := <-status; n != 0 || errs.String() != "" {
			t.Errorf("it exits with %d and says %q", n, errs)
		}
	})
	t.Cleanup(stop)
	for end := time.Now().Add(time.Minute); !strings.Contains(out.String(), "Ctrl-C"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) || errs.String() != "" {
			t.Fatalf("it does not come up: %s%s", out, errs)
		}
	}
	return out, stop
}

// TestServices has an agent whose service starts after the collector.
func TestServices(t *testing.T) {
	var running atomic.Bool
	home := tempDir(t)
	if err := os.MkdirAll(filepath.Join(home, ".config", "pcp"), 0o700); err != nil {
		t.Fatal(err)
	}
	set := &settings{retry: time.Minute, look: time.Millisecond, dir: tempDir(t), noWeb: true, noRecord: true, builtins: []builtin.Spec{
		{Name: "always", Domain: 251, New: func(builtin.Env) (pmda.Agent, error) { return simple.New(simple.Config{Domain: 251}) }},
		{
			Name: "late", Domain: 250, New: func(builtin.Env) (pmda.Agent, error) { return trivial.New(250) },
			Programs: []string{"no such program"}, Try: func(context.Context, builtin.Env) error {
				if !running.Load() {
					return errors.New("it does not answer")
				}
				return nil
			},
		},
	}}
	out, errs := new(screen), new(screen)
	env := testEnv(out, errs, map[string]string{"HOME": home})
	if err := set.complete(env); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, env, set) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	agents := func() string {
		c, err := pmapi.Dial(t.Context(), "unix:"+set.socket)
		if err != nil {
			return err.Error()
		}
		defer c.Close()
		list := ""
		for _, name := range []string{"simple.numfetch", "trivial.time"} {
			ids, err := c.LookupName(t.Context(), name)
			if err != nil {
				continue
			}
			if res, err := c.Fetch(t.Context(), ids); err == nil && len(res.Sets[0].Values) == 1 {
				list += name + " "
			}
		}
		return list
	}
	await.Until(t, "the collector runs", func() bool { return agents() == "simple.numfetch " })
	running.Store(true)
	// The configuration has the finder look at the service, whose process there is not.
	if err := os.WriteFile(filepath.Join(home, ".config", "pcp", "late.conf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the agent of the service runs", func() bool { return agents() == "simple.numfetch trivial.time " })
}

// TestAgentsAreTriedAgain has an agent that cannot be made at first.
func TestAgentsAreTriedAgain(t *testing.T) {
	tries := 0
	set := &settings{retry: time.Millisecond, dir: tempDir(t), builtins: []builtin.Spec{
		{Name: "late", Domain: 250, New: func(e builtin.Env) (pmda.Agent, error) {
			if tries++; tries < 3 {
				return nil, errors.New("the disk is full of eels")
			}
			return trivial.New(250)
		}},
	}}
	out, errs := new(screen), new(screen)
	env := testEnv(out, errs, nil)
	if err := set.complete(env); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, env, set) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the agent does not come: %s%s", out, errs)
		}
		c, err := pmapi.Dial(t.Context(), "unix:"+set.socket)
		if err != nil {
			continue
		}
		ids, err := c.LookupName(t.Context(), "trivial.time")
		var res *pcp.Result
		if err == nil {
			res, err = c.Fetch(t.Context(), ids)
		}
		c.Close()
		if err == nil && len(res.Sets[0].Values) == 1 {
			return
		}
	}
}

// TestAgentOption runs agents that are off by default.
func TestAgentOption(t *testing.T) {
	env := testEnv(new(screen), new(screen), nil)
	names := func(extra ...string) []string {
		var list []string
		for _, a := range agents(env, &settings{builtins: agent.Builtins(), agents: extra}, nil) {
			list = append(list, a.Name)
		}
		return list
	}
	without, with := names(), names("bpf", "simple", "linux")
	for _, name := range []string{"bpf", "simple"} {
		if slices.Contains(without, name) || !slices.Contains(with, name) {
			t.Errorf("without --agent: %v; with: %v", without, with)
		}
	}
	if len(with) != len(without)+2 {
		t.Errorf("--agent adds %d agents to %d, want 2", len(with)-len(without), len(without))
	}
}

// TestStatsD runs the agent statsd, which else does not run.
func TestStatsD(t *testing.T) {
	dir := tempDir(t)
	env := testEnv(new(screen), new(screen), nil)
	env.Getenv = func(name string) string {
		if strings.HasPrefix(name, "PCP_") && strings.HasSuffix(name, "_DIR") {
			return dir
		}
		return ""
	}
	at := filepath.Join(dir, "statsd")
	find := func(address string) *pmcd.AgentSpec {
		list := agents(env, &settings{builtins: agent.Builtins(), statsd: address}, nil)
		if i := slices.IndexFunc(list, func(a pmcd.AgentSpec) bool { return a.Name == "statsd" }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	if find("") != nil {
		t.Error("the agent runs without --statsd")
	}
	spec := find(at)
	if spec == nil {
		t.Fatal("the agent does not run with --statsd")
	}
	a, err := spec.Open(new(pmcd.Server))
	if err != nil {
		t.Fatal(err)
	}
	defer a.(io.Closer).Close()
	c, err := net.Dial("unixgram", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("orders:1|c")); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the metric is there", func() bool {
		_, err := a.(pmda.DynamicNamer).LookupName(t.Context(), "statsd.orders")
		return err == nil
	})
}

func TestUp(t *testing.T) {
	home := tempDir(t)
	out, stop := start(t, map[string]string{"HOME": home, "PCP_RUN_DIR": home}, "--port", "0", "--sample")
	state := filepath.Join(home, ".local", "state", "pcp")
	socket := filepath.Join(state, "pmcd.socket")
	text := out.String()
	m := regexp.MustCompile(`address  127\.0\.0\.1:(\d+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no address in\n%s", text)
	}
	for _, want := range []string{
		"agents   pmcd, proc, xfs, sample, ", " linux, ", "simple", "socket   " + socket, "log      " + state + "/pmcd.log", "info -f kernel.all.load",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the screen does not have %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n"); n > 24 {
		t.Errorf("the message has %d lines and does not fit a screen", n)
	}
	ctx := context.Background()
	for _, spec := range []string{"localhost:" + m[1], "unix:" + socket} {
		c, err := pmapi.Dial(ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := c.LookupName(ctx, "kernel.all.load", "simple.color", "pmcd.feature.local", "pmda.version", "pmcd.control.timeout")
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Fetch(ctx, ids)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Sets[0].Values) != 3 || len(res.Sets[1].Values) != 3 || res.Sets[2].Values[0].Uint32() != 1 {
			t.Errorf("values by %s: %+v", spec, res.Sets)
		}
		if v := string(res.Sets[3].Values[0].Bytes()); v != "test" {
			t.Errorf("pmda.version is %q", v)
		}
		// The user of the socket is known, that of a TCP connection is not.
		var want error
		if strings.HasPrefix(spec, "localhost") {
			want = pcp.ErrPermission
		}
		set := &pcp.Result{Sets: []pcp.ValueSet{{PMID: ids[4], Values: []pcp.Value{pcp.Uint32Value(6)}}}}
		if err := c.Store(ctx, set); !errors.Is(err, want) {
			t.Errorf("store by %s: %v, want %v", spec, err, want)
		}
		c.Close()
	}

	// Another collector finds the places taken, and its message names a
	// solution.
	refused := func(want string, args ...string) {
		t.Helper()
		errs := new(screen)
		if n := run(ctx, testEnv(new(screen), errs, map[string]string{"HOME": home}, args...)); n != 1 || !strings.Contains(errs.String(), want) {
			t.Errorf("%v: exits with %d, says %q; want %q", args, n, errs, want)
		}
	}
	refused("port "+m[1]+" is in use", "--port", m[1], "--dir", tempDir(t))
	refused("by the collector of \"pcp up\" with process id "+strconv.Itoa(os.Getpid()), "--port", m[1], "--dir", tempDir(t))
	refused("pcp info -h localhost:"+m[1]+" -f pmcd.version", "--port", m[1], "--dir", tempDir(t))
	port, _ := strconv.Atoi(m[1])
	refused("pcp up --port "+strconv.Itoa(otherPort(port)), "--port", m[1], "--dir", tempDir(t))
	refused(socket+" is in use", "--port", "0")
	plain := filepath.Join(tempDir(t), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(plain+" is there, and is no socket", "--port", "0", "--socket", plain)
	refused("too long for the name of a socket", "--port", "0", "--socket", plain+strings.Repeat("x", 100))

	stop()
	if !strings.HasSuffix(out.String(), "\nStopped.\n") {
		t.Errorf("at the end the screen has %q", out)
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("its socket is left behind: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(state, "collectors", "*")); err != nil || len(left) > 0 {
		t.Errorf("files about it are left behind: %v, %v", left, err)
	}
}

// TestTwoSideBySide runs two collectors, also after a crash that left a socket.
func TestTwoSideBySide(t *testing.T) {
	one, two := tempDir(t), tempDir(t)
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(two, "pcp", "x"), Net: "unix"})
	if err == nil {
		ln.Close()
	}
	if err := os.MkdirAll(filepath.Join(two, "pcp"), 0o700); err != nil {
		t.Fatal(err)
	}
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(two, "pcp", "pmcd.socket"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	start(t, map[string]string{"XDG_STATE_HOME": one}, "--port", "0")
	start(t, map[string]string{"XDG_STATE_HOME": two}, "--port", "0")
	for _, dir := range []string{one, two} {
		c, err := pmapi.Dial(context.Background(), "unix:"+filepath.Join(dir, "pcp", "pmcd.socket"))
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
}

// TestOneForADirectory starts a second collector with the same directory and
// another address: it would still share the first one's log.
func TestOneForADirectory(t *testing.T) {
	dir := tempDir(t)
	start(t, map[string]string{"XDG_STATE_HOME": dir}, "--port", "0")
	errs := new(screen)
	env := testEnv(new(screen), errs, map[string]string{"XDG_STATE_HOME": dir}, "--port", "0", "--socket", filepath.Join(dir, "other"))
	if n := run(context.Background(), env); n != 1 || !strings.Contains(errs.String(), "another collector") {
		t.Errorf("exits with %d, says %q", n, errs)
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		want string
		vars map[string]string
		args []string
	}{
		{"no home directory", nil, nil},
		{"no home directory", map[string]string{"XDG_STATE_HOME": "relative"}, nil},
		{"--dir", map[string]string{"HOME": "/proc/no"}, nil},
		{"--port needs a number", nil, []string{"--port", "70000"}},
		{"--port needs a number", nil, []string{"--port", "x"}},
		{"unexpected argument", nil, []string{"now"}},
		{`no built-in agent "nosuch"; those that are off by default are bpf, `, nil, []string{"--agent", "nosuch"}},
		{strconv.Quote("x"), nil, []string{"--port", "x"}},
	} {
		errs := new(screen)
		if n := run(context.Background(), testEnv(new(screen), errs, c.vars, c.args...)); n != 1 || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%v %v: exits with %d, says %q; want %q", c.vars, c.args, n, errs, c.want)
		}
	}
}

// A terminal that is closed sends SIGHUP: nothing may stay behind.
func TestTerminalClosed(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("SIGHUP is ignored here, as nohup does")
	}
	dir := tempDir(t)
	_, stop := start(t, nil, "--port", "0", "--dir", dir)
	defer stop()
	socket := filepath.Join(dir, "pmcd.socket")
	if _, err := os.Stat(socket); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(socket); errors.Is(err, fs.ErrNotExist) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it goes on after SIGHUP")
		}
	}
	stop()
	if log, err := os.ReadFile(filepath.Join(dir, "pmcd.log")); err != nil || !strings.Contains(string(log), "Log finished") {
		t.Errorf("the log has no end: %v\n%s", err, log)
	}
}

// TestStays reads labels again on SIGHUP if nohup had it ignored.
func TestStays(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	dir := tempDir(t)
	_, stop := start(t, nil, "--port", "0", "--dir", dir)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		log, err := os.ReadFile(filepath.Join(dir, "pmcd.log"))
		if err == nil && strings.Contains(string(log), "pmcd RESTARTED at ") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("nothing was read again: %v\n%s", err, log)
		}
	}
	c, err := pmapi.Dial(context.Background(), "unix:"+filepath.Join(dir, "pmcd.socket"))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	stop()
}

// TestHints checks that the commands on the screen can be typed as they are,
// and that README shows the same.
func TestHints(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ours := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 44321}
	env := testEnv(nil, nil, map[string]string{"PMCD_SOCKET": filepath.Join(tempDir(t), "nobody")})
	env.Program = "pcp"
	readme, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := welcome(env, &settings{noRecord: true}, "vm", []string{"pmcd", "linux", "mmv"}, []net.Listener{fakeListener{ours}}, nil, "log")
	_, next, _ := strings.Cut(text, "Next, in")
	shown := strings.ReplaceAll("    Next, in"+next, "\n", "\n    ")
	shown = strings.ReplaceAll(strings.TrimRight(shown, " "), "\n    \n", "\n\n")
	if !strings.Contains(string(readme), shown) {
		t.Errorf("README does not show\n%s", shown)
	}
	env.Program = "bin/pcp"
	text = welcome(env, &settings{noRecord: true}, "vm", nil, []net.Listener{ln}, nil, "log")
	if want := "bin/pcp info -h " + strings.Replace(ln.Addr().String(), "127.0.0.1", "localhost", 1) + " kernel"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	text = welcome(env, &settings{noRecord: true, socket: "/tmp/my own/s"}, "vm", nil, []net.Listener{ln}, nil, "log")
	if want := "bin/pcp top -h 'unix:/tmp/my own/s' "; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	env.Getenv = func(name string) string { return map[string]string{"MAKELEVEL": "1"}[name] }
	if got, want := again(env, "--port 1"), "make run ARGS='--port 1'"; got != want {
		t.Errorf("under make: %q, want %q", got, want)
	}
}

type fakeListener struct{ addr net.Addr }

func (l fakeListener) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (l fakeListener) Close() error              { return nil }
func (l fakeListener) Addr() net.Addr            { return l.addr }
