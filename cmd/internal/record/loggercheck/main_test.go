//go:build unix

package loggercheck

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestMain makes this program the pmlogger, the pmie and the pmieconf that a test's checks start.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "pmlogger":
		os.Exit(fakeLogger())
	case "pmie":
		os.Exit(fakeEngine())
	case "pmieconf":
		os.Exit(fakeConfigurator())
	}
	os.Exit(m.Run())
}

// fakeLogger publishes its port, as pmlogger does, and ends by a signal. For the host "dead" it ends at once, and for "mute"
// it never serves.
func fakeLogger() int {
	host, _ := os.Hostname()
	if i := slices.Index(os.Args, "-h"); i > 0 {
		host = os.Args[i+1]
	}
	os.WriteFile("pmlogger.log", []byte("Log for pmlogger\nargs "+strings.Join(os.Args[1:], " ")+"\nA="+os.Getenv("A")+"\n"), 0o600)
	if host == "dead" {
		fmt.Println("it cannot connect")
		return 1
	}
	ln, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return 1
	}
	dir, _ := os.Getwd()
	maps := filepath.Join(os.Getenv("PCP_TMP_DIR"), "pmlogger")
	os.MkdirAll(maps, 0o700)
	path := filepath.Join(maps, strconv.Itoa(os.Getpid()))
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	text := fmt.Sprintf("%d\n%s\n%s/20260101.00.10\npmlogger_check\n", ln.Addr().(*net.TCPAddr).Port, host, dir)
	if os.WriteFile(path+".tmp", []byte(text), 0o600) != nil || os.Rename(path+".tmp", path) != nil {
		return 1
	}
	if slices.Contains(os.Args, "-P") {
		os.Symlink(path, filepath.Join(maps, "primary"))
	}
	if host == "stubborn" {
		<-make(chan bool)
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Minute): // in case the test has forgotten it
	}
	os.Remove(path)
	return 0
}

// A site is a directory tree in which loggers are checked.
type site struct {
	t    *testing.T
	dir  string
	kind *kind
}

func newSite(t *testing.T, control string) *site {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t, dir, logger}
	s.write("etc/pmlogger/control", strings.ReplaceAll(control, "SITE", dir))
	var b strings.Builder
	for _, v := range [][2]string{
		{"PCP_LOG_DIR", "log"},
		{"PCP_ARCHIVE_DIR", "log/pmlogger"},
		{"PCP_TMP_DIR", "tmp"},
		{"PCP_RUN_DIR", "run"},
		{"PCP_VAR_DIR", "var"},
		{"PCP_SYSCONF_DIR", "etc"},
		{"PCP_SYSCONFIG_DIR", "default"},
		{"PCP_SHARE_DIR", "share"},
		{"PCP_BINADM_DIR", "bin"},
		{"PCP_BIN_DIR", "nobin"},
		{"PCP_PMLOGGERCONTROL_PATH", "etc/pmlogger/control"},
		{"PCP_PMIECONTROL_PATH", "etc/pmie/control"},
	} {
		fmt.Fprintf(&b, "%s=%s\n", v[0], filepath.Join(dir, v[1]))
	}
	s.write("pcp.conf", b.String())
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, filepath.Join(dir, "bin", "pmlogger")); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		for _, pid := range s.pids() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return s
}

func (s *site) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) read(name string) string {
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		return err.Error()
	}
	return s.plain(string(b))
}

func (s *site) plain(text string) string { return strings.ReplaceAll(text, s.dir, "SITE") }

// pids returns the processes that have a file.
func (s *site) pids() (list []int) {
	entries, _ := os.ReadDir(filepath.Join(s.dir, "tmp", s.kind.name))
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// env returns an environment for the program, and its outputs.
func (s *site) env(args ...string) (env *cli.Env, out, errs *bytes.Buffer) {
	vars := map[string]string{"PCP_CONF": filepath.Join(s.dir, "pcp.conf"), "HOME": s.dir}
	out, errs = new(bytes.Buffer), new(bytes.Buffer)
	return &cli.Env{
		Name: s.kind.prog(), Args: args, Command: map[*kind]*cli.Command{logger: Command, engine: IECommand}[s.kind], Stdout: out, Stderr: errs,
		Getenv: func(name string) string { return vars[name] },
	}, out, errs
}

// check runs the program, and returns its output and status.
func (s *site) check(args ...string) string {
	s.t.Helper()
	env, out, errs := s.env(args...)
	status := run(context.Background(), env, s.kind)
	return s.plain(out.String()) + s.plain(errs.String()) + fmt.Sprintf("status %d\n", status)
}
