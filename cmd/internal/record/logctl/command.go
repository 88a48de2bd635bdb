// Package logctl implements pmlogctl and pmiectl, which show, start, stop, create and remove the pmlogger or pmie processes that
// control files name.
//
//	pmlogctl -V status
package logctl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/controlfile"
	"github.com/go-pcp/pcp/cmd/internal/daemon/dirlock"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
	"github.com/go-pcp/pcp/config"
)

// Command is pmlogctl.
var Command = &cli.Command{
	Name:     "logctl",
	Link:     "pmlogctl",
	Group:    cli.Record,
	Summary:  "show, start, stop, create and remove pmlogger processes",
	Synopsis: "[options] command [host ...]",
	Doc: `Manages the loggers in pmlogger's control files, usually those of other hosts. The commands are

    status               print a table of loggers, also of those that are stopped or dead
    start, stop          start a logger, or stop it and mark its line so that it stays stopped
    restart              stop it, and start it again with a new archive
    check                start those that are dead
    create               make a control file for each host, by a policy, and start its logger
    cond-create          the same, if the policy's conditions hold for the host
    destroy              stop a logger and remove its line

Hosts are names, or extended regular expressions for the beginning of names. A class (-c) is a group
of loggers that were created from one policy: a file in class.d next to the control file, with
sections [class], [ident], [control], [create] and [destroy]. The system starts and stops the
primary logger; this command only shows its status.

Users who may write to the directory of the control file may use all commands. For root,
pmlogger_check runs as PCP's user.`,
	Examples: []cli.Example{
		{Line: "pcp logctl status", Text: "list loggers and their status"},
		{Line: "pcp logctl create web7.example.com", Text: "record a host from now on"},
		{Line: "pcp logctl -a stop '.*'", Text: "stop all loggers except the primary one"},
		{Line: "pcp logctl -N -V destroy web7.example.com", Text: "only print what would be done"},
	},
	SeeAlso: []string{"pmlogger_check(1)", "pmlogger(1)"},
	Options: func() []cli.Option {
		return slices.Concat(
			firstOptions,
			[]cli.Option{{Short: 'C', Long: "checkargs", Arg: "ARGS", Help: "more arguments for pmlogger_check"}},
			middleOptions,
			[]cli.Option{{Short: 'm', Long: "migrate", Help: "move the processes to the service pmlogger_farm"}},
			lastOptions,
		)
	},
	Run: func(ctx context.Context, env *cli.Env) int { return run(ctx, env, logger) },
}

// Options of both commands, around those that name other programs.
var (
	firstOptions = []cli.Option{
		cli.Heading("Options"),
		{Short: 'a', Long: "all", Help: "apply action to all matching hosts"},
		{Short: 'c', Long: "class", Arg: "NAME", Help: "instances of the class NAME only [default default]"},
	}
	middleOptions = []cli.Option{
		{Short: 'f', Long: "force", Help: "force action if possible"},
		{Short: 'i', Long: "ident", Arg: "IDENT", Help: "name of the instance (only for create and cond-create)"},
	}
	lastOptions = []cli.Option{
		{Short: 'N', Long: "showme", Help: "perform a dry run, showing what would be done"},
		{Short: 'p', Long: "policy", Arg: "POLICY", Help: "file of the policy [default class.d/NAME next to the control file]"},
		{Short: 'V', Long: "verbose", Help: "increase verbosity"},
		cli.OptHelp,
	}
)

// settings are the options of the command line.
type settings struct {
	all, explicit, force, migrate, dry bool
	class, ident, policy               string
	check                              []string
	verbose                            int
	action                             string
	hosts                              []string
}

func (set *settings) own(_ *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'a':
		set.all = true
	case 'c':
		set.class, set.explicit = arg, true
	case 'C':
		set.check = append(set.check, strings.Fields(arg)...)
	case 'f':
		set.force = true
	case 'i':
		set.ident = arg
	case 'm':
		set.migrate = true
	case 'N':
		set.dry = true
	case 'p':
		set.policy = arg
	case 'V':
		set.verbose++
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env, k *kind) int { return runWith(ctx, env, k, 0) }

// runWith is run with a different time limit for locks, if it is not 0.
func runWith(ctx context.Context, env *cli.Env, k *kind, lockWait time.Duration) int {
	set := settings{class: "default"}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: set.own})
	if len(o.Args) == 0 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		if env.Classic() {
			fmt.Fprint(env.Stderr, commands)
		}
		return status
	}
	set.action, set.hosts = o.Args[0], o.Args[1:]
	c := &controller{env: env, cfg: env.Config(), settings: set, kind: k, lockWait: lockWait}
	if err := c.run(ctx); err != nil {
		env.FlushOut()
		if !errors.Is(err, errSaid) {
			fmt.Fprintf(env.Stderr, "Error: %v\n", err)
		}
		return 1
	}
	return 0
}

// commands is the text after the usage message.
const commands = `
Avaliable commands:
   [-c classname] create  host ...
   {-c classname|-i ident} cond-create host ...
   [-c classname] {start|stop|restart|destroy|check|status} [host ...]

   and host may be a valid hostname or an egrep(1) pattern that matches
   the start of a hostname
`

// errSaid is the error of a failure that has been reported.
var errSaid = errors.New("it has been said")

// A controller executes one command line.
type controller struct {
	settings
	kind    *kind
	env     *cli.Env
	cfg     *config.Config
	control string // the control file
	host    string // name of this host
	parser  *controlfile.Parser
	rows    []row

	lockWait time.Duration // see package dirlock
}

// A row is a line of a control file that a command works on.
type row struct {
	file, class                     string // class "-" if none was given
	host, primary, socks, dir, args string // dir is the log file for pmie
}

func (c *controller) prog() string { return c.env.ProgName() }

func (c *controller) printf(format string, args ...any) { fmt.Fprintf(c.env.Stdout, format, args...) }

// warn prints a warning, after flushing the output.
func (c *controller) warn(format string, args ...any) {
	c.env.FlushOut()
	fmt.Fprintf(c.env.Stderr, "Warning: "+format+"\n", args...)
}

// loud and very print a line if -V was given, and if it was given twice.
func (c *controller) loud(format string, args ...any) {
	if c.verbose > 0 {
		c.printf(format+"\n", args...)
	}
}

func (c *controller) very(format string, args ...any) {
	if c.verbose > 1 {
		c.printf(format+"\n", args...)
	}
}

func (c *controller) run(ctx context.Context) error {
	c.control = c.cfg.Get(c.kind.control)
	if c.control == "" {
		c.control = filepath.Join(c.cfg.Get("PCP_SYSCONF_DIR"), c.kind.name, "control")
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	c.host = host
	c.parser = controlfile.NewParser(controlfile.Config{Hostname: host, Getenv: c.cfg.Get})
	if c.ident != "" && c.action != "create" && c.action != "cond-create" {
		return errors.New("-i option may only be used with create or cond-create commands")
	}
	actions := map[string]func(context.Context) error{
		"check": func(ctx context.Context) error { return c.start(ctx, c.rows, false) },
		"start": func(ctx context.Context) error { return c.start(ctx, c.rows, false) },
		"stop":  func(ctx context.Context) error { return c.stop(ctx, c.rows, false) },

		"restart": c.restart, "destroy": c.destroy, "create": c.create, "cond-create": c.condCreate,
	}
	if c.explicit {
		c.very("Using class: %s", c.class)
	} else {
		c.very("Using default class")
	}
	if err := c.findPolicy(); err != nil {
		return err
	}
	if c.action == "status" {
		if err := c.match(); err != nil {
			return err
		}
		return c.status(ctx)
	}
	do := actions[c.action]
	if do == nil {
		return fmt.Errorf("command \"%s\" not known", c.action)
	}
	creates := c.action == "create" || c.action == "cond-create"
	if len(c.hosts) == 0 && c.action != "check" && (!c.explicit || creates) {
		return fmt.Errorf("\"%s\" command requres hostname(s) and/or a --class", c.action)
	}
	dir := filepath.Dir(c.control)
	if !c.dry {
		if !writable(dir) {
			err := errors.New("you must be root (uid 0) to change the Performance Co-Pilot logger setup")
			if !c.env.Classic() {
				err = fmt.Errorf("%w: no write access to %s", err, dir)
			}
			return err
		}
		l, err := c.lock(ctx, filepath.Join(dir, "lock"))
		if err != nil {
			return err
		}
		defer func() {
			l.Release()
			c.very("Lock released")
		}()
	}
	if !creates {
		if err := c.match(); err != nil {
			return err
		}
		if len(c.rows) == 0 {
			if c.action == "check" {
				return nil
			}
			return fmt.Errorf("no matching host(s) to %s", c.action)
		}
	}
	if err := do(ctx); err != nil {
		if errors.Is(err, errSaid) {
			return fmt.Errorf("could not complete %s operation", c.action)
		}
		return err
	}
	return nil
}

func (c *controller) lock(ctx context.Context, path string) (*dirlock.Lock, error) {
	l, err := dirlock.Take(ctx, path, dirlock.Config{Wait: c.lockWait, Removing: func(_, why string) {
		owner, _, _ := strings.Cut(readLock(path), " ")
		c.warn("removing lock file %s (PID %s)", why, owner)
		c.list(path)
	}})
	switch {
	case err == nil:
		c.very("Lock acquired %d %s", os.Getpid(), path)
	case errors.Is(err, dirlock.ErrHeld):
		c.warn("is another %s job running concurrently?", c.prog())
		c.list(path)
		//lint:ignore ST1005 the words of the C script
		return nil, fmt.Errorf("failed to acquire exclusive lock (%s) ...", path)
	default:
		return nil, errors.New(cli.FileErrText(err))
	}
	return l, nil
}

// list prints a file as ls -l does.
func (c *controller) list(path string) {
	if line, err := report.Listing(path, time.Now()); err == nil {
		c.printf("%s\n", line)
	}
}

// readLock returns the contents of a lock file, without the newline.
func readLock(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "?"
	}
	defer f.Close()
	b := make([]byte, 100)
	n, _ := f.Read(b)
	return strings.TrimSpace(string(b[:n]))
}

// files returns the control files that are in effect.
func (c *controller) files() (list []string) {
	for _, path := range controlfile.Files(c.control) {
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && !controlfile.IsBackup(path) {
			list = append(list, path)
		}
	}
	return list
}

// read returns the lines of a control file.
func (c *controller) read(path string) []controlfile.RawLine {
	f, err := os.Open(path)
	if err != nil {
		c.warn("%s", cli.FileErrText(err))
		return nil
	}
	defer f.Close()
	list, err := controlfile.ReadRaw(f)
	if err != nil {
		c.warn("%s: %v", path, err)
	}
	return list
}

// expand replaces the placeholders for directories and for this host in text.
func (c *controller) expand(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }), " ")
	logs := c.cfg.Get("PCP_LOG_DIR")
	text = strings.ReplaceAll(text, "PCP_ARCHIVE_DIR/", c.cfg.Get("PCP_ARCHIVE_DIR")+"/")
	text = strings.ReplaceAll(text, "PCP_LOG_DIR/", logs+"/")
	return c.swapHost(text, "LOCALHOSTNAME", c.host)
}

// unexpand does the reverse.
func (c *controller) unexpand(text string) string {
	text = strings.ReplaceAll(text, c.cfg.Get("PCP_ARCHIVE_DIR")+"/", "PCP_ARCHIVE_DIR/")
	text = strings.ReplaceAll(text, c.cfg.Get("PCP_LOG_DIR")+"/", "PCP_LOG_DIR/")
	return c.swapHost(text, c.host, "LOCALHOSTNAME")
}

// swapHost replaces a name that is the whole text, its first word, or follows a character that is not a letter or
// digit.
func (c *controller) swapHost(text, from, to string) string {
	if rest, ok := strings.CutPrefix(text, from); ok && (rest == "" || rest[0] == ' ') {
		text = to + rest
	}
	re, err := regexp.Compile(`([^a-zA-Z0-9])` + regexp.QuoteMeta(from))
	if err != nil {
		return text
	}
	return re.ReplaceAllString(text, "${1}"+strings.ReplaceAll(to, "$", "$$"))
}

// parse splits a line that names an instance, and reports whether pmlogctl has stopped it. For any other line ok is false.
func (c *controller) parse(file string, raw controlfile.RawLine, quiet bool) (r row, stopped, ok bool) {
	f := raw.Fields()
	f[0], stopped = strings.CutPrefix(f[0], controlfile.Stopped)
	if f[0] == "" || f[0][0] == '#' || f[0][0] == '$' {
		return r, stopped, false
	}
	dir, args, err := c.parser.Directory(f[3], f[4])
	if err != nil {
		if !quiet {
			c.warn("%s: %v", file, err)
		}
		return r, stopped, false
	}
	r = row{file: file, class: "-", host: c.expand(f[0]), primary: f[1], socks: f[2], dir: c.expand(dir), args: c.expand(args)}
	if r.dir == "" {
		if !quiet {
			c.warn("%s: insufficient fields in control line for host %s", file, r.host)
		}
		return r, stopped, false
	}
	return r, stopped, true
}

// match finds the lines of the hosts on the command line.
func (c *controller) match() error {
	hosts := c.hosts
	findAll := len(hosts) == 0
	if findAll {
		hosts = []string{"[^#$]"}
	}
	for _, host := range hosts {
		c.very("Looking for host %s in class %s ...", host, c.class)
		re, err := regexp.Compile("^(" + host + ")")
		if err != nil {
			return fmt.Errorf("host %s is not a pattern: %v", host, err)
		}
		plain := isHost(host)
		var list []row
		primary := false
		for _, file := range c.files() {
			class := "default"
			for _, raw := range c.read(file) {
				f := raw.Fields()
				name := strings.TrimPrefix(f[0], controlfile.Stopped)
				if rest, ok := strings.CutPrefix(f[0], "$class="); ok {
					class = rest
				}
				switch {
				case plain && name != host && (host != c.host || name != "LOCALHOSTNAME"):
					continue
				case !plain && !re.MatchString(name):
					continue
				}
				r, _, ok := c.parse(file, raw, false)
				if !ok {
					continue
				}
				if r.primary == "y" {
					primary = true
					if !c.explicit && c.action != "status" {
						if c.action != "check" {
							c.warn("%s: cannot %s the primary %s from %s", file, c.action, c.kind.name, c.prog())
						}
						continue
					}
				}
				if c.explicit {
					r.class = class
					if r.primary == "y" {
						r.class = "primary"
					}
					if r.class != c.class {
						c.very("No match for control %s host %s directory %s class %s", file, r.host, r.dir, r.class)
						continue
					}
				}
				list = append(list, r)
			}
		}
		if len(list) == 0 {
			where := fmt.Sprintf("host %s not defined in", host)
			if findAll {
				where = "no host defined in"
			}
			switch {
			case c.explicit && findAll:
				c.warn("no host defined in class %s for any %s control file", c.class, c.kind.name)
			case c.explicit:
				c.warn("%s class %s for any %s control file", where, c.class, c.kind.name)
			case !primary:
				c.warn("%s any %s control file", where, c.kind.name)
			}
			continue
		}
		if err := c.twice(list); err != nil {
			return err
		}
		c.rows = append(c.rows, list...)
	}
	if c.verbose > 1 && len(c.rows) > 0 {
		c.printf("_get_matching_hosts results:\n# control class host dir\n")
		for _, r := range c.rows {
			c.printf("%s %s %s %s\n", r.file, r.class, r.host, r.dir)
		}
		c.printf("# end\n")
	}
	return nil
}

// isHost reports whether text is a host name rather than a pattern.
func isHost(text string) bool {
	return text != "" && text[0] != '.' && text[0] != '-' && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '.' && r != '-' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// twice returns an error if a host has several instances; only -a selects all of them.
func (c *controller) twice(list []row) error {
	if c.action == "status" || c.all {
		return nil
	}
	count := map[string]int{}
	for _, r := range list {
		count[r.host]++
	}
	var dups []string
	for host, n := range count {
		if n > 1 {
			dups = append(dups, host)
		}
	}
	if len(dups) == 0 {
		return nil
	}
	slices.Sort(dups)
	in := ""
	if c.explicit {
		in = "in class " + c.class + " "
	}
	return fmt.Errorf("host(s) (%s) defined %smultiple times, don't know which instance to %s", strings.Join(dups, " "), in, c.action)
}

// maps is the directory of the files of running instances.
func (c *controller) maps() string { return filepath.Join(c.cfg.Get("PCP_TMP_DIR"), c.kind.name) }

// running returns the instances that run.
func (c *controller) running() (list []instance) {
	finder := c.env.Finder(c.kind.name)
	for _, x := range c.kind.list(c.maps()) {
		if finder.Is(x.pid, c.kind.name) {
			list = append(list, x)
		}
	}
	return list
}

// real is the path of a directory or log with directory links resolved, as a running instance reports it.
func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// find returns the instance for the directory, or the log, of a line.
func (c *controller) find(dir string) (instance, bool) {
	for _, x := range c.running() {
		if x.where == dir || x.where == real(dir) {
			return x, true
		}
	}
	return instance{}, false
}

func number(pid int) string { return strconv.Itoa(pid) }
