package pmlogger

import (
	"context"
	"time"

	"github.com/go-pcp/pcp"
)

// Hold limits the memory for data that waits for space.
func (r *Recorder) Hold(bytes int64) { r.out.space.limit = bytes }

// Sample takes a sample of each task.
func (r *Recorder) Sample(ctx context.Context) error {
	for _, t := range r.plan.tasks {
		if err := r.sample(ctx, t, time.Time{}, 0); err != nil {
			return err
		}
	}
	return nil
}

// WriteAgain writes the last result of the last task again. It must not need metadata.
func (r *Recorder) WriteAgain(ctx context.Context) error {
	return r.WriteAt(ctx, r.out.last.Add(time.Millisecond))
}

// Raw reports whether the last result is recorded without decoding.
func (r *Recorder) Raw() bool { return r.values.raw.Sets > 0 }

// Last returns the time of the last record.
func (r *Recorder) Last() pcp.Timestamp { return r.out.last }

// WriteAt is WriteAgain at another time.
func (r *Recorder) WriteAt(ctx context.Context, at pcp.Timestamp) error {
	t := r.plan.tasks[len(r.plan.tasks)-1]
	r.values.res.Time = at
	if _, err := r.write(ctx, t, t.groups[len(t.groups)-1], 0); err != nil {
		return err
	}
	return r.out.flush()
}
