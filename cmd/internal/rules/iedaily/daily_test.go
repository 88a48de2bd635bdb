//go:build unix

package iedaily

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pmiestats"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestMain makes this program the pmie whose log is looked after, and the program that sends mail.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "pmie":
		os.Exit(fakeEngine(os.Args[1], os.Args[2]))
	case "Mail":
		b, _ := io.ReadAll(os.Stdin)
		text := fmt.Sprintf("%q\n%s", os.Args[1:], b)
		if os.WriteFile(filepath.Join(filepath.Dir(os.Args[0]), "sent"), []byte(text), 0o600) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fakeEngine begins its log again by SIGHUP, as pmie does.
func fakeEngine(maps, log string) int {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	path := filepath.Join(maps, strconv.Itoa(os.Getpid()))
	stats := pmiestats.Stats{Log: log, Host: "far", Version: pmiestats.Version}
	for i := 0; ; i++ {
		if os.WriteFile(log, []byte(fmt.Sprintf("Log for pmie\npmie: PID = 1\n\nall OK\nlog %d\n", i)), 0o600) != nil {
			return 1
		}
		if os.WriteFile(path+".tmp", stats.Append(nil), 0o600) != nil || os.Rename(path+".tmp", path) != nil {
			return 1
		}
		select {
		case <-hup:
		case <-time.After(5 * time.Minute): // should the test have forgotten it
			return 1
		}
	}
}

// A site is a directory tree with control files and logs.
type site struct {
	t    *testing.T
	dir  string
	vars map[string]string
}

const version = "$version=1.1\n"

func newSite(t *testing.T, control string) *site {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t, dir, map[string]string{}}
	s.write("etc/pmie/control", strings.ReplaceAll(control, "SITE", dir))
	conf := ""
	for _, v := range [][2]string{
		{"PCP_LOG_DIR", "log"},
		{"PCP_TMP_DIR", "tmp"},
		{"PCP_RUN_DIR", "run"},
		{"PCP_VAR_DIR", "var"},
		{"PCP_SYSCONF_DIR", "etc"},
		{"PCP_BINADM_DIR", "bin"},
		{"PCP_BIN_DIR", "bin"},
		{"PCP_PMIECONTROL_PATH", "etc/pmie/control"},
		{"PCP_RC_DIR", "etc/init.d"}, // whatever services this machine has on
	} {
		conf += v[0] + "=" + filepath.Join(dir, v[1]) + "\n"
	}
	s.write("pcp.conf", conf)
	s.write("bin/kept", "")
	if err := os.MkdirAll(filepath.Join(dir, "tmp/pmie"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.vars["PCP_CONF"], s.vars["HOME"], s.vars["PATH"] = filepath.Join(dir, "pcp.conf"), dir, filepath.Join(dir, "bin")
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

// program makes this program one in the site's directory for programs.
func (s *site) program(name string) string {
	s.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	path := filepath.Join(s.dir, "bin", name)
	if err := os.Symlink(exe, path); err != nil {
		s.t.Skip(err)
	}
	return path
}

// engine starts a pmie, and returns a function that waits until its log has a
// text.
func (s *site) engine(log string) (wait func(want string)) {
	s.t.Helper()
	path := filepath.Join(s.dir, log)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(s.program("pmie"), filepath.Join(s.dir, "tmp/pmie"), path)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		cmd.Process.Kill()
		await.Exit(s.t, cmd)
	})
	wait = func(want string) {
		s.t.Helper()
		file := "tmp/pmie/" + strconv.Itoa(cmd.Process.Pid)
		await.Until(s.t, fmt.Sprintf("%s has %q, and there is %s", log, want, file), func() bool {
			return strings.Contains(s.read(log), want) && !strings.Contains(s.read(file), "no such file")
		})
	}
	wait("log 0\n")
	return wait
}

// call runs the program, and returns its output and its status.
func (s *site) call(ctx context.Context, args ...string) string {
	s.t.Helper()
	var out, errs bytes.Buffer
	status := run(ctx, &cli.Env{
		Name: "pmie_daily", Args: args, Command: Command, Stdout: &out, Stderr: &errs,
		Getenv: func(name string) string { return s.vars[name] },
	})
	return s.plain(out.String()) + s.plain(errs.String()) + fmt.Sprintf("status %d\n", status)
}

func (s *site) daily(args ...string) string {
	s.t.Helper()
	return s.call(context.Background(), args...)
}

func daysAgo(n int) string { return time.Now().AddDate(0, 0, -n).Format("20060102") }

// TestDay has a log rolled, old ones removed and others compressed, and a mail sent.
func TestDay(t *testing.T) {
	s := newSite(t, version+"far n n PCP_LOG_DIR/pmie/far/pmie.log -c x\nnone n n PCP_LOG_DIR/pmie/none/pmie.log -c x\n")
	wait := s.engine("log/pmie/far/pmie.log")
	s.write("log/pmie/none/pmie.log", "of before\n")
	s.program("Mail")
	gone := exec.Command("/bin/true")
	if err := gone.Run(); err != nil {
		t.Skip(err)
	}
	s.write("tmp/pmie/"+strconv.Itoa(gone.Process.Pid), "")
	for _, name := range []string{daysAgo(30), daysAgo(15), daysAgo(14), daysAgo(5), daysAgo(4) + ".xz"} {
		s.write("log/pmie/far/pmie.log."+name, "old\n")
	}
	for _, name := range []string{"pmie.log.prior", "notes", ".hidden." + daysAgo(30)} {
		s.write("log/pmie/far/"+name, "kept\n")
	}
	if got := s.daily("-V", "-V", "-x", "3", "-m", "me@x you@x"); got != "status 0\n" {
		t.Errorf("it said %q, and to its log:\n%s", got, s.read("log/pmie/pmie_daily.log"))
	}
	wait("log 1\n")
	log := s.read("log/pmie/pmie_daily.log")
	for _, want := range []string{
		"=== daily maintenance of pmie log files for host far ===\n", "Looking for logfile=SITE/log/pmie/far/pmie.log\n", "process has vanished\n",
		"p_pmcd_host=far p_logfile=SITE/log/pmie/far/pmie.log->SITE/log/pmie/far/pmie.log ... match\n+ pmsignal -s HUP ",
		"Log files older than 14 days being removed ...\n    pmie.log." + daysAgo(30) + " pmie.log." + daysAgo(15) + "\n",
		"Log files older than 3 days being compressed ...\n    pmie.log." + daysAgo(14) + " pmie.log." + daysAgo(5) + "\n",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, "log/pmie/far"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{
		".hidden." + daysAgo(30), "notes", "pmie.log", "pmie.log." + daysAgo(14) + ".xz", "pmie.log." + daysAgo(5) + ".xz", "pmie.log." + daysAgo(4) + ".xz",
		"pmie.log." + daysAgo(1), "pmie.log.prior",
	}
	if fmt.Sprint(names) != fmt.Sprint(want) {
		t.Errorf("left %v, want %v", names, want)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.read("bin/sent"), fmt.Sprintf("%q\nLog for pmie\npmie: PID = 1\nlog 0\n", []string{"-s", "PMIE summary for " + host, "me@x", "you@x"}); got != want {
		t.Errorf("mailed %q, want %q", got, want)
	}
	if got := s.read("tmp/pmie/" + strconv.Itoa(gone.Process.Pid)); !strings.Contains(got, "no such file") {
		t.Errorf("the file of a process that is gone stays: %q", got)
	}

	// Without a program for mail the log has it.
	if err := os.Remove(filepath.Join(s.dir, "bin/Mail")); err != nil {
		t.Fatal(err)
	}
	s.daily("-m", "me@x", "-k", "forever")
	wait("log 2\n")
	if got := s.read("log/pmie/pmie_daily.log"); !strings.Contains(got, "pmie_daily: PMIE summary for "+host+" ...\nLog for pmie\npmie: PID = 1\nlog 1\n") {
		t.Errorf("the log is %q", got)
	}
	if got := s.read("log/pmie/pmie_daily.log.prev"); got != log {
		t.Errorf("the log before is %q", got)
	}
}

// TestShow has a dry run that changes nothing.
func TestShow(t *testing.T) {
	s := newSite(t, version+"far n n PCP_LOG_DIR/pmie/far/pmie.log -c x\n")
	s.engine("log/pmie/far/pmie.log")
	s.write("log/pmie/far/pmie.log.20000101", "old\n")
	s.write("log/pmie/far/pmie.log."+daysAgo(2), "old\n")
	got := s.daily("-N", "-x", "1", "-X", "squeeze")
	want := "# $version=1.1    \n+ export version; version=1.1    \n+ cd SITE/log/pmie/far\n" +
		"+ mv SITE/log/pmie/far/pmie.log SITE/log/pmie/far/pmie.log." + daysAgo(1) + "\n+ kill -s HUP PID\n" +
		"+ rm -f pmie.log.20000101\n+ squeeze pmie.log.20000101 pmie.log." + daysAgo(2) + "\nstatus 0\n"
	if got = regexp.MustCompile(`HUP \d+`).ReplaceAllString(got, "HUP PID"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := s.read("log/pmie/far/pmie.log"); !strings.Contains(got, "log 0\n") {
		t.Errorf("the log is %q", got)
	}
}

// TestFaults has the messages for cases that cannot work.
func TestFaults(t *testing.T) {
	s := newSite(t, version+"far n n PCP_LOG_DIR/pmie/far/pmie.log -c x\nbad n\n$(x)\n")
	s.write("etc/pmie/control.d/x.rpmsave", "garbage\n")
	s.write("etc/pmie/control.d/y", "\x00\xff\n$PATH=\n")
	s.vars["PCP_DIR"] = "/" // where all services are on
	got := s.daily("-N", "-V")
	for _, want := range []string{
		"pmie_daily: Error: logfile directory (SITE/log/pmie/far) does not exist\n[SITE/etc/pmie/control:2] ... inference engine for host \"far\" unchanged\n",
		"pmie_daily: Error: insufficient fields in control file record\n[SITE/etc/pmie/control:3] ... inference engine for host \"bad\" unchanged\n",
		"pmie_daily: Warning: in-line command is not a variable assignment, line ignored\n[SITE/etc/pmie/control:4] ",
		"Warning: ignored backup control file \"SITE/etc/pmie/control.d/x.rpmsave\"\n", "Error: NUL byte in control file record\n", "status 1\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	s.write("log/pmie/far/pmie.log.20000101", "old\n")
	if got := s.daily("-k", "forever", "-x", "0", "-X", "no-such-program", "-l", filepath.Join(s.dir, "log/mine")); got != "status 1\n" {
		t.Errorf("it said %q", got)
	}
	for _, want := range []string{"Error: no pmie instance running for host \"far\"\n", "Error: no-such-program: compression program not found\n"} {
		if got := s.read("log/mine"); !strings.Contains(got, want) {
			t.Errorf("the log lacks %q: %s", want, got)
		}
	}
	f := func(want string, args ...string) {
		t.Helper()
		if got := s.daily(args...); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "status 1\n") {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	f("Error: -k option (never) must be numeric\n", "-k", "never")
	f("Error: -x option (-1) must be numeric\n", "-x", "-1")
	f("pmie_daily: Error: cannot find control file (/none)\n", "-N", "-c", "/none")
	f("pmie_daily: Error: regular expression of files not to compress: ", "-N", "-Y", "(")
	f("_save_prev_filename: SITE/etc/pmie/control/x: Not a directory\npmie_daily: cannot create log: ", "-l", filepath.Join(s.dir, "etc/pmie/control/x"))
	f("Usage: pmie_daily [options]\n", "x")

	// Whoever ends the program is not kept waiting.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := s.call(ctx, "-N"); !strings.HasSuffix(got, "pmie_daily: interrupted\nstatus 1\n") {
		t.Errorf("ended: %s", got)
	}
}

// TestServiceOn has a service manager that starts pmie, so that a line without a process is an error.
func TestServiceOn(t *testing.T) {
	for _, link := range []string{"etc/systemd/system/multi-user.target.wants/pmie.service", "etc/rc3.d/S21pmie"} {
		s := newSite(t, version+"none n n PCP_LOG_DIR/pmie/none/pmie.log -c x\n")
		s.write("log/pmie/none/pmie.log", "of before\n")
		if got := s.daily("-N"); !strings.HasSuffix(got, "status 0\n") {
			t.Errorf("without the service: %s", got)
		}
		s.write(link, "")
		if got := s.daily("-N"); !strings.Contains(got, "no pmie instance running for host \"none\"\n") || !strings.HasSuffix(got, "status 1\n") {
			t.Errorf("with %s: %s", link, got)
		}
	}
}

// TestLocks has a leftover lock, and a lock that another process holds.
func TestLocks(t *testing.T) {
	s := newSite(t, version+"old n n PCP_LOG_DIR/pmie/old/pmie.log -c x\nheld n n PCP_LOG_DIR/pmie/held/pmie.log -c x\n")
	for _, name := range []string{"old", "held"} {
		s.write("log/pmie/"+name+"/lock", "")
		s.write("log/pmie/"+name+"/pmie.log.20000101", "")
	}
	when := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(s.dir, "log/pmie/old/lock"), when, when); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	env := &cli.Env{Name: "pmie_daily", Command: Command, Stdout: &out, Stderr: &out, Getenv: func(name string) string { return s.vars[name] }}
	d := &daily{
		ctx: context.Background(), env: env, now: time.Now(), out: &out, control: filepath.Join(s.dir, "etc/pmie/control"), keep: 1, after: forever,
		regex: defaultRegex, maps: filepath.Join(s.dir, "tmp/pmie"), lockWait: time.Nanosecond,
	}
	if status := d.run(); status != 0 {
		t.Errorf("status %d", status)
	}
	text := s.plain(out.String())
	for _, want := range []string{
		"pmie_daily: Warning: removing lock file older than 30 minutes\n", "pmie_daily: Warning: is another PCP cron job running concurrently?\n",
		"pmie_daily: Warning: failed to acquire exclusive lock (SITE/log/pmie/held/lock) ...\n[SITE/etc/pmie/control:3] ",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("there is not one %q in:\n%s", want, text)
		}
	}
	for name, kept := range map[string]bool{"old/lock": false, "old/pmie.log.20000101": false, "held/lock": true, "held/pmie.log.20000101": true} {
		if got := s.read("log/pmie/" + name); (got == "") != kept {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestOracle compares the actions of the real script with ours, without doing
// them.
func TestOracle(t *testing.T) {
	oracle.Require(t)
	r := rand.New(rand.NewPCG(longtest.Seed(t), 9))
	base, err := os.ReadFile("/etc/pcp.conf")
	if err != nil {
		oracle.Missing(t, err.Error())
	}
	drop := regexp.MustCompile(`(?m)^PCP_(LOG|TMP|RUN|VAR|SYSCONF|TMPFILE)_DIR=.*\n|^PCP_(PMIECONTROL_PATH|USER|GROUP)=.*\n`)
	keep := regexp.MustCompile(`(?m)^PCP_(BIN|BINADM)_DIR=.*\n`)
	for i := range longtest.N(6, 100) {
		control := version
		for range 1 + r.IntN(5) {
			control += []string{
				"far n n PCP_LOG_DIR/d1/pmie.log -c x\n", "near n n PCP_LOG_DIR/d2/pmie.log -c x\n", "# none\n", "\n", "$A=1\n", "$B='two words'\n", "$(x)\n", "far n\n",
				"LOCALHOSTNAME y n PCP_LOG_DIR/d2/LOCALHOSTNAME.log -v\n", "gone n n PCP_LOG_DIR/none/pmie.log -c x\n", "$PATH=x\n",
			}[r.IntN(11)]
		}
		s := newSite(t, control)
		for _, dir := range []string{"d1", "d2"} {
			s.write("log/"+dir+"/pmie.log", "now\n")
			for range r.IntN(30) {
				s.write(fmt.Sprintf("log/%s/%s", dir, fmt.Sprintf([]string{"pmie.log.%s", "pmie.log.%s.xz", "log-%s", "x%s", "pmie.log.%s-00.gz"}[r.IntN(5)], daysAgo(r.IntN(40)))), "then\n")
			}
		}
		ours := keep.ReplaceAllString(strings.ReplaceAll(s.read("pcp.conf"), "SITE", s.dir), "")
		s.write("pcp.conf", drop.ReplaceAllString(string(base), "")+ours+"PCP_TMPFILE_DIR="+s.dir+"\nPCP_USER=root\nPCP_GROUP=root\n")
		for _, args := range [][]string{{"-N"}, {"-N", "-V"}, {"-N", "-V", "-k", "20", "-x", "3"}, {"-N", "-k", "forever", "-x", "0", "-X", "zip", "-Y", "xz$"}} {
			theirs := oracle.RunEnv(t, []string{"PCP_CONF=" + filepath.Join(s.dir, "pcp.conf"), "HOME=" + s.dir}, "pmie_daily", args...)
			want := s.plain(theirs.Stdout + theirs.Stderr + fmt.Sprintf("status %d\n", theirs.Exit))
			if got := s.daily(args...); got != want {
				t.Errorf("file %d, %q:\n%s\nours:\n%s\ntheirs:\n%s", i, args, control, got, want)
			}
		}
	}
}
