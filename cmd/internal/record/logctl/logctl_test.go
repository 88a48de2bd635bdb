//go:build unix

package logctl

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// A site is a directory tree with control files.
type site struct {
	t    *testing.T
	dir  string
	kind *kind

	lockWait time.Duration // for the lock of another
}

// newSite makes a tree for loggers.
func newSite(t *testing.T) *site { return newSiteOf(t, logger) }

func newSiteOf(t *testing.T, k *kind) *site {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: dir, kind: k}
	s.write("etc/pcp/pmlogger/control", "$version=1.1\nfar.host n n PCP_ARCHIVE_DIR/far -r -c x\n# a comment\ntwice n n PCP_ARCHIVE_DIR/t1 -c x\ntwice  n n   PCP_ARCHIVE_DIR/t2 -c x\n")
	s.write("etc/pcp/pmlogger/control.d/more", "$version=1.1\n$class=own\nfoo.host n n PCP_ARCHIVE_DIR/foo -c x\n#!#bar.host n n PCP_ARCHIVE_DIR/bar -c x\nLOCALHOSTNAME y n PCP_ARCHIVE_DIR/LOCALHOSTNAME -c x\n$class=other\nLOCALHOSTNAME n n PCP_LOG_DIR/x/LOCALHOSTNAME -c x\n")
	s.write("etc/pcp/pmlogger/class.d/own", "# a policy\n[ident]\nown-%h\n[control]\n%h n n PCP_ARCHIVE_DIR/%i -c ./%i.config\n[create]\nhostname(^far)\n")
	s.write("etc/pcp/pmlogger/class.d/bad", "[ident]\ntwo words\n[control]\n%h n n PCP_ARCHIVE_DIR/%i -c x\n")
	s.write("etc/pcp/pmlogger/class.d/none", "[ident]\n%h\n")
	s.write("etc/pcp/pmlogger/class.d/prim", "[control]\n%h y n PCP_ARCHIVE_DIR/%i -c x\n")
	s.write("etc/pcp/pmlogger/class.d/empty", "[control]\nx y\n")
	s.write("tmp/pmlogger/7", "not a map file\n")
	s.write("log/pmlogger/far/pmlogger.log", "Log for pmlogger\n\npreprocessor cmd: x\nConfig parsed\nGroup [1 metrics] {\nx\n} logged every 1 sec\nit died\n")
	base, _ := os.ReadFile("/etc/pcp.conf")
	drop := regexp.MustCompile(`(?m)^PCP_(ETC|LOG|ARCHIVE|TMP|RUN|VAR|SYSCONF|SYSTEMDUNIT|TMPFILE)_DIR=.*\n|^PCP_(PMLOGGERCONTROL_PATH|PMIECONTROL_PATH|USER|GROUP)=.*\n`)
	conf := drop.ReplaceAllString(string(base), "")
	for _, v := range [][2]string{
		{"PCP_ETC_DIR", "etc"},
		{"PCP_SYSCONF_DIR", "etc/pcp"},
		{"PCP_LOG_DIR", "log"},
		{"PCP_ARCHIVE_DIR", "log/pmlogger"},
		{"PCP_TMP_DIR", "tmp"},
		{"PCP_RUN_DIR", "run"},
		{"PCP_VAR_DIR", "var"},
		{"PCP_TMPFILE_DIR", "."},
		{k.control, s.text("etc/pcp/pmlogger/control")},
	} {
		conf += v[0] + "=" + filepath.Join(dir, v[1]) + "\n"
	}
	s.write("pcp.conf", conf+"PCP_USER=root\nPCP_GROUP=root\n")
	return s
}

// Words that differ in pmie's control files and output.
var (
	directory = regexp.MustCompile(`(PCP_ARCHIVE_DIR|PCP_LOG_DIR)/([^ \n]+)`)
	otherWord = strings.NewReplacer("pmlogger", "pmie", "pmlogctl", "pmiectl")
)

// text replaces the words for loggers.
func (s *site) text(text string) string {
	if s.kind == logger {
		return text
	}
	return otherWord.Replace(directory.ReplaceAllString(text, "PCP_LOG_DIR/pmie/$2/pmie.log"))
}

func (s *site) write(name, text string) {
	s.t.Helper()
	if name != "pcp.conf" {
		name, text = s.text(name), s.text(text)
	}
	if name == "log/pmie/far/pmie.log" {
		text = "Log for pmie\n\n  \nit died\n"
	}
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) read(name string) string {
	b, err := os.ReadFile(filepath.Join(s.dir, s.text(name)))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// call runs the program, and returns its output on both streams and its status.
func (s *site) call(args ...string) string {
	vars := map[string]string{"PCP_CONF": filepath.Join(s.dir, "pcp.conf"), "PATH": os.Getenv("PATH")}
	var out, errs bytes.Buffer
	cmd := map[*kind]*cli.Command{logger: Command, engine: IECommand}[s.kind]
	status := runWith(context.Background(), &cli.Env{
		Name: cmd.Link, Args: args, Command: cmd, Stdout: &out, Stderr: &errs,
		Getenv: func(name string) string { return vars[name] },
	}, s.kind, s.lockWait)
	return s.plain(out.String(), errs.String(), status)
}

func (s *site) plain(out, errs string, status int) string {
	text := fmt.Sprintf("%s2> %sstatus %d\n", out, errs, status)
	text = strings.ReplaceAll(text, s.dir, "SITE")
	text = regexp.MustCompile(`(pmlogctl|pmiectl)\.[A-Za-z0-9]{9}/`).ReplaceAllString(text, "$1.XXXXXXXXX/")
	return regexp.MustCompile(`# created by (pmlogctl|pmiectl) on .*`).ReplaceAllString(text, "# created")
}

// TestOracle compares the output and the dry runs for these control files with the real script.
func TestOracle(t *testing.T) { compare(t, newSite(t), "pmlogctl") }

// TestOracleIE does so for pmie.
func TestOracleIE(t *testing.T) { compare(t, newSiteOf(t, engine), "pmiectl") }

func compare(t *testing.T, s *site, program string) {
	t.Helper()
	oracle.Require(t)
	for _, args := range [][]string{
		{"status"},
		{"-V", "status"},
		{"status", "far.host"},
		{"status", "nohost"},
		{"-c", "own", "status"},
		{"-c", "nosuch", "status"},
		{"-c", "primary", "status"},
		{"-N", "stop", "far.host"},
		{"-N", "start", "bar.host"},
		{"-N", "start", "far.host"},
		{"-N", "-V", "start", "far.host"},
		{"-N", "stop", "bar.host"},
		{"-N", "stop", "twice"},
		{"-N", "-a", "stop", "twice"},
		{"-N", "-V", "restart", "foo.host"},
		{"-N", "-V", "destroy", "far.host"},
		{"-N", "-c", "own", "-V", "destroy"},
		{"-N", "create", "new.host"},
		{"-N", "-c", "own", "create", "new.host"},
		{"-N", "-V", "-c", "own", "create", "new.host"},
		{"-N", "-i", "id", "create", "new.host"},
		{"-N", "-c", "bad", "create", "h"},
		{"-N", "-c", "none", "create", "h"},
		{"-N", "-c", "prim", "create", "h"},
		{"-N", "-c", "nosuch", "create", "h"},
		{"-N", "-c", "nosuch", "destroy", "h"},
		{"-N", "-i", "more", "create", "new.host"},
		{"-N", "-c", "own", "-i", "foo", "create", "foo.host"},
		{"-N", "-c", "own", "cond-create", "far.away"},
		{"-N", "-V", "-c", "own", "cond-create", "near"},
		{"-N", "check"},
		{"-N", "-C", "-V -V", "check", "far.host"},
		{"-N", "stop"},
		{"-N", "zork"},
		{"-N", "-i", "x", "stop", "far.host"},
		{"-N", "stop", "nohost"},
		{"-N", "-c", "own", "stop", "nohost"},
	} {
		theirs := oracle.RunEnv(t, []string{"PCP_CONF=" + filepath.Join(s.dir, "pcp.conf"), "HOME=" + s.dir}, program, args...)
		want := s.plain(theirs.Stdout, theirs.Stderr, theirs.Exit)
		if got := s.call(args...); got != want {
			t.Errorf("%q:\n%s\ntheirs:\n%s", args, got, want)
		}
	}
}

// TestWrong tries command lines and control files that cannot work.
func TestWrong(t *testing.T) {
	for _, k := range []*kind{logger, engine} {
		t.Run(k.name, func(t *testing.T) { wrong(t, newSiteOf(t, k)) })
	}
}

func wrong(t *testing.T, s *site) {
	f := func(want string, args ...string) {
		t.Helper()
		if got := s.call(args...); !strings.Contains(got, s.text(want)) || !strings.HasSuffix(got, "status 1\n") {
			t.Errorf("%q: %s\nwant %q", args, got, want)
		}
	}
	f("Avaliable commands:\n")
	f("pmlogctl: unrecognized option '--zork'\n", "--zork")
	f("Error: host ( is not a pattern: ", "status", "(")
	f("Error: ident \"../x\" is not a name for a control file\n", "-N", "-i", "../x", "create", "h")
	for _, host := range []string{"", "a b", "$(x)", "x\ny", "#"} {
		f("is not a name for a control file\n", "-N", "create", host)
	}
	f("Error: ident \"../x\" is not a name for a control file\n", "-N", "create", "../x")
	f("control file ...\n", "-N", "-c", "empty", "create", "h")
	s.write("etc/pcp/pmlogger/lock", "")
	if os.Getuid() != 0 {
		if err := os.Chmod(filepath.Join(s.dir, s.text("etc/pcp/pmlogger")), 0o500); err != nil {
			t.Fatal(err)
		}
		f("you must be root (uid 0) to change the Performance Co-Pilot logger setup\n", "stop", "far.host")
	}
}

// TestEdit stops, starts and removes lines of loggers that do not run.
func TestEdit(t *testing.T) {
	for _, k := range []*kind{logger, engine} {
		t.Run(k.name, func(t *testing.T) { edit(t, newSiteOf(t, k)) })
	}
}

func edit(t *testing.T, s *site) {
	const file = "etc/pcp/pmlogger/control.d/more"
	before := s.read(file)
	if got := s.call("stop", "foo.host"); !strings.HasSuffix(got, "status 0\n") {
		t.Errorf("stop: %s", got)
	}
	want := strings.Replace(before, "\nfoo.host", "\n#!#foo.host", 1)
	if got := s.read(file); got != want {
		t.Errorf("after stop:\n%s", got)
	}
	if got := s.call("stop", "foo.host"); !strings.Contains(got, s.text("Warning: pmlogger for host foo.host already stopped, nothing to do\n")) {
		t.Errorf("stop again: %s", got)
	}
	if got := s.call("-f", "-c", "own", "destroy"); !strings.HasSuffix(got, s.text("Warning: pmlogger for host bar.host already stopped, nothing to do\nstatus 0\n")) {
		t.Errorf("destroy: %s", got)
	}
	if got := s.read(file); got != s.text("$version=1.1\n$class=own\nLOCALHOSTNAME y n PCP_ARCHIVE_DIR/LOCALHOSTNAME -c x\n$class=other\nLOCALHOSTNAME n n PCP_LOG_DIR/x/LOCALHOSTNAME -c x\n") {
		t.Errorf("after destroy:\n%s", got)
	}
	s.write("etc/pcp/pmlogger/control.d/last", "$version=1.1\n# why\nlast n n PCP_ARCHIVE_DIR/last -c x\n")
	s.call("destroy", "last")
	if got := s.read("etc/pcp/pmlogger/control.d/last"); !strings.Contains(got, "no such file") {
		t.Errorf("a file without further lines stays:\n%s", got)
	}
	if got := s.read("etc/pcp/pmlogger/lock"); !strings.Contains(got, "no such file") {
		t.Errorf("the lock stays: %s", got)
	}
}

// FuzzPolicy reads policies of arbitrary bytes.
func FuzzPolicy(f *testing.F) {
	f.Add("[class]\nx\n[ident]\n%h\n[control]\n%h n n PCP_ARCHIVE_DIR/%i -c x\n[create]\nhostname(.*)\n")
	f.Add("[a]b\n[ident]\n\n[]\n%h%i\x00")
	f.Fuzz(func(t *testing.T, text string) {
		p := parsePolicy("policy", text)
		for name, lines := range p.sections {
			if strings.ContainsAny(name, "[] \t\n") || len(lines) == 0 {
				t.Errorf("section %q of %q", name, text)
			}
		}
		for _, parts := range [][4]string{splitLogger(text), splitRules(text)} {
			n := 0
			for _, s := range parts {
				n += len(s)
			}
			if n != len(text) {
				t.Errorf("%d of %d bytes", n, len(text))
			}
		}
	})
}
