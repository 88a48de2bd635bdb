package soak

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/interop/attack"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/wire"
)

// clients is how many there are at any time.
const clients = 500

// Metrics that must never fail, two of each good agent, and those that need
// only an answer.
var (
	good = []pcp.PMID{
		pcp.NewPMID(2, 0, 3), pcp.NewPMID(2, 0, 4), // pmcd.numclients and pmcd.control.timeout
		pcp.NewPMID(29, 0, 11), pcp.NewPMID(29, 0, 6), // sample.long.ten and sample.bin
		pcp.NewPMID(253, 0, 0), pcp.NewPMID(253, 0, 1), // simple.numfetch and simple.color
		pcp.NewPMID(domainPipe, 0, 0), pcp.NewPMID(domainPipe, 0, 1),
		pcp.NewPMID(domainSocket, 0, 11), pcp.NewPMID(domainSocket, 0, 6),
		pcp.NewPMID(domainLeak, 0, 1), pcp.NewPMID(domainLeak, 0, 2),
	}
	bad = []pcp.PMID{pcp.NewPMID(domainHang, 0, 1), pcp.NewPMID(domainCrash, 0, 1)}
)

// figures are the totals of all clients.
type figures struct {
	fetches, errors, connections atomic.Int64 // errors are those of bad agents

	mu   sync.Mutex
	took []time.Duration // some of the fetches from good agents alone
}

func (f *figures) add(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.took = append(f.took, d)
}

// TestSoak is described with the package.
func TestSoak(t *testing.T) {
	length := 15 * time.Second
	if longtest.Enabled() {
		length = 10 * time.Minute
	}
	if s := os.Getenv("PCP_SOAK"); s != "" {
		var err error
		if length, err = time.ParseDuration(s); err != nil {
			t.Fatalf("PCP_SOAK: %v", err)
		}
	} else if testing.Short() {
		length = 2 * time.Second
	}
	c := attack.Start(t, attack.Options{Agents: lines(t), Timeout: 10})
	before, _ := c.Memory()
	files, threads := c.Files(), c.Threads()

	var f figures
	var wg sync.WaitGroup
	end := make(chan struct{})
	for i := range clients {
		wg.Go(func() { client(t, c, i, &f, end) })
	}

	// The test checks memory once a second; every 5 s the collector gets
	// SIGHUP, and restarts the agents that it dropped.
	var memory []int
	hangUps := 0
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < length && !t.Failed(); {
		<-tick.C
		now, _ := c.Memory()
		memory = append(memory, now)
		if len(memory)%5 == 0 {
			c.Signal(syscall.SIGHUP)
			hangUps++
		}
	}
	close(end)
	wg.Wait()

	dropped := map[string]int{}
	for _, name := range []string{"piped", "socket", "leak", "hang", "crash"} {
		dropped[name] = len(c.Lines("agent dropped agent=" + name + " "))
	}
	slices.Sort(f.took)
	at := func(permille int) time.Duration {
		if len(f.took) == 0 {
			return 0
		}
		return f.took[min(len(f.took)-1, len(f.took)*permille/1000)].Round(time.Microsecond)
	}
	_, peak := c.Memory()
	t.Logf("%v: %d clients, %d connections, %d requests; %d values of bad agents were missing", length, clients, f.connections.Load(), f.fetches.Load(), f.errors.Load())
	t.Logf("good metrics: median %v, 99 %% within %v, at most %v", at(500), at(990), at(1000))
	t.Logf("%d hang-ups; agents dropped: %v", hangUps, dropped)
	t.Logf("resident: %d MiB at the start, %d after a fifth, %d at the end, %d at the most",
		before>>20, memory[len(memory)/5]>>20, memory[len(memory)-1]>>20, peak>>20)
	for _, name := range []string{"piped", "socket", "leak"} {
		if dropped[name] > 0 {
			t.Errorf("agent %s was dropped: %q", name, c.Lines("agent dropped agent="+name+" "))
		}
	}
	late := len(c.Lines("agent does not answer in time; its requests are refused until it does agent=hang "))
	if length > 10*time.Second && (late+dropped["hang"] == 0 || dropped["crash"] == 0) {
		t.Error("the bad agents did not get to be bad")
	}
	// Compare the second fifth with the last: a leak grows.
	if n := len(memory) / 5; n > 0 {
		early, late := slices.Max(memory[n:2*n]), slices.Max(memory[len(memory)-n:])
		if late > early+early/4+(16<<20) {
			t.Errorf("memory grows: %d MiB, then %d MiB", early>>20, late>>20)
		}
	}
	attack.Eventually(t, "clients leave", func() bool { return c.NumClients() == 1 })
	attack.Eventually(t, fmt.Sprintf("descriptors are closed (%d to begin with)", files), func() bool { return c.Files() <= files })
	t.Logf("descriptors: %d at the start, %d now; threads: %d, %d", files, c.Files(), threads, c.Threads())
	c.Finish(t, 5+1) // another goroutine waits for the answer of the agent that hangs, while it is overdue
}

// client is the life of one: connections, each with some fetches.
func client(t *testing.T, c *attack.Collector, number int, f *figures, end chan struct{}) {
	network := "tcp"
	if number%5 == 0 {
		network = "unix"
	}
	rnd := rand.New(rand.NewPCG(uint64(number), 0))
	for {
		cl := c.Dial(t, network)
		f.connections.Add(1)
		for range 50 + rnd.IntN(100) {
			select {
			case <-end:
				cl.Conn.Close()
				return
			case <-time.After(time.Duration(rnd.IntN(400)) * time.Millisecond):
			}
			if err := session(cl, rnd, f); err != nil {
				t.Errorf("client %d: %v", number, err)
				cl.Conn.Close()
				return
			}
		}
		cl.Conn.Close()
	}
}

// session makes a fetch, and now and then other requests.
func session(cl *attack.Client, rnd *rand.Rand, f *figures) error {
	f.fetches.Add(1)
	switch rnd.IntN(20) {
	case 0: // the bad ones among the good
		res, err := cl.Fetch(slices.Concat(good, bad)...)
		if err != nil {
			return err
		}
		for i, vs := range res.Sets {
			if vs.Err == 0 && len(vs.Values) > 0 {
				continue
			}
			if i < len(good) {
				return fmt.Errorf("%v of a good agent: %+v", good[i], vs)
			}
			f.errors.Add(1)
		}
		return nil
	case 1:
		p, err := cl.Ask(&wire.DescReq{PMID: good[rnd.IntN(len(good))]})
		if _, ok := p.(*wire.Desc); !ok || err != nil {
			return fmt.Errorf("descriptor: %+v, %w", p, err)
		}
		return nil
	case 2:
		p, err := cl.Ask(&wire.InstanceReq{InDom: pcp.NewInDom(domainSocket, 2), Inst: pcp.InNull})
		if _, ok := p.(*wire.Instance); !ok || err != nil {
			return fmt.Errorf("instances: %+v, %w", p, err)
		}
		return nil
	}
	began := time.Now()
	if err := cl.Check(good...); err != nil {
		return err
	}
	if rnd.IntN(10) == 0 {
		f.add(time.Since(began))
	}
	return nil
}
