package doctor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/agents"
	"github.com/go-pcp/pcp/cmd/internal/archives"
	"github.com/go-pcp/pcp/cmd/internal/serve/pmcd"
	collect "github.com/go-pcp/pcp/cmd/internal/serve/up"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestMain makes the test binary the program "pcp" with the commands that the tests run.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "pcp" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	list := commands()
	for _, c := range list {
		if len(os.Args) > 1 && (c.Name == os.Args[1] || c.Link == os.Args[1]) {
			os.Exit(c.Run(ctx, &cli.Env{
				Name: "pcp " + c.Name, Program: os.Args[0], Args: os.Args[2:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
				Getenv: os.Getenv, LookupEnv: os.LookupEnv, Version: "test", Command: c, Commands: list,
			}))
		}
	}
	os.Exit(127)
}

func commands() []*cli.Command {
	return append(append(agents.Commands(), archives.Commands()...), collect.Command, pmcd.Command, Command)
}

// A stage is an installation in which a test makes a fault.
type stage struct {
	t     *testing.T
	dir   string
	vars  map[string]string
	host  string
	ended func()      // fails the test if a started program has ended
	site  func(*site) // changes the site before the checks
}

// newStage returns a site without daemons and without faults but that.
func newStage(t *testing.T) *stage {
	t.Helper()
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	g := &stage{t: t, dir: dir}
	g.vars = map[string]string{
		"PCP_CONF": g.path("pcp.conf"), "HOME": dir, "XDG_STATE_HOME": g.path("state"), "XDG_RUNTIME_DIR": g.path("runtime"),
		"PATH": os.Getenv("PATH"), "PMCD_PORT": strconv.Itoa(oracle.FreePort(t)), "PMCD_SOCKET": g.path("run/pmcd.socket"), "PCP_DERIVED_CONFIG": "",
	}
	conf := "PCP_VERSION=6.0.3\n"
	for name, at := range map[string]string{
		"PCP_SYSCONF_DIR": "etc", "PCP_RUN_DIR": "run", "PCP_LOG_DIR": "log", "PCP_ARCHIVE_DIR": "log/pmlogger", "PCP_TMP_DIR": "tmp", "PCP_TMPFILE_DIR": "tmpfile",
		"PCP_VAR_DIR": "var", "PCP_PMDAS_DIR": "var/pmdas", "PCP_SHARE_DIR": "share",
	} {
		conf += name + "=" + g.path(at) + "\n"
		g.mkdir(at)
	}
	g.mkdir("etc/pmcd")
	g.mkdir("log/pmcd")
	g.write("var/pmns/root", pmcdNames+"simple {\n numfetch 253:0:0\n}\n")
	conf += "PCP_PMCDCONF_PATH=" + g.path("etc/pmcd/pmcd.conf") + "\nPCP_PMCDOPTIONS_PATH=" + g.path("etc/pmcd/pmcd.options") + "\n"
	conf += "PCP_PMLOGGERCONTROL_PATH=" + g.path("etc/pmlogger/control") + "\nPCP_PMIECONTROL_PATH=" + g.path("etc/pmie/control") + "\n"
	conf += "PCP_TLSCONF_PATH=" + g.path("etc/tls.conf") + "\nPCP_USER=root\nPCP_GROUP=root\n"
	g.write("pcp.conf", conf)
	return g
}

// pmcdNames is a name space with the metrics that the checks fetch.
const pmcdNames = `root {
	pmcd
	simple
}
pmcd {
	version 2:0:7
	agent
}
pmcd.agent {
	type 2:4:0
	status 2:4:1
	fenced 2:4:2
}
`

func (g *stage) path(name string) string { return filepath.Join(g.dir, name) }

func (g *stage) mkdir(name string) {
	g.t.Helper()
	if err := os.MkdirAll(g.path(name), 0o755); err != nil {
		g.t.Fatal(err)
	}
}

// write writes a file, and its directory.
func (g *stage) write(name, text string) string {
	g.t.Helper()
	g.mkdir(filepath.Dir(name))
	if err := os.WriteFile(g.path(name), []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
	return g.path(name)
}

func (g *stage) environ() []string {
	var list []string
	for name, v := range g.vars {
		list = append(list, name+"="+v)
	}
	return list
}

func (g *stage) env(out io.Writer, args ...string) *cli.Env {
	return &cli.Env{
		Name: "pcp doctor", Program: g.program(), Args: args, Stdin: strings.NewReader(""), Stdout: out, Stderr: out,
		Getenv: func(name string) string { return g.vars[name] }, Version: "test", Command: Command, Commands: commands(),
	}
}

// program is this test as the program pcp.
func (g *stage) program() string {
	g.t.Helper()
	path := g.path("pcp")
	if _, err := os.Lstat(path); err != nil {
		exe, err := os.Executable()
		if err == nil {
			err = os.Symlink(exe, path)
		}
		if err != nil {
			g.t.Fatal(err)
		}
	}
	return path
}

// start runs a command of the program until the test ends.
func (g *stage) start(args ...string) *exec.Cmd {
	g.t.Helper()
	cmd := exec.Command(g.program(), args...)
	cmd.Env = g.environ()
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := oracle.StartWith(cmd, syscall.SIGKILL); err != nil {
		g.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	g.ended = func() {
		select {
		case <-ended:
			g.t.Fatalf("%v ended: %v\n%s", args, cmd.ProcessState, out)
		default:
		}
	}
	g.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	return cmd
}

// up runs "pcp up" as the collector that commands find.
func (g *stage) up(args ...string) *exec.Cmd {
	g.t.Helper()
	port := g.vars["PMCD_PORT"]
	delete(g.vars, "PMCD_SOCKET")
	delete(g.vars, "PMCD_PORT")
	cmd := g.start(append([]string{"up", "--port", port, "--web-port", "0"}, args...)...)
	await.Until(g.t, "the collector announces itself", func() bool {
		g.ended()
		list, err := filepath.Glob(g.path("state/pcp/collectors/*.json"))
		return err == nil && len(list) > 0
	})
	g.answers("unix", g.path("state/pcp/pmcd.socket"))
	return cmd
}

// pmcd runs a pmcd of the site with a configuration.
func (g *stage) pmcd(conf string, args ...string) *exec.Cmd {
	g.t.Helper()
	g.write("etc/pmcd/pmcd.conf", conf)
	cmd := g.start(append([]string{"pmcd", "-f", "-s", g.path("run/pmcd.socket"), "-l", g.path("log/pmcd/pmcd.log")}, args...)...)
	g.answers("unix", g.path("run/pmcd.socket"))
	return cmd
}

// answers waits for a program that accepts connections.
func (g *stage) answers(network, address string) {
	g.t.Helper()
	await.Until(g.t, "a collector at "+address, func() bool {
		g.ended()
		conn, err := net.Dial(network, address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// listen makes a program that accepts connections at the port of the collector and calls serve for each.
func (g *stage) listen(serve func(net.Conn)) {
	g.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:"+g.vars["PMCD_PORT"])
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { ln.Close() })
	go func() {
		var conns []net.Conn // or they would be closed as garbage
		defer func() {
			for _, c := range conns {
				c.Close()
			}
		}()
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conns = append(conns, conn)
			go serve(conn)
		}
	}()
}

// examine returns the findings other than notes.
func (g *stage) examine() []finding {
	s := newSite(g.env(io.Discard), g.host)
	defer s.close()
	s.patience = 700 * time.Millisecond
	s.serviceRoot = g.dir // services of other tests may run
	if g.site != nil {
		g.site(s)
	}
	list := s.examine(context.Background(), false)
	return slices.DeleteFunc(list, func(f finding) bool { return f.severity() == note })
}

// show formats findings for a test.
func show(list []finding) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "  %s: %s\n    remedy: %s\n", f.id, f.text, f.command)
	}
	return b.String()
}

// A staged fault is made by stage, and found by the checks under its identifier.
type staged struct {
	id    string
	stage func(g *stage)
	text  string   // part of its text
	also  []string // what the same fault causes
}

// quiet has faults that a site without a collector has.
var bare = []string{"collector.unreachable"}

func testStaged(t *testing.T, list []staged) {
	for _, c := range list {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			g := newStage(t)
			c.stage(g)
			found := g.examine()
			if !slices.ContainsFunc(found, func(f finding) bool { return f.id == c.id && strings.Contains(f.text, c.text) }) {
				t.Fatalf("not found with %q; found\n%s", c.text, show(found))
			}
			for _, f := range found {
				if f.id != c.id && !slices.Contains(bare, f.id) && !slices.Contains(c.also, f.id) {
					t.Errorf("also found: %s", show([]finding{f}))
				}
				if f.id == c.id && f.fix != nil {
					g.mend(f)
				}
				if f.text == "" || f.command == "" || f.effect() == "" {
					t.Errorf("%s: text %q, effect %q, remedy %q", f.id, f.text, f.effect(), f.command)
				}
			}
		})
	}
}

// mend mends a fault with the command that was printed, makes it again, mends it as --fix does, and requires that it is
// gone each time.
func (g *stage) mend(f finding) {
	g.t.Helper()
	gone := func(how string) {
		g.t.Helper()
		for _, other := range g.examine() {
			if other.id == f.id && other.subject == f.subject {
				g.t.Errorf("%s: %s has not mended it: %s", f.id, how, other.text)
			}
		}
	}
	st, err := os.Lstat(f.path)
	var text []byte
	if err == nil && st.Mode().IsRegular() {
		text, err = os.ReadFile(f.path)
		if err != nil {
			g.t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", f.command)
	cmd.Env = g.environ()
	if out, err := cmd.CombinedOutput(); err != nil && !strings.Contains(f.command, "archive repair") { // which reports losses
		g.t.Errorf("%s: %s: %v\n%s", f.id, f.command, err, out)
	}
	gone(f.command)
	switch {
	case st == nil: // a directory that was missing, or a repaired archive
		if err := os.RemoveAll(f.path); err != nil {
			g.t.Fatal(err)
		}
	case st.Mode().IsRegular():
		if err := os.WriteFile(f.path, text, st.Mode().Perm()); err != nil {
			g.t.Fatal(err)
		}
		if err := os.Chtimes(f.path, st.ModTime(), st.ModTime()); err != nil {
			g.t.Fatal(err)
		}
		fallthrough
	case st.IsDir():
		if err := os.Chmod(f.path, st.Mode()); err != nil {
			g.t.Fatal(err)
		}
	}
	s := newSite(g.env(io.Discard), "")
	defer s.close()
	if done, err := f.fix(context.Background(), s); err != nil || done == "" {
		g.t.Errorf("%s: --fix: %q, %v", f.id, done, err)
	}
	gone("--fix")
}
