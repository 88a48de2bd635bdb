package loggerdaily

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/controlfile"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
)

// Command is pmlogger_daily.
var Command = &cli.Command{
	Name:     "logger-daily",
	Link:     "pmlogger_daily",
	Group:    cli.Record,
	Summary:  "rotate, merge, compress and remove the archives of pmlogger",
	Synopsis: "[options]",
	Doc: `Maintains the archives of all hosts in pmlogger's control files, usually once a day from a timer:
the running pmlogger continues in a new archive, old archives are removed, those of a day are
merged, and finished ones are compressed. Messages go to pmlogger_daily.log in the directory of
pmlogger's logs, unless -N is given.

The environment and the control files may also have settings: PCP_COMPRESS, PCP_COMPRESSAFTER and
PCP_COMPRESSREGEX for -X, -x and -Y; PCP_MERGE_CALLBACK and PCP_COMPRESS_CALLBACK, commands that are
run with the name of each merged or compressed archive; and PCP_AUTOSAVE_DIR, a directory to which
archives are moved afterwards, in which LOCALHOSTNAME, DATEYYYY, DATEMM and DATEDD are replaced.

Compression by xz, zstd and gzip is part of this program. Any other program for -X must be installed.

It may be killed at any time: no archive is lost, and the next call completes the work. Concurrent
calls wait for each other.`,
	Examples: []cli.Example{
		{Line: `pcp logger-daily -N -V`, Text: `only print what would be done`},
		{Line: `pcp logger-daily -k 30 -x 1`, Text: `keep archives for 30 days, compress them after a day`},
		{Line: `pcp logger-daily -K`, Text: `only compress`},
	},
	SeeAlso: []string{"pmlogger_check(1)", "pmlogger_merge(1)", "pmlogger(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'c', Long: "control", Arg: "FILE", Help: "pmlogger control file"},
			{Short: 'D', Long: "noreport", Help: "do not run pmlogger_daily_report"},
			{Short: 'E', Long: "expunge", Help: "expunge metrics with metadata inconsistencies when merging archives"},
			{Short: 'f', Long: "force", Help: "compress even if no pmlogger is running"},
			{Short: 'k', Long: "discard", Arg: "TIME", Help: "remove archives after TIME (format DD[:HH[:MM]])"},
			{Short: 'K', Help: "compress, but no other changes"},
			{Short: 'l', Long: "logfile", Arg: "FILE", Help: "send important diagnostic messages to FILE"},
			{Short: 'm', Long: "mail", Arg: "ADDRs", Help: "send daily NOTICES entries to email addresses"},
			{Short: 'M', Help: "do not rewrite, merge or rename archives"},
			{Short: 'N', Long: "showme", Help: "perform a dry run, showing what would be done"},
			{Short: 'o', Help: "merge yesterday's archives only [those of all days]"},
			{Short: 'p', Help: "poll and exit if processing already done for today"},
			{Short: 'r', Long: "norewrite", Help: "do not process archives with pmlogrewrite(1)"},
			{Short: 'R', Long: "rewriteall", Help: "check and rewrite all archives"},
			{Short: 's', Long: "rotate", Arg: "SIZE", Help: "rotate NOTICES file after reaching SIZE bytes"},
			{Short: 't', Arg: "WANT", Help: "implies -VV, keep verbose output trace for WANT days"},
			{Short: 'V', Long: "verbose", Help: "verbose output (multiple times for very verbose)"},
			{Short: 'x', Long: "compress-after", Arg: "TIME", Help: "compress archive data files after TIME (format DD[:HH[:MM]])"},
			{Short: 'X', Long: "compressor", Arg: "PROGRAM", Help: "use PROGRAM for archive data file compression"},
			{Short: 'Y', Long: "regex", Arg: "REGEX", Help: "do not compress files that match, as with grep -E"},
			{Short: 'Z', Help: "QA mode, force pmlogger re-exec"},
			{Short: 'z', Help: "QA mode, do not re-exec pmlogger"},
			cli.OptHelp,
		}
	},
	Run: run,
}

// Defaults of options.
const (
	defaultCull     = "14"
	defaultAfter    = "0" // this program and all PCP tools read compressed archives
	defaultCompress = "xz -0 --block-size=10MiB"
	defaultRegex    = `\.(index|Z|gz|bz2|zip|xz|lzma|lzo|lz4|zst)$`
	defaultNotices  = 20480
)

// A daily is a run of the command.
type daily struct {
	ctx  context.Context
	env  *cli.Env // with the variables of the control files
	now  time.Time
	out  io.Writer
	errs io.Writer

	control      string // -c
	cullAfter    string // -k
	logFile      string // -l
	mail         string // -m
	trace        int    // -t: days
	rollAt       int64  // -s
	noReport     bool
	expunge      bool
	force        bool
	compressOnly bool
	noMerge      bool
	showMe       bool
	yesterday    bool // -o
	poll         bool
	noRewrite    bool
	rewriteAll   bool
	reexec       reexecMode
	verbose      int
	syslog       bool
	flags        []string // -N and -V, for other commands

	// Settings of the command line, the environment and control files.
	after, compress, regex          string
	envAfter, envCompress, envRegex string

	mergeCallbacks, compressCallbacks []callback
	autosave                          string
	service                           bool // the service manager has pmlogger enabled

	parser *controlfile.Parser
	here   string
	failed bool

	// The current line of a control file.
	file   string
	number int
	host   string
}

type reexecMode int

const (
	reexecIfNeeded reexecMode = iota
	reexecForce
	reexecSkip
)

// A callback is a command line that is run with the name of an archive.
type callback struct {
	line   string
	report bool // the daily report, which this program makes for the primary pmlogger
}

func (d *daily) get(name string) string { return d.env.Config().Get(name) }

// logDir is the directory of pmlogger's logs and of this command's logs.
func (d *daily) logDir() string { return filepath.Join(d.get("PCP_LOG_DIR"), "pmlogger") }

func (d *daily) printf(format string, args ...any) { fmt.Fprintf(d.out, format, args...) }

func (d *daily) verbosef(format string, args ...any) {
	if d.verbose > 0 {
		d.printf(format+"\n", args...)
	}
}

// debugf is for -V given twice.
func (d *daily) debugf(format string, args ...any) {
	if d.verbose > 1 {
		d.flush()
		fmt.Fprintf(d.errs, format+"\n", args...)
	}
}

func (d *daily) flush() {
	if f, ok := d.out.(interface{ Flush() error }); ok {
		f.Flush()
	}
}

// call runs another command of this program.
func (d *daily) call(link string, args ...string) int {
	d.flush()
	return d.env.Call(d.ctx, link, d.out, d.errs, args...)
}

// quietly runs another command and returns its output.
func (d *daily) quietly(link string, args ...string) (string, int) {
	var b bytes.Buffer
	status := d.env.Call(d.ctx, link, &b, &b, args...)
	return b.String(), status
}

func run(ctx context.Context, env *cli.Env) int {
	d := &daily{
		ctx: ctx, env: env, now: time.Now().In(env.Local()), out: env.Stdout, errs: env.Stderr,
		cullAfter: defaultCull, rollAt: defaultNotices, syslog: true,
		envAfter: env.Getenv("PCP_COMPRESSAFTER"), envCompress: env.Getenv("PCP_COMPRESS"), envRegex: env.Getenv("PCP_COMPRESSREGEX"),
		service: housekeeping.ServiceOn(env, "pmlogger"),
	}
	if d.control = d.get("PCP_PMLOGGERCONTROL_PATH"); d.control == "" {
		d.control = filepath.Join(d.get("PCP_SYSCONF_DIR"), "pmlogger", "control")
	}
	if d.envAfter != "" && !validAge(d.envAfter) {
		d.printf("Error: $PCP_COMPRESSAFTER value (%s) must be number, time, \"forever\" or \"never\"\n", d.envAfter)
		return 1
	}
	o, wrong := d.parse(env)
	if status, exit := o.Done(); exit {
		return status
	}
	if wrong != "" {
		d.printf("%s\n", wrong)
		return 1
	}
	begin := d.get("PCP_LOG_RC_SCRIPTS") == "true"
	if begin {
		d.call("pmpost", fmt.Sprintf("begin pid:%d %s args:%s", os.Getpid(), env.ProgName(), strings.Join(env.Args, " ")))
	}
	status := d.logged()
	if begin {
		d.call("pmpost", fmt.Sprintf("end pid:%d %s status=%d", os.Getpid(), env.ProgName(), status))
	}
	return status
}

// logged runs the work with its output in a log, unless -N is given.
func (d *daily) logged() int {
	if d.logFile == "" {
		name := d.env.ProgName()
		if !d.env.Classic() {
			name = d.env.Command.Link
		}
		if d.compressOnly {
			name += "-K"
		}
		d.logFile = filepath.Join(d.logDir(), name+".log")
		if d.trace > 0 {
			d.logFile = filepath.Join(d.logDir(), "daily."+d.now.Format("20060102.15.04")+".trace")
		}
	}
	if d.showMe {
		return d.run("")
	}
	housekeeping.SavePrev(d.logFile, d.out)
	log, err := housekeeping.OpenLog(d.env, d.logFile)
	if err != nil {
		return d.env.Fatalf("cannot create log: %s", cli.FileErrText(err))
	}
	d.out, d.errs = log, log
	status := d.run(log.Path())
	if err := log.Close(); err != nil {
		status = d.env.Fatalf("%s: %v", d.logFile, err)
	}
	if d.syslog && status != 0 {
		housekeeping.Syslog("pcp", fmt.Sprintf("%s failed - see %s", d.env.ProgName(), d.logFile))
	}
	return status
}

func (d *daily) run(log string) int {
	if !d.compressOnly {
		d.startMerging()
	}
	if line := d.env.Getenv("PCP_COMPRESS_CALLBACK"); line != "" && d.addCallback(&d.compressCallbacks, line) {
		d.verbosef("Add compress callback from environment: %s", line)
	}
	stamp := housekeeping.Stamp{Path: filepath.Join(d.logDir(), "pmlogger_daily.stamp")}
	if d.poll && d.polled(stamp) {
		return 0
	}
	if d.showMe {
		d.printf("+ date-and-timestamp %s %d\n", d.now.Format("2006-01-02 15:04:05"), d.now.Unix())
	} else if !d.compressOnly {
		stamp.Write(d.env, d.now, d.out)
	}
	const clock = "2006-01-02 15:04:05.000000000"
	d.debugf("Start: %s", d.now.Format(clock))
	d.saveLog(log)
	if st, err := os.Stat(d.control); err != nil || !st.Mode().IsRegular() {
		d.printf("%s: Error: cannot find control file (%s)\n", d.env.ProgName(), d.control)
		return 1
	}
	d.notices()
	if !d.showMe {
		remove, ok := d.notePID()
		if !ok {
			return 0
		}
		defer remove()
	}
	needed := filepath.Join(d.logDir(), ".NeedRewrite")
	once := false
	if st, err := os.Stat(needed); err == nil && st.Mode().IsRegular() && !d.compressOnly {
		once, d.rewriteAll = true, true
		d.verbosef("Info: found .NeedRewrite => rewrite all archives")
	}
	d.controls()
	if once && d.ctx.Err() == nil {
		if d.showMe {
			d.printf("+ rm -f %s\n", needed)
		} else if err := os.Remove(needed); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.printf("%s: %s\n", d.env.ProgName(), cli.FileErrText(err))
		}
	}
	if d.ctx.Err() != nil {
		d.printf("%s: interrupted\n", d.env.ProgName())
		d.failed = true
	}
	d.debugf("End: %s", time.Now().In(d.now.Location()).Format(clock))
	if d.failed {
		return 1
	}
	return 0
}

// startMerging gathers the actions for merged archives.
func (d *daily) startMerging() {
	// The report needs metrics that are recorded if these groups of pmlogconf are installed.
	zeroconf := filepath.Join(d.get("PCP_VAR_DIR"), "config/pmlogconf/zeroconf/disk")
	if st, err := os.Stat(zeroconf); err == nil && st.Mode().IsRegular() && !d.noReport {
		sa := d.get("PCP_SA_DIR")
		if sa == "" {
			sa = filepath.Join(d.get("PCP_LOG_DIR"), "sa")
		}
		line := fmt.Sprintf("%s -o %s -a", filepath.Join(d.get("PCP_BINADM_DIR"), "pmlogger_daily_report"), sa)
		d.mergeCallbacks = append(d.mergeCallbacks, callback{line, true})
		d.verbosef("Add merge callback for: pmlogger_daily_report")
	}
	if line := d.env.Getenv("PCP_MERGE_CALLBACK"); line != "" && d.addCallback(&d.mergeCallbacks, line) {
		d.verbosef("Add merge callback from environment: %s", line)
	}
	if dir := d.env.Getenv("PCP_AUTOSAVE_DIR"); dir != "" {
		d.autosave = dir
		d.verbosef("Using $PCP_AUTOSAVE_DIR from environment: %s", dir)
	}
}

// addCallback adds a command line whose program can be found.
func (d *daily) addCallback(list *[]callback, line string) bool {
	line = housekeeping.Unquote(line)
	program := housekeeping.Program(line)
	if path, err := d.env.LookPath(program); err != nil || !cli.Executable(path) {
		d.warn("%s: not a executable on PATH=%s", program, d.env.Getenv("PATH"))
		return false
	}
	*list = append(*list, callback{line: line})
	return true
}

// polled reports whether today's work is done already.
func (d *daily) polled(stamp housekeeping.Stamp) bool {
	if last, ok := stamp.Read(); ok {
		due, what := stamp.Due(d.now), "do work"
		if last >= due {
			what = "do nothing"
		}
		if d.showMe {
			d.printf("-p stamp %d now %d check %d %s\n", last, d.now.Unix(), due, what)
		}
		return last >= due
	}
	name := d.now.AddDate(0, 0, -1).Format("20060102") + ".index"
	found := false
	filepath.WalkDir(d.get("PCP_ARCHIVE_DIR"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == name {
			found = true
			return fs.SkipAll
		}
		return d.ctx.Err()
	})
	if d.showMe && found {
		d.printf("-p start up already run heuristic match, do nothing\n")
	} else if d.showMe {
		d.printf("-p start up do work\n")
	}
	return found
}

// saveLog renames the log into the directory SaveLogs, if it exists.
func (d *daily) saveLog(log string) {
	dir := filepath.Join(d.logDir(), "SaveLogs")
	if st, err := os.Stat(dir); err != nil || !st.IsDir() || !housekeeping.Writable(dir) {
		return
	}
	link := filepath.Join(dir, d.now.Format("20060102.15:04:05.000000000")+"-"+d.env.Command.Link+".log."+strconv.Itoa(os.Getpid()))
	if d.showMe {
		d.printf("+ ln %s.%d %s\n", d.logFile, os.Getpid(), link)
		return
	}
	if err := os.Link(log, link); err != nil {
		d.printf("%s: %s\n", d.env.ProgName(), cli.ErrText(err))
		return
	}
	d.printf("--- Added by %s when SaveLogs dir found ---\nStart: %s\nArgs: %s\n", d.env.ProgName(),
		d.now.Format("2006-01-02 15:04:05.000000000"), strings.Join(d.env.Args, " "))
}

// notePID leaves the number of this process for pmlogger_check, which reads it when it
// cannot take the lock. ok is false if this process lacks the permission, so that it has
// nothing to do.
func (d *daily) notePID() (remove func(), ok bool) {
	dir := d.get("PCP_RUN_DIR")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := housekeeping.MkdirAll(d.env, dir, 0o775); err != nil && !d.service {
			return nil, false
		}
	}
	path := filepath.Join(dir, "pmlogger_daily.pid")
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		d.printf("%s: %s\n", path, cli.ErrText(err))
		return func() {}, true
	}
	return func() { os.Remove(path) }, true
}

// fault reports something that makes the exit status 1.
func (d *daily) fault(format string, args ...any) {
	d.printf("%s: [%s:%d]\nError: %s\n... logging for host \"%s\" unchanged\n", d.env.ProgName(), d.file, d.number, fmt.Sprintf(format, args...), d.host)
	d.failed = true
}

func (d *daily) warn(format string, args ...any) {
	if d.file == "" {
		d.printf("%s: Warning: %s\n", d.env.ProgName(), fmt.Sprintf(format, args...))
		return
	}
	d.printf("%s: [%s:%d]\nWarning: %s\n", d.env.ProgName(), d.file, d.number, fmt.Sprintf(format, args...))
}

func (d *daily) skipping(format string, args ...any) {
	d.printf("%s: Warning: %s\n[%s:%d] ... skip log merging and compressing for host \"%s\"\n", d.env.ProgName(), fmt.Sprintf(format, args...), d.file, d.number, d.host)
}
