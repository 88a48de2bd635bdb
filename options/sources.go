package options

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/internal/console"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Sources opens contexts on the sources that options name. It remembers the
// agents of local contexts and the derived metrics, which all its contexts have.
type Sources struct {
	// DialContext makes the connections to collectors; nil means that of net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// Denied is called each time a collector refuses a request, or the values of a metric, since this client lacks
	// the permission; nil means that only the errors show it. Calls may be concurrent, if there are several
	// contexts.
	Denied func(host string)
	// Quiet leaves out what the C library prints itself before it returns an error.
	Quiet bool

	opts    *getopt.Options
	local   localTable
	derived *derive.Set // nil until they are needed
	mu      sync.Mutex  // of Dial, except while waiting for a host
}

// NewSources returns the Sources that options name. The options may be read later:
// their Program's SpecLocal and Derived are usually those of the Sources.
func NewSources(o *getopt.Options) *Sources { return &Sources{opts: o} }

func (o *Sources) program() *getopt.Program { return o.opts.Program() }
func (o *Sources) config() *config.Config   { return o.program().Config }
func (o *Sources) msg() *getopt.Messages    { return o.program().Messages }

// flush writes the buffered bytes of standard output.
func (o *Sources) flush() error {
	if f, ok := o.program().Stdout.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}

// An Error describes a failure in the words of C programs, which give causes only by
// the text of their status. The whole cause is Err.
type Error struct {
	Text string
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return e.Text + ": " + getopt.ErrText(e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// localHost is the result of getopt.Options.Host if no host is named.
const localHost = "local:"

// Dial opens a context on a host, with the container, the name space and the derived
// metrics that the options ask for. What the C library would print before it returns
// the error is printed here. If no host is named, the collector of "pcp up" is found if none
// serves the system's socket (see [config.Config.OwnSocket]). Dial may be called by several goroutines.
func (o *Sources) Dial(ctx context.Context, host string) (*pmapi.Context, error) {
	ask := func(ctx context.Context, prompt string, secret bool) (string, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		return console.Ask(ctx, o.config().Getenv("PCP_CONSOLE"), prompt, secret, o.program().Notify, o.flush)
	}
	d := pmapi.Dialer{
		Config:    o.config(),
		Container: o.opts.Container,
		Warn: func(msg string) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.program().Notify("Warning", msg)
		},
		Password: func(ctx context.Context, _, _ string) (string, error) { return ask(ctx, "Password: ", true) },

		Debug:       o.opts.DebugLog(),
		DialContext: o.DialContext,
		UserName:    func(ctx context.Context) (string, error) { return ask(ctx, "Username: ", false) },
	}
	if host == localHost && len(o.opts.Hosts) == 0 {
		d.OwnSocket = o.config().OwnSocket()
	}
	if o.Denied != nil {
		d.Denied = func() { o.Denied(host) }
	}
	c, err := d.Dial(ctx, host)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		if o.Quiet {
			return nil, err
		}
		if se, ok := errors.AsType[*pmapi.SpecError](err); ok {
			o.msg().Printf("pmNewContext: bad host specification\n%s", se.Detail())
			o.msg().Flush()
			return nil, fmt.Errorf("%w: %w", pcp.ErrGeneric, err)
		}
		if te, ok := errors.AsType[*pmapi.TLSError](err); ok {
			o.program().Notify("Error", te.Text)
		}
		return nil, err
	}
	o.prepare(c)
	return c, nil
}

// prepare gives a context the name space and the derived metrics.
func (o *Sources) prepare(c *pmapi.Context) {
	if o.opts.NameSpace != nil {
		c.UseNameSpace(o.opts.NameSpace)
	}
	o.UseDerived(c)
}

// OpenArchive opens a context on archives, with the name space that the options
// ask for, all of it: as in C only pminfo leaves out what the archives do not
// have.
func (o *Sources) OpenArchive(spec string) (*pmapi.ArchiveContext, error) {
	c, err := pmapi.OpenArchiveOptions(spec, o.archiveOptions())
	if err != nil {
		return nil, err
	}
	o.prepare(c.Context)
	return c, nil
}

// archiveOptions returns the settings for interpolation from the environment.
func (o *Sources) archiveOptions() pmapi.ArchiveOptions {
	var opts pmapi.ArchiveOptions
	opts.Debug = o.opts.DebugLog()
	opts.CounterWrap = o.config().IsSet("PCP_COUNTER_WRAP")
	opts.Nearest = o.config().Get("PCP_COMPAT") == "7"
	if opts.IgnoreMarks = o.config().IsSet("PCP_IGNORE_MARK_RECORDS"); opts.IgnoreMarks {
		if gap := o.config().Getenv("PCP_IGNORE_MARK_RECORDS"); gap != "" {
			var err error
			if opts.IgnoreGap, err = pcptime.ParseInterval(gap); err != nil {
				fmt.Fprintf(o.program().Stderr, "%s: Warning: bad $PCP_IGNORE_MARK_RECORDS: not in pmParseInterval(3) format:\n%v\n", o.program().Name, err)
				opts.IgnoreMarks = false
			}
		}
	}
	return opts
}

// Connect opens a context on the source that the options name: archives, agents in this
// process, or a collector, by default that of this host. An error is an [*Error].
func (o *Sources) Connect(ctx context.Context) (*pmapi.Context, error) {
	name := o.opts.Host()
	if o.opts.FromArchive() {
		name = o.opts.Archives[0]
	}
	return o.ConnectTo(ctx, name)
}

// ConnectTo is Connect, for a source of the kind that the options name and with that
// name, which an argument may have given.
func (o *Sources) ConnectTo(ctx context.Context, name string) (*pmapi.Context, error) {
	switch {
	case o.opts.FromArchive():
		return o.openArchive(name)
	case o.opts.Local:
		c, err := o.OpenLocal(ctx)
		if err != nil {
			return nil, &Error{Text: "Cannot make standalone connection on localhost", Err: err}
		}
		return c, nil
	}
	return o.dial(ctx, name)
}

func (o *Sources) openArchive(name string) (*pmapi.Context, error) {
	c, err := o.OpenArchive(name)
	if err != nil {
		return nil, &Error{Text: fmt.Sprintf("Cannot open archive \"%s\"", name), Err: err}
	}
	return c.Context, nil
}

func (o *Sources) dial(ctx context.Context, name string) (*pmapi.Context, error) {
	c, err := o.Dial(ctx, name)
	if err != nil {
		return nil, &Error{Text: fmt.Sprintf("Cannot connect to PMCD on host \"%s\"", pmapi.HidePassword(name)), Err: err}
	}
	return c, nil
}

// SetZone returns the time zone in which to report times of c: that of -Z, that
// of the source with -z, else the local one. With note it prints the requested
// zone on standard output, as most tools do (PM_OPTFLAG_STDOUT_TZ).
func (o *Sources) SetZone(ctx context.Context, c *pmapi.Context, note bool) (*time.Location, error) {
	zone, err := o.zone(ctx, c, note)
	if err == nil {
		o.opts.DebugLog().SetZone(zone)
	}
	return zone, err
}

func (o *Sources) zone(ctx context.Context, c *pmapi.Context, note bool) (*time.Location, error) {
	if o.opts.HostZone {
		tz, err := c.TimeZone(ctx)
		if err != nil {
			return nil, &Error{Text: "Cannot set context timezone", Err: err}
		}
		if note {
			host, err := c.HostName(ctx)
			if err != nil {
				host = ""
			}
			from := ""
			if c.Kind() == pmapi.SourceArchive {
				from = " from archive"
			}
			o.noteZone(host, from)
		}
		return pcptime.Zone(tz), nil
	}
	if o.opts.TimeZoneSet {
		return o.namedZone(note), nil
	}
	return o.program().Local(), nil
}

// noteZone prints that times are in the zone of a host.
func (o *Sources) noteZone(host, from string) {
	fmt.Fprintf(o.program().Stdout, "Note: timezone set to local timezone of host \"%s\"%s\n\n", host, from)
}

// namedZone returns the zone of -Z.
func (o *Sources) namedZone(note bool) *time.Location {
	if note {
		fmt.Fprintf(o.program().Stdout, "Note: timezone set to \"TZ=%s\"\n\n", o.opts.TimeZone)
	}
	return pcptime.Zone(o.opts.TimeZone)
}
