package options

import (
	"context"
	"time"

	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Options are the options of a program, and the sources of metrics that they name.
type Options struct {
	*getopt.Options
	*Sources

	// Zone is the time zone in which to report times, and Window the part of the source that
	// is of interest. Open sets both.
	Zone   *time.Location
	Window pcptime.Window
}

// Parse reads the environment and the arguments of a program as pmGetOptions(3) does. The first
// argument is the program's name, as in os.Args. The program then makes its own checks and calls
// Done, and if it must not exit Open.
func Parse(p *getopt.Program, args []string) *Options {
	o := new(Options)
	if p.SpecLocal == nil {
		p.SpecLocal = func(_ *getopt.Options, spec string) error { return o.SpecLocal(spec) }
	}
	if p.Derived == nil {
		p.Derived = func(_ *getopt.Options, path string) error {
			if err := o.LoadDerived(path); err != nil {
				return &textError{err}
			}
			return nil
		}
	}
	o.Options = getopt.NewOptions(p, args)
	o.Sources = NewSources(o.Options)
	o.Zone = p.Local()
	o.Parse()
	return o
}

// A textError is printed as in C programs.
type textError struct{ err error }

func (e *textError) Error() string { return getopt.ErrText(e.err) }
func (e *textError) Unwrap() error { return e.err }

// LoadDerived is that of Sources; the one of the other Options calls it.
func (o *Options) LoadDerived(path string) error { return o.Sources.LoadDerived(path) }

// Open opens a context on the source that the options name, and sets Zone and Window
// (pmGetContextOptions(3)). If -z or -Z asks for a zone, it prints that on standard output
// unless the program is QuietZone. A mistake in the time window is an error too. Fatal prints
// the errors as C programs do.
func (o *Options) Open(ctx context.Context) (*pmapi.Context, error) {
	c, err := o.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.prepareTimes(ctx, c); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (o *Options) prepareTimes(ctx context.Context, c *pmapi.Context) (err error) {
	if o.Zone, err = o.SetZone(ctx, c, !o.Program().QuietZone); err != nil {
		return err
	}
	o.Window, err = o.Sources.Window(ctx, c, o.Zone)
	return err
}

// OpenAll opens a context on each host and each archive that the options name, for a program
// that is Multi, or the context that Open opens if there is none. Zone is that of the first, and
// Window the span of all archives together.
func (o *Options) OpenAll(ctx context.Context) (list []*pmapi.Context, err error) {
	defer func() {
		if err != nil {
			for _, c := range list {
				c.Close()
			}
			list = nil
		}
	}()
	open := func(c *pmapi.Context, err error) error {
		if err == nil {
			list = append(list, c)
		}
		return err
	}
	if o.Local || len(o.Hosts)+len(o.Archives) == 0 {
		err = open(o.Connect(ctx))
	}
	if !o.Local {
		for _, host := range o.Hosts {
			if err == nil {
				err = open(o.dial(ctx, host))
			}
		}
		for _, path := range o.Archives {
			if err == nil {
				err = open(o.openArchive(path))
			}
		}
	}
	if err == nil {
		err = o.prepareTimes(ctx, list[0])
	}
	return list, err
}

// Fatal prints an error as C programs do before they exit, and returns the exit status.
func (o *Options) Fatal(err error) int {
	o.Program().Messages.Errorf("%v", err)
	o.Program().Messages.Flush()
	return 1
}
