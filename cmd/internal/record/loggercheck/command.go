// Package loggercheck implements pmlogger_check and pmie_check, which start the pmlogger or pmie processes that control files
// request and that are not running.
//
//	pmlogger_check -N -V
package loggercheck

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/controlfile"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
	"github.com/go-pcp/pcp/config"
)

// Command is pmlogger_check.
var Command = &cli.Command{
	Name:     "logger_check",
	Link:     "pmlogger_check",
	Group:    cli.Record,
	Summary:  "start configured pmlogger processes that are not running",
	Synopsis: "[options]",
	Doc: `Reads the control files of pmlogger, the file pmlogger/control in PCP's configuration directory and
those in control.d next to it, and starts a logger for each line without a running one. It creates
the directory of the archives, lets pmlogconf create a missing configuration, and waits until the
logger answers. With -s it stops the loggers instead.

It logs to pmlogger/pmlogger_check.log in the directory for logs, and prints to standard output only
with -N. A file "lock" in the directory of a logger prevents concurrent calls. It is ignored if its
process has ended or it is older than 30 minutes.

It only needs to write to these directories: with PCP_CONF, or the variables PCP_LOG_DIR,
PCP_TMP_DIR, PCP_RUN_DIR and PCP_PMLOGGERCONTROL_PATH, any user can manage their own loggers.
Commands in control files are not run.`,
	Examples: []cli.Example{
		{Line: "pcp logger_check -N", Text: "only print what would be done"},
		{Line: "pcp logger_check -c ./control -l ./check.log", Text: "start the loggers in your own control file"},
		{Line: "pcp logger_check -s -P", Text: "stop the primary logger"},
	},
	SeeAlso: []string{"pmlogctl(1)", "pmlogger(1)"},
	Options: func() []cli.Option {
		return slices.Concat(common(), []cli.Option{
			{Short: 'q', Long: "quick", Help: "quick start, no compression"},
			cli.OptHelp,
		})
	},
	Run: func(ctx context.Context, env *cli.Env) int { return run(ctx, env, logger) },
}

// common are the options of both commands.
func common() []cli.Option {
	return []cli.Option{
		cli.Heading("Options"),
		{Short: 'c', Long: "control", Arg: "FILE", Help: "configuration of the instances to manage"},
		{Short: 'l', Long: "logfile", Arg: "FILE", Help: "send important diagnostic messages to FILE"},
		{Short: 'C', Help: "query system service runlevel information"},
		{Short: 'N', Long: "showme", Help: "perform a dry run, showing what would be done"},
		{Short: 'p', Long: "skip-primary", Help: "do not start or stop the primary instance"},
		{Short: 'P', Long: "only-primary", Help: "only start or stop the primary instance, no others"},
		{Short: 's', Long: "stop", Help: "stop the processes instead of starting them"},
		{Short: 'T', Long: "terse", Help: "produce a terser form of output"},
		{Short: 'V', Long: "verbose", Help: "increase diagnostic verbosity"},
	}
}

// settings are the options of the command line.
type settings struct {
	control, log             string
	runlevel, dry, stop      bool
	skipPrimary, onlyPrimary bool
	quick, terse             bool
	verbose                  int
	daily                    []string // options passed to pmlogger_daily too
	logGiven                 bool
}

func (set *settings) own(_ *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'c':
		set.control = arg
		set.daily = append(set.daily, "-c", arg)
	case 'l':
		set.log, set.logGiven = arg, true
		set.daily = append(set.daily, "-l", arg+".from.check")
	case 'C':
		set.runlevel = true
	case 'N':
		set.dry = true
		set.daily = append(set.daily, "-N")
	case 'p':
		set.skipPrimary = true
	case 'P':
		set.onlyPrimary = true
	case 'q':
		set.quick = true
	case 's':
		set.stop = true
	case 'T':
		set.terse = true
	case 'V':
		set.verbose++
		set.daily = append(set.daily, "-V")
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env, k *kind) int {
	cfg := env.Config()
	set := settings{control: cfg.Get(k.control), log: k.log(cfg)}
	if set.control == "" {
		set.control = filepath.Join(cfg.Get("PCP_SYSCONF_DIR"), k.name, "control")
	}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: set.own})
	if len(o.Args) > 0 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	c := newChecker(env, set, k)
	if set.dry {
		c.out = env.Stdout
		return c.run(ctx)
	}
	l, err := openLog(set.log)
	if err != nil {
		return env.Fatalf("cannot write the log: %s\nUse -l FILE, -N, or $PCP_LOG_DIR.", cli.FileErrText(err))
	}
	c.out = l.file
	status := c.run(ctx)
	l.close()
	if status != 0 && !set.logGiven {
		housekeeping.Syslog(k.prog(), fmt.Sprintf("%s failed - see %s", k.prog(), set.log))
	}
	return status
}

// A checker processes the control files.
type checker struct {
	settings
	kind *kind
	prog string // the name of this program in messages and in notes in the loggers' map files
	env  *cli.Env
	cfg  *config.Config
	out  io.Writer
	maps string // directory of the files of running processes

	lockWait time.Duration // see package dirlock

	parser  *controlfile.Parser
	dirs    map[string]bool // those of lines so far
	stopped []int           // processes that were asked to end
	failed  bool            // an error was reported
	status  int
}

func newChecker(env *cli.Env, set settings, k *kind) *checker {
	cfg := env.Config()
	return &checker{
		env: env, cfg: cfg, settings: set, kind: k, prog: k.prog(), dirs: make(map[string]bool),
		maps: filepath.Join(cfg.Get("PCP_TMP_DIR"), k.name),
	}
}

func (c *checker) printf(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

// run does the work and returns the exit status.
func (c *checker) run(ctx context.Context) int {
	rc := c.kind.archives && c.cfg.Get("PCP_LOG_RC_SCRIPTS") == "true"
	if rc {
		c.post(ctx, fmt.Sprintf("begin pid:%d %s args:%s", os.Getpid(), c.prog, strings.Join(c.env.Args, " ")))
	}
	if c.verbose > 1 {
		c.printf("Start: %s\n", stamp(time.Now()))
	}
	c.work(ctx)
	if c.failed {
		c.status = 1
	}
	if rc {
		c.post(ctx, fmt.Sprintf("end pid:%d %s status=%d", os.Getpid(), c.prog, c.status))
	}
	if c.verbose > 1 {
		c.printf("End: %s\n", stamp(time.Now()))
	}
	return c.status
}

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04:05.000000000") }

func (c *checker) work(ctx context.Context) {
	start := !c.stop
	if c.runlevel {
		start = c.enabled(ctx)
	}
	switch {
	case c.stop:
		if _, err := os.Stat(c.maps); err != nil {
			c.compress(ctx) // nothing has been started
			return
		}
		if !c.runlevel {
			c.post(ctx, "stop "+c.kind.name+" from "+c.prog)
		}
	case !start:
		c.compress(ctx)
		return
	}
	if st, err := os.Stat(c.control); err != nil || !st.Mode().IsRegular() {
		c.printf("%s: Error: cannot find control file (%s)\n", c.prog, c.control)
		c.status = 1
		return
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	c.parser = controlfile.NewParser(controlfile.Config{
		ArchiveDir: c.cfg.Get("PCP_ARCHIVE_DIR"), LogDir: c.cfg.Get("PCP_LOG_DIR"), Hostname: host, Getenv: c.cfg.Get,
		PMIE: c.kind == engine,
	})
	for _, path := range controlfile.Files(c.control) {
		for l := range c.parser.File(path) {
			if ctx.Err() != nil {
				c.printf("%s: interrupted\n", c.prog)
				c.status = 1
				return
			}
			c.line(ctx, l, start)
		}
	}
	if !c.dry {
		c.end(ctx)
	}
	if _, err := os.Stat(filepath.Join(c.cfg.Get("PCP_LOG_DIR"), "pmlogger", "pmlogger_daily.stamp")); err == nil && c.kind.archives {
		c.compress(ctx)
	}
}

// report prints an error in a line.
func (c *checker) report(l *controlfile.Line, host string, pr controlfile.Problem) {
	io.WriteString(c.out, l.Message(c.prog, host, pr))
	c.failed = c.failed || !pr.Warning
}

// A task is a line whose process is looked for.
type task struct {
	*controlfile.Line
	c    *checker
	dir  string // real path of the directory in which it runs
	log  string // for pmie, full path
	args []string
}

func (t *task) warn(format string, args ...any) {
	t.c.report(t.Line, t.Host, controlfile.Problem{Warning: true, Text: fmt.Sprintf(format, args...)})
}

func (t *task) fail(format string, args ...any) {
	t.c.report(t.Line, t.Host, controlfile.Problem{Text: fmt.Sprintf(format, args...)})
}

// line serves one line of a control file.
func (c *checker) line(ctx context.Context, l *controlfile.Line, start bool) {
	f := l.Fields
	if c.verbose > 1 && f[0] != "" && c.kind.archives {
		c.printf("[%s:%d] host=\"%s\" primary=\"%s\" socks=\"%s\" dir=\"%s\" args=\"%s\"\n", l.File, l.Number, f[0], f[1], f[2], f[3], f[4])
	}
	if c.dry && strings.HasPrefix(f[0], "$") {
		c.printf("# %s\n", strings.Join(f[:], " "))
	}
	for _, pr := range l.Problems {
		c.report(l, "", pr)
	}
	if c.dry && l.Assignment != "" {
		c.printf("+ %s\n", l.Assignment)
	}
	if !l.Valid {
		return
	}
	switch {
	case c.skipPrimary && l.Primary:
		if c.verbose > 1 {
			c.printf("Skip, -p/--skip-primary on command line\n")
		}
		return
	case c.onlyPrimary && !l.Primary:
		if c.verbose > 1 {
			c.printf("Skip non-primary, -P/--only-primary on command line\n")
		}
		return
	}
	t := &task{Line: l, c: c, args: strings.Fields(l.Args)}
	c.kind.serve(t, ctx, start)
}
