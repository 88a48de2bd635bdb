//go:build unix

package loggercheck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/longtest"
)

const version = "$version=1.1\n"

// TestLife checks that loggers are started, left alone, restarted when one has died, and stopped.
func TestLife(t *testing.T) {
	s := newSite(t, version+"$A=7\none n n PCP_ARCHIVE_DIR/one -c x\ndead n n PCP_ARCHIVE_DIR/dead -c x\ntwo n n \"PCP_ARCHIVE_DIR/$(echo two words)\" -r\n")
	s.write("log/pmlogger/one/x", "log ...\n")
	s.write("log/pmlogger/one/pmlogger.log", "an older one\n")
	s.write("log/pmlogger/one/SaveLogs/x", "")
	if got := s.check(); got != "status 0\n" {
		t.Errorf("it said %q", got)
	}
	log := s.read("log/pmlogger/pmlogger_check.log")
	for _, want := range []string{
		"pmlogger_check [SITE/etc/pmlogger/control:4]\nWarning: creating directory (SITE/log/pmlogger/dead) for PCP archive files\n",
		"Restarting pmlogger for host \"dead\" ... process exited!\npmlogger_check: Error: failed to restart pmlogger\n",
		"it cannot connect\nContents of pmlogger output file \"pmlogger.log\" ...\nLog for pmlogger\n",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if !regexp.MustCompile(`(?m)^Current pmlogger processes:\n(\d+ .*\n)*\d+ .*pmlogger -h one -c x -m pmlogger_check %Y%m%d.%H.%M$`).MatchString(log) {
		t.Errorf("the log does not say how the other logger was started:\n%s", log)
	}
	first := s.pids()
	if len(first) != 2 {
		t.Fatalf("%d loggers run", len(first))
	}
	if got, want := s.read("log/pmlogger/one/pmlogger.log"), "Log for pmlogger\nargs -h one -c x -m pmlogger_check %Y%m%d.%H.%M\nA=7\n"; got != want {
		t.Errorf("the logger got %q", got)
	}
	if got := s.read("log/pmlogger/one/pmlogger.log.prior"); got != "an older one\n" {
		t.Errorf("the older log is %q", got)
	}
	if got := s.read("log/pmlogger/one/SaveLogs/20260101.00.10.log"); !strings.HasPrefix(got, "Log for") {
		t.Errorf("the saved log is %q", got)
	}
	if got := s.read("log/pmlogger/two words/pmlogger.log"); !strings.Contains(got, "args -h two -r -m") {
		t.Errorf("the second logger got %q", got)
	}
	if got := s.read("log/pmlogger/one/lock"); !strings.Contains(got, "no such file") {
		t.Errorf("the lock stays: %q", got)
	}

	// Both run: only the dead one is restarted.
	if s.check(); len(s.pids()) != 2 || s.pids()[0] != first[0] {
		t.Errorf("loggers %v, then %v", first, s.pids())
	}
	if got := s.read("log/pmlogger/pmlogger_check.log.prev"); got != log {
		t.Errorf("the log before is %q", got)
	}

	// A killed logger leaves its file; a new logger replaces it.
	kill9(t, first[0])
	s.check("-V")
	if now := s.pids(); len(now) != 3 {
		t.Errorf("after one is killed: %v, then %v", first, now)
	}
	log = s.read("log/pmlogger/pmlogger_check.log")
	if !regexp.MustCompile(`Restarting pmlogger for host "(one|two)" ... \[process \d+\] \.* done\n`).MatchString(log) {
		t.Errorf("of the new one it says:\n%s", log)
	}

	if got := s.check("-s"); got != "status 0\n" {
		t.Errorf("stop: %q", got)
	}
	if now := s.pids(); len(now) != 1 || now[0] != first[0] {
		t.Errorf("after the stop there are %v", now)
	}
}

// kill9 kills a logger and waits until it has ended. It is a child of this process, which waits for it.
func kill9(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not end")
		}
	}
}

// TestTwoAtOnce runs several checks of the same lines concurrently; only one starts each logger.
func TestTwoAtOnce(t *testing.T) {
	s := newSite(t, version+"one n n PCP_ARCHIVE_DIR/one -r\ntwo n n PCP_ARCHIVE_DIR/two -r\nthree n n PCP_ARCHIVE_DIR/three -r\n")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			env, _, _ := s.env("-l", filepath.Join(s.dir, fmt.Sprint("log", i)))
			if status := run(context.Background(), env, logger); status != 0 {
				t.Errorf("status %d: %s", status, s.read(fmt.Sprint("log", i)))
			}
		})
	}
	wg.Wait()
	if pids := s.pids(); len(pids) != 3 {
		t.Errorf("loggers %v", pids)
	}
	if got := s.check("-s"); got != "status 0\n" || len(s.pids()) != 0 {
		t.Errorf("stop: %s, loggers %v", got, s.pids())
	}
}

// TestLocks tries a stale lock and a lock held by another process.
func TestLocks(t *testing.T) {
	s := newSite(t, version+"old n n PCP_ARCHIVE_DIR/old -r\nheld n n PCP_ARCHIVE_DIR/held -r\n")
	s.write("log/pmlogger/old/lock", "")
	s.write("log/pmlogger/held/lock", "")
	when := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(s.dir, "log/pmlogger/old/lock"), when, when); err != nil {
		t.Fatal(err)
	}
	env, _, _ := s.env()
	var out strings.Builder
	set := settings{control: filepath.Join(s.dir, "etc/pmlogger/control")}
	c := newChecker(env, set, logger)
	c.out, c.lockWait = &out, time.Nanosecond
	if status := c.run(context.Background()); status != 0 {
		t.Errorf("status %d", status)
	}
	text := s.plain(out.String())
	for _, want := range []string{
		"pmlogger_check: Warning: removing lock file older than 30 minutes\n", "pmlogger_check: Warning: is another PCP cron job running concurrently?\n",
		"Warning: failed to acquire exclusive lock (SITE/log/pmlogger/held/lock) ...\n",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("there is not one %q in:\n%s", want, text)
		}
	}
	for _, name := range []string{"old", "held"} { // as ls -l prints it: the year for an older file
		listed := `(?m)^-rw------- 1 \S+ \S+ 0 [A-Z][a-z]{2} [ 0-9]\d (\d\d:\d\d| \d{4}) SITE/log/pmlogger/` + name + `/lock$`
		if !regexp.MustCompile(listed).MatchString(text) {
			t.Errorf("the lock of %s is not listed:\n%s", name, text)
		}
	}
	if len(s.pids()) != 1 {
		t.Errorf("loggers %v", s.pids())
	}
	if got := s.read("log/pmlogger/held/lock"); got != "" {
		t.Errorf("the held lock is %q", got)
	}
}

// TestStubborn stops a logger that ignores requests to end.
func TestStubborn(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for some seconds")
	}
	s := newSite(t, version+"stubborn n n PCP_ARCHIVE_DIR/x -r\n")
	s.check()
	pids := s.pids()
	if len(pids) != 1 {
		t.Fatalf("loggers %v", pids)
	}
	if got := s.check("-s"); got != "status 0\n" {
		t.Errorf("stop: %q", got)
	}
	waitEnd(t, pids[0])
}

// waitEnd waits until a process has ended, which takes a moment after SIGKILL was sent.
func waitEnd(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); runs(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// runs reports whether a process runs. An ended process may exist until its parent,
// which is not this program, reaps it.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// TestWrong checks the messages for control lines that cannot work.
func TestWrong(t *testing.T) {
	s := newSite(t, version+"file n n SITE/file -r\nbelow n n SITE/file/x -r\ngood n n SITE/good -r\nlink n n SITE/link/x -r\n")
	s.write("file", "")
	if err := os.Symlink("nowhere", filepath.Join(s.dir, "link")); err != nil {
		t.Skip(err)
	}
	if got := s.check("-V"); got != "status 1\n" {
		t.Errorf("it said %q", got)
	}
	log := s.read("log/pmlogger/pmlogger_check.log")
	for _, want := range []string{
		"Error: cannot create directory (SITE/file) for PCP archive files\n... logging for host \"file\" unchanged\n",
		"Error: cannot create directory (SITE/file/x) for PCP archive files\n", "Error: cannot create directory (SITE/link/x)",
		"Restarting pmlogger for host \"good\" ... [process ",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	f := func(want string, args ...string) {
		t.Helper()
		if got := s.check(args...); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "status 1\n") {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	f("pmlogger_check: cannot write the log: SITE/file/x: Not a directory\n", "-l", filepath.Join(s.dir, "file/x/log"))
	f("pmlogger_check: Error: cannot find control file (/none)\n", "-N", "-c", "/none")
	f("pmlogger_check: Error: cannot find control file ("+os.TempDir()+")\n", "-N", "-c", os.TempDir())
	f("Usage: pmlogger_check [options]\n", "x")
	f("pmlogger_check: unrecognized option '--zork'\n", "--zork")
	if got := s.check("-l", filepath.Join(s.dir, "log")); !strings.Contains(got, "exists and is not a file") {
		t.Errorf("a log that is a directory: %q", got)
	}
}

// TestShow checks that a dry run changes nothing.
func TestShow(t *testing.T) {
	s := newSite(t, version+"one n n PCP_ARCHIVE_DIR/one -c one.config\n")
	before := s.tree()
	want := "# $version=1.1    \n+ export version; version=1.1    \n" +
		"pmlogger_check [SITE/etc/pmlogger/control:2]\nWarning: creating directory (SITE/log/pmlogger/one) for PCP archive files\n+ cd SITE/log/pmlogger/one\n" +
		"+ SITE/bin/pmlogconf -c -q -h one SITE/var/config/pmlogger/one.config\n\n" +
		"+ SITE/bin/pmlogger -h one -c one.config -m pmlogger_check %Y%m%d.%H.%M\nstatus 0\n"
	if got := s.check("-N"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if after := s.tree(); after != before {
		t.Errorf("before\n%safter\n%s", before, after)
	}
	for _, arg := range []string{"-p", "-P"} {
		got := s.check("-NVV", arg)
		if strings.Contains(got, "Skip non-primary") != (arg == "-P") {
			t.Errorf("%s: %s", arg, got)
		}
	}
}

// tree lists all files of the site.
func (s *site) tree() string {
	var b strings.Builder
	filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		fmt.Fprintln(&b, s.plain(path), err)
		return nil
	})
	return b.String()
}

// TestGarbage tries control files of arbitrary bytes. None of them prevents a valid line in another file from being
// served.
func TestGarbage(t *testing.T) {
	r := rand.New(rand.NewPCG(longtest.Seed(t), 4))
	for range longtest.N(100, 5000) {
		s := newSite(t, garbage(r))
		s.write("etc/pmlogger/control.d/zgood", strings.ReplaceAll("$version=1.1\ngood n n SITE/log/pmlogger/good -c ./x\n", "SITE", s.dir))
		got := s.check("-N")
		if !strings.Contains(got, "+ cd SITE/log/pmlogger/good\n+ SITE/bin/pmlogconf -c -q -h good ./x\n\n+ SITE/bin/pmlogger -h good -c ./x") {
			t.Fatalf("control file %q:\n%s", s.read("etc/pmlogger/control"), got)
		}
	}
}

// garbage returns a control file that is wrong somewhere.
func garbage(r *rand.Rand) string {
	pieces := []string{
		"$version=1.1\n", "$version=\"\n", "far ", "n ", "y ", "/d ", "-c x ", "\n", "\\\n", "\\", "\"", "'", "`", "$(", ")", "${", "}", "$A=", "$A ", "#", "\x00", "\xff", "\r\n",
		"$PATH=x\n", "LOCALHOSTNAME ", "PCP_LOG_DIR/", "SITE/x ", "../../x ", "*", ";", "|", "&", "-", "%s%n", "\t", strings.Repeat("x", 300) + " ", "€ ", "$(date +%Y) ", "`rm -rf /` ",
	}
	var b strings.Builder
	for range r.IntN(60) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	// A primary logger would wait for a collector.
	return strings.NewReplacer(" y ", " n ", "\ty ", " n ").Replace(b.String())
}
