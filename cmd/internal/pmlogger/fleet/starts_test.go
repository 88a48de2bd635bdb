package fleet

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestStarts checks that hosts get a place in the order of their arrival.
func TestStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s starts
		ctx, cancel := context.WithCancel(t.Context())
		for range maxStarts {
			if !s.take(ctx) {
				t.Fatal("no place")
			}
		}
		got := make(chan int, 3)
		for i := range 3 {
			who := ctx
			if i != 1 {
				who = t.Context()
			}
			go func() {
				if s.take(who) {
					got <- i
				} else {
					got <- -1
				}
			}()
			synctest.Wait()
		}
		cancel()
		if n := <-got; n != -1 {
			t.Errorf("host %d has a place", n)
		}
		s.retake() // one more than the limit
		s.give()
		synctest.Wait()
		if len(got) != 0 {
			t.Error("a host has a place that is not free")
		}
		for _, want := range []int{0, 2} {
			s.give()
			if n := <-got; n != want {
				t.Errorf("host %d has the place of %d", n, want)
			}
		}
		for range maxStarts {
			s.give()
		}
		if s.n != 0 || len(s.queue) != 0 {
			t.Errorf("%d places are taken, %d wait", s.n, len(s.queue))
		}
	})
}
