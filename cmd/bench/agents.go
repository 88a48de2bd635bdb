//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// twelve are the metrics of the sample agent that clients ask for: of all
// types, with and without instances.
var twelve = []pcp.PMID{
	pcp.NewPMID(29, 0, 5),  // sample.colour
	pcp.NewPMID(29, 0, 6),  // sample.bin
	pcp.NewPMID(29, 0, 10), // sample.long.one
	pcp.NewPMID(29, 0, 11), // sample.long.ten
	pcp.NewPMID(29, 0, 12), // sample.long.hundred
	pcp.NewPMID(29, 0, 13), // sample.long.million
	pcp.NewPMID(29, 0, 14), // sample.long.write_me
	pcp.NewPMID(29, 0, 15), // sample.float.one
	pcp.NewPMID(29, 0, 16), // sample.float.ten
	pcp.NewPMID(29, 0, 20), // sample.double.one
	pcp.NewPMID(29, 0, 25), // sample.longlong.one
	pcp.NewPMID(29, 0, 30), // sample.string.null
}

const (
	ownLine    = "pmcd 2 dso pmcd_init PMDAS/pmcd/pmda_pmcd.so"
	sampleLine = "sample 29 dso sample_init PMDAS/sample/pmda_sample.so"
)

func heading(what string) {
	fmt.Printf("\n%-12s %7s %8s %9s %10s %10s %10s %9s %7s\n",
		what, "clients", "metrics", "side", "fetches/s", "p50", "p99", "cpu/fetch", "ratio")
}

// samples measures fetches of twelve metrics of the sample agent, which is in
// process at both sides.
func (b *bench) samples(ctx context.Context) error {
	var p *pair
	for _, clients := range []int{1, 10, 100} {
		if !b.wants(fmt.Sprintf("sample.%d", clients)) {
			continue
		}
		if p == nil {
			var err error
			if p, err = b.startPair(ctx, "sample", []string{ownLine, sampleLine}, []string{ownLine, sampleLine}); err != nil {
				return err
			}
			defer p.stop()
			heading("sample")
		}
		if err := b.printLoads(ctx, p, "in process", twelve, clients); err != nil {
			return err
		}
	}
	return nil
}

// eightAgents measures fetches of two metrics of each of eight agents: C
// agents as processes under both collectors, and then ours in process in
// addition. The C collector does not survive the same object under eight
// domains.
func (b *bench) eightAgents(ctx context.Context) error {
	var ids []pcp.PMID
	pipes, own := []string{ownLine}, []string{ownLine}
	for i := range 8 {
		domain := 401 + i
		if i%2 == 0 {
			ids = append(ids, pcp.NewPMID(domain, 0, 6), pcp.NewPMID(domain, 0, 11))
			pipes = append(pipes, fmt.Sprintf("a%d %d pipe binary PMDAS/sample/pmdasample -d %[2]d", i, domain))
			own = append(own, fmt.Sprintf("a%d %d dso sample_init PMDAS/sample/pmda_sample.so", i, domain))
		} else {
			ids = append(ids, pcp.NewPMID(domain, 0, 0), pcp.NewPMID(domain, 0, 1))
			pipes = append(pipes, fmt.Sprintf("a%d %d pipe binary PMDAS/simple/pmdasimple -d %[2]d", i, domain))
			own = append(own, fmt.Sprintf("a%d %d dso simple_init PMDAS/simple/pmda_simple.so", i, domain))
		}
	}
	head := sync.OnceFunc(func() { heading("eight agents") })
	for _, w := range []struct {
		label, text string
		ours        []string
	}{{"eight.pipe", "C, by pipe", pipes}, {"eight.own", "of its own", own}} {
		var p *pair
		for _, clients := range []int{1, 10, 100} {
			if !b.wants(fmt.Sprintf("%s.%d", w.label, clients)) {
				continue
			}
			if w.label == "eight.pipe" && b.real == nil {
				continue // there are no C agents
			}
			if p == nil {
				var err error
				if p, err = b.startPair(ctx, w.label, pipes, w.ours); err != nil {
					return err
				}
				defer p.stop()
				head()
			}
			if err := b.printLoads(ctx, p, w.text, ids, clients); err != nil {
				return err
			}
		}
	}
	return nil
}

// slowAgent measures the cost for clients of the sample agent when others use
// an agent that takes half a second for each answer.
func (b *bench) slowAgent(ctx context.Context) error {
	var p *pair
	for _, clients := range []int{1, 10} {
		if !b.wants(fmt.Sprintf("slow.%d", clients)) {
			continue
		}
		if p == nil {
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			lines := []string{ownLine, sampleLine, fmt.Sprintf("slow %d pipe binary /usr/bin/env %s=slow %s", slowDomain, agentEnv, exe)}
			if p, err = b.startPair(ctx, "slow", lines, lines); err != nil {
				return err
			}
			defer p.stop()
			fmt.Printf("\n%-12s %7s %12s %9s %10s %10s %10s %10s\n", "slow agent", "clients", "slow clients", "side", "fetches/s", "p50", "p99", "max")
		}
		for _, slow := range []int{0, 2} {
			all, err := inTurn(ctx, p.sides(), func(s *server) (measured, error) {
				stop, err := askSlowly(s, slow)
				if err != nil {
					return measured{}, err
				}
				defer stop()
				return runLoad(s, load{Clients: clients, Time: b.time / 2, PMIDs: twelve, Patience: 30 * time.Second})
			})
			if err != nil {
				return err
			}
			for _, s := range p.sides() {
				r := all[s]
				d := func(of func(measured) time.Duration) string {
					return short(time.Duration(middle(r, func(m measured) float64 { return float64(of(m)) })))
				}
				fmt.Printf("%-12s %7d %12d %9s %10.0f %10s %10s %10s\n", "in process", clients, slow, s.name, middle(r, measured.PerSecond),
					d(func(m measured) time.Duration { return m.P50 }),
					d(func(m measured) time.Duration { return m.P99 }),
					d(func(m measured) time.Duration { return m.Max }))
			}
		}
	}
	return nil
}

// askSlowly has n clients ask the slow agent until stop is called.
func askSlowly(s *server, n int) (stop func(), err error) {
	request := wire.Append(nil, wire.FromAnon, &wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{pcp.NewPMID(slowDomain, 0, 1)}})
	end := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		fd, err := dialRaw(s.tcp)
		if err != nil {
			close(end)
			return nil, err
		}
		wg.Go(func() {
			defer closeRaw(fd)
			for {
				select {
				case <-end:
					return
				default:
				}
				if _, err := fetchOnce(fd, request); err != nil {
					fmt.Printf("a client of the slow agent: %v\n", err)
					return
				}
			}
		})
	}
	return func() {
		close(end)
		wg.Wait()
	}, nil
}

// The slow agent is this program, when a collector starts it with agentEnv.
const (
	agentEnv   = "BENCH_AGENT"
	slowDomain = 420
	slowness   = 500 * time.Millisecond
)

// slowMain is the main function of the slow agent. All its metrics are 42.
func slowMain() {
	send := func(p wire.PDU) {
		if _, err := os.Stdout.Write(wire.Append(nil, int32(os.Getpid()), p)); err != nil {
			os.Exit(0)
		}
	}
	send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
	for r := wire.NewReader(os.Stdin); ; {
		h, body, err := r.Next()
		if err != nil {
			return
		}
		if h.Type != wire.TypeFetch {
			continue
		}
		var req wire.Fetch
		if err := req.DecodeBody(body); err != nil {
			return
		}
		time.Sleep(slowness)
		res := &wire.Result{}
		for _, id := range req.PMIDs {
			res.AddSet(id)
			res.Add(pcp.Int32Value(42))
		}
		send(res)
	}
}
