package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/tool/cli"
)

// Options are the options of a tool that opens contexts, and what it remembers of
// them: where it tried to connect, and the agents of local contexts.
type Options struct {
	*cli.Options
	env      *cli.Env
	attempts attempts
	local    localTable
	derived  *derive.Set // nil until they are needed
}

// Parse reads the environment and the arguments of a command as
// [cli.ParseOptions] does.
func Parse(env *cli.Env, cfg cli.ParseConfig) *Options {
	o := &Options{env: env}
	cfg.SpecLocal = o.changeLocal
	cfg.Derived = o.loadDerived
	o.Options = cli.ParseOptions(env, cfg)
	return o
}

// New makes Options of those that [cli.ParseArgs] returned.
func New(env *cli.Env, o *cli.Options) *Options { return &Options{Options: o, env: env} }

// Dial opens a context on a host, with the container, the name space and the derived
// metrics that the options ask for. What a C tool's library would print before it returns
// the error is printed here.
func (o *Options) Dial(ctx context.Context, host string) (*pmapi.Context, error) {
	env := o.env
	d := pmapi.Dialer{
		Config:    env.Config(),
		Container: o.Container,
		Warn:      func(msg string) { env.Notify("Warning", msg) },
		Password:  func(ctx context.Context, _, _ string) (string, error) { return env.Ask(ctx, "Password: ", true) },

		DialContext: o.attempts.dial,
		UserName:    func(ctx context.Context) (string, error) { return env.Ask(ctx, "Username: ", false) },
	}
	o.attempts.take()
	c, err := d.Dial(ctx, host)
	if err != nil {
		if !env.Classic() {
			return nil, err
		}
		if se, ok := errors.AsType[*pmapi.SpecError](err); ok {
			env.Printf("pmNewContext: bad host specification\n%s", se.Detail())
			env.Flush()
			return nil, fmt.Errorf("%w: %w", pcp.ErrGeneric, err)
		}
		if te, ok := errors.AsType[*pmapi.TLSError](err); ok {
			env.Notify("Error", te.Text)
		}
		return nil, err
	}
	o.noteOther()
	o.prepare(c)
	return c, nil
}

// prepare gives a context the name space and the derived metrics.
func (o *Options) prepare(c *pmapi.Context) {
	if o.NameSpace != nil {
		c.UseNameSpace(o.NameSpace)
	}
	if set := o.definitions(); set.Len() > 0 {
		c.UseDerived(set, o.tell)
	}
}

// OpenArchive opens a context on archives, with the name space that the options
// ask for, all of it: as in C only pminfo leaves out what the archives do not
// have.
func (o *Options) OpenArchive(spec string) (*pmapi.ArchiveContext, error) {
	c, err := pmapi.OpenArchiveOptions(spec, o.archiveOptions())
	if err != nil {
		return nil, err
	}
	o.prepare(c.Context)
	return c, nil
}

// archiveOptions returns what the environment says of interpolation.
func (o *Options) archiveOptions() pmapi.ArchiveOptions {
	var opts pmapi.ArchiveOptions
	opts.CounterWrap = o.env.IsSet("PCP_COUNTER_WRAP")
	if opts.IgnoreMarks = o.env.IsSet("PCP_IGNORE_MARK_RECORDS"); opts.IgnoreMarks {
		if gap := o.env.Getenv("PCP_IGNORE_MARK_RECORDS"); gap != "" {
			var err error
			if opts.IgnoreGap, err = pcptime.ParseInterval(gap); err != nil {
				fmt.Fprintf(o.env.Stderr, "%s: Warning: bad $PCP_IGNORE_MARK_RECORDS: not in pmParseInterval(3) format:\n%v\n", o.env.ProgName(), err)
				opts.IgnoreMarks = false
			}
		}
	}
	return opts
}

// Connect opens a context on the source that the options name, with the message
// that most tools print if it fails.
func (o *Options) Connect(ctx context.Context) (*pmapi.Context, error) {
	name := o.Host()
	if o.FromArchive() {
		name = o.Archives[0]
	}
	return o.ConnectTo(ctx, name, "make standalone connection on localhost")
}

// ConnectTo is Connect, for a source of the kind that the options name and with that
// name, which an argument may have given. The message about a local context says what
// cannot be done in the words of local.
func (o *Options) ConnectTo(ctx context.Context, name, local string) (*pmapi.Context, error) {
	if o.FromArchive() {
		c, err := o.OpenArchive(name)
		if err != nil {
			o.CannotOpen(name, err)
			return nil, err
		}
		return c.Context, nil
	}
	if o.Local {
		c, err := o.OpenLocal(ctx)
		if err != nil {
			o.env.Fatalf("Cannot %s: %s", local, cli.ErrText(err))
		}
		return c, err
	}
	c, err := o.Dial(ctx, name)
	if err != nil {
		o.CannotConnect(name, err)
	}
	return c, err
}

// SetZone returns the time zone in which to report times of c: that of -Z, that
// of the source with -z, else the local one. With note it says on standard
// output which zone was asked for, as most tools do (PM_OPTFLAG_STDOUT_TZ).
func (o *Options) SetZone(ctx context.Context, c *pmapi.Context, note bool) (*time.Location, error) {
	a, isArchive := c.Archive()
	switch {
	case o.HostZone && isArchive:
		label, err := a.Label(ctx)
		if err != nil {
			o.env.Errorf("Cannot set context timezone: %s", cli.ErrText(err))
			o.env.Flush()
			return nil, err
		}
		if note {
			o.noteZone(&label)
		}
		return pcptime.Zone(label.TimeZone), nil
	case o.HostZone:
		host, err := c.HostName(ctx)
		if err != nil {
			host = ""
		}
		tz, err := c.TimeZone(ctx)
		if err != nil {
			o.env.Errorf("Cannot set context timezone: %s", cli.ErrText(err))
			o.env.Flush()
			return nil, err
		}
		if note {
			fmt.Fprintf(o.env.Stdout, "Note: timezone set to local timezone of host \"%s\"\n\n", host)
		}
		return pcptime.Zone(tz), nil
	case o.TimeZoneSet:
		if note {
			fmt.Fprintf(o.env.Stdout, "Note: timezone set to \"TZ=%s\"\n\n", o.TimeZone)
		}
		return pcptime.Zone(o.TimeZone), nil
	}
	return o.env.Local(), nil
}

// noteZone says that times are those of an archive's zone.
func (o *Options) noteZone(label *archive.Label) {
	fmt.Fprintf(o.env.Stdout, "Note: timezone set to local timezone of host \"%s\" from archive\n\n", label.Host)
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
