package source

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/options"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmns"
)

// Options are the options of a tool that opens contexts, and the sources that they name.
// The methods are those of [options.Sources], except that they print errors.
type Options struct {
	*cli.Options
	env      *cli.Env
	sources  *options.Sources
	attempts attempts
	noted    atomic.Bool // that another collector answers than the user may expect
	reached  reached
}

// Parse reads the environment and the arguments of a command as
// [cli.ParseOptions] does.
func Parse(env *cli.Env, cfg cli.ParseConfig) *Options {
	o := &Options{env: env}
	cfg.SpecLocal = func(g *getopt.Options, spec string) error { return o.of(g).SpecLocal(spec) }
	cfg.Derived = func(g *getopt.Options, path string) error {
		if err := o.of(g).LoadDerived(path); err != nil {
			return errors.New(o.whyNot(err))
		}
		return nil
	}
	o.Options = cli.ParseOptions(env, cfg)
	o.of(o.Options.Options)
	return o
}

// New makes Options of those that [cli.ParseArgs] returned.
func New(env *cli.Env, opts *cli.Options) *Options {
	o := &Options{Options: opts, env: env}
	o.of(opts.Options)
	return o
}

// of returns the sources of the options, which may be on the way to be read.
// Classic is [cli.Env.Classic] of the command whose options these are.
func (o *Options) Classic() bool { return o.env.Classic() }

func (o *Options) of(g *getopt.Options) *options.Sources {
	if o.sources == nil {
		o.sources = options.NewSources(g)
		o.sources.DialContext = o.attempts.dial
		o.sources.Denied = o.denied
		o.sources.Quiet = !o.env.Classic()
	}
	return o.sources
}

// whyNot returns why a file cannot be read. The C tools do not print the
// reason.
func (o *Options) whyNot(err error) string {
	if o.env.Classic() {
		return cli.ErrText(pcp.Code(err))
	}
	return err.Error()
}

// Dial opens a context on a host, as [options.Sources.Dial] does. It does not print its error. Several
// goroutines may call it.
func (o *Options) Dial(ctx context.Context, host string) (*pmapi.Context, error) {
	own := new(attempts)
	watched, stop := context.WithValue(ctx, attemptsOf{}, own), func() {}
	if !o.proxied(host) {
		watched, stop = watchSilence(watched, own)
	}
	c, err := o.sources.Dial(watched, host)
	stop()
	if errors.Is(err, errWebServer) { // earlier, but as the C library has it
		err = &pmapi.DialError{Spec: host, Code: pcp.ErrTimeout, Err: errWebServer}
	}
	tried := own.take()
	o.attempts.set(tried)
	switch {
	case err == nil:
		o.env.Advise(nil)
		o.arrived(host, tried)
		o.noteOther(host, tried)
	case ctx.Err() == nil:
		o.env.AdviseFailed(func() string { return o.whyNoCollector(host, tried, err) })
	}
	return c, err
}

// DialOrLocal is Dial, and if there is no collector on this machine and none was named, OpenLocal,
// as pmstat and dstat do in C too. Under "pcp" it prints a note about that.
func (o *Options) DialOrLocal(ctx context.Context, host string) (*pmapi.Context, error) {
	c, err := o.Dial(ctx, host)
	if err == nil || ctx.Err() != nil || host != localHost {
		return c, err
	}
	c, localErr := o.OpenLocal(ctx)
	if localErr != nil {
		return nil, err
	}
	o.env.Advise(nil)
	if o.env.Explains() {
		o.env.FlushOut()
		fmt.Fprintf(o.env.Stderr, "%s: note: no collector answers on this machine; this command reads the values itself (%s up starts a collector)\n", o.env.CalledAs(), o.env.Pcp())
	}
	return c, nil
}

// localHost is the result of Host if no host is named.
const localHost = "local:"

// DialContext is that of net.Dialer, for a command that connects without Dial. WhyNoCollector then
// knows the addresses that were tried, if there is one connection at a time.
func (o *Options) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return o.attempts.dial(ctx, network, address)
}

// OpenArchive opens a context on archives, as [options.Sources.OpenArchive] does. Of a directory in a store it opens the
// archives of the times that the options ask for, if these are dates, and roll-ups for times whose recorded archives have expired. It does not
// print its error.
func (o *Options) OpenArchive(spec string) (*pmapi.ArchiveContext, error) {
	named := o.narrow(spec, true)
	c, err := o.sources.OpenArchive(named)
	if err != nil && named != spec {
		// Roll-ups have wider types of some counters, with which the recorded ones cannot be joined.
		if again := o.narrow(spec, false); again != named {
			c, err = o.sources.OpenArchive(again)
		}
	}
	if err == nil {
		o.env.Advise(nil)
	} else if text := o.nothingRecorded(spec, err); text != "" {
		o.env.AdviseFailed(func() string { return text })
	}
	return c, err
}

// OpenLocal opens a context on agents in this process, as [options.Sources.OpenLocal] does. It does
// not print its error.
func (o *Options) OpenLocal(ctx context.Context) (*pmapi.Context, error) {
	return o.sources.OpenLocal(ctx)
}

// UseDerived gives a context the derived metrics, as [options.Sources.UseDerived] does.
func (o *Options) UseDerived(c *pmapi.Context) { o.sources.UseDerived(c) }

// DefineDerived defines a derived metric, as [options.Sources.DefineDerived] does.
func (o *Options) DefineDerived(name, expr string) error { return o.sources.DefineDerived(name, expr) }

// LoadDerivedFile loads definitions of derived metrics, as [options.Sources.LoadDerived] does.
func (o *Options) LoadDerivedFile(path string) error { return o.sources.LoadDerived(path) }

// SpecLocal changes the agents of local contexts, as -K does.
func (o *Options) SpecLocal(spec string) error { return o.sources.SpecLocal(spec) }

// AddDerived adds the names of the derived metrics to a name space.
func (o *Options) AddDerived(t *pmns.Tree) { o.sources.AddDerived(t) }

// Connect opens a context on the source that the options name, with the message
// that most tools print if it fails.
func (o *Options) Connect(ctx context.Context) (*pmapi.Context, error) {
	return o.ConnectTo(ctx, o.Source(), "make standalone connection on localhost")
}

// Source returns the name of the source that the options name: that of an archive or of a host.
func (o *Options) Source() string {
	if o.FromArchive() {
		return o.Archives[0]
	}
	return o.Host()
}

// Open opens a context on a source of the kind that the options name. It does not print its error.
func (o *Options) Open(ctx context.Context, name string) (*pmapi.Context, error) {
	switch {
	case o.FromArchive():
		a, err := o.OpenArchive(name)
		if err != nil {
			return nil, err
		}
		return a.Context, nil
	case o.Local:
		return o.OpenLocal(ctx)
	}
	return o.Dial(ctx, name)
}

// ConnectTo is Connect, for a source of the kind that the options name and with that
// name, which an argument may have given. The message about a local context names the
// action that is not possible in the words of local.
func (o *Options) ConnectTo(ctx context.Context, name, local string) (*pmapi.Context, error) {
	c, err := o.Open(ctx, name)
	switch {
	case err == nil:
	case o.FromArchive():
		o.CannotOpen(name, err)
	case o.Local:
		o.env.Fatalf("Cannot %s: %s", local, cli.ErrText(err))
	default:
		o.CannotConnect(name, err)
	}
	return c, err
}

// SetZone returns the time zone in which to report times of c, as [options.Sources.SetZone] does.
func (o *Options) SetZone(ctx context.Context, c *pmapi.Context, note bool) (*time.Location, error) {
	loc, err := o.sources.SetZone(ctx, c, note)
	return loc, o.said(err)
}

// Window returns the time window that the options leave of a source, as [options.Sources.Window]
// does.
func (o *Options) Window(ctx context.Context, c *pmapi.Context, loc *time.Location) (pcptime.Window, error) {
	w, err := o.sources.Window(ctx, c, loc)
	return w, o.said(err)
}

// ArchiveZone returns the time zone of a report on an archive, and prints it to
// standard output if one was asked for, as most tools do.
func (o *Options) ArchiveZone(a options.Archived) *time.Location {
	return o.sources.ArchiveZone(a, true)
}

// ArchiveWindow returns the time window that the options leave of an archive, as
// [options.Sources.ArchiveWindow] does.
func (o *Options) ArchiveWindow(a options.Archived, loc *time.Location) (pcptime.Window, error) {
	w, err := o.sources.ArchiveWindow(a, loc)
	return w, o.said(err)
}

// said prints an error that ends the tool.
func (o *Options) said(err error) error {
	if err != nil {
		o.env.Errorf("%v", err)
		o.env.Flush()
	}
	return err
}

// Replay is [options.Replay]. PCP 7 keeps all digits of the start and the step.
func Replay(env *cli.Env, origin pcp.Timestamp, interval time.Duration) (pmapi.Mode, pcp.Timestamp, time.Duration) {
	if env.Seven() {
		return pmapi.ModeInterp, origin, interval
	}
	return options.Replay(origin, interval)
}

// AnyFound reports whether pmLookupName(3) would be content with an answer: it
// is if it found one name at least.
func AnyFound(ids []pcp.PMID) bool {
	for _, id := range ids {
		if id != pcp.PMIDNull {
			return true
		}
	}
	return false
}
