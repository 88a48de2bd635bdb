package options

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/internal/timecontrol"
	"github.com/go-pcp/pcp/internal/timezone"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// ErrControlGone is the end of a time control.
var ErrControlGone = errors.New("Time Control dialog exited, goodbye.") //lint:ignore ST1005 the words of C programs

// ControlHandlers are called for the messages of a time control except steps forward
// (pmTimeControls). Nil handlers are not called.
type ControlHandlers struct {
	Resume   func()                                            // it continues after a stop
	Rewind   func()                                            // it goes back
	Boundary func()                                            // the end of the archives is reached
	Position func(at pcp.Timestamp)                            // it is somewhere else in the archives
	Interval func(delta time.Duration)                         // steps have another length
	Stepped  func(delta time.Duration)                         // it goes forward from now on
	NewZone  func(zone, label string)                          // times must be shown in another zone
	Seek     func(at pcp.Timestamp, delta time.Duration) error // the caller must read archives from at on
}

// A Control is the time control that -g or -p asks for: it determines when a
// program shows values, and the time of those from archives.
type Control struct {
	// Handlers act like the C library and print the same. A program may replace or wrap
	// them before the first Wait.
	Handlers ControlHandlers
	// Zone is the zone in which to show times; NewZone changes it.
	Zone *time.Location

	print  func(format string, args ...any)
	client *timecontrol.Client
	follow *timecontrol.Follower
	delta  time.Duration
}

// Control connects to the time control that the options ask for, and starts it
// for -g. It returns nil if they ask for none. The contexts are what the program reads; print
// is where it prints.
func (o *Sources) Control(ctx context.Context, w pcptime.Window, delta time.Duration, loc *time.Location, print func(format string, args ...any), contexts ...*pmapi.Context) (*Control, error) {
	if !o.opts.GuiMode() && o.opts.GuiPort() == 0 {
		return nil, nil
	}
	what := timecontrol.Message{
		Source: timecontrol.Host, Delta: delta, Position: pcp.TimestampOf(time.Now()),
		Zone: timezone.Local(timezone.MaxLen), ZoneLabel: "localhost",
	}
	if o.opts.FromArchive() {
		what.Source = timecontrol.Archive
		what.Position, what.Start, what.End = w.Origin, w.Start, w.Finish
	}
	if name, err := contexts[0].HostName(ctx); err == nil {
		what.ZoneLabel = name
	}
	switch {
	case o.opts.TimeZoneSet:
		what.Zone, what.ZoneLabel = o.opts.TimeZone, o.opts.TimeZone
	case o.opts.HostZone:
		if tz, err := contexts[0].TimeZone(ctx); err == nil {
			what.Zone = tz
		}
	}
	c := &Control{Zone: loc, print: print, delta: delta}
	port := o.opts.GuiPort()
	var err error
	if port == 0 {
		if port, err = o.launch(ctx, what.Source); err != nil {
			return nil, noControl(err, -pcp.Error(syscall.ENOENT))
		}
	}
	if c.client, err = (timecontrol.Dialer{Debug: o.opts.DebugLog()}).Dial(ctx, port, what); err != nil {
		// The C library takes its own -4 for the status.
		return nil, noControl(err, -pcp.Error(syscall.EINTR))
	}
	var archives []*pmapi.ArchiveContext
	for _, context := range contexts {
		if a, ok := context.Archive(); ok {
			archives = append(archives, a)
		}
	}
	c.handlers(ctx, archives)
	return c, nil
}

// A ControlError is the reason that there is no time control.
type ControlError struct {
	Status pcp.Error // the C library's status
	Err    error
}

// Error implements error, in the words of C programs.
func (e *ControlError) Error() string { return "pmTimeConnect: " + getopt.ErrText(e.Status) }

// Unwrap returns the cause.
func (e *ControlError) Unwrap() error { return e.Err }

func noControl(err error, status pcp.Error) error { return &ControlError{Status: status, Err: err} }

// launch starts pmtime, or if there is none this program as the controller.
func (o *Sources) launch(ctx context.Context, source timecontrol.Source) (int, error) {
	program, err := exec.LookPath("pmtime")
	if err == nil {
		return timecontrol.Launch(ctx, source, program)
	}
	if program, err = os.Executable(); err != nil {
		return 0, err
	}
	return timecontrol.Launch(ctx, source, program, "time")
}

func (c *Control) handlers(ctx context.Context, archives []*pmapi.ArchiveContext) {
	note := func(text string) func() {
		return func() { c.print("\n[Time Control] %s ...\n", text) }
	}
	c.Handlers = ControlHandlers{
		Resume:   note("Resume"),
		Rewind:   note("Rewind/Reverse"),
		Boundary: note("End of Archive"),
		Position: func(pcp.Timestamp) { note("Repositioned in archive")() },
		Interval: func(d time.Duration) { c.print("new interval:  %1.2f sec\n", d.Seconds()) },
		NewZone: func(zone, label string) {
			c.Zone = pcptime.Zone(zone)
			c.print("new timezone: %s (%s)\n", zone, label)
		},
		Seek: func(at pcp.Timestamp, delta time.Duration) error {
			for _, a := range archives {
				if err := a.SetMode(ctx, pmapi.ModeInterp, &at, delta); err != nil {
					return &Error{Text: "pmSetMode", Err: err}
				}
			}
			return nil
		},
	}
}

// Close leaves the time control.
func (c *Control) Close() error { return c.client.Close() }

// Wait waits until values must be shown. Its error is [ErrControlGone] when the time control has ended.
func (c *Control) Wait(ctx context.Context) error {
	_, err := c.next(ctx)
	return err
}

func (c *Control) next(ctx context.Context) (timecontrol.Message, error) {
	if c.follow == nil {
		c.follow = timecontrol.NewFollower(c.client, c.delta, timecontrol.Handlers(c.Handlers))
	}
	m, err := c.follow.Next(ctx)
	if err != nil && ctx.Err() == nil {
		err = gone(err)
	}
	return m, err
}

// Shown acknowledges that values were shown, or that there were none.
func (c *Control) Shown() error { return gone(c.follow.Ack()) }

// AtEnd reports to the controller that archives have no further values.
func (c *Control) AtEnd() error { return gone(c.follow.AtEnd()) }

// gone turns errors of a connection into the end of a time control.
func gone(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
		return ErrControlGone
	}
	return err
}
