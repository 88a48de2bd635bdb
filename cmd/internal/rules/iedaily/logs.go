package iedaily

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/controlfile"
	"github.com/go-pcp/pcp/cmd/internal/daemon/dirlock"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
	"github.com/go-pcp/pcp/internal/pmiestats"
	"github.com/go-pcp/pcp/internal/processes"
)

// A task is a line of a control file whose logs are looked after.
type task struct {
	*daily
	*controlfile.Line
	host string
	log  string // full path
	dir  string // of the log
}

func (t *task) report(kind, text string) {
	t.printf("%s: %s: %s\n[%s:%d] ... inference engine for host \"%s\" unchanged\n", t.env.ProgName(), kind, text, t.File, t.Number, t.host)
}

func (t *task) warn(format string, args ...any) { t.report("Warning", fmt.Sprintf(format, args...)) }

func (t *task) fail(format string, args ...any) {
	t.report("Error", fmt.Sprintf(format, args...))
	t.failed = true
}

// note prints a warning that does not name the line.
func (t *task) note(text string) { t.printf("%s: Warning: %s\n", t.env.ProgName(), text) }

// serve looks after the logs of a line.
func (t *task) serve(skip *regexp.Regexp) {
	dir := filepath.Dir(t.Dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	t.log, t.dir = filepath.Join(dir, filepath.Base(t.Dir)), dir
	t.very("Check pmie -h %s ... in %s ...\n", t.host, dir)
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		if t.service {
			t.fail("logfile directory (%s) does not exist", dir)
		}
		return
	}
	if _, err := os.ReadDir(dir); err != nil {
		t.printf("%s\n", cli.FileErrText(err))
		t.fail("cannot chdir to directory (%s) for pmie log file", dir)
		return
	}
	if t.dry {
		t.printf("+ cd %s\n", dir)
	}
	t.loud("\n=== daily maintenance of pmie log files for host %s ===\n\n", t.host)
	unlock, ok := t.lock()
	if !ok {
		return
	}
	defer unlock()
	t.roll()
	if t.keep != forever {
		t.cull()
	}
	if t.after != forever && t.ctx.Err() == nil {
		t.compressOld(skip)
	}
}

// lock keeps others out of the directory, until unlock is called.
func (t *task) lock() (unlock func(), ok bool) {
	if !housekeeping.Writable(t.dir) {
		t.note(fmt.Sprintf("no write access in %s, skip lock file processing", t.dir))
		return func() {}, true
	}
	if t.dry {
		return func() {}, true
	}
	path := filepath.Join(t.dir, "lock")
	l, err := dirlock.Take(t.ctx, path, dirlock.Config{Wait: t.lockWait, Removing: func(path, why string) {
		t.note("removing lock file " + why)
		t.list(path)
	}})
	if err == nil {
		return l.Release, true
	}
	if errors.Is(err, dirlock.ErrHeld) {
		t.note("is another PCP cron job running concurrently?")
		t.list(path)
	} else {
		t.printf("%s: %s\n", t.env.ProgName(), cli.FileErrText(err))
	}
	t.warn("failed to acquire exclusive lock (%s) ...", path)
	return nil, false
}

// list prints a file as ls -l does.
func (t *task) list(path string) {
	if s, err := report.Listing(path, t.now); err == nil {
		t.printf("%s\n", s)
	}
}

// find returns the process that writes the log, 0 if there is none. It removes the files of
// processes that have ended.
func (t *task) find() int {
	t.very("Looking for logfile=%s\n", t.log)
	finder := t.env.Finder("pmie")
	entries, _ := os.ReadDir(t.maps)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid <= 0 {
			continue
		}
		path := filepath.Join(t.maps, e.Name())
		t.very("Check p_id=%d ... ", pid)
		if !processes.Exists(pid) {
			if t.dry {
				t.printf("+ rm -f %s\n", path)
			} else if err := os.Remove(path); err != nil {
				t.printf("%s\n", cli.FileErrText(err))
			}
			t.very("process has vanished\n")
			continue
		}
		p, _ := pmiestats.Read(path)
		log := p.Log
		if dir, err := filepath.EvalSymlinks(filepath.Dir(log)); err == nil && log != "" {
			log = filepath.Join(dir, filepath.Base(log))
		}
		t.very("p_pmcd_host=%s p_logfile=%s->%s ... ", p.Host, p.Log, log)
		if log == t.log && finder.Is(pid, "pmie") {
			t.very("match\n")
			return pid
		}
		t.very("no match\n")
	}
	return 0
}

// roll gives the log yesterday's date, and has pmie begin a new one.
func (t *task) roll() {
	pid := t.find()
	if pid == 0 {
		if t.service {
			t.fail("no pmie instance running for host \"%s\"", t.host)
		}
		return
	}
	old := t.log + "." + t.now.AddDate(0, 0, -1).Format("20060102")
	if t.dry {
		t.printf("+ mv %s %s\n", t.log, old)
	} else if err := os.Rename(t.log, old); err != nil {
		t.printf("%s\n", cli.FileErrText(err))
		t.fail("problems moving logfile \"%s\" for host \"%s\"", t.log, t.host)
		return
	}
	t.very("+ pmsignal -s HUP %d\n", pid)
	if t.dry {
		t.printf("+ kill -s HUP %d\n", pid)
		return
	}
	if err := hangUp(pid); err != nil {
		t.fail("cannot signal pmie process %d: %s", pid, cli.ErrText(err))
	}
	t.rolled = append(t.rolled, old)
}

// dated finds the date in the name of a log.
var dated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[-.]([12][0-9]{3}[01][0-9][0-3][0-9])`) })

// older returns the logs of the directory whose names have a date of more than so many days ago.
func (t *task) older(days int) (names []string) {
	limit := t.now.AddDate(0, 0, -days).Format("20060102")
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		t.fail("%s", cli.FileErrText(err))
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() || strings.HasPrefix(name, ".") {
			continue
		}
		found := dated().FindAllStringSubmatch(name, -1)
		old := len(found) > 0
		for _, m := range found {
			old = old && m[1] < limit
		}
		if old {
			names = append(names, name)
		}
	}
	return names
}

// cull removes old logs.
func (t *task) cull() {
	names := t.older(t.keep)
	if len(names) == 0 {
		return
	}
	t.loud("Log files older than %d days being removed ...\n%s", t.keep, housekeeping.Fill(names))
	if t.dry {
		t.printf("+ rm -f %s\n", strings.Join(names, " "))
		return
	}
	for _, name := range names {
		if err := os.Remove(filepath.Join(t.dir, name)); err != nil {
			t.fail("%s", cli.FileErrText(err))
		}
	}
}

// compressOld compresses old logs.
func (t *task) compressOld(skip *regexp.Regexp) {
	var names []string
	for _, name := range t.older(t.after) {
		if !skip.MatchString(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	t.loud("Log files older than %d days being compressed ...\n%s", t.after, housekeeping.Fill(names))
	if t.dry {
		t.printf("+ %s %s\n", t.compress, strings.Join(names, " "))
		return
	}
	how, err := housekeeping.FindCompressor(t.env, t.compress)
	if err != nil {
		t.fail("%v", err)
		return
	}
	for _, name := range names {
		if t.ctx.Err() != nil {
			return
		}
		if err := how.Compress(t.ctx, filepath.Join(t.dir, name), t.out); err != nil {
			t.fail("%s: %s: %s", how.Name(), name, cli.ErrText(err))
		}
	}
}

// maxLog is how much of a log is mailed.
const maxLog = 16 << 20

// Lines without news, and those for which no mail is sent.
var (
	boring = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` OK | OK$|^$`) })
	quiet  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` OK | OK$|^$|^Log |^pmie: PID`) })
)

// sendMail mails the contents of the rolled logs.
func (d *daily) sendMail() {
	var text bytes.Buffer
	worth := false
	for _, path := range d.rolled {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		sc := bufio.NewScanner(io.LimitReader(f, maxLog))
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			line := sc.Text()
			worth = worth || !quiet().MatchString(line)
			if boring().MatchString(line) {
				continue
			}
			if len(d.rolled) > 1 {
				text.WriteString(path + ":")
			}
			text.WriteString(line + "\n")
		}
		if err := sc.Err(); err != nil {
			d.printf("%s: %s: %v\n", d.env.ProgName(), path, err)
		}
		f.Close()
	}
	if !worth {
		return
	}
	subject := "PMIE summary for " + d.host
	program := housekeeping.Mailer(d.env)
	if program == "" {
		d.printf("%s: %s ...\n%s", d.env.ProgName(), subject, text.Bytes())
		return
	}
	cmd := exec.CommandContext(d.ctx, program, append([]string{"-s", subject}, strings.Fields(d.mail)...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &text, d.out, d.out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		d.printf("%s: Warning: %s: %v\n", d.env.ProgName(), program, err)
	}
}
