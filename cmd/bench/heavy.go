//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// heavyMetrics is the number of metrics of a heavy fetch, close to the limit of
// a request.
const heavyMetrics = 16000

// heavyFetches measures how long a client with a small fetch waits while
// others send fetches of 16,000 metrics: 20 that take their replies, and 200
// that do not read.
func (b *bench) heavyFetches(ctx context.Context) error {
	ids := make([]pcp.PMID, heavyMetrics)
	for i := range ids {
		ids[i] = twelve[i%len(twelve)]
	}
	heavy := wire.Append(nil, wire.FromAnon, &wire.Fetch{HighRes: true, PMIDs: ids})
	var p *pair
	for _, w := range []struct {
		clients int
		read    bool
		what    string
	}{{0, true, "alone"}, {20, true, "that read"}, {200, false, "that do not"}} {
		if !b.wants(fmt.Sprintf("heavy.%d", w.clients)) {
			continue
		}
		if p == nil {
			var err error
			lines := []string{ownLine, sampleLine}
			if p, err = b.startPair(ctx, "heavy", lines, lines); err != nil {
				return err
			}
			defer p.stop()
			fmt.Printf("\n%-12s %7s %12s %9s %10s %10s %10s %10s %9s\n",
				"heavy", "clients", "", "side", "light/s", "p50", "p99", "max", "heavy/s")
		}
		for _, s := range p.sides() {
			done, stop, err := floodHeavily(s, w.clients, w.read, heavy)
			var light []time.Duration
			var before, after int
			if err == nil {
				before = done()
				light, err = lightly(ctx, s, b.time)
				after = done()
				stop()
			}
			if err != nil || len(light) == 0 {
				fmt.Printf("%-12s %7d %12s %9s failed: %v\n", "16,000", w.clients, w.what, s.name, err)
				continue
			}
			slices.Sort(light)
			fmt.Printf("%-12s %7d %12s %9s %10.0f %10s %10s %10s %9.0f\n", "16,000", w.clients, w.what, s.name,
				float64(len(light))/b.time.Seconds(), short(light[len(light)/2]), short(light[len(light)*99/100]), short(light[len(light)-1]),
				float64(after-before)/b.time.Seconds())
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// lightly fetches one metric of each of two agents again and again, with a
// millisecond of rest between, and returns the time of each fetch.
func lightly(ctx context.Context, s *server, length time.Duration) (took []time.Duration, err error) {
	fd, err := dialRaw(s.tcp)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	request := wire.Append(nil, wire.FromAnon, &wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{pcp.NewPMID(2, 0, 4), twelve[3]}})
	for end := time.Now().Add(length); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		began := time.Now()
		if _, err := fetchOnce(fd, request); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// floodHeavily has n clients send heavy without end, and either read the
// replies or not. Dropped clients reconnect. done is the number of replies
// read.
func floodHeavily(s *server, n int, read bool, heavy []byte) (done func() int, stop func(), err error) {
	var mu sync.Mutex
	var replies int
	end := make(chan struct{})
	fds := make([]int, n)
	var clients sync.WaitGroup
	for i := range fds {
		if fds[i], err = dialAgain(s.tcp); err != nil {
			return nil, nil, err
		}
	}
	for i := range fds {
		clients.Go(func() {
			for {
				mu.Lock()
				fd := fds[i]
				mu.Unlock()
				if read {
					readHeavily(fd, heavy, func() {
						mu.Lock()
						replies++
						mu.Unlock()
					})
				} else {
					for writeAll(fd, heavy) == nil {
					}
				}
				unix.Close(fd)
				select {
				case <-end:
					return
				default:
				}
				fd, err := dialAgain(s.tcp)
				if err != nil {
					return
				}
				mu.Lock()
				fds[i] = fd
				mu.Unlock()
			}
		})
	}
	time.Sleep(500 * time.Millisecond) // until it is under way
	done = func() int {
		mu.Lock()
		defer mu.Unlock()
		return replies
	}
	return done, func() {
		close(end)
		mu.Lock()
		for _, fd := range fds {
			unix.Shutdown(fd, unix.SHUT_RDWR)
		}
		mu.Unlock()
		clients.Wait()
	}, nil
}

// readHeavily is a client's life until its connection ends.
func readHeavily(fd int, heavy []byte, replied func()) {
	var head [wire.HeaderSize]byte
	buf := make([]byte, 256<<10)
	for writeAll(fd, heavy) == nil {
		if _, err := io.ReadFull(fdReader(fd), head[:]); err != nil {
			return
		}
		h, _ := wire.ParseHeader(head[:])
		for left := int(h.Len) - len(head); left > 0; {
			n, err := fdReader(fd).Read(buf[:min(left, len(buf))])
			if err != nil {
				return
			}
			left -= n
		}
		replied()
	}
}

func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// dialAgain tries for a while: a collector that has much to do can be late.
func dialAgain(addr string) (fd int, err error) {
	for range 20 {
		if fd, err = dialRaw(addr); err == nil {
			return fd, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return -1, err
}
