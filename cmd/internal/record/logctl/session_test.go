//go:build unix

package logctl

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestDry checks the output and the dry runs for the control files.
func TestDry(t *testing.T) {
	for _, k := range []*kind{logger, engine} {
		t.Run(k.name, func(t *testing.T) { dry(t, newSiteOf(t, k)) })
	}
}

func dry(t *testing.T, s *site) {
	for line, want := range map[string]string{
		"-V status":                    "status 0\n",
		"-c own status":                "2> status 0\n",
		"-N stop far.host":             "+ cp SITE/pmlogctl.XXXXXXXXX/control SITE/etc/pcp/pmlogger/control\n2> Warning: cannot find PID for host far.host pmlogger, already exited?\nstatus 0\n",
		"-N stop twice":                "2> Error: host(s) (twice) defined multiple times, don't know which instance to stop\nstatus 1\n",
		"-N -V start far.host":         "-c SITE/etc/pcp/pmlogger/control\n2> status 0\n",
		"-N -V restart foo.host":       "-c SITE/etc/pcp/pmlogger/control.d/more\n2> Warning: cannot find PID for host foo.host pmlogger, already exited?\nstatus 0\n",
		"-N -c own create new.host":    "-c SITE/etc/pcp/pmlogger/control.d/own-new.host\n2> status 0\n",
		"-N -c own cond-create far.a":  "-c SITE/etc/pcp/pmlogger/control.d/own-far.a\n2> status 0\n",
		"-N -V -c own cond-create hut": "2> Warning: no instance created for host hut\nstatus 0\n",
		"-N zork":                      "2> Error: command \"zork\" not known\nstatus 1\n",
		"-N -c nosuch create h":        "class nosuch is not defined so cannot create\nstatus 1\n",
	} {
		if got := s.call(strings.Fields(line)...); !strings.HasSuffix(got, s.text(want)) {
			t.Errorf("%s: %s\nwant %s", line, got, want)
		}
	}
	if got := s.call("-V", "status", "far.host"); !strings.Contains(got, s.text("dead     far\n   + Log for pmlogger\n   + it died\n2> status 0\n")) {
		t.Errorf("status: %s", got)
	}
}

// TestLock tries a stale lock and a lock held by another process.
func TestLock(t *testing.T) {
	s := newSite(t)
	const lock = "etc/pcp/pmlogger/lock"
	s.write(lock, "4711\n")
	when := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(s.dir, lock), when, when); err != nil {
		t.Fatal(err)
	}
	listed := `-rw------- 1 \S+ \S+ 5 [A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d SITE/etc/pcp/pmlogger/lock\n`
	got := s.call("stop", "far.host")
	if !regexp.MustCompile(`^` + listed + `2> Warning: removing lock file older than 30 minutes \(PID 4711\)\n`).MatchString(got) {
		t.Errorf("an old lock: %s", got)
	}
	s.write(lock, "4711\n")
	s.lockWait = time.Nanosecond
	got = s.call("start", "far.host")
	want := `^` + listed + `2> Warning: is another pmlogctl job running concurrently\?\nError: failed to acquire exclusive lock \(SITE/etc/pcp/pmlogger/lock\) \.\.\.\nstatus 1\n$`
	if !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("a lock that is held: %s", got)
	}
	if got := s.read(lock); got != "4711\n" {
		t.Errorf("the lock of another is %q now", got)
	}
}
