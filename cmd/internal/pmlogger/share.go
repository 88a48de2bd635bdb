package pmlogger

import (
	"context"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
)

// A Turn limits the concurrent work of many recorders in a process: a Recorder takes its
// turn before it works and gives it back when it is idle. Only the goroutine of Run calls
// both. A Recorder keeps its turn while it waits for an answer; the connection from
// [pmapi.Dialer] can release the turn for that time.
type Turn interface {
	Take()
	Give()
}

type noTurn struct{}

func (noTurn) Take() {}

func (noTurn) Give() {}

// A Sample describes a sample of a task, for Config.Sampled.
type Sample struct {
	Due  time.Time     // time when it was due
	Done time.Time     // time when it was written
	Time pcp.Timestamp // time of the last record written
	// Clock is the time in the collector's last answer. Time is later if the collector's clock was set back.
	Clock pcp.Timestamp
	// Missed is the number of samples dropped before it, because the one before took
	// too long.
	Missed int
	// Interval is the task's interval, 0 for metrics recorded once.
	Interval time.Duration
	// Records is the length of its records; 0 if none was written.
	Records int64
	// Bytes is the size of all volumes so far and of the archive's metadata.
	Bytes int64
	// Daily is the size of a day's records of all tasks, estimated from the last ones.
	Daily int64
	// All reports whether each task with an interval has had a sample, so that Daily is complete.
	All bool
	// Err is the reason why the sample, or a part of it, was not recorded; the recorder continues.
	Err error
}

// report calls Config.Sampled.
func (r *Recorder) report(t *task, due time.Time, missed int, records int64, err error) {
	_, data, meta := r.out.w.Position()
	if records > 0 {
		t.records = records
	}
	daily, all := r.plan.daily()
	r.cfg.Sampled(Sample{
		Due: due, Done: time.Now(), Time: r.out.last, Clock: r.clock, Missed: missed, Interval: t.Interval,
		Records: records, Bytes: r.out.count.bytes + data + meta, Daily: daily, All: all, Err: err,
	})
}

// ConfigureFrom is Configure with a configuration parsed by [conf.Read]. Many recorders
// can share it. It looks up the metrics with few requests.
func (r *Recorder) ConfigureFrom(ctx context.Context, c *conf.Config) error {
	return r.compiler().all(ctx, c)
}

// Metrics returns the number of recorded metrics, of those in the configuration. It must be
// called in the goroutine of Run, or before Run.
func (r *Recorder) Metrics() int { return len(r.plan.requests) }
