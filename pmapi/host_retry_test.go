package pmapi

import (
	"testing"
	"time"
)

func TestRetry(t *testing.T) {
	now := time.Unix(1000, 0)
	r := retry{waits: func() []time.Duration { return []time.Duration{5 * time.Second, 10 * time.Second} }}
	wait := func(want time.Duration) {
		t.Helper()
		if got := max(r.wait(now), 0); got != want {
			t.Errorf("wait = %v, want %v", got, want)
		}
	}
	wait(0)
	r.failed(now)
	wait(5 * time.Second)
	now = now.Add(4 * time.Second)
	wait(time.Second)
	now = now.Add(time.Second)
	wait(0)
	r.failed(now)
	wait(10 * time.Second)
	r.failed(now)
	wait(10 * time.Second) // the last one stays
	r.succeeded()
	wait(0)
	r.failed(now)
	wait(5 * time.Second)

	r = retry{waits: func() []time.Duration { return nil }}
	r.failed(now)
	wait(0)
}
