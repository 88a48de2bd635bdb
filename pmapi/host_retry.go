package pmapi

import "time"

// A retry spaces the attempts to reconnect: after each failure the wait for the next is
// longer.
type retry struct {
	waits    func() []time.Duration // read when they are needed first
	failures int                    // in a row
	again    time.Time              // no attempt before
}

// wait returns how long to wait for the next attempt, at most 0 if that can be made now.
func (r *retry) wait(now time.Time) time.Duration {
	if r.failures == 0 {
		return 0
	}
	return r.again.Sub(now)
}

// failed notes that an attempt failed.
func (r *retry) failed(now time.Time) {
	waits := r.waits()
	if len(waits) == 0 {
		return
	}
	r.failures = min(r.failures+1, len(waits))
	r.again = now.Add(waits[r.failures-1])
}

// succeeded notes that an attempt succeeded.
func (r *retry) succeeded() { r.failures = 0 }
