package source

import (
	"context"
	"errors"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/options"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// A Control is the time control that -g or -p asks for. The methods print the errors that they
// return; the tool must exit then.
type Control struct {
	*options.Control
	env *cli.Env
}

// Control connects to the time control that the options ask for, as
// [options.Sources.Control] does.
func (o *Options) Control(ctx context.Context, w pcptime.Window, delta time.Duration, loc *time.Location, print func(format string, args ...any), contexts ...*pmapi.Context) (*Control, error) {
	c, err := o.sources.Control(ctx, w, delta, loc, print, contexts...)
	switch {
	case err == nil && c == nil:
		return nil, nil
	case err == nil:
		return &Control{Control: c, env: o.env}, nil
	case o.env.Classic():
		o.env.Fatalf("%v", err)
	default:
		o.env.Fatalf("no time control: %v; start one with %q", errors.Unwrap(err), o.env.Pcp()+" time")
	}
	return nil, err
}

// Wait waits until values must be shown.
func (c *Control) Wait(ctx context.Context) error {
	err := c.Control.Wait(ctx)
	if err != nil && ctx.Err() != nil {
		return err
	}
	return c.said(err)
}

// Shown reports to the control that values were shown, or that there were none.
func (c *Control) Shown() error { return c.said(c.Control.Shown()) }

// AtEnd reports to the control that the archives have no more values.
func (c *Control) AtEnd() error { return c.said(c.Control.AtEnd()) }

func (c *Control) said(err error) error {
	_, known := errors.AsType[*options.Error](err)
	switch {
	case err == nil:
	case errors.Is(err, options.ErrControlGone):
		c.env.Stderr.Write([]byte("\n"))
		c.env.Fatalf("%v", err)
	case known:
		c.env.Fatalf("%v", err)
	default:
		c.env.Fatalf("time control: %v", err)
	}
	return err
}
