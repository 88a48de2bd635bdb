// Package record implements pcp record, which records any number of hosts in one process.
//
//	pcp record alpha beta --keep-days 14
package record

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/ship"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
	"github.com/go-pcp/pcp/cmd/internal/tool/sending"
	"github.com/go-pcp/pcp/cmd/internal/tool/shipping"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/cpp"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pcp record.
var Command = &cli.Command{
	Name:     "record",
	Group:    cli.Record,
	Summary:  "record one or many hosts in one process",
	Synopsis: "[options] [host ...]",
	Doc: `
Records each host in archives in a directory of its own, DIR/HOST/YYYYMMDD.HH.MM, until ctrl-C or
SIGTERM; without a host, the collector of this machine. All hosts are recorded in this process. A
host that hangs or is down does not delay others; it is retried, at growing intervals up to a
minute.

Without -c a configuration is generated for each host from its metrics. A line is printed for each
event; metrics that a host lacks are listed in DIR/HOST/pmlogger.log.

A new archive begins at midnight, and finished archives are compressed. Archives are removed only
with --keep-days or --max-size.

A list of hosts (-f) has a host in each line, which may be followed by name=NAME, dir=DIR,
config=FILE and interval=TIME. SIGHUP rereads the list or the control file: new hosts are recorded,
and recording of removed hosts ends. If the file has a mistake, nothing changes.

With --fleet several recorders, on several machines, share the hosts: each records a part, and takes over those of a recorder that
dies. --fleet names a directory that all of them can write, in object storage or on a file system. All are given the same
hosts: by name, in a list, from the name service (--hosts-dns), or registered by the hosts (pcp up --register).

With --remote-write the archives are sent while they grow. A position in them is kept for each server, so that
nothing is lost or sent twice when the server or this program is down for a while.

With --ship finished archives are stored in object storage or a shared directory, compressed and verified by their checksums. Local
files stay as long as the other options have it. If one must be removed before it was stored, that is reported.

In control files the arguments -c, -H, -r, -t and -v are supported. Others are reported and ignored.`,
	Examples: []cli.Example{
		{Line: "pcp record", Text: "record the collector of this machine"},
		{Line: "pcp record -t 10sec -d /data/archives alpha beta", Text: "record two hosts, every ten seconds"},
		{Line: "pcp record -f hosts --keep-days 14 --max-size 2gb", Text: "record the hosts of a list, and remove old archives"},
		{Line: "pcp record --remote-write http://localhost:8428", Text: "also send to VictoriaMetrics"},
		{Line: "pcp record --fleet s3://archives/site --hosts-dns _pmcd._tcp.example.com", Text: "share the hosts of a service with other recorders"},
		{Line: "pcp record -f hosts --ship s3://archives/site --keep-local 1day", Text: "keep archives in object storage, and a day of them here"},
		{Line: "pcp record --status", Text: "show the state of each recording"},
	},
	SeeAlso: []string{"pcp help replay", "pcp help logger"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("What to record"),
			{Short: 'c', Long: "config", Arg: "FILE", Help: "configuration, in the language of pmlogger"},
			{Short: 'f', Long: "hosts", Arg: "FILE", Help: "list of hosts, one a line"},
			{Long: "control", Arg: "FILE", Help: "control file of pmlogger_check(1), and those in FILE.d"},
			{Long: "processes", Help: "also record each process once a minute, for hosts without a configuration"},
			{Short: 't', Long: "interval", Arg: "DELTA", Help: "default interval between samples [default 1 minute]"},
			{Long: "hosts-dns", Arg: "NAME", Help: "hosts from the name service: _SERVICE._tcp.DOMAIN, or NAME[:PORT] with an address for each host; several with commas"},
			cli.Heading("Recorders that share hosts"),
			{Long: "fleet", Arg: "DIR", Help: "share the hosts with other recorders, by this directory: s3://BUCKET/PREFIX, or a path"},
			{Long: "fleet-id", Arg: "ID", Help: "unique name of this recorder in the fleet [default the host name]"},
			cli.Heading("Where to, and for how long"),
			{Short: 'd', Long: "dir", Arg: "DIR", Help: "parent of the directories of hosts [default pmlogger in the state directory]"},
			{Long: "keep-days", Arg: "N", Help: "remove archives not written to for N days"},
			{Long: "max-size", Arg: "SIZE", Help: "remove the oldest archives of a host beyond this total size, for example 500mb"},
			sending.Rows(false)[0],
			sending.Rows(false)[1],
			shipping.Rows()[0],
			shipping.Rows()[1],
			shipping.Rows()[2],
			cli.Heading("Options"),
			{Long: "status", Help: "show the state of the recordings in DIR, or of all recorders of --fleet, and exit; with status 1 if the recorder of DIR has ended or hangs"},
			{Long: "json", Help: "with --status, print JSON"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Run: run,
}

// settings are the options of the command line.
type settings struct {
	config, hosts, control string
	dir                    string
	interval               time.Duration
	keep                   janitor.Policy
	status, processes      bool
	remote                 sending.Options
	ship                   shipping.Options
	source                 *source.Options
	fleet, fleetID         string
	pace                   pace
	dns                    []share.Name
	json                   bool

	args []string // hosts
}

func (set *settings) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Long {
	case "config":
		set.config = arg
	case "hosts":
		set.hosts = arg
	case "control":
		set.control = arg
	case "interval":
		d, err := pcptime.ParseInterval(arg)
		if err != nil || d < time.Millisecond || d > conf.MaxInterval {
			o.Usagef("-t needs an interval such as 10sec, of %v at least and %v at most, not %q", time.Millisecond, conf.MaxInterval, arg)
		}
		set.interval = d
	case "dir":
		set.dir = arg
	case "processes":
		set.processes = true
	case "status":
		set.status = true
	case "json":
		set.json = true
	case "fleet":
		set.fleet = arg
	case "fleet-id":
		if err := share.CheckID(arg); err != nil {
			o.Usagef("--fleet-id: %v", err)
		}
		set.fleetID = arg
	case "hosts-dns":
		for text := range strings.SplitSeq(arg, ",") {
			name, err := share.ParseName(text)
			if err != nil {
				o.Usagef("--hosts-dns: %v", err)
			}
			set.dns = append(set.dns, name)
		}
	default:
		return set.remote.Own(opt, arg) || set.ship.Own(o, opt, arg) || housekeeping.Keep(o, opt, arg, &set.keep)
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	set := settings{pace: usualPace}
	return set.run(ctx, env)
}

func (set *settings) run(ctx context.Context, env *cli.Env) int {
	o := cli.ParseArgs(env, cli.ParseConfig{Own: set.own, NonEmpty: true, Once: []string{
		"config", "hosts", "control", "dir", "fleet", "fleet-id", "ship", "keep-local", "lifecycle", "remote-write-config",
	}})
	set.args, set.source = o.Args, source.New(env, o)
	switch {
	case set.control != "" && (set.hosts != "" || len(set.args) > 0):
		o.Usagef("the control file lists the hosts; --control cannot be combined with -f or hosts")
	case set.hosts != "" && len(set.args) > 0:
		o.Usagef("the list of -f has the hosts; add others to it")
	case set.status && (set.remote.Any() || set.ship.Any()):
		o.Usagef("--status needs no --remote-write and no --ship")
	case set.status && (len(set.args) > 0 || set.hosts != "" || set.control != "" || len(set.dns) > 0):
		o.Usagef("--status shows all hosts that are recorded to DIR (-d)")
	case set.status && set.fleet != "" && set.dir != "":
		o.Usagef("--status shows either the recordings in DIR (-d) or all of a fleet (--fleet)")
	case set.json && !set.status:
		o.Usagef("--json is for --status")
	case set.fleetID != "" && (set.fleet == "" || set.status):
		o.Usagef("--fleet-id is for a recorder with --fleet")
	}
	set.ship.Check(o)
	if status, exit := o.Done(); exit {
		return status
	}
	if set.status && set.fleet != "" {
		return set.showFleet(ctx, env)
	}
	if set.dir == "" {
		dir, err := env.StateDir()
		if err != nil {
			return env.Fatalf("%v", strings.Replace(err.Error(), "a state directory with --dir", "a directory with -d", 1))
		}
		set.dir = filepath.Join(dir, "pmlogger")
	}
	if set.status {
		return set.showStatus(env)
	}
	if err := set.record(ctx, env); err != nil {
		return env.Fatalf("%v", err)
	}
	return 0
}

// holdBytes is the maximum data of a host held in memory while the file system is full. There may be a thousand
// hosts.
const holdBytes = 256 << 10

// record records until ctx is done.
func (set *settings) record(ctx context.Context, env *cli.Env) error {
	dir, err := filepath.Abs(set.dir)
	if err != nil {
		return err
	}
	set.dir = dir
	if set.config != "" { // report a mistake now rather than once per host
		text, err := preprocess(env, set.config)
		if err != nil {
			return err
		}
		if _, err := conf.Read(bytes.NewReader(text), set.config, max(set.interval, time.Second)); err != nil {
			return err
		}
	}
	targets, err := set.remote.Targets()
	if err != nil {
		return err
	}
	list, err := set.listSoon(ctx, env)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	store, err := set.openFleet(ctx, env)
	if err != nil {
		return err
	}
	if err := set.ship.Try(ctx, env); err != nil {
		return err
	}
	if err := safefile.MkdirAll(dir, 0o755, nil); err != nil {
		return fmt.Errorf("%s: %s; choose another directory with -d", dir, cli.ErrText(err))
	}
	lock, err := lockDir(dir, lockWait)
	if err != nil {
		return err
	}
	defer lock.Close()
	debug.SetGCPercent(50) // most of the memory is long-lived metadata
	var explained atomic.Bool
	var f *fleet.Fleet
	shipper, err := set.ship.Open(env, &set.keep, func(host, text string, err error) {
		f.Say(fleet.Event{Time: time.Now(), Host: host, Text: text, Err: err})
	})
	if err != nil {
		return err
	}
	var suffix string
	var spread time.Duration
	if store != nil {
		suffix = share.Suffix(set.fleetID)
		spread = min(cmp.Or(set.interval, time.Minute), maxSpread)
	}
	f, err = fleet.New(fleet.Config{
		Dir:       dir,
		Suffix:    suffix,
		Spread:    spread,
		Configure: set.configure(env),
		Interval:  set.interval,
		Dialer:    pmapi.Dialer{Config: env.Config(), OwnSocket: env.Config().OwnSocket(), DialContext: set.source.DialContext},
		Location:  env.Local(),
		Recorder:  pmlogger.Config{Hold: holdBytes},
		Janitor:   &janitor.Config{Daily: true, Policy: set.keep},
		Event: func(e fleet.Event) {
			if len(list) == 1 && store == nil && !explained.Load() && set.explain(env, list[0].Spec, &e) {
				explained.Store(true)
				return
			}
			say(env, &e)
		},
	})
	if err != nil {
		return err
	}
	var out *send.Recorder
	if len(targets) > 0 {
		out = send.NewRecorder(send.Config{
			Targets: targets, Agent: "pcp-record/" + env.Version, Unsettled: set.pace.unsettled,
			Event: func(text string, err error) {
				f.Say(fleet.Event{Time: time.Now(), Host: "-", Text: text, Err: err})
			},
		})
	}
	hosts := newHosts(set, f, store)
	hosts.followBy(out, shipper, suffix)
	if err := hosts.setNamed(list); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	endHosts := hosts.start(ctx, cancel, env.Version)
	defer endHosts()
	stop := set.onHangUp(ctx, env, f, hosts.setNamed)
	defer stop()
	endFollow := set.follow(hosts, out, shipper)
	end := set.keepStatus(hosts, out, shipper)
	defer end()
	err = f.Run(ctx)
	endFollow()
	if cause := context.Cause(ctx); errors.Is(cause, errFleet) {
		return cause
	}
	return err
}

// shipFor is the time limit for storing the archives that end with the recording.
const shipFor = 10 * time.Second

// follow has the archives of all hosts sent and stored, until end is called, which does so as far as there is time for those that end with the
// recording.
func (set *settings) follow(h *hosts, out *send.Recorder, s *ship.Shipper) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	if h.follower != nil {
		wg.Go(func() { h.follower.run(ctx) })
	}
	if s != nil {
		wg.Go(func() { s.Run(ctx) })
	}
	return func() {
		cancel()
		wg.Wait()
		if out != nil {
			out.Drain(sending.Patience)
		}
		if s != nil {
			ctx, cancel := context.WithTimeout(context.Background(), shipFor)
			defer cancel()
			s.Finish(ctx)
		}
	}
}

// explain prints why the only host cannot be recorded yet, and what to do next. It returns whether it printed an
// explanation.
func (set *settings) explain(env *cli.Env, spec string, e *fleet.Event) bool {
	de, ok := errors.AsType[*pmapi.DialError](e.Err)
	if ok {
		short := *e
		short.Err = nil
		say(env, &short)
		fmt.Fprintf(env.Stderr, "%s: %s\n", env.ProgName(), set.source.WhyNoCollector(cmp.Or(spec, de.Spec), de))
	}
	return ok
}

// say prints an event in one line.
func say(env *cli.Env, e *fleet.Event) {
	text := e.Text
	if e.Err != nil {
		text += ": " + strings.ReplaceAll(e.Err.Error(), "\n", " ")
	}
	fmt.Fprintf(env.Stdout, "%s %s: %s\n", e.Time.In(env.Local()).Format("2006-01-02 15:04:05"), e.Host, text)
	env.FlushOut()
}

// onHangUp lists the hosts again on SIGHUP and calls use, until stop is called.
func (set *settings) onHangUp(ctx context.Context, env *cli.Env, f *fleet.Fleet, use func([]fleet.Host) error) (stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range hup {
			list, err := set.listSoon(ctx, env)
			if ctx.Err() != nil {
				continue
			}
			if err == nil {
				err = use(list)
			}
			e := fleet.Event{Time: time.Now(), Host: "SIGHUP", Text: fmt.Sprintf("%d hosts", len(list))}
			if err != nil {
				e.Text, e.Err = "the hosts stay as they are", err
			}
			f.Say(e)
		}
	}()
	return func() {
		signal.Stop(hup)
		close(hup)
		<-done
	}
}

// listSoon is list, but does not wait when ctx is done: the list may be a pipe without a writer.
func (set *settings) listSoon(ctx context.Context, env *cli.Env) ([]fleet.Host, error) {
	type result struct {
		list []fleet.Host
		err  error
	}
	done := make(chan result, 1)
	go func() {
		list, err := set.list(env)
		done <- result{list, err}
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case r := <-done:
		return r.list, r.err
	}
}

// list returns the hosts to record.
func (set *settings) list(env *cli.Env) ([]fleet.Host, error) {
	switch {
	case set.control != "":
		return set.fromControl(env)
	case set.hosts != "":
		file, err := os.Open(set.hosts)
		if err != nil {
			return nil, fmt.Errorf("%s: %s", set.hosts, cli.ErrText(err))
		}
		defer file.Close()
		if st, err := file.Stat(); err == nil && st.IsDir() {
			return nil, fmt.Errorf("%s: it is a directory, and not a list of hosts", set.hosts)
		}
		list, err := fleet.ReadHosts(file, set.hosts)
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("%s: there is no host in it", set.hosts)
		}
		return list, err
	case len(set.args) == 0 && (set.fleet != "" || len(set.dns) > 0):
		return nil, nil
	case len(set.args) == 0:
		name, err := os.Hostname()
		if err != nil {
			name = ""
		}
		return []fleet.Host{{Spec: "local:", Name: name}}, nil
	}
	var list []fleet.Host
	for _, spec := range set.args {
		list = append(list, fleet.Host{Spec: spec})
	}
	return list, nil
}

// configure returns the configuration of a host: from its file, from -c, or generated for its metrics.
func (set *settings) configure(env *cli.Env) fleet.Configure {
	return func(ctx context.Context, c *pmapi.Context, h fleet.Host) ([]byte, string, error) {
		file := h.Config
		if file == "" {
			file = set.config
		}
		if file == "" {
			if set.processes {
				return fleet.GeneratedProcesses(ctx, c, h)
			}
			return fleet.Generated(ctx, c, h)
		}
		text, err := preprocess(env, file)
		return text, file, err
	}
}

// preprocess reads a configuration. If the file does not exist, it looks in the directory of pmlogger's
// configurations.
func preprocess(env *cli.Env, path string) ([]byte, error) {
	dir := filepath.Join(env.Config().Get("PCP_VAR_DIR"), "config", "pmlogger")
	st, err := os.Stat(path)
	if err != nil && !filepath.IsAbs(path) {
		if st, err = os.Stat(filepath.Join(dir, path)); err == nil {
			path = filepath.Join(dir, path)
		}
	}
	switch {
	case err == nil && st.IsDir():
		return nil, fmt.Errorf("%s: it is a directory, and not a configuration", path)
	case err == nil && !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s: it is not a regular file; a configuration is read for each host, and again when it comes back", path)
	}
	r, err := cpp.Open(path, cpp.Config{
		Restrict: true, Percent: true, IncludeDirs: []string{dir}, Shell: cpp.Shell(env.Stderr),
		Warn: func(message string) { fmt.Fprintln(env.Stderr, message) },
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, cli.ErrText(err))
	}
	defer r.Close()
	var b bytes.Buffer
	if err := r.Copy(&b, true); err != nil {
		if e, ok := errors.AsType[*cpp.Error](err); ok {
			return nil, errors.New(strings.TrimSuffix(e.Diagnostic(), "\n"))
		}
		return nil, err
	}
	return b.Bytes(), nil
}
