package options

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Watch yields samples of metrics, as [pmapi.Context.Samples] does, when the options want them: at
// the interval of -t, by default each second, as many as -s sets, and of archives in the window of
// -S, -T, -A and -O. C is a context that Open or OpenAll returned. With -g or -p a time control
// determines when and of which time samples are taken, as in other tools; when it changes the zone,
// that is in o.Zone. The end of the control is the error [ErrControlGone].
func (o *Options) Watch(ctx context.Context, c *pmapi.Context, metrics ...string) iter.Seq2[pmapi.Sample, error] {
	return func(yield func(pmapi.Sample, error) bool) {
		if o.SamplesSet && o.Samples == 0 {
			return
		}
		_, origin, step := Replay(o.Window.Origin, cmp.Or(o.Interval, time.Second))
		so := pmapi.SampleOptions{Interval: step, CounterWrap: o.config().IsSet("PCP_COUNTER_WRAP")}
		if c.Kind() == pmapi.SourceArchive {
			so.Start = origin
		}
		if o.Window.Finish != pcptime.Never {
			so.Finish = o.Window.Finish
		}
		print := func(format string, args ...any) { fmt.Fprintf(o.Program().Stdout, format, args...) }
		control, err := o.Control(ctx, o.Window, step, o.Zone, print, c)
		if err != nil {
			yield(pmapi.Sample{}, err)
			return
		}
		if control != nil {
			defer control.Close()
			control.Handlers.Seek = nil // the loop has its own context
			so.Finish = pcp.Timestamp{}
			so.Turn = func(ctx context.Context) (pcp.Timestamp, error) {
				m, err := control.next(ctx)
				o.Zone = control.Zone
				return m.Position, err
			}
		}
		o.take(c.Samples(ctx, so, metrics...), control, yield)
	}
}

// take hands on as many samples as the options want.
func (o *Options) take(samples iter.Seq2[pmapi.Sample, error], control *Control, yield func(pmapi.Sample, error) bool) {
	n := 0
	for s, err := range samples {
		told := error(nil)
		switch {
		case control != nil && errors.Is(err, pcp.ErrEOL):
			told = control.AtEnd()
		case !yield(s, err):
			return
		default:
			if n++; o.SamplesSet && n == o.Samples {
				return
			}
			if control != nil && !s.Time.IsZero() {
				told = control.Shown()
			}
		}
		if told != nil && !errors.Is(told, io.EOF) {
			yield(pmapi.Sample{}, told)
			return
		}
	}
}
