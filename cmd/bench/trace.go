//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp/trace"
)

// tracedTags is the number of transactions of a traced program.
const tracedTags = 20

// traced measures how many records a second the agent trace takes in, each side as a process of its
// own collector: asynchronous programs send as many as fit, synchronous ones wait for each acknowledgement.
func (b *bench) traced(ctx context.Context) error {
	workloads := []struct {
		label   string
		sync    bool
		clients []int
	}{{"trace.async", false, []int{1, 10}}, {"trace.sync", true, []int{1, 10, 100}}}
	head := sync.OnceFunc(func() {
		fmt.Printf("\n%-12s %7s %9s %12s %10s %7s\n", "trace", "clients", "side", "records/s", "cpu/record", "ratio")
	})
	var p *pair
	var ports [2]string
	for _, w := range workloads {
		for _, clients := range w.clients {
			if !b.wants(fmt.Sprintf("%s.%d", w.label, clients)) {
				continue
			}
			if p == nil {
				lines := [2][]string{}
				program, err := filepath.Abs(filepath.Join(b.links, "pmdatrace"))
				if err != nil {
					return err
				}
				for i, path := range []string{"PMDAS/trace/pmdatrace", program} {
					if ports[i], err = freePort(); err != nil {
						return err
					}
					lines[i] = []string{ownLine, fmt.Sprintf("trace 10 pipe binary %s -d 10 -I %s", path, ports[i])}
				}
				if p, err = b.startPair(ctx, "trace", lines[0], lines[1]); err != nil {
					return err
				}
				defer p.stop()
			}
			head()
			var rates [2][]float64
			var cpu [2]time.Duration
			var failed [2]error
			for range 5 { // in turn: the machine's speed varies
				for i, s := range []*server{p.real, p.ours} {
					if s == nil || failed[i] != nil {
						continue
					}
					before := cpuTime(s.pids())
					rate, n, err := sendRecords("127.0.0.1:"+ports[i], clients, b.time/5, w.sync)
					if err != nil { // the C agent has a short queue of connections
						failed[i], rates[i] = err, nil
						continue
					}
					rates[i] = append(rates[i], rate)
					cpu[i] = (cpuTime(s.pids()) - before) / time.Duration(max(1, n))
				}
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
			for i, name := range []string{"C", "ours"} {
				if failed[i] != nil {
					fmt.Printf("%-12s %7d %9s failed: %v\n", w.label, clients, name, failed[i])
				}
				if len(rates[i]) == 0 {
					continue
				}
				slices.Sort(rates[i])
				fmt.Printf("%-12s %7d %9s %12.0f %10s", w.label, clients, name, rates[i][len(rates[i])/2], short(cpu[i]))
				if i == 1 && len(rates[0]) > 0 {
					fmt.Printf(" %7.2f", rates[1][len(rates[1])/2]/rates[0][len(rates[0])/2])
				}
				fmt.Println()
			}
		}
	}
	return nil
}

// sendRecords has clients send records for a while, and returns how many a second the agent took in. A client that
// does not wait asks for an acknowledgement every four thousand records, so that only records that
// were read count.
func sendRecords(addr string, clients int, d time.Duration, wait bool) (rate float64, n int64, err error) {
	const batch = 4000
	var total atomic.Int64
	var once sync.Once
	var wg sync.WaitGroup
	start := time.Now()
	for c := range clients {
		wg.Go(func() {
			fail := func(e error) { once.Do(func() { err = e }) }
			conn, e := net.Dial("tcp", addr)
			if e != nil {
				fail(e)
				return
			}
			defer conn.Close()
			r := trace.NewReader(conn, 4096)
			if _, _, e := r.Next(); e != nil { // the greeting
				fail(e)
				return
			}
			var out []byte
			size := 1
			if !wait {
				size = batch
			}
			for i := range size {
				rec := trace.Record{
					Kind: trace.Transact, Sync: i == size-1, Value: .01,
					Tag: fmt.Appendf(nil, "transaction %d", (c+i)%tracedTags),
				}
				out = rec.Append(out, os.Getpid(), 16)
			}
			for time.Since(start) < d {
				conn.SetDeadline(time.Now().Add(30 * time.Second))
				if _, e := conn.Write(out); e != nil {
					fail(e)
					return
				}
				if _, _, e := r.Next(); e != nil {
					if e == io.EOF {
						e = fmt.Errorf("the agent ended the connection after %d records", total.Load())
					}
					fail(e)
					return
				}
				total.Add(int64(size))
			}
		})
	}
	wg.Wait()
	return float64(total.Load()) / time.Since(start).Seconds(), total.Load(), err
}
