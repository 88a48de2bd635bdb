package loggerdaily

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/daemon/controlfile"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
	"github.com/go-pcp/pcp/internal/pacing"
)

// A work is the daily work on the archives of one line of a control file.
type work struct {
	*daily
	line     *controlfile.Line
	hostname string

	dir     string // the current one
	rules   string // options for pmlogrewrite, as shown in messages
	ruleSet []string
	logger  running
	merged  []string // new archives
}

func (w *work) run() {
	w.verbosef("")
	if w.compressOnly {
		w.verbosef("=== compressing PCP archives for host %s ===", w.host)
	} else {
		w.verbosef("=== daily maintenance of PCP archives for host %s ===", w.host)
	}
	w.verbosef("")
	flag := ""
	if w.line.Primary {
		flag = " -P"
	}
	w.debugf("Check pmlogger%s -h %s ... in %s ...", flag, w.host, w.line.Dir)
	if !w.makeDir(w.line.Dir, "PCP archive files") {
		return
	}
	if err := os.Chdir(w.line.Dir); err != nil {
		w.fault("cannot go to directory (%s) of PCP archive files: %s", w.line.Dir, cli.ErrText(err))
		return
	}
	if !w.findDir() {
		return
	}
	if w.showMe {
		w.printf("+ cd %s\n+ get mutex lock\n", w.dir)
	} else {
		unlock, ok := w.lock()
		if !ok {
			return
		}
		defer unlock()
		w.recover()
	}
	w.findRules()
	if w.rewriteAll {
		w.rewriteDir()
	}
	w.logger = w.findLogger(w.line.Primary, w.dir)
	if w.logger.pid == 0 {
		if w.service {
			w.fault("no pmlogger instance running for host \"%s\"", w.host)
		} else {
			w.warn("no pmlogger instance running for host \"%s\"", w.host)
		}
		w.warn("skipping log rotation because we don't know which pmlogger to signal")
	} else if !w.compressOnly {
		w.rotate()
	}
	if !w.compressOnly {
		w.cull()
		if !w.noMerge && w.ctx.Err() == nil {
			w.mergeDays()
		}
	}
	if w.ctx.Err() == nil {
		w.compressFiles()
	}
	if w.autosave != "" && len(w.merged) > 0 && w.ctx.Err() == nil {
		w.saveMerged()
	}
	if w.trace > 0 && !w.compressOnly {
		w.cullTraces()
	}
}

// findDir finds the name of the current directory with links resolved.
func (w *work) findDir() bool {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		w.fault("directory (%s) of PCP archive files: %v", w.line.Dir, err)
		return false
	}
	w.dir = dir
	return true
}

// Time limit for taking a lock, and maximum age of a lock left by the C scripts.
const (
	lockWait  = 20 * time.Second
	lockPoll  = 100 * time.Millisecond
	lockStale = 30 * time.Minute
)

// lock takes the lock on the directory.
func (w *work) lock() (unlock func(), ok bool) {
	if !housekeeping.Writable(w.dir) {
		w.warn("no write access in %s skip lock file processing", w.dir)
		return func() {}, true
	}
	path := filepath.Join(w.dir, "lock")
	var last error
	for end := time.Now().Add(lockWait); ; {
		l, err := housekeeping.TryLock(path)
		if err == nil {
			return func() {
				if err := l.Unlock(); err != nil {
					w.warn("%s", cli.FileErrText(err))
				}
			}, true
		}
		last = err
		if !errors.Is(err, fs.ErrExist) || !time.Now().Before(end) {
			break
		}
		if st, err := os.Lstat(path); err == nil && time.Since(st.ModTime()) > lockStale {
			w.warn("removing lock file older than 30 minutes")
			w.list(path)
			os.Remove(path)
			continue
		}
		if !pacing.Sleep(w.ctx, lockPoll) {
			return nil, false
		}
	}
	if _, err := os.Lstat(path); err == nil {
		w.warn("is another PCP cron job running concurrently?")
		w.list(path)
	} else {
		w.printf("%s: %s\n", w.env.ProgName(), cli.FileErrText(last))
	}
	w.fault("failed to acquire exclusive lock (%s) ...", path)
	return nil, false
}

// list prints a file as ls -l does.
func (w *work) list(path string) {
	if s, err := report.Listing(path, w.now); err == nil {
		w.printf("%s\n", s)
	}
}

// recover repairs archives that a killed earlier call left half done.
func (w *work) recover() {
	if text, status := w.quietly("pmlogger_merge", "--finish"); status != 0 || text != "" {
		w.printf("%s", text)
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		w.fault("%s", cli.FileErrText(err))
		return
	}
	seen := make(map[string]bool)
	stopped := false
	for _, e := range entries {
		stopped = stopped || strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), ".janitor")
		if base, part, ok := archive.BaseName(e.Name()); ok { // exists twice, if it is also compressed
			stopped = stopped || seen[base+"."+part]
			seen[base+"."+part] = true
		}
	}
	if stopped {
		w.exclusively(func() {
			if err := janitor.Recover(w.ctx, ".", w.written, func(what, path string) { w.warn("%s: %s", path, what) }); err != nil {
				w.warn("%v", err)
			}
		})
	}
	for _, e := range entries {
		// See pmlogrewrite -i: files with such a name may be the only copy of an archive.
		base, part, ok := archive.BaseName(e.Name())
		name, old := strings.CutSuffix(base, ".old")
		if ok && old && part == "meta" && len(name) > 1 && name[0] == '.' {
			w.call("pmlogrewrite", "-iq", name[1:])
		}
	}
}

// exclusively calls a function while no recorder of this program maintains its archives in the
// directory, which excludes pmlogrewrite and pmlogger_merge too.
func (w *work) exclusively(do func()) {
	unlock, err := janitor.Lock(".")
	if err != nil {
		w.warn("%v", err)
		return
	}
	defer unlock()
	do()
}

// written reports whether an archive is being written, as far as is known.
func (w *work) written(a *janitor.Archive) bool { return w.isWritten(filepath.Base(a.Base)) }

func (w *work) isWritten(base string) bool {
	if w.logger.base != "" && strings.HasPrefix(base, w.logger.base) {
		return true
	}
	written, err := archive.Written(base)
	return written || err != nil
}

// findRules finds the pmlogrewrite rules for archives to merge.
func (w *work) findRules() {
	if _, err := os.Stat("pmlogrewrite"); err == nil {
		path := filepath.Join(w.dir, "pmlogrewrite")
		w.rules, w.ruleSet = " -c "+path, []string{"-c", path}
		return
	}
	w.rules = "-c $PCP_VAR_DIR/config/pmlogrewrite"
	path := filepath.Join(w.get("PCP_VAR_DIR"), "config/pmlogrewrite")
	if _, err := os.Stat(path); err == nil {
		w.ruleSet = []string{"-c", path}
	}
}

// rewriteDir applies the rules to all archives.
func (w *work) rewriteDir() {
	args := slices.Clone(w.ruleSet)
	shown := w.rules
	w.verbosef("Info: pmlogrewrite all archives in %s", w.dir)
	for range min(w.verbose, 2) {
		args, shown = append(args, "-V"), shown+" -V"
	}
	if w.showMe {
		w.printf("+ %s %s %s\n", w.binadm("pmlogger_rewrite"), shown, w.dir)
		return
	}
	if w.call("pmlogger_rewrite", append(args, w.dir)...) != 0 {
		w.fault("pmlogger_rewrite failed in %s", w.dir)
	}
}

// datedName matches names of pmlogger's files, which begin with a date, including those of
// releases with two-digit years.
const datedName = `^([12][0-9]{3}[01][0-9][0-3][0-9]|[0-9]{2}[01][0-9][0-3][0-9])[-.]`

// A file is a file in the directory whose name begins with a date.
type file struct {
	name    string
	base    string // of the archive; "" if it belongs to none
	part    string // "meta", "index" or the number of a volume
	changed time.Time
}

// files returns the regular files whose names begin with a date.
func (w *work) files() []file {
	entries, err := os.ReadDir(".")
	if err != nil {
		w.fault("%s", cli.FileErrText(err))
		return nil
	}
	match := regexp.MustCompile(datedName)
	var list []file
	for _, e := range entries {
		if !e.Type().IsRegular() || !match.MatchString(e.Name()) {
			continue
		}
		st, err := e.Info()
		if err != nil {
			continue // it was removed
		}
		f := file{name: e.Name(), changed: st.ModTime()}
		if base, part, ok := archive.BaseName(e.Name()); ok {
			f.base, f.part = base, part
		}
		list = append(list, f)
	}
	return list
}

func fileNames(list []file) []string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.name
	}
	return names
}

// cull removes archives that are too old. It comes first, so that errors in archives
// cannot let the disk fill up.
func (w *work) cull() {
	if unlimited(w.cullAfter) {
		return
	}
	limit, _ := age(w.cullAfter)
	before := time.Now().Add(-limit)
	var list, other []file
	for _, f := range w.files() {
		switch {
		case !f.changed.Before(before):
		case w.isWritten(f.base) && f.base != "":
		case f.base == "":
			other = append(other, f)
		default:
			list = append(list, f)
		}
	}
	if w.logger.base != "" {
		w.debugf("[%s:%d] skip cull for current %s archive", w.file, w.number, w.logger.base)
	}
	if len(other) > 0 {
		w.verbosef("Files that are of no archive, and are left ...\n%s", strings.TrimSuffix(housekeeping.Fill(fileNames(other)), "\n"))
	}
	if len(list) == 0 {
		w.debugf("Warning: no archive files found to cull")
		return
	}
	names := fileNames(list)
	if w.verbose > 0 {
		w.printf("Archive files older than %s being removed ...\n%s", ageText(w.cullAfter), housekeeping.Fill(names))
	}
	if w.showMe {
		w.printf("+ rm -f %s\n", strings.Join(names, " "))
		return
	}
	w.exclusively(func() { w.removeFiles(list) })
}

// removeFiles removes files of archives: complete archives, in an order in which the rest is never taken for an archive, and
// the old files of others.
func (w *work) removeFiles(list []file) {
	archives, err := janitor.List(".")
	if err != nil {
		w.fault("%v", err)
		return
	}
	old := make(map[string]bool)
	for _, f := range list {
		old[f.name] = true
	}
	for _, a := range archives {
		if slices.ContainsFunc(a.Files, func(f janitor.File) bool { return !old[filepath.Base(f.Path)] }) {
			continue
		}
		if err := janitor.Remove(a); err != nil {
			w.printf("rm: cannot remove '%s': %s\n", a.Base, cli.FileErrText(err))
			continue
		}
		for _, f := range a.Files {
			delete(old, filepath.Base(f.Path))
		}
	}
	for _, f := range list {
		if !old[f.name] {
			continue
		}
		if err := os.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.printf("rm: cannot remove '%s': %s\n", f.name, cli.ErrText(err))
		}
	}
}

// cullTraces removes old logs of -t.
func (w *work) cullTraces() {
	before := time.Now().Add(-time.Duration(w.trace+1) * 24 * time.Hour) // as find -mtime +N
	var list []string
	for _, dir := range []string{w.logDir(), filepath.Join(w.get("PCP_ARCHIVE_DIR"), "pmlogger")} {
		found, err := filepath.Glob(filepath.Join(dir, "daily.*.trace"))
		if err != nil {
			continue
		}
		for _, path := range found {
			if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.ModTime().Before(before) && !slices.Contains(list, path) {
				list = append(list, path)
			}
		}
	}
	if len(list) == 0 {
		w.debugf("Warning: no trace files found to cull")
		return
	}
	if w.verbose > 0 {
		w.printf("Trace files older than %d days being removed ...\n%s", w.trace, housekeeping.Fill(list))
	}
	if w.showMe {
		w.printf("+ rm -f %s\n", strings.Join(list, " "))
		return
	}
	for _, path := range list {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.printf("rm: cannot remove '%s': %s\n", path, cli.ErrText(err))
		}
	}
}

// runCallbacks runs command lines with the name of an archive.
func (w *work) runCallbacks(list []callback, base string) {
	path := filepath.Join(w.dir, base)
	for _, c := range list {
		if c.report && !w.line.Primary {
			continue
		}
		if w.showMe {
			w.printf("+ %s %s\n", c.line, path)
			continue
		}
		w.verbosef("callback: %s %s", c.line, path)
		var status int
		var err error
		if c.report {
			args := append(strings.Fields(c.line)[1:], path)
			status = w.call("pmlogger_daily_report", args...)
		} else {
			w.flush()
			status, err = housekeeping.Callback(w.ctx, w.env, w.out, w.parser.Environ(), c.line, path)
		}
		if err != nil {
			w.warn("%s %s: %v", c.line, path, err)
		} else if status != 0 {
			w.warn("%s %s returned status %d", c.line, path, status)
		}
	}
}

// saveMerged moves new archives to the directory PCP_AUTOSAVE_DIR.
func (w *work) saveMerged() {
	if w.verbose > 0 {
		w.printf("    Autosave ... \n%s", housekeeping.Fill(w.merged))
	}
	tried := ""
	for _, base := range w.merged {
		dir := strings.Replace(w.autosave, "LOCALHOSTNAME", w.hostname, 1)
		if len(base) >= 8 {
			dir = strings.NewReplacer("DATEYYYY", base[:4], "DATEMM", base[4:6], "DATEDD", base[6:8]).Replace(dir)
		}
		if dir != tried && !w.makeDir(dir, "autosave") {
			tried = dir
		}
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			w.warn("%s: AUTOSAVE skipped: directory %s does not exist", base, dir)
			continue
		}
		from, to := filepath.Join(w.dir, base), strings.TrimSuffix(dir, "/")+"/"+base
		if w.showMe {
			w.printf("+ pmlogmv -c %s %s\n", from, to)
		} else if w.call("pmlogmv", "-c", from, to) != 0 {
			w.warn("%s: AUTOSAVE failed", base)
		}
	}
}

// today is the prefix of the names of today's archives.
func (w *work) today() string { return w.now.Format("20060102") }
