package loggercheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/dirlock"
	"github.com/go-pcp/pcp/cmd/internal/daemon/mapfile"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/internal/safefile"
)

// serveLogger looks for the logger of a line, and starts or stops it.
func (t *task) serveLogger(ctx context.Context, start bool) {
	c := t.c
	if c.verbose > 1 {
		flag := ""
		if t.Primary {
			flag = " -P"
		}
		c.printf("Checking for: pmlogger%s -h %s ... in %s ...\n", flag, t.Host, t.Dir)
	}
	if c.dirs[t.Dir] {
		t.fail("Cannot start more than one pmlogger instance for archive directory \"%s\"", t.Dir)
		return
	}
	c.dirs[t.Dir] = true
	if !t.enter(t.Dir) {
		return
	}
	unlock, ok := t.lock(ctx, filepath.Join(t.dir, "lock"))
	if !ok {
		return
	}
	defer unlock()
	pid := t.findLogger()
	switch {
	case pid == 0 && start && !c.stop:
		t.startLogger(ctx)
	case pid != 0 && c.stop:
		t.end(pid)
	}
}

// enter creates the directory at path, and reports its real path.
func (t *task) enter(path string) bool {
	c := t.c
	say := func() {
		if c.kind.archives { // pmie's creates them silently
			t.warn("creating directory (%s) for %s", path, c.kind.what)
		}
	}
	st, err := os.Stat(path)
	switch {
	case err == nil && st.IsDir():
	case c.dry && err != nil:
		say()
		if t.dir, err = filepath.Abs(path); err != nil {
			t.dir = path
		}
	default:
		uid, gid := c.env.Owner()
		err := safefile.MkdirAll(path, 0o755, func(dir *os.File) error {
			if os.Getuid() != 0 {
				return nil
			}
			return dir.Chown(uid, gid)
		})
		if err != nil {
			c.printf("%s\n", cli.FileErrText(err))
			t.fail("cannot create directory (%s) for %s", path, c.kind.what)
			return false
		}
		say()
	}
	if t.dir == "" {
		abs, err := filepath.Abs(path)
		if err == nil {
			abs, err = filepath.EvalSymlinks(abs)
		}
		if err == nil {
			err = enterable(abs)
		}
		if err != nil {
			c.printf("%s\n", cli.FileErrText(err))
			t.fail("cannot chdir to directory (%s) for %s", path, c.kind.what)
			return false
		}
		t.dir = abs
	}
	if c.dry {
		c.printf("+ cd %s\n", t.dir)
	}
	return true
}

// lock takes the lock file at path, until unlock is called.
func (t *task) lock(ctx context.Context, path string) (unlock func(), ok bool) {
	c := t.c
	if !writable(t.dir) && (!c.dry || exists(t.dir)) {
		t.warn("no write access in %s, skip lock file processing", t.dir)
		c.list(t.dir, t.dir)
		return func() {}, true
	}
	if c.dry {
		return func() {}, true
	}
	l, err := dirlock.Take(ctx, path, dirlock.Config{Wait: c.lockWait, Removing: func(path, why string) {
		t.caution("removing lock file " + why)
		c.list(path, path)
	}})
	switch {
	case err == nil:
		if c.verbose > 1 && c.kind.archives {
			c.printf("Acquired lock:\n")
			c.list(path, path)
		}
		return l.Release, true
	case !errors.Is(err, dirlock.ErrHeld):
		c.printf("%s: %s\n", c.prog, cli.FileErrText(err))
	case c.kind.archives && t.dailyRuns():
		return nil, false // which handles it
	default:
		t.caution("is another PCP cron job running concurrently?")
		c.list(path, path)
	}
	t.warn("failed to acquire exclusive lock (%s) ...", path)
	return nil, false
}

// caution warns about a lock; pmie's script does so with the line of the control file.
func (t *task) caution(text string) {
	if t.c.kind.archives {
		t.c.printf("%s: Warning: %s\n", t.c.prog, text)
	} else {
		t.warn("%s", text)
	}
}

// dailyRuns reports whether pmlogger_daily runs, which maintains the same directories.
func (t *task) dailyRuns() bool {
	b, err := os.ReadFile(filepath.Join(t.c.cfg.Get("PCP_RUN_DIR"), "pmlogger_daily.pid"))
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return false
	}
	return t.c.env.Finder("sh").Is(pid, "sh") || t.c.env.Finder("pmlogger_daily").Is(pid, "pmlogger_daily")
}

// findLogger returns the process of the logger, 0 if it does not run.
func (t *task) findLogger() int {
	if t.Primary {
		return t.primary()
	}
	c := t.c
	finder := c.env.Finder("pmlogger")
	for _, l := range mapfile.List(c.maps) {
		path := filepath.Join(c.maps, strconv.Itoa(l.PID))
		same := l.Dir() == t.dir
		match := 0
		if same {
			match = 2
		}
		if c.verbose > 1 {
			c.printf("... try %s host=%s arch=%s: match=%d ", path, l.Host, l.Archive, match)
		}
		switch {
		case !same:
			c.very("different directory, skip")
		case finder.Is(l.PID, "pmlogger"):
			c.very("pmlogger process %d identified, OK", l.PID)
			return l.PID
		default:
			c.very("pmlogger process %d not running, skip", l.PID)
		}
	}
	return 0
}

// very prints a line if -V was given twice.
func (c *checker) very(format string, args ...any) {
	if c.verbose > 1 {
		c.printf(format+"\n", args...)
	}
}

func (t *task) primary() int {
	c := t.c
	path := filepath.Join(c.maps, "primary")
	if !exists(path) {
		if c.verbose > 1 {
			c.printf("%s: missing?\nContents of %s\n", path, c.maps)
			for _, l := range mapfile.List(c.maps) {
				c.printf("%d host=%s arch=%s\n", l.PID, l.Host, l.Archive)
			}
			c.printf("--- end of ls output ---\n")
		}
		return 0
	}
	if c.verbose > 1 {
		l, _ := mapfile.Read(path)
		c.printf("... try %s: host=%s arch=%s\n", path, l.Host, l.Archive)
	}
	pid, err := mapfile.Primary(c.cfg.Get("PCP_RUN_DIR"), c.maps)
	if err != nil {
		c.very("primary pmlogger process pid not found")
		return 0
	}
	if !c.env.Finder("pmlogger").Is(pid, "pmlogger") {
		c.very("primary pmlogger process %d not running", pid)
		return 0
	}
	c.very("primary pmlogger process %d identified, OK", pid)
	return pid
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// list prints a file as ls -l does, by the given name.
func (c *checker) list(path, name string) {
	if line, err := report.Listing(path, time.Now()); err == nil {
		c.printf("%s%s\n", strings.TrimSuffix(line, path), name)
	}
}

// end asks a process to end.
func (t *task) end(pid int) {
	c := t.c
	if c.verbose > 1 {
		c.printf("+ %s -s TERM %d\n", map[bool]string{true: "echo + kill", false: "pmsignal"}[c.dry], pid)
	}
	if c.dry {
		c.printf("+ kill -s TERM %d\n", pid)
		return
	}
	if err := terminate(pid); err != nil {
		c.printf("%s: Error: cannot stop %s process %d: %s\n", c.prog, c.kind.name, pid, cli.ErrText(err))
		c.failed = true
		return
	}
	c.stopped = append(c.stopped, pid)
}

// end makes sure that all processes that were asked to end have ended.
func (c *checker) end(ctx context.Context) {
	finder := c.env.Finder(c.kind.name)
	left := func() []int {
		var list []int
		for _, pid := range c.stopped {
			if finder.Is(pid, c.kind.name) {
				list = append(list, pid)
			}
		}
		return list
	}
	gone := func(wait int) bool { // tenths of a second
		for range wait {
			if len(left()) == 0 {
				return true
			}
			if !pacing.Sleep(ctx, pause) {
				return false
			}
		}
		return len(left()) == 0
	}
	if gone(endWait) {
		return
	}
	list := left()
	if c.verbose > 1 {
		c.printf("\n+ pmsignal -KILL %s ...", fmt.Sprint(list))
	}
	for _, pid := range list {
		kill(pid)
	}
	if !gone(killWait) {
		c.printf("%s: Error: %s process(es) will not die\n", c.prog, c.kind.name)
		for _, pid := range left() {
			c.printf("%d\n", pid)
		}
		c.status = 1
	}
}
