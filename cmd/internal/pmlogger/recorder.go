package pmlogger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/wire"
)

// A Config says how a Recorder records.
type Config struct {
	// Archive is the base name of the archive, which must not exist.
	Archive string
	// URL, if not "", is where the archive goes in the end; its prologue names it in place of the path.
	URL string
	// Version is that of the archive; 0 means archive.Version3.
	Version int
	// Host is the name of the host in the label; "" means what the collector says.
	Host string
	// Interval is what "default" means in a configuration; 0 means a minute.
	Interval time.Duration
	// Volume says when the next volume starts, Size when the recorder ends.
	Volume, Size Size
	// End is when the recorder ends; the zero Time means not.
	End time.Time
	// Report has the sizes of records reported when they are first written.
	Report bool
	// Port is where the recorder can be controlled, and LoggerHost where it runs, for the
	// prologue; "" means the name of this host.
	Port       int
	LoggerHost string
	// Full is called when the file system is full or a quota is used up, and each time it
	// still is: in the goroutine of Run, so that it must not wait. May be nil. The recorder
	// goes on in any case: it keeps some megabytes in memory, drops samples that come then,
	// and tries again with each sample.
	Full func(err error)
	// Meant returns what to add to the message about a name that no metric has, such as a name that is spelt
	// almost so. Nil adds nothing.
	Meant func(ctx context.Context, c *pmapi.Context, name string) string
	// Log gets messages, in the words of pmlogger. Nil discards them.
	Log io.Writer
	// Hold is how many bytes may wait in memory, at most, while the file system is full; 0 means
	// 8 MB.
	Hold int64
	// Turn bounds what many recorders do at once; nil does not.
	Turn Turn
	// Sampled, if not nil, is called after each sample of a task, by the goroutine of Run.
	Sampled func(Sample)
}

// A Recorder writes an archive of what it fetches from a context. It is for one
// goroutine, but for Call.
type Recorder struct {
	cfg  Config
	c    *pmapi.Context
	host string
	name string // of the program, in messages

	tasks    []*task
	roots    []root
	requests map[pcp.PMID][]*request
	entries  int                 // of requests
	buckets  int                 // that C's table would have
	known    map[string]pcp.Desc // of names, while a configuration is read

	w       *archive.Writer
	written map[pcp.PMID]*logged
	indoms  map[pcp.InDom]*loggedInDom
	records int                // of all groups
	labels  map[labelKey]bool  // whose were asked for
	texts   map[pcp.InDom]bool // whose were written
	res     pcp.Result
	ids     []pcp.PMID     // of the sets of res, as the collector has them
	meta    []byte         // a record of the metadata
	raw     wire.RawResult // what was fetched, if it has any sets; else it is in res

	profiled *group // whose profile the context has
	record   []byte // res or raw as it goes to the archive
	scan     archive.SetScanner
	taken    *instances    // what a metric was found to have last
	lists    noted         // what note did last
	last     pcp.Timestamp // of the last record
	lost     bool          // there is no connection
	samples  int           // so far in the volume
	total    int           // so far
	started  time.Time
	volume   time.Time // when the next volume is due
	bytes    int64     // in earlier volumes
	full     bool      // the file system is
	dropped  int       // samples since it is full
	hold     int64     // how much may wait for space in memory

	calls chan func() // of Call
	stop  error       // why Run ends after a call
	ended chan struct{}
}

// New returns a Recorder of what c has. Nothing is written before Run.
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
	return &Recorder{
		cfg: cfg, c: c, host: host, name: "pmlogger", hold: cmp.Or(cfg.Hold, holdBytes),
		requests: make(map[pcp.PMID][]*request),
		written:  make(map[pcp.PMID]*logged),
		indoms:   make(map[pcp.InDom]*loggedInDom),
		labels:   make(map[labelKey]bool),
		texts:    make(map[pcp.InDom]bool),
		calls:    make(chan func()),
		ended:    make(chan struct{}),
	}, nil
}

func (r *Recorder) printf(format string, args ...any) { fmt.Fprintf(r.cfg.Log, format, args...) }

// warn says what is wrong with a place in the configuration.
func (r *Recorder) warn(p conf.Place, msg string) {
	r.printf("Warning [%s, line %d]\n%s\n", p.File, p.Line, msg)
}

// lost reports whether an error means that the collector is gone.
func lost(err error) bool { return errors.Is(err, pcp.ErrIPC) }

// Configure takes in a configuration, after the preprocessor. Metrics that do not exist are
// reported, and recorded if they appear below a name that is there. The error is a
// *conf.Error for a mistake.
func (r *Recorder) Configure(ctx context.Context, config io.Reader, name string) ([]conf.Access, error) {
	r.known = make(map[string]pcp.Desc)
	defer func() { r.known = nil }()
	return conf.Parse(config, name, r.cfg.Interval, func(s conf.Statement, m conf.Metric) error {
		return r.configure(ctx, s, m)
	})
}

// Empty reports whether there is nothing to record.
func (r *Recorder) Empty() bool { return len(r.tasks) == 0 }

// zone asks the collector for its time and time zone.
func (r *Recorder) zone(ctx context.Context) (t pcp.Timestamp, zone, info string, ok bool) {
	if r.lost {
		return t, "", "", false
	}
	ids, err := r.c.LookupName(ctx, "pmcd.timezone", "pmcd.zoneinfo")
	if err != nil {
		return t, "", "", false
	}
	res, err := r.c.Fetch(ctx, ids)
	if err != nil {
		return t, "", "", false
	}
	text := func(s *pcp.ValueSet) string {
		for _, v := range s.Values {
			s, _ := v.Text()
			return s
		}
		return ""
	}
	zone, info = text(&res.Sets[0]), text(&res.Sets[1])
	return res.Time, zone, info, zone != ""
}

// logger is what the prologue and the epilogue of an archive say. If t is not nil, it is
// set to the collector's time.
func (r *Recorder) logger(ctx context.Context, base string, t *pcp.Timestamp) *archive.Logger {
	path, err := filepath.Abs(base)
	if err != nil {
		path = base
	}
	if r.cfg.URL != "" {
		path = r.cfg.URL
	}
	host := r.cfg.LoggerHost
	if host == "" {
		if host, err = os.Hostname(); err != nil {
			host = "unknown"
		}
	}
	l := &archive.Logger{PID: int32(os.Getpid()), Host: host, Port: uint32(r.cfg.Port), Archive: path}
	pid, seq := pcp.NewPMID(2, 0, 23), pcp.NewPMID(2, 0, 24)
	if r.lost {
		return l
	}
	res, err := r.c.Fetch(ctx, []pcp.PMID{pid, seq})
	if err != nil {
		return l
	}
	if t != nil {
		*t = res.Time
	}
	if v := res.Sets[0].Values; len(v) == 1 {
		l.PMCDPID = v[0].As(pcp.TypeU64).Uint64()
	}
	if v := res.Sets[1].Values; len(v) == 1 {
		l.SeqNum = v[0].As(pcp.TypeU32).Uint32()
	}
	return l
}

// Run records until ctx is done, the end comes, or an error. It closes the archive in
// each case. It is called once.
func (r *Recorder) Run(ctx context.Context) error {
	defer close(r.ended)
	r.cfg.Turn.Take()
	defer r.cfg.Turn.Give()
	// What ends the archive is still to be asked and written when ctx is done.
	after := context.WithoutCancel(ctx)
	if r.w == nil {
		if err := r.create(after); err != nil {
			return err
		}
	}
	r.start(time.Now())
	err := r.loop(ctx)
	return errors.Join(err, r.finish(after))
}

// start schedules the tasks: those of one sample at once, the others a little later,
// so that what is recorded once comes first.
func (r *Recorder) start(now time.Time) {
	r.started = now
	for _, t := range r.tasks {
		r.schedule(t, now)
	}
	if d := r.cfg.Volume.Time; d > 0 {
		r.volume = now.Add(d)
	}
}

// blink is how long the first samples wait for those that are taken once.
const blink = 20 * time.Millisecond

func (r *Recorder) schedule(t *task, now time.Time) {
	if t.valid == 0 || !t.State.On {
		return
	}
	t.due = now
	if t.Interval > 0 {
		t.due = now.Add(blink)
	}
}

// ErrEnded is what Call returns for a recorder that has ended.
var ErrEnded = errors.New("the recorder has ended")

// Call has the goroutine of Run call f, between two samples, and waits until it has. f may
// use all of r. The error is that of ctx, or ErrEnded; then f was not called, and will not be.
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

// next returns when something is due.
func (r *Recorder) next() (time.Time, bool) {
	var at time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	for _, t := range r.tasks {
		sooner(t.due)
	}
	sooner(r.volume)
	sooner(r.end())
	return at, !at.IsZero()
}

// end returns when the recorder ends, the zero Time if never.
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
			at = time.Now().Add(time.Hour) // there is nothing to do but to wait for ctx
		}
		wait := time.Until(at)
		if wait > restful {
			r.rest()
		}
		timer.Reset(wait)
	}
}

// restful is how long a recorder must have nothing to do to give back the memory of its next sample.
const restful = 5 * time.Second

// rest gives back memory that the next sample takes again. Of many recorders few are at work.
func (r *Recorder) rest() {
	r.c.Rest()
	r.w.Rest()
	r.res, r.ids, r.meta, r.record = pcp.Result{}, nil, nil, nil
	r.raw, r.scan = wire.RawResult{}, archive.SetScanner{}
}

// work does what is due.
func (r *Recorder) work(ctx context.Context, now time.Time) error {
	if at := r.end(); !at.IsZero() && !now.Before(at) {
		return ErrRunTime
	}
	for _, t := range r.tasks {
		if t.due.IsZero() || now.Before(t.due) {
			continue
		}
		due, missed := t.due, 0
		switch {
		case t.Interval == 0:
			t.due = time.Time{}
		default:
			// A sample that is missed is not made up for.
			late := now.Sub(t.due)
			missed = int(late / t.Interval)
			t.due = t.due.Add(late.Truncate(t.Interval) + t.Interval)
		}
		if err := r.sample(ctx, t, due, missed); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if !r.volume.IsZero() && !now.Before(r.volume) {
		r.volume = r.volume.Add(r.cfg.Volume.Time)
		return r.newVolume("sample time")
	}
	return nil
}

// finish writes what ends an archive, and closes it.
func (r *Recorder) finish(ctx context.Context) error {
	err := r.w.WriteEpilogue(r.epilogue(ctx))
	if err != nil {
		r.printf("Warning: problem writing archive epilogue: %v\n", err)
	}
	return r.w.Close()
}

// Host returns the name of the host whose metrics are recorded.
func (r *Recorder) Host() string { return r.host }

// End sets when the recorder ends (Config.End).
func (r *Recorder) End(t time.Time) { r.cfg.End = t }

// Bytes returns how much data the archive has so far, in all volumes. It is for the function
// that Call calls.
func (r *Recorder) Bytes() int64 {
	_, n, _ := r.w.Position()
	return r.bytes + n
}

// SetPort sets where the recorder can be controlled (Config.Port).
func (r *Recorder) SetPort(port int) { r.cfg.Port = port }

// Create makes the archive, as Run does otherwise, for programs that show it to others before
// they call Run.
func (r *Recorder) Create(ctx context.Context) error { return r.create(ctx) }

// Archive returns the base name of the archive that is written.
func (r *Recorder) Archive() string { return r.cfg.Archive }
