// Package pacing waits between samples, and spaces attempts that fail.
package pacing

import (
	"context"
	"math/rand/v2"
	"time"
)

// Sleep waits for d. It reports false if ctx is done before.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Until waits for a time. It reports false if ctx is done before.
func Until(ctx context.Context, when time.Time) bool { return Sleep(ctx, time.Until(when)) }

// A Backoff has the delays between attempts: First after the first failure, and twice as long after
// each further one, up to Longest. The real delays are random, up to a half shorter, so that clients which
// fail together do not try again together.
type Backoff struct {
	First, Longest time.Duration
}

// After returns the delay after a number of failures in a row, 1 or more.
func (b Backoff) After(failures int) time.Duration {
	d := b.Longest
	if n := failures - 1; n < 62 && b.First <= b.Longest>>n {
		d = b.First << n
	}
	return d - rand.N(d/2+1)
}

// Attempts counts attempts that fail in a row. The zero value is the state after a success.
type Attempts struct {
	failures int
	next     time.Time
}

// Failed notes a failure. It returns the delay until the next attempt: the first of delays after the first
// failure, and so on; the last one stays.
func (a *Attempts) Failed(now time.Time, delays []time.Duration) time.Duration {
	if len(delays) == 0 {
		return 0
	}
	delay := delays[min(a.failures, len(delays)-1)]
	a.failures++
	a.next = now.Add(delay)
	return delay
}

// Left returns the time left until the next attempt, at most 0 if it can be made now.
func (a *Attempts) Left(now time.Time) time.Duration {
	if a.failures == 0 {
		return 0
	}
	return a.next.Sub(now)
}
