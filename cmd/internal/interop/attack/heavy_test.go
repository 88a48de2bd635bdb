package attack

import (
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// heavyFetch asks for about as many metrics as a request may hold.
func heavyFetch() []byte {
	ids := make([]pcp.PMID, 16000)
	for i := range ids {
		ids[i] = pcp.NewPMID(29, 0, []int{5, 6, 10, 11, 12, 15, 20, 25}[i%8]) // of sample, some with instances
	}
	return wire.Append(nil, 0, &wire.Fetch{HighRes: true, PMIDs: ids})
}

// TestHeavyFetches has 20 clients fetch 16,000 metrics again and again. It
// prints the waiting time of another client; package pmcd tests the order of
// requests, without a clock.
func TestHeavyFetches(t *testing.T) {
	c := Start(t, Options{})
	before, _ := c.Memory()
	heavy := heavyFetch()
	var wg sync.WaitGroup
	end := make(chan struct{})
	var clients []*Client
	for range 20 {
		clients = append(clients, c.Dial(t, "tcp"))
	}
	for _, cl := range clients {
		wg.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				if err := cl.Write(heavy); err != nil {
					t.Error(err)
					return
				}
				h, _, err := cl.Next()
				if err != nil || h.Type != wire.TypeHighResResult {
					t.Errorf("a heavy fetch gets %v, %v", h.Type, err)
					return
				}
			}
		})
	}
	c.measure(t, 3*time.Second)
	close(end)
	wg.Wait()
	c.costs(t, before, 128)
	for _, cl := range clients {
		cl.Conn.Close()
	}
	c.Finish(t, 0)
}

// TestHeavyFetchesUnread has 200 clients send fetches of 16,000 metrics
// without end, and read nothing.
func TestHeavyFetchesUnread(t *testing.T) {
	c := Start(t, Options{})
	before, _ := c.Memory()
	heavy := heavyFetch()
	var wg sync.WaitGroup
	var clients []*Client
	for range 200 {
		clients = append(clients, c.Dial(t, "tcp"))
	}
	for _, cl := range clients {
		wg.Go(func() {
			for {
				if err := cl.Write(heavy); err != nil {
					if !Ended(err) && !errors.Is(err, net.ErrClosed) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	c.measure(t, 8*time.Second)
	c.costs(t, before, 256)
	// Clients that leave now need not be dropped by the collector.
	for _, cl := range clients {
		cl.Conn.Close()
	}
	wg.Wait()
	c.Finish(t, 0)
}

// measure has the control client fetch for a while, and prints its waiting
// time.
func (c *Collector) measure(t testing.TB, length time.Duration) {
	t.Helper()
	var took []time.Duration
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(time.Millisecond) {
		began := time.Now()
		if err := c.Served(); err != nil {
			t.Fatalf("another client is not served: %v", err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("another client was served %d times; it waits %v at the median, %v at the most",
		len(took), took[len(took)/2].Round(time.Microsecond), took[len(took)-1].Round(time.Microsecond))
}
