package atop

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pmapi"
)

// A view shows samples.
type view interface {
	// show shows a sample, or returns the next step.
	show(ctx context.Context, f *frame) command
	// prepare follows each show.
	prepare()
	// next reports, at the end of archives, whether to start again for another report.
	next() bool
}

// A command is the next step of a view.
type command int

const (
	forward  command = iota // the next sample
	again                   // the first sample
	backward                // the sample before
	branch                  // the sample of a time, which the view has set
	quit                    // stop; the status is 0
	abort                   // stop; the status is 1
)

// A frame is a sample to be shown.
type frame struct {
	*sample.Deviation
	Time    float64
	Seconds float64 // since the sample before, 1 at least
	Number  int     // 0 is the first
	Boot    bool    // the first of a live source: all since the system was started
}

// An engine takes samples one by one.
type engine struct {
	env     *cli.Env
	s       *sample.Sampler
	c       *pmapi.Context
	v       view
	raw     bool // archives
	samples int  // how many; 0: no limit
	every   time.Duration

	start, finish, origin sample.Time
	now                   sample.Time // of the next sample
	loc                   *time.Location
	local                 bool // the source is this host
	ticks                 ticker
}

// endOfArchive is the exit status if C stops at the end of archives.
const endOfArchive = 1

// open opens the source and reads the metadata needed before the first sample. It prints errors.
func (e *engine) open(ctx context.Context, o *source.Options, hot, seven bool) (ok bool) {
	name := o.Source()
	e.raw = e.raw || o.FromArchive()
	e.local = !o.FromArchive() && (o.Local || name == "local:" || name == "localhost")
	var err error
	if e.c, err = o.Open(ctx, name); err != nil {
		switch {
		case o.FromArchive() && !e.env.Classic():
			o.CannotOpen(name, err)
		case o.FromArchive():
			e.env.Errorf("Cannot open archive \"%s\": %s", name, cli.ErrText(err))
		case o.Local:
			e.env.Errorf("Cannot make standalone connection on localhost: %s", cli.ErrText(err))
		case e.env.Classic():
			e.env.Errorf("Cannot connect to pmcd on host \"%s\": %s", name, cli.ErrText(err))
		default:
			o.CannotConnect(name, err)
		}
		e.env.Flush()
		return false
	}
	if o.FromArchive() && !e.env.IsSet("GOGC") {
		// The data read from an archive stay in use. Collecting garbage less often saves a short report a fifth of its
		// time.
		debug.SetGCPercent(400)
	}
	if e.loc, err = o.SetZone(ctx, e.c, false); err != nil {
		return false
	}
	window, err := o.Window(ctx, e.c, e.loc)
	if err != nil {
		return false
	}
	e.start, e.finish, e.origin = sample.TimeOf(window.Start), sample.TimeOf(window.Finish), sample.TimeOf(window.Origin)
	e.s = sample.New(e.c, sample.Config{Hot: hot, Interval: e.every, Seven: seven})
	if o.Debugging("appl0") {
		e.s.Trace = func(what string, in pcp.Instance) {
			e.env.Errorf("updating %s %d: %s", what, in.Inst, in.Name)
			e.env.Flush()
		}
	}
	if err := e.s.Setup(ctx, e.start, e.origin); err != nil {
		e.failed("host", err)
		return false
	}
	e.now = e.origin
	return true
}

// failed prints that a sample could not be taken, and returns the exit status.
func (e *engine) failed(purpose string, err error) int {
	var missing *sample.MissingError
	var instances *sample.InstancesError
	switch {
	case errors.As(err, &missing): // C means well
		e.env.Fatalf("%v", err)
		return 0
	case errors.Is(err, sample.ErrInitial):
		return e.env.Fatalf("%v", sample.ErrInitial)
	case errors.As(err, &instances):
		return e.env.Fatalf("%s instances: %s", instances.What, cli.ErrText(instances.Err))
	}
	return e.env.Fatalf("%s query: %s", purpose, cli.ErrText(err))
}

// run shows samples until the view quits, and returns the exit status.
func (e *engine) run(ctx context.Context) int {
	last := forward
	if !e.raw {
		e.ticks.start(e.every)
		defer e.ticks.stop()
	}
	limit := e.samples
	if limit == 0 {
		limit = math.MaxInt
	}
	for n := 0; n < limit; n++ {
		if n > 0 && !e.raw && !e.ticks.wait(ctx) {
			return 0
		}
		if ctx.Err() != nil {
			return 0
		}
		if e.ticks.last {
			limit = n + 1
		}
		var d *sample.Deviation
		var seconds float64
		err := error(pcp.ErrEOL)
		if !e.finish.Less(e.now) {
			d, seconds, err = e.s.Next(ctx, e.now, n <= 1)
		}
		switch {
		case errors.Is(err, pcp.ErrEOL):
			if !e.v.next() {
				return endOfArchive
			}
			last = again
		case err != nil:
			if ctx.Err() != nil {
				return 0
			}
			return e.failed("system", err)
		default:
			e.now = e.s.Time()
			if boot := n == 0; e.raw && boot || last == backward || last == branch {
				e.now = e.now.Add(e.every)
				last = forward
				break
			}
			f := &frame{Deviation: d, Time: e.now.Seconds(), Seconds: seconds, Number: n, Boot: n == 0}
			if !(seconds > 1) {
				f.Seconds = 1
			}
			last = e.v.show(ctx, f)
			e.v.prepare()
			switch {
			case last == quit:
				return 0
			case last == abort:
				return 1
			case e.raw && last == forward:
				e.now = e.now.Add(e.every)
			}
			if e.env.FlushOut() != nil {
				return 1
			}
		}
		if last == again || last == branch || last == backward {
			if last == again {
				n, e.now = -1, e.origin
			}
			e.s.Reset()
		}
	}
	return 0
}
