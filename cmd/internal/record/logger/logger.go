// Package logger implements pmlogger, which records metrics of a host in an archive.
//
//	pmlogger -c config.default -t 10sec 20260101
package logger

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/sending"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/cpp"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/internal/processes"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// Command is pmlogger.
var Command = &cli.Command{
	Name:     "logger",
	Link:     "pmlogger",
	Group:    cli.Record,
	Summary:  "record metrics of a host",
	Synopsis: "[options] archive",
	Doc: `Fetches the metrics in a configuration, at its intervals, and writes them to an archive, until it is
interrupted or reaches the limit of -s or -T. The archive must not exist; a name with a % is
expanded with the date, as by strftime(3).

An archive http://HOST:PORT is pushed to the pmproxy there, which chooses its name. While the server
cannot be reached, up to 1 GB is buffered in the directory for temporary files.

If the connection to the collector is lost, pmlogger reconnects at each interval, and a mark in the
archive separates the values before and after.

pmlc(1) can change the recorded metrics while it runs. SIGHUP starts a new volume, SIGUSR1 flushes
unwritten data. SIGUSR2 ends the archive and continues in a new one if its name has a %; the process
stays the same. The same happens when a file of the archive reaches its limit, 2 GB in version 2.
SIGINT and SIGTERM end the recording.`,
	Examples: []cli.Example{
		{Line: `pcp logger -c config -T 10min morning`, Text: `record the metrics in the file config for ten minutes`},
		{Line: `pcp logger -C -c config`, Text: `only check a configuration`},
		{Line: `pcp logger -c config --token ~/.pcp/token https://collector`, Text: `push the recording to the pmproxy of another host`},
		{Line: `pcp logger -v 100mb -c config %Y%m%d`, Text: `limit volumes to 100 megabytes, and use the date as the name`},
	},
	SeeAlso: []string{"pmcd(1)", "pmcpp(1)", "pmdumplog(1)", "pmlogpush(1)", "pmproxy(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'c', Long: "config", Arg: "FILE", Help: "file to load configuration from"},
			{Short: 'C', Long: "check", Help: "parse configuration and exit"},
			cli.OptDebug,
			cli.OptHost,
			{Short: 'H', Long: "labelhost", Arg: "LABELHOST", Help: "override the hostname written into the label"},
			{Short: 'I', Long: "pmlc-ipc-version", Arg: "VERSION", Help: "highest version of the protocol of pmlc, 2 or 3"},
			{Short: 'l', Long: "log", Arg: "FILE", Help: "redirect diagnostics and trace output"},
			{Short: 'L', Long: "linger", Help: "run even if not primary logger instance and nothing to log"},
			{Short: 'm', Long: "note", Arg: "MSG", Help: "descriptive note to be added to the port map file"},
			cli.OptSpecLocal,
			{Short: 'o', Long: "local-PMDA", Help: "metrics sourced without connecting to pmcd"},
			cli.OptNameSpace,
			{Short: 'N', Long: "notify", Help: "notify service manager (if any) when started and ready"},
			{Short: 'p', Long: "PID", Arg: "PID", Help: "record for as long as this process lives"},
			{Short: 'P', Long: "primary", Help: "execute as primary logger instance"},
			{Short: 'r', Long: "report", Help: "report record sizes and archive growth rate"},
			{Short: 's', Long: "size", Arg: "SIZE", Help: "terminate after endsize has been accumulated"},
			{Short: 't', Long: "interval", Arg: "DELTA", Help: "default logging interval [default 60.0 seconds]"},
			cli.OptFinish,
			{Short: 'u', Help: "output is unbuffered [default now, so -u is a no-op]"},
			{Short: 'U', Long: "username", Arg: "USER", Help: "in daemon mode, run as named user [default pcp]"},
			{Short: 'v', Long: "volsize", Arg: "SIZE", Help: "switch log volumes after size has been accumulated"},
			{Short: 'V', Long: "version", Arg: "NUM", Help: "version for archive, 2 or 3"},
			{Short: 'x', Arg: "FD", Help: "control file descriptor for running from pmRecordControl(3)"},
			{Short: 'y', Help: "set timezone for times to local time rather than from PMCD host"},
			{Long: "token", Arg: "FILE", Extra: true, Help: "authenticate to pmproxy with the token at the end of the first line of FILE"},
			sending.Rows(true)[0],
			sending.Rows(true)[1],
			cli.OptHelp,
		}
	},
	DieOnSignal: true, // at first; later each signal has its own effect
	Run:         run,
}

// settings are the options of the command line.
type settings struct {
	cfg       pmlogger.Config
	config    string // file
	check     bool
	labelHost string
	log       string
	linger    bool
	local     bool
	pid       int
	localTime bool
	session   *session // of -x

	sessionNote string // the note that -x sets in the map file if -m is not given
	note        string
	notify      bool
	primary     bool
	user        string // of -U
	version     wire.LogVersion
	again       bool   // this process got SIGUSR2
	token       string // file
	out         sending.Options
	targets     []*send.Target // of it
	remote      *remote        // nil for an archive on this host
	trace       bool           // -D pmlc: print details of another primary logger
}

// own takes the options of this tool.
func (set *settings) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'c':
		set.config = arg
	case 'C':
		set.check = true
	case 'H':
		set.labelHost = arg
	case 'I':
		n, err := strconv.Atoi(arg)
		switch {
		case err != nil:
			o.Usagef("non-numeric pmlc IPC version (%s)", arg)
		case n < int(wire.LogVersion2) || n > int(wire.LogVersion3):
			o.Usagef("unsupported pmlc IPC version (%d)", n)
		}
		set.version = wire.LogVersion(n)
	case 'm':
		set.note = arg
	case 'N':
		set.notify = true
	case 'P':
		set.primary = true
	case 'U':
		set.user = arg
	case 'x':
		if !set.again { // the launcher's pipe was closed when the previous logger ended
			set.session = joinSession(o, arg)
		}
		set.sessionNote = "-x " + arg
	case 'l':
		set.log = arg
	case 'L':
		set.linger = true
	case 'o':
		set.local = true
		o.Local = true
	case 'p':
		set.target(o, arg)
	case 'r':
		set.cfg.Report = true
	case 's':
		set.cfg.Size = size(o, arg, "exit size")
	case 't':
		d, err := pcptime.ParseInterval(arg)
		if err != nil {
			o.Usagef("illegal -t argument\n%v", err)
			break
		}
		set.cfg.Interval = d
	case 'u': // output is never buffered
	case 'v':
		set.cfg.Volume = size(o, arg, "volume size")
	case 'V':
		n, err := strconv.Atoi(arg)
		if err != nil || n != archive.Version2 && n != archive.Version3 {
			o.Usagef("-V requires a version number of %d or %d", archive.Version2, archive.Version3)
		}
		set.cfg.Version = n
	case 'y':
		set.localTime = true
	default:
		if opt.Long != "token" {
			return set.out.Own(opt, arg)
		}
		set.token = arg
	}
	return true
}

func size(o *cli.Options, arg, what string) pmlogger.Size {
	s, err := pmlogger.ParseSize(arg)
	if err != nil {
		o.Usagef("illegal size argument '%s' for %s", arg, what)
	}
	return s
}

func (set *settings) target(o *cli.Options, arg string) {
	pid, err := strconv.Atoi(arg)
	switch {
	case err != nil:
		o.Usagef("invalid process identifier (%s)", arg)
	case !processes.Exists(pid):
		o.Usagef("PID error - no such process (%d)", pid)
	}
	set.pid = pid
}

func run(ctx context.Context, env *cli.Env) int { return new(settings).run(ctx, env) }

func (set *settings) run(ctx context.Context, env *cli.Env) int {
	set.log = "pmlogger.log"
	set.again = env.Getenv(again) != ""
	set.cfg.Version = archive.Version2
	if v := env.Config().Get("PCP_ARCHIVE_VERSION"); v == "3" {
		set.cfg.Version = archive.Version3
	}
	if n, ok := cli.Atoi(env.Getenv("PMLOGGER_INTERVAL")); ok {
		set.cfg.Interval = time.Duration(n) * time.Second
	}
	o := source.Parse(env, cli.ParseConfig{Own: set.own, Later: true})
	set.arguments(o)
	if status, exit := o.Done(); exit {
		return status
	}
	return set.record(ctx, env, o)
}

func (set *settings) arguments(o *source.Options) {
	if set.primary && len(o.Hosts) > 0 {
		o.Usagef("-P and -h are mutually exclusive; use -P only when running\n%s on the same (local) host as the PMCD to which it connects.", o.Program().Name)
	}
	if set.local && len(o.Hosts) > 0 {
		o.Usagef("-o and -h are mutually exclusive; use -o only when running\n%s on the same (local) host as the DSO PMDA(s) being used.", o.Program().Name)
	}
	want := 1
	if set.check {
		want = 0
	}
	switch n := len(o.Args); {
	case o.Errors():
	case n < want && !o.Classic():
		o.Usagef("the name of the archive to make is missing: \"pcp logger NAME\"; \"pcp record\" makes names and a configuration itself")
	case n < want:
		o.Usagef("insufficient arguments")
	case n > want:
		o.Usagef("too many arguments")
	case n == 1 && (strings.HasPrefix(o.Args[0], "http://") || strings.HasPrefix(o.Args[0], "https://")):
		if err := set.toURL(o.Args[0]); err != nil {
			o.Usagef("%v", err)
		}
	case n == 1:
		set.cfg.Archive = o.Args[0]
	}
	if set.remote != nil && set.out.Any() {
		o.Usagef("--remote-write needs an archive on this host, not a URL")
	}
	if !o.Errors() {
		var err error
		if set.targets, err = set.out.Targets(); err != nil {
			o.Usagef("%v", err)
		}
	}
}

// record records, after the command line has been read.
func (set *settings) record(ctx context.Context, env *cli.Env, o *source.Options) int {
	env.FlushOut()
	w := env.Stderr
	if set.daemon() && !set.check {
		if err := pmda.SetProcessIdentity(set.user, env.Getenv); err != nil {
			return env.Fatalf("%v", err)
		}
	}
	switch {
	case set.check:
	case set.again: // standard error is the log
		if f, ok := w.(*os.File); ok {
			defer daemonlog.Footer(f)
		}
	case set.log == "-":
		daemonlog.Header(w, "pmlogger")
		defer daemonlog.Footer(w)
	default:
		f, err := daemonlog.Open(set.log, "pmlogger")
		if err != nil {
			fmt.Fprintf(w, "%s: cannot open log \"%s\" for writing : %s\n", env.ProgName(), set.log, cli.ErrText(err))
			daemonlog.Header(w, "pmlogger")
			defer daemonlog.Footer(w)
			fmt.Fprintf(w, "%s: Warning: log file (%s) creation failed\n", env.ProgName(), set.log)
		} else {
			w = f
			if env.Classic() {
				settle(f)
			}
			defer func() {
				daemonlog.Footer(f)
				f.Close()
			}()
		}
	}
	set.cfg.Log = w
	say := func(text string) { fmt.Fprintln(w, daemonlog.Line("pmlogger", slog.LevelInfo, text)) }
	say("Start")
	if set.remote != nil && !set.check {
		if err := set.remote.open(ctx, env, set); err != nil {
			fmt.Fprintf(w, "%s: %v\n", env.ProgName(), err)
			return 1
		}
		defer set.remote.remove()
	}
	r, status := set.open(ctx, env, o)
	if r == nil {
		return status
	}
	defer r.close()
	if set.check {
		return 0
	}
	host := r.Host()
	as := ""
	if set.primary {
		as = "primary "
	}
	fmt.Fprintf(w, "Starting %slogger for host \"%s\" via \"%s\"\n", as, host, r.via)
	if r.Empty() && !set.linger && !set.primary {
		fmt.Fprintln(w, "Nothing to log, and not the primary logger instance ... good-bye")
		return 1
	}
	if o.Finish != nil {
		now := pcp.TimestampOf(time.Now().Truncate(time.Second))
		loc := env.Local()
		if zone, err := r.c.TimeZone(ctx); err == nil && !set.localTime {
			loc = pcptime.Zone(zone)
		}
		end, err := pcptime.ParseTime(*o.Finish, now, pcptime.Never, loc)
		if err != nil {
			fmt.Fprintf(w, "%s: illegal -T argument\n%v\n", env.ProgName(), err)
			return 1
		}
		r.End(time.Now().Add(end.Time().Sub(now.Time()))) // the length counts from the full second
	}
	set.trace = o.Debugging(debugname.PMLC)
	return set.publish(ctx, env, r, say)
}

// publish opens the ports, creates the archive, and records.
func (set *settings) publish(ctx context.Context, env *cli.Env, r *recording, say func(string)) int {
	fail := func(err error) int {
		fmt.Fprintf(r.w, "%s: %v\n", env.ProgName(), err)
		return 1
	}
	// Work is sequential. Idle threads that look for more would cost as much as a sample.
	runtime.GOMAXPROCS(1)
	ch := catch()
	defer signal.Stop(ch)
	ends, err := set.listen(env, r)
	if err != nil {
		return fail(err)
	}
	defer ends.Close()
	r.SetPort(ends.Port)
	if err := r.Create(ctx); err != nil {
		if errors.Is(err, fs.ErrExist) {
			fmt.Fprintf(r.w, "__pmLogCreate(%s, %s, ...): %s\n", r.Host(), r.Archive(), cli.ErrText(err))
			return 1
		}
		if file, ok := errors.AsType[*fs.PathError](err); ok {
			name := file.Path
			if !strings.HasPrefix(name, r.Archive()) { // its directory
				name = r.Archive() + ".index"
			}
			fmt.Fprintf(r.w, "__pmLogNewFile: failed to create \"%s\": %s\n", name, cli.ErrText(file.Err))
			fmt.Fprintf(r.w, "__pmLogCreate(%s, %s, ...): %s\n", r.Host(), r.Archive(), cli.ErrText(file.Err))
			return 1
		}
		return fail(err)
	}
	if set.remote == nil {
		fmt.Fprintf(r.w, "Archive basename: %s\n", r.Archive())
	} else {
		set.remote.start()
	}
	manager := set.manager(env)
	if err := errors.Join(set.show(env, r, ends), manager.Ready("recording "+r.Host())); err != nil {
		fmt.Fprintf(r.w, "%s: %v\n", env.ProgName(), err) // it records, though
	}
	finish := set.send(env, r)
	why := set.live(ctx, env, r, ends, ch)
	if set.renews(env, why) {
		why = &caught{why: why, status: 1, again: true}
	}
	status := r.ended(why, say)
	finish()
	if set.remote != nil && !set.remote.finish() {
		status = 1
	}
	if c, ok := errors.AsType[*caught](why); ok && c.again {
		ends.Close()
		err := beginAnew(env, r)
		fmt.Fprintf(r.w, "Error: execvp returned unexpectedly: %s\n", cli.ErrText(err))
		return 1
	}
	manager.Stopping()
	return status
}

// send has the archives of this host in the directory of the archive sent. The function that it returns ends that.
func (set *settings) send(env *cli.Env, r *recording) (finish func()) {
	if len(set.targets) == 0 {
		return func() {}
	}
	out := send.NewRecorder(send.Config{Targets: set.targets, Agent: "pmlogger/" + env.Version, Event: func(text string, err error) {
		if err != nil {
			text += ": " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Fprintf(r.w, "%s: %s\n", env.ProgName(), text)
	}})
	host := cmp.Or(set.labelHost, r.Host())
	dir := filepath.Dir(r.Archive())
	if path, err := filepath.Abs(dir); err == nil {
		dir = path
	}
	out.Set([]send.Dir{{Path: dir, Name: host, Host: host}})
	return func() {
		out.Drain(sending.Patience)
		sending.Report(r.w, out.Status())
	}
}

// A recording is a recorder and its context.
type recording struct {
	*pmlogger.Recorder
	c   *pmapi.Context
	via string
	w   io.Writer
	pid int

	session *session
	rules   []conf.Access
}

func (r *recording) close() { r.c.Close() }

// open connects and reads the configuration. If it returns no recorder, status is the
// program's exit status, and the error has been reported.
func (set *settings) open(ctx context.Context, env *cli.Env, o *source.Options) (*recording, int) {
	w := set.cfg.Log
	fail := func(format string, args ...any) (*recording, int) {
		fmt.Fprintf(w, format+"\n", args...)
		return nil, 1
	}
	r := &recording{via: o.Host(), w: w, pid: set.pid, session: set.session}
	if r.session != nil {
		r.session.trace = o.Debugging(debugname.Appl2)
	}
	var err error
	if set.local {
		r.via = "local context"
		r.c, err = o.OpenLocal(ctx)
	} else {
		if r.via == "" {
			r.via = "local:"
		}
		r.c, err = o.Dial(ctx, r.via)
	}
	if err != nil {
		return fail("%s: Cannot connect to PMCD on host \"%s\": %s", env.ProgName(), r.via, cli.ErrText(err))
	}
	if set.cfg.Archive != "" {
		if set.cfg.Archive, err = baseName(set.cfg.Archive, time.Now()); err != nil {
			return fail("Error: %v", err)
		}
	}
	set.cfg.Host = set.labelHost
	set.cfg.Meant = func(ctx context.Context, c *pmapi.Context, name string) string {
		return source.DidYouMean(ctx, env, c, name)
	}
	if !set.check {
		set.cfg.LoggerHost = fullName(ctx)
	}
	if r.Recorder, err = pmlogger.New(ctx, r.c, set.cfg); err != nil {
		r.c.Close()
		return fail("%s: %s", env.ProgName(), cli.ErrText(err))
	}
	text, name, err := set.preprocess(env)
	if err == nil {
		r.rules, err = r.Configure(ctx, bytes.NewReader(text), name)
		if e := checkAccess(w, r.rules); e != nil {
			err = e // which takes precedence over the syntax error
		}
	}
	if err != nil {
		r.c.Close()
		return fail("%v", err)
	}
	fmt.Fprintln(w, "Config parsed")
	if o.Debugging(debugname.OptFetch) {
		showFetches(w, r.Fetches())
	}
	return r, 0
}

// showFetches prints which metrics are fetched together (-D optfetch).
func showFetches(w io.Writer, list []pmlogger.Fetch) {
	for i, f := range list {
		metrics := 0
		for _, n := range f.Groups {
			metrics += n
		}
		fmt.Fprintf(w, "Fetch task[%d] delta: %d usec numpmid: %d\n", i, f.Interval.Microseconds(), metrics)
		for k, n := range f.Groups {
			fmt.Fprintf(w, "  Fetch group[%d][%d] %d metrics\n", i, k, n)
		}
	}
}

// checkAccess reports mistakes in the rules of the access section, and returns an error for the first rule without any
// effect.
func checkAccess(w io.Writer, list []conf.Access) error {
	rules := &access.Rules{}
	for _, a := range list {
		notes, err := rules.AddHost(a.Host, a.Rule)
		if err != nil && len(notes) == 0 {
			notes = append(notes, access.Note{Level: slog.LevelError, Text: err.Error()})
		}
		for _, n := range notes {
			fmt.Fprintln(w, daemonlog.Line("pmlogger", n.Level, n.Text))
		}
		if err != nil {
			return fmt.Errorf("error was on line %d", a.Place.Line)
		}
	}
	return nil
}

// preprocess returns the preprocessed configuration and its name.
func (set *settings) preprocess(env *cli.Env) ([]byte, string, error) {
	dir := filepath.Join(env.Config().Get("PCP_VAR_DIR"), "config", "pmlogger")
	path := set.config
	if path != "" {
		if _, err := os.Stat(path); err != nil {
			if _, err := os.Stat(filepath.Join(dir, path)); err == nil {
				path = filepath.Join(dir, path)
			}
		}
	}
	cfg := cpp.Config{
		Restrict: true, Percent: true, IncludeDirs: []string{dir},
		Shell: cpp.Shell(env.Stderr),
		Warn:  func(message string) { fmt.Fprintln(set.cfg.Log, message) },
	}
	var r *cpp.Reader
	name := "<stdin>"
	if path == "" {
		r = cpp.NewReader(env.Stdin, name, cfg)
	} else {
		f, err := cpp.Open(path, cfg)
		if err != nil {
			return nil, "", fmt.Errorf("%s: Cannot open config file \"%s\": %s", env.ProgName(), path, cli.ErrText(err))
		}
		r, name = f, path
	}
	defer r.Close()
	fmt.Fprintf(set.cfg.Log, "preprocessor cmd: %s -rs -I %s %s\n", filepath.Join(env.Config().Get("PCP_BINADM_DIR"), "pmcpp"), dir, path)
	var b bytes.Buffer
	if err := r.Copy(&b, true); err != nil {
		if e, ok := errors.AsType[*cpp.Error](err); ok {
			return nil, "", errors.New(strings.TrimSuffix(e.Diagnostic(), "\n"))
		}
		return nil, "", err
	}
	return b.Bytes(), name, nil
}

// baseName makes the name of the archive: % sequences are replaced by parts of the
// date. Such a name gets a number appended if there is an archive of that name.
func baseName(template string, now time.Time) (string, error) {
	if !strings.Contains(template, "%") {
		return template, nil
	}
	base := pcptime.Strftime(template, now)
	if base == "" {
		return "", fmt.Errorf("strftime failed on \"%s\"", template)
	}
	name := base
	for n := 0; n <= 99; n++ {
		if archive.CheckFree(name) == nil {
			break
		}
		name = fmt.Sprintf("%s-%02d", base, n)
	}
	return name, nil
}

// ended reports why a recording has ended, and returns the status of the program.
func (r *recording) ended(err error, say func(string)) int {
	if c, ok := errors.AsType[*caught](err); ok {
		what := "exiting"
		if c.again {
			what = "reexec"
		}
		say(fmt.Sprintf("pmlogger: %v, %s", c, what))
		return c.status
	}
	for _, why := range []struct {
		err  error
		text string
	}{
		{pmlogger.ErrSampleLimit, "Sample limit reached"},
		{pmlogger.ErrByteLimit, "Byte limit reached"},
		{pmlogger.ErrRunTime, "End of run time"},
		{errVanished, "process from -p has vanished"},
		{errSession, "Recording session terminated"},
	} {
		if errors.Is(err, why.err) {
			say("pmlogger: " + why.text + ", exiting")
			return 0
		}
	}
	fmt.Fprintf(r.w, "pmlogger: %v\n", err)
	return 1
}

// errVanished ends the recording when the process of -p is gone.
var errVanished = errors.New("process from -p has vanished")

// watch ends ctx when a process does.
func watch(ctx context.Context, pid int, end context.CancelCauseFunc) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if !processes.Exists(pid) {
				end(errVanished)
				return
			}
		}
	}
}
