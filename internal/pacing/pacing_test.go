package pacing

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestSleep(t *testing.T) {
	f := func(d, end, want time.Duration, reached bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			if end == 0 {
				cancel()
			}
			defer time.AfterFunc(end, cancel).Stop()
			start := time.Now()
			if got := Until(ctx, start.Add(d)); got != reached || time.Since(start) != want {
				t.Errorf("Until(%v) = %t after %v, want %t after %v", d, got, time.Since(start), reached, want)
			}
		})
	}
	f(time.Second, time.Minute, time.Second, true)
	f(time.Minute, time.Second, time.Second, false)
	f(0, time.Second, 0, true)
	f(-time.Second, time.Second, 0, true)
	f(0, 0, 0, false)
	f(time.Second, 0, 0, false)
}

func TestBackoff(t *testing.T) {
	b := Backoff{time.Second, time.Minute}
	f := func(failures int, longest time.Duration) {
		t.Helper()
		for range 100 {
			if d := b.After(failures); d < longest/2 || d > longest {
				t.Fatalf("After(%d) = %v, want up to %v", failures, d, longest)
			}
		}
	}
	f(1, time.Second)
	f(2, 2*time.Second)
	f(6, 32*time.Second)
	f(7, time.Minute)
	f(1000, time.Minute)
	b = Backoff{time.Minute, time.Second}
	f(1, time.Second)
	b = Backoff{time.Hour, 1 << 62}
	f(1<<30, 1<<62)
}

func TestAttempts(t *testing.T) {
	now := time.Unix(1000, 0)
	var a Attempts
	left := func(want time.Duration) {
		t.Helper()
		if got := max(a.Left(now), 0); got != want {
			t.Errorf("Left = %v, want %v", got, want)
		}
	}
	delays := []time.Duration{5 * time.Second, 10 * time.Second}
	left(0)
	for _, want := range []time.Duration{5 * time.Second, 10 * time.Second, 10 * time.Second} {
		if got := a.Failed(now, delays); got != want {
			t.Errorf("Failed = %v, want %v", got, want)
		}
		left(want)
		now = now.Add(want - time.Second)
		left(time.Second)
		now = now.Add(time.Second)
		left(0)
	}
	a = Attempts{}
	left(0)
	a.Failed(now, nil)
	left(0)
}
