package pmcd

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
)

// TestBrake has 200 clients of one address guess passwords. authPlaces of them are
// checked at a time, a client of another address does not wait, and nothing is
// left at the end.
func TestBrake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b brake
		closing := make(chan struct{})
		began := time.Now()
		end := began.Add(handshakeTimeout)
		var guesses sync.WaitGroup
		for range 200 {
			guesses.Go(func() {
				leave, err := b.enter("192.0.2.1", end, closing)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(failurePause)
				leave()
			})
		}
		synctest.Wait()
		leave, err := b.enter("192.0.2.2", end, closing)
		if err != nil || time.Since(began) != 0 {
			t.Errorf("another address waits for %v: %v", time.Since(began), err)
		}
		leave()
		guesses.Wait()
		if took, want := time.Since(began), 200/authPlaces*failurePause; took != want {
			t.Errorf("200 guesses take %v, want %v", took, want)
		}
		if len(b.hosts) != 0 {
			t.Errorf("%d addresses are remembered", len(b.hosts))
		}
	})
}

// TestBrakeEnds has a client that finds no place in time, and another that waits
// when the server stops.
func TestBrakeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b brake
		closing := make(chan struct{})
		var leave [authPlaces]func()
		for i := range leave {
			var err error
			if leave[i], err = b.enter("x", time.Now().Add(time.Second), closing); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.enter("x", time.Now().Add(time.Second), closing); !errors.Is(err, pcp.ErrTimeout) {
			t.Errorf("without a place: %v", err)
		}
		done := make(chan error)
		go func() {
			_, err := b.enter("x", time.Now().Add(time.Hour), closing)
			done <- err
		}()
		synctest.Wait()
		close(closing)
		if err := <-done; err == nil {
			t.Error("a place is found when the server stops")
		}
		for _, fn := range leave {
			fn()
		}
		if len(b.hosts) != 0 {
			t.Errorf("%d addresses are remembered", len(b.hosts))
		}
	})
}

func TestBrakeKey(t *testing.T) {
	for from, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "2001:db8::1": "2001:db8::/64", "2001:db8::ffff:1": "2001:db8::/64", "fe80::1%eth0": "fe80::/64",
		"::ffff:192.0.2.1": "::ffff:192.0.2.1", "/run/pcp/pmcd.socket": "/run/pcp/pmcd.socket",
	} {
		if got := brakeKey(from); got != want {
			t.Errorf("brakeKey(%q) = %q, want %q", from, got, want)
		}
	}
}
