//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/wire"
)

// fifty selects the metrics of the middle workload: those of a dashboard of one
// host's memory.
var fifty = []string{"mem.util:40", "mem.vmstat:10"}

// all selects the metrics for comparing the linux agents of both sides.
var all = []string{"kernel", "mem", "swap", "disk", "network.interface", "filesys", "hinv"}

// pmids returns the PMIDs of the leaves below the names, as one server has
// them; "name:n" takes the first n in the order of their names.
func pmids(ctx context.Context, s *server, names []string) (map[string]pcp.PMID, error) {
	c, err := pmapi.Dial(ctx, "unix:"+s.sock)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	found := map[string]pcp.PMID{}
	for _, name := range names {
		prefix, limit := name, 1<<20
		if p, n, ok := strings.Cut(name, ":"); ok {
			prefix = p
			fmt.Sscan(n, &limit)
		}
		var leaves []string
		for leaf, err := range c.Traverse(ctx, prefix) {
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", s.name, prefix, err)
			}
			leaves = append(leaves, leaf)
		}
		slices.Sort(leaves)
		leaves = leaves[:min(limit, len(leaves))]
		ids, err := c.LookupName(ctx, leaves...)
		if err != nil && !errors.Is(err, pcp.ErrNonLeaf) && !errors.Is(err, pcp.ErrName) {
			return nil, err
		}
		for i, id := range ids {
			if id != pcp.PMIDNull && !id.IsDerived() && id.Domain() != pcp.DomainDynamic {
				found[leaves[i]] = id
			}
		}
	}
	return found, nil
}

// shared returns the PMIDs that every side has for names.
func (b *bench) shared(ctx context.Context, names []string) ([]pcp.PMID, error) {
	var ids []pcp.PMID
	mine, err := pmids(ctx, b.ours, names)
	if err != nil {
		return nil, err
	}
	theirs := mine
	if b.real != nil {
		if theirs, err = pmids(ctx, b.real, names); err != nil {
			return nil, err
		}
	}
	for name, id := range mine {
		if theirs[name] == id {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		return nil, fmt.Errorf("no metric of %v is on both sides", names)
	}
	return ids, nil
}

// loads measures fetches by 1 to 500 clients of 1, 50 and all metrics.
func (b *bench) loads(ctx context.Context) error {
	workloads := []struct {
		label string
		names []string
	}{
		{"own", []string{"pmcd.control.timeout"}},
		{"load", []string{"kernel.all.load"}},
		{"fifty", fifty},
		{"all", all},
	}
	heading := sync.OnceFunc(func() {
		fmt.Printf("\n%-12s %7s %8s %9s %10s %10s %10s %9s %7s\n",
			"fetch", "clients", "metrics", "side", "fetches/s", "p50", "p95", "cpu/fetch", "ratio")
	})
	for _, w := range workloads {
		for _, clients := range []int{1, 10, 100, 500} {
			label := fmt.Sprintf("fetch.%s.%d", w.label, clients)
			if !b.wants(label) {
				continue
			}
			heading()
			ids, err := b.shared(ctx, w.names)
			if err != nil {
				return err
			}
			var rate float64
			for _, s := range b.sides() {
				l := load{Addr: s.tcp, Clients: clients, Time: b.time, PMIDs: ids}
				before := cpuTime(s.pids())
				r, err := l.run()
				if err != nil {
					fmt.Printf("%-12s %7d %8d %9s failed: %v\n", w.label, clients, len(ids), s.name, err)
					continue
				}
				cpu := (cpuTime(s.pids()) - before) / time.Duration(max(1, r.Fetches))
				fmt.Printf("%-12s %7d %8d %9s %10.0f %10s %10s %9s", w.label, clients, len(ids), s.name,
					r.PerSecond(), short(r.P50), short(r.P95), short(cpu))
				if s == b.real {
					rate = r.PerSecond()
				} else if rate > 0 {
					fmt.Printf(" %7.2f", r.PerSecond()/rate)
				}
				fmt.Println()
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
		}
	}
	return nil
}

// bursts measures how long it takes until all of many clients that connect at
// the same instant have been served one fetch, and how many are not within 10 s.
func (b *bench) bursts(ctx context.Context) error {
	if !b.wants("burst") {
		return nil
	}
	ids, err := b.shared(ctx, []string{"kernel.all.load"})
	if err != nil {
		return err
	}
	fmt.Printf("\n%-12s %7s %9s %10s %10s %10s\n", "burst", "clients", "side", "p50", "last", "unserved")
	for _, clients := range []int{100, 500} {
		for _, s := range b.sides() {
			served, unserved := burst(s.tcp, clients, ids)
			if len(served) == 0 {
				fmt.Printf("%-12s %7d %9s nobody was served\n", "burst", clients, s.name)
				continue
			}
			slices.Sort(served)
			fmt.Printf("%-12s %7d %9s %10s %10s %10d\n", "burst", clients, s.name,
				short(served[len(served)/2]), short(served[len(served)-1]), unserved)
		}
	}
	return ctx.Err()
}

// burst starts all connections before it looks at any, so that they meet the
// collector's listen queue together.
func burst(addr string, clients int, ids []pcp.PMID) (served []time.Duration, unserved int) {
	request := wire.Append(nil, wire.FromAnon, &wire.Fetch{HighRes: true, PMIDs: ids})
	start := time.Now()
	fds := make([]int, 0, clients)
	for range clients {
		fd, err := connectLater(addr)
		if err != nil {
			unserved++
			continue
		}
		fds = append(fds, fd)
	}
	done := make(chan time.Duration, clients)
	for _, fd := range fds {
		go func() {
			defer unix.Close(fd)
			if err := awaitConnect(fd, start.Add(10*time.Second)); err == nil {
				if err = fetchOn(fd, request); err == nil {
					done <- time.Since(start)
					return
				}
			}
			done <- -1
		}()
	}
	for range fds {
		if d := <-done; d < 0 {
			unserved++
		} else {
			served = append(served, d)
		}
	}
	return served, unserved
}

// awaitConnect waits until a connection has been made, and lets the socket
// block from then on.
func awaitConnect(fd int, deadline time.Time) error {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	for {
		n, err := unix.Poll(poll, int(max(0, time.Until(deadline)/time.Millisecond)))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return os.ErrDeadlineExceeded
		}
		break
	}
	e, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err
	}
	if e != 0 {
		return syscall.Errno(e)
	}
	return unix.SetNonblock(fd, false)
}

func fetchOn(fd int, request []byte) error {
	tv := unix.Timeval{Sec: 10}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return err
	}
	if err := handshake(fd); err != nil {
		return err
	}
	_, err := fetchOnce(fd, request)
	return err
}

func oneFetch(addr string, request []byte) error {
	fd, err := connectRaw(addr)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return fetchOn(fd, request)
}

// fullFetch measures the cost of being monitored: one fetch of everything a second.
func (b *bench) fullFetch(ctx context.Context) error {
	if !b.wants("full") {
		return nil
	}
	ids, err := b.shared(ctx, all)
	if err != nil {
		return err
	}
	request := wire.Append(nil, wire.FromAnon, &wire.Fetch{HighRes: true, PMIDs: ids})
	seconds := max(5, int(b.time/time.Second))
	fmt.Printf("\n%-12s %8s %9s %12s %7s\n", "full fetch", "metrics", "side", "cpu/fetch", "ratio")
	var theirs time.Duration
	for _, s := range b.sides() {
		fd, err := dialRaw(s.tcp)
		if err != nil {
			return err
		}
		if _, err := fetchOnce(fd, request); err != nil {
			return err
		}
		before := cpuTime(s.pids())
		for range seconds {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
			}
			if _, err := fetchOnce(fd, request); err != nil {
				return err
			}
		}
		unix.Close(fd)
		cpu := (cpuTime(s.pids()) - before) / time.Duration(seconds)
		fmt.Printf("%-12s %8d %9s %12s", "1 a second", len(ids), s.name, short(cpu))
		if s == b.real {
			theirs = cpu
		} else if theirs > 0 {
			fmt.Printf(" %7.2f", float64(theirs)/float64(cpu))
		}
		fmt.Println()
	}
	return nil
}

// memory prints the resident memory of the collectors after all that.
func (b *bench) memory(context.Context) error {
	if !b.wants("memory") {
		return nil
	}
	fmt.Printf("\n%-12s %9s %10s %10s %10s\n", "memory", "side", "processes", "rss", "pss")
	for _, s := range b.sides() {
		rss, pss := memory(s.pids())
		fmt.Printf("%-12s %9s %10d %7.1fMiB %7.1fMiB\n", "resident", s.name, len(s.pids()), float64(rss)/1024, float64(pss)/1024)
	}
	return nil
}

// collectorStart measures from the start of a collector to the first value.
func (b *bench) collectorStart(ctx context.Context) error {
	if !b.wants("start") {
		return nil
	}
	fmt.Printf("\n%-12s %9s %10s %10s %7s\n", "start", "side", "median", "max", "ratio")
	var theirs time.Duration
	for _, s := range b.sides() {
		var t []time.Duration
		for range max(3, b.runs/3) {
			d, err := s.again(ctx)
			if err != nil {
				return err
			}
			t = append(t, d)
		}
		slices.Sort(t)
		fmt.Printf("%-12s %9s %10s %10s", "first value", s.name, short(t[len(t)/2]), short(t[len(t)-1]))
		if s == b.real {
			theirs = t[len(t)/2]
		} else if theirs > 0 {
			fmt.Printf(" %7.2f", float64(theirs)/float64(t[len(t)/2]))
		}
		fmt.Println()
	}
	return nil
}

// short prints d with three digits.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.3gµs", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.3gms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.3gs", d.Seconds())
}
