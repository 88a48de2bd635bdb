package pmlogger

import (
	"context"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
)

// A Turn bounds what many recorders of a process do at the same time: a Recorder takes
// its turn before it works and gives it back when there is nothing to do. Both are called
// by the goroutine of Run alone. While a request is on its way the turn is still taken; the
// connection that [pmapi.Dialer] makes is where to give it back for that time.
type Turn interface {
	Take()
	Give()
}

type noTurn struct{}

func (noTurn) Take() {}
func (noTurn) Give() {}

// A Sample says what became of a sample of a task, for Config.Sampled.
type Sample struct {
	Due  time.Time     // when it was to be taken
	Done time.Time     // when it was written
	Time pcp.Timestamp // what the collector says, of the last record written
	// Missed is how many samples before it were left out, because the one before took
	// so long.
	Missed int
	// Interval is that of the task, 0 for what is recorded once.
	Interval time.Duration
	// Records is the length of its records; 0 if nothing was written.
	Records int64
	// Bytes is the length of all volumes so far and of the metadata of the archive.
	Bytes int64
	// Daily is how much the records of a day are together, those of all tasks, if they go on to be
	// as long as the last ones.
	Daily int64
	// All reports whether each task with an interval has had a sample, so that Daily is all.
	All bool
	// Err is why a part of it, or all, was not recorded; the recorder goes on.
	Err error
}

// report calls Config.Sampled.
func (r *Recorder) report(t *task, due time.Time, missed int, records int64, err error) {
	_, data, meta := r.w.Position()
	if records > 0 {
		t.records = records
	}
	daily, all := 0.0, true
	for _, t := range r.tasks {
		if t.Interval > 0 && t.valid > 0 && t.State.On {
			all = all && t.records > 0
			daily += float64(t.records) * float64(24*time.Hour) / float64(t.Interval)
		}
	}
	r.cfg.Sampled(Sample{
		Due: due, Done: time.Now(), Time: r.last, Missed: missed, Interval: t.Interval,
		Records: records, Bytes: r.bytes + data + meta, Daily: int64(daily), All: all, Err: err,
	})
}

// ConfigureFrom is Configure with a configuration that was read before, by [conf.Read].
// Many recorders can share it. The metrics that it names are looked up with few requests.
func (r *Recorder) ConfigureFrom(ctx context.Context, c *conf.Config) error {
	r.known = make(map[string]pcp.Desc)
	defer func() { r.known = nil }()
	if err := r.lookUp(ctx, c); err != nil {
		return err
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		for _, m := range g.Metrics {
			if err := r.configure(ctx, g.Statement, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookUp notes the descriptors of the names in a configuration that are metrics. The
// others are left to be looked up one by one, which says what is wrong with each.
func (r *Recorder) lookUp(ctx context.Context, c *conf.Config) error {
	var names []string
	for _, g := range c.Groups {
		for _, m := range g.Metrics {
			names = append(names, m.Name)
		}
	}
	return r.learn(ctx, names)
}

// learn notes the descriptors of those names that are metrics. It returns an error only if the
// collector cannot be asked.
func (r *Recorder) learn(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	all, err := r.c.LookupName(ctx, names...)
	if lost(err) || ctx.Err() != nil {
		return err
	}
	var metrics []string
	var ids []pcp.PMID
	for i, id := range all {
		if id != pcp.PMIDNull {
			metrics, ids = append(metrics, names[i]), append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	descs, err := r.c.LookupDescs(ctx, ids...)
	if lost(err) || ctx.Err() != nil {
		return err
	}
	for i, d := range descs {
		if d.PMID == ids[i] {
			r.known[metrics[i]] = d
		}
	}
	return nil
}

// Metrics returns how many metrics are recorded, of those that the configuration names. It is for
// the goroutine of Run, or before it.
func (r *Recorder) Metrics() int { return len(r.requests) }
