// Package iedaily is pmie_daily: it looks after the logs of the pmie processes that control files
// name. Once a day each switches to a new log, old logs are removed or compressed, and their text
// may be mailed.
//
//	pmie_daily -N -V
package iedaily

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/controlfile"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
)

// Command is pmie_daily.
var Command = &cli.Command{
	Name:     "ie-daily",
	Link:     "pmie_daily",
	Group:    cli.Alert,
	Summary:  "rotate, compress and remove the logs of pmie",
	Synopsis: "[options]",
	Doc: `Maintains the logs of the pmie processes in pmie's control files, usually once a day from a timer:
each process continues in a new log, and the old one gets yesterday's date as a suffix; old logs are
removed, and others compressed with -x. Messages go to pmie_daily.log in the directory of pmie's
logs, unless -N is given.

Compression by xz, zstd and gzip is part of this program. Any other program for -X must be installed.`,
	Examples: []cli.Example{
		{Line: `pcp ie-daily -N -V`, Text: `only print what would be done`},
		{Line: `pcp ie-daily -k 30 -x 3`, Text: `keep logs for 30 days, compress them after three days`},
	},
	SeeAlso: []string{"pmie_check(1)", "pmie(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'c', Long: "control", Arg: "FILE", Help: "pmie control file"},
			{Short: 'k', Long: "discard", Arg: "N", Help: "remove pmie log files after N days"},
			{Short: 'l', Long: "logfile", Arg: "FILE", Help: "send important diagnostic messages to FILE"},
			{Short: 'm', Long: "mail", Arg: "ADDRs", Help: "send daily log files to email addresses"},
			{Short: 'N', Long: "showme", Help: "perform a dry run, showing what would be done"},
			{Short: 'V', Long: "verbose", Help: "verbose output (multiple times for very verbose)"},
			{Short: 'x', Long: "compress-after", Arg: "N", Help: "compress pmie log files after N days"},
			{Short: 'X', Long: "compressor", Arg: "PROGRAM", Help: "use PROGRAM for pmie log file compression"},
			{Short: 'Y', Long: "regex", Arg: "REGEX", Help: "do not compress files that match, as with grep -E"},
			cli.OptHelp,
		}
	},
	Run: run,
}

// Defaults of options.
const (
	defaultCull     = "14"
	defaultCompress = "xz"
	defaultRegex    = `\.(meta|index|Z|gz|bz2|zip|xz|lzma|lzo|lz4|zst)$`
)

// maxDays is the largest number of days of -k and -x, some 270 years.
const maxDays = 100_000

// forever is in place of a number of days after which nothing is done.
const forever = -1

// days reads a number of days.
func days(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n <= maxDays && s[0] != '+'
}

// A daily is one call.
type daily struct {
	ctx context.Context
	env *cli.Env
	now time.Time
	out io.Writer

	control, log, mail string
	logGiven, dry      bool
	verbose            int
	keep, after        int // days; forever: nothing is removed, or compressed
	compress, regex    string

	service bool // pmie is on by the service manager
	host    string
	parser  *controlfile.Parser
	maps    string // directory of the files of running processes
	rolled  []string
	failed  bool

	lockWait time.Duration // as dirlock has it
}

func (d *daily) printf(format string, args ...any) { fmt.Fprintf(d.out, format, args...) }

// loud and very print if -V was given, and if it was given twice.
func (d *daily) loud(format string, args ...any) {
	if d.verbose > 0 {
		d.printf(format, args...)
	}
}

func (d *daily) very(format string, args ...any) {
	if d.verbose > 1 {
		d.printf(format, args...)
	}
}

func run(ctx context.Context, env *cli.Env) int {
	cfg := env.Config()
	d := &daily{
		ctx: ctx, env: env, now: time.Now().In(env.Local()), out: env.Stdout,
		control: cfg.Get("PCP_PMIECONTROL_PATH"), log: filepath.Join(cfg.Get("PCP_LOG_DIR"), "pmie", "pmie_daily.log"),
		after: forever, compress: defaultCompress, regex: defaultRegex,
		service: housekeeping.ServiceOn(env, "pmie"), maps: filepath.Join(cfg.Get("PCP_TMP_DIR"), "pmie"),
	}
	if d.control == "" {
		d.control = filepath.Join(cfg.Get("PCP_SYSCONF_DIR"), "pmie", "control")
	}
	d.keep, _ = days(defaultCull)
	wrong := ""
	o := cli.ParseArgs(env, cli.ParseConfig{POSIX: true, Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
		ok := true
		switch opt.Short {
		case 'c':
			d.control = arg
		case 'k':
			if d.keep = forever; arg != "forever" {
				d.keep, ok = days(arg)
			}
		case 'l':
			d.log, d.logGiven = arg, true
		case 'm':
			d.mail = arg
		case 'N':
			d.dry = true
		case 'V':
			d.verbose++
		case 'x':
			d.after, ok = days(arg)
		case 'X':
			d.compress = arg
		case 'Y':
			d.regex = arg
		default:
			return false
		}
		if !ok && wrong == "" {
			wrong = fmt.Sprintf("Error: -%c option (%s) must be numeric\n", opt.Short, arg)
		}
		return true
	}})
	if len(o.Args) > 0 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if wrong != "" {
		d.printf("%s", wrong)
		return 1
	}
	return d.logged()
}

// logged runs with the output in a log, unless -N is given.
func (d *daily) logged() int {
	if d.dry {
		return d.run()
	}
	housekeeping.SavePrev(d.log, d.out)
	if err := housekeeping.MkdirAll(d.env, filepath.Dir(d.log), 0o755); err != nil {
		return d.env.Fatalf("cannot create log: %s", cli.FileErrText(err))
	}
	log, err := housekeeping.OpenLog(d.env, d.log)
	if err != nil {
		return d.env.Fatalf("cannot create log: %s", cli.FileErrText(err))
	}
	d.out = log
	status := d.run()
	if err := log.Close(); err != nil {
		status = d.env.Fatalf("%s: %v", d.log, err)
	}
	if status != 0 && !d.logGiven {
		housekeeping.Syslog(d.env.ProgName(), fmt.Sprintf("%s failed - see %s", d.env.ProgName(), d.log))
	}
	return status
}

// run does the work and returns the exit status.
func (d *daily) run() int {
	if st, err := os.Stat(d.control); err != nil || !st.Mode().IsRegular() {
		d.printf("%s: Error: cannot find control file (%s)\n", d.env.ProgName(), d.control)
		return 1
	}
	skip, err := regexp.CompilePOSIX(d.regex)
	if err != nil {
		d.printf("%s: Error: regular expression of files not to compress: %v\n", d.env.ProgName(), err)
		return 1
	}
	if d.host, err = os.Hostname(); err != nil {
		d.host = "localhost"
	}
	cfg := d.env.Config()
	d.parser = controlfile.NewParser(controlfile.Config{
		PMIE: true, ArchiveDir: cfg.Get("PCP_ARCHIVE_DIR"), LogDir: cfg.Get("PCP_LOG_DIR"), Hostname: d.host, Getenv: cfg.Get, Now: d.now,
	})
	for _, path := range controlfile.Files(d.control) {
		if controlfile.IsBackup(path) {
			d.printf("Warning: ignored backup control file \"%s\"\n", path)
			continue
		}
		for l := range d.parser.File(path) {
			if d.ctx.Err() != nil {
				d.printf("%s: interrupted\n", d.env.ProgName())
				return 1
			}
			d.line(l, skip)
		}
	}
	if d.mail != "" && len(d.rolled) > 0 {
		d.sendMail()
	}
	if d.failed {
		return 1
	}
	return 0
}

// line serves one line of a control file.
func (d *daily) line(l *controlfile.Line, skip *regexp.Regexp) {
	f := l.Fields
	if l.Number > 0 {
		d.very("[%s:%d] host=\"%s\" primary=\"%s\" socks=\"%s\" log=\"%s\" args=\"%s\"\n", l.File, l.Number, f[0], f[1], f[2], f[3], f[4])
	}
	if d.dry && strings.HasPrefix(f[0], "$") {
		d.printf("# %s\n", strings.Join(f[:], " "))
	}
	t := &task{daily: d, Line: l, host: f[0]}
	for _, p := range l.Problems {
		if p.Warning {
			t.warn("%s", p.Text)
		} else {
			t.fail("%s", p.Text)
		}
	}
	if d.dry && l.Assignment != "" {
		d.printf("+ %s\n", l.Assignment)
	}
	if l.Valid {
		t.host = l.Host
		t.serve(skip)
	}
}
