package pmlogger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
	"github.com/go-pcp/pcp/pmapi"
)

// A Config configures a Recorder.
type Config struct {
	// Archive is the base name of the archive, which must not exist.
	Archive string
	// URL, if not "", is the final destination of the archive; its prologue has the URL in place of the path.
	URL string
	// Version is the archive version; 0 means archive.Version3.
	Version int
	// Host is the host name in the label; "" means the collector's.
	Host string
	// Interval is the "default" interval of a configuration; 0 means a minute.
	Interval time.Duration
	// Volume limits a volume, Size the whole recording.
	Volume, Size Size
	// MetaBytes is the maximum length of the metadata; 0 means the limit of the format. A
	// recorder that would exceed it ends with ErrFull.
	MetaBytes int64
	// End is the end of the recording; the zero Time means no end.
	End time.Time
	// Report enables messages with the sizes of records when they are first written.
	Report bool
	// Port is the recorder's control port, and LoggerHost its host, for the prologue; ""
	// means the name of this host.
	Port       int
	LoggerHost string
	// Full is called when the file system is full or a quota is used up, and again while it
	// still is. It is called in the goroutine of Run, so it must not block. It may be nil.
	// The recorder continues in any case: it keeps some megabytes in memory, drops further
	// samples, and retries with each sample.
	Full func(err error)
	// Meant returns a hint for the message about an unknown name, such as a similar name. Nil adds nothing.
	Meant func(ctx context.Context, c *pmapi.Context, name string) string
	// Log receives messages, in the words of pmlogger. Nil discards them.
	Log io.Writer
	// Hold is the maximum number of bytes kept in memory while the file system is full; 0 means
	// 8 MB.
	Hold int64
	// Turn limits concurrent work of many recorders; nil does not.
	Turn Turn
	// Sampled, if not nil, is called after each sample of a task, in the goroutine of Run.
	Sampled func(Sample)
}

// A Recorder writes an archive of the metrics of a context. It must be used by
// one goroutine, except for Call. Its parts have no locks: they belong to that goroutine.
type Recorder struct {
	cfg    Config
	log    journal
	from   *collector // of the metrics
	plan   *plan      // what to record
	values values     // the last ones
	dict   dictionary
	out    *output

	clock   pcp.Timestamp // of the collector, in its last answer
	started time.Time
	calls   chan func() // of Call
	stop    error       // error for Run to return after a call
	ended   chan struct{}
}

// New returns a Recorder for the metrics of c. It writes nothing before Run.
func New(ctx context.Context, c *pmapi.Context, cfg Config) (*Recorder, error) {
	if cfg.Interval == 0 {
		cfg.Interval = time.Minute
	}
	if cfg.Log == nil {
		cfg.Log = io.Discard
	}
	if cfg.Turn == nil {
		cfg.Turn = noTurn{}
	}
	host, err := c.HostName(ctx)
	if err != nil {
		return nil, err
	}
	log := journal{cfg.Log}
	from, plan := &collector{c: c, host: host, log: log}, newPlan()
	return &Recorder{
		cfg: cfg, log: log, from: from, plan: plan,
		values: values{c: c},
		dict:   dictionary{c: c, plan: plan, log: log},
		out: &output{
			base: cfg.Archive, from: from, log: log, metaBytes: cfg.MetaBytes,
			by:    author{version: cfg.Version, host: cfg.Host, url: cfg.URL, logger: cfg.LoggerHost, port: cfg.Port},
			count: tally{volume: cfg.Volume, all: cfg.Size},
			space: space{limit: cmp.Or(cfg.Hold, holdBytes), tell: cfg.Full, log: log},
		},
		calls: make(chan func()),
		ended: make(chan struct{}),
	}, nil
}

// A journal takes the messages of a recorder.
type journal struct{ w io.Writer }

func (j journal) printf(format string, args ...any) { fmt.Fprintf(j.w, format, args...) }

// warn logs a problem at a place in the configuration.
func (j journal) warn(p conf.Place, msg string) {
	j.printf("Warning [%s, line %d]\n%s\n", p.File, p.Line, msg)
}

// Configure applies a configuration, after the preprocessor. Unknown metrics are reported,
// and recorded if they appear later below an existing name. The error is a *conf.Error for
// a mistake.
func (r *Recorder) Configure(ctx context.Context, config io.Reader, name string) ([]conf.Access, error) {
	k := r.compiler()
	return conf.Parse(config, name, r.cfg.Interval, func(s conf.Statement, m conf.Metric) error {
		return k.add(ctx, s, m)
	})
}

// compiler returns a compiler of configurations for the plan.
func (r *Recorder) compiler() *compiler {
	k := &compiler{c: r.from.c, plan: r.plan, log: r.log}
	if r.cfg.Meant != nil {
		k.meant = func(ctx context.Context, name string) string { return r.cfg.Meant(ctx, r.from.c, name) }
	}
	return k
}

// Empty reports whether there is nothing to record.
func (r *Recorder) Empty() bool { return len(r.plan.tasks) == 0 }

// Run records until ctx is done, the end is reached, or an error occurs. It closes
// the archive in each case. It must be called once.
func (r *Recorder) Run(ctx context.Context) error {
	defer close(r.ended)
	r.cfg.Turn.Take()
	defer r.cfg.Turn.Give()
	// The epilogue needs requests and writes after ctx is done.
	after := context.WithoutCancel(ctx)
	if r.out.w == nil {
		if err := r.Create(after); err != nil {
			return err
		}
	}
	r.start(time.Now())
	err := r.loop(ctx)
	return errors.Join(err, r.out.close(after))
}

// start schedules the tasks and the next volume.
func (r *Recorder) start(now time.Time) {
	r.started = now
	r.plan.start(now)
	r.out.count.restart(now)
}

// ErrEnded is the error of Call for a recorder that has ended.
var ErrEnded = errors.New("the recorder has ended")

// Call calls f in the goroutine of Run, between two samples, and waits until it returns. f may
// use all of r. The error is that of ctx, or ErrEnded; then f is never called.
func (r *Recorder) Call(ctx context.Context, f func()) error {
	done := make(chan struct{})
	call := func() {
		defer close(done)
		f()
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.ended:
		return ErrEnded
	case r.calls <- call:
		<-done
		return nil
	}
}

// next returns the time of the next action.
func (r *Recorder) next() (time.Time, bool) {
	at := sooner(sooner(r.plan.next(), r.out.count.due), r.end())
	return at, !at.IsZero()
}

// end returns the end of the recording, the zero Time if there is none.
func (r *Recorder) end() time.Time {
	at := r.cfg.End
	if d := r.cfg.Size.Time; d > 0 {
		if t := r.started.Add(d); at.IsZero() || t.Before(at) {
			at = t
		}
	}
	return at
}

func (r *Recorder) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		r.cfg.Turn.Give()
		f := func() {}
		select {
		case <-ctx.Done():
			r.cfg.Turn.Take()
			return context.Cause(ctx)
		case f = <-r.calls:
		case <-timer.C:
		}
		r.cfg.Turn.Take()
		if f(); r.stop != nil {
			return r.stop
		}
		if err := r.work(ctx, time.Now()); err != nil {
			return err
		}
		at, ok := r.next()
		if !ok {
			at = time.Now().Add(time.Hour) // only ctx can end the wait
		}
		wait := time.Until(at)
		if wait > restful {
			r.rest()
		}
		timer.Reset(wait)
	}
}

// restful is the idle time from which a recorder releases the memory for its next sample.
const restful = 5 * time.Second

// rest releases memory that the next sample allocates again. Of many recorders few are active at a time.
func (r *Recorder) rest() {
	r.from.c.Rest()
	r.out.w.Rest()
	r.values.rest()
	r.dict.meta = nil
}

// work executes the actions that are due.
func (r *Recorder) work(ctx context.Context, now time.Time) error {
	if at := r.end(); !at.IsZero() && !now.Before(at) {
		return ErrRunTime
	}
	for _, t := range r.plan.tasks {
		if t.due.IsZero() || now.Before(t.due) {
			continue
		}
		due, missed := t.advance(now)
		if err := r.sample(ctx, t, due, missed); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if r.out.count.elapsed(now) {
		return r.out.newVolume("sample time")
	}
	return nil
}

// Host returns the name of the recorded host.
func (r *Recorder) Host() string { return r.from.host }

// End sets the end of the recording (Config.End).
func (r *Recorder) End(t time.Time) { r.cfg.End = t }

// Bytes returns the size of the archive's data so far, in all volumes. It may be called only
// from the function passed to Call.
func (r *Recorder) Bytes() int64 {
	return r.out.count.bytes + r.out.size()
}

// SetPort sets the control port (Config.Port).
func (r *Recorder) SetPort(port int) { r.out.by.port = port }

// Create creates the archive, as Run would otherwise, for programs that need it before they
// call Run.
func (r *Recorder) Create(ctx context.Context) error {
	if err := r.out.create(ctx); err != nil {
		return err
	}
	r.dict.begin(r.out.w)
	return nil
}

// Archive returns the base name of the current archive.
func (r *Recorder) Archive() string { return r.out.base }
