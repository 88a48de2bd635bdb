//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// busyClients is how many clients fetch without a pause while the time of another's fetch is measured.
const busyClients = 500

// manyClients measures what N connected clients cost that have fetched once and wait: memory for each, and the time that a small fetch of
// one more takes while they wait and 500 others fetch without a pause.
func (b *bench) manyClients(ctx context.Context) error {
	headed := false
	for _, n := range []int{100, 1000, 10000} {
		label := fmt.Sprintf("clients.%d", n)
		if !b.wants(label) {
			continue
		}
		p, err := b.startPair(ctx, label, []string{ownLine}, []string{ownLine})
		if err != nil {
			return err
		}
		if !headed {
			headed = true
			fmt.Printf("\n%-14s %9s %14s %14s %10s %10s %12s\n", "clients", "side", "connected/s", "memory each", "p50", "p99", "busy fetches")
		}
		for _, s := range p.sides() {
			m, err := waitingClients(ctx, s, n, b.time)
			if err != nil {
				fmt.Printf("%-14s %9s failed: %v\n", label, s.name, err)
				continue
			}
			fmt.Printf("%-14s %9s %14.0f %11.1f kB %10s %10s %10.0f/s\n", label, s.name, m.connects, m.memory, short(m.p50), short(m.p99), m.busy)
		}
		p.stop()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// waiting is the result of waitingClients.
type waiting struct {
	connects float64 // a second
	memory   float64 // proportional, of each client in KiB
	p50, p99 time.Duration
	busy     float64 // fetches of the busy clients a second
}

// waitingClients connects n clients to s, and measures.
func waitingClients(ctx context.Context, s *server, n int, length time.Duration) (m waiting, err error) {
	request := wire.Append(nil, wire.FromAnon, &wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{pcp.NewPMID(2, 0, 4)}})
	fds := make([]int, 0, n)
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	_, before := memory(s.pids())
	begin := time.Now()
	for range n {
		fd, err := dialRaw(s.tcp)
		if err != nil {
			return m, fmt.Errorf("client %d: %w", len(fds)+1, err)
		}
		fds = append(fds, fd)
		if _, err := fetchOnce(fd, request); err != nil {
			return m, fmt.Errorf("client %d: %w", len(fds), err)
		}
		if err := ctx.Err(); err != nil {
			return m, err
		}
	}
	m.connects = float64(n) / time.Since(begin).Seconds()
	_, after := memory(s.pids())
	m.memory = float64(after-before) / float64(n)

	type result struct {
		loadResult
		err error
	}
	busy := make(chan result, 1)
	go func() {
		l := load{Addr: s.tcp, Clients: busyClients, Time: length, PMIDs: []pcp.PMID{pcp.NewPMID(2, 0, 4)}}
		r, err := l.run()
		busy <- result{r, err}
	}()
	var took []time.Duration
	fd := fds[0]
	for end := time.Now().Add(length); time.Now().Before(end) && err == nil; time.Sleep(time.Millisecond) {
		began := time.Now()
		_, err = fetchOnce(fd, request)
		took = append(took, time.Since(began))
	}
	r := <-busy
	if err == nil {
		err = r.err
	}
	if err != nil {
		return m, err
	}
	slices.Sort(took)
	m.p50, m.p99, m.busy = took[len(took)/2], took[len(took)*99/100], r.PerSecond()
	return m, nil
}
