package attack

import (
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/wire"
)

// attackers is how many clients attack at any time.
const attackers = 20

// attackFor returns how long an attack takes: PCP_ATTACK, or five minutes in the long form.
func attackFor(t *testing.T) time.Duration {
	t.Helper()
	d := time.Duration(longtest.N(2, 300)) * time.Second
	if s := os.Getenv("PCP_ATTACK"); s != "" {
		var err error
		if d, err = time.ParseDuration(s); err != nil {
			t.Fatalf("PCP_ATTACK: %v", err)
		}
	}
	return d
}

// TestAttackMessages has clients send messages that are wrong, or right except for some bits, one
// after the other and without an end. The collector serves another client meanwhile, and keeps
// nothing of them.
func TestAttackMessages(t *testing.T) {
	length := attackFor(t)
	c := Start(t, Options{})
	stop := c.Watch(t)
	before, _ := c.Memory()
	seed := longtest.Seed(t)
	bad := badPDUs()
	good := [][]byte{
		wire.Append(nil, 0, &wire.Fetch{HighRes: true, PMIDs: control}),
		wire.Append(nil, 0, &wire.DescReq{PMID: control[1]}),
		wire.Append(nil, 0, &wire.InstanceReq{InDom: pcp.NewInDom(29, 2), Inst: pcp.InNull}),
		wire.Append(nil, 0, &wire.PMNSNames{Names: []string{"sample.bin", "sample.long.one"}}),
		wire.Append(nil, 0, &wire.PMNSTraverse{Name: "sample.long"}),
		wire.Append(nil, 0, &wire.LabelReq{Ident: uint32(control[1]), Kind: pcp.LabelItem}),
		wire.Append(nil, 0, &wire.TextReq{Ident: uint32(control[1]), Kind: pcp.TextPMID | pcp.TextHelp}),
		wire.Append(nil, 0, &wire.Profile{Profile: pcp.Profile{State: pcp.ProfileExclude, InDoms: []pcp.ProfileInDom{{InDom: 1, Insts: []int32{1, 2}}}}}),
	}
	var messages, connections atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(length)
	for i := range attackers {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		network := []string{"tcp", "unix"}[i%2]
		wg.Go(func() {
			for time.Now().Before(end) && !t.Failed() {
				cl := c.Connect(t, network)
				connections.Add(1)
				if rnd.IntN(10) > 0 { // the others begin with a wrong message
					cl.Shake(t)
				}
				done := make(chan struct{})
				go func() { // reads the answers, so that the client is not one without a reader
					defer close(done)
					for {
						if _, _, err := cl.Next(); err != nil {
							return
						}
					}
				}()
				for time.Now().Before(end) {
					b := slices.Clone(bad[rnd.IntN(len(bad))].bytes)
					if rnd.IntN(4) > 0 {
						b = slices.Clone(good[rnd.IntN(len(good))])
						for range rnd.IntN(4) {
							b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
						}
					}
					if cl.Write(b) != nil {
						break // it was sent away
					}
					messages.Add(1)
				}
				cl.Conn.Close()
				<-done
			}
		})
	}
	wg.Wait()
	fetches, longest := stop()
	t.Logf("attack: messages: %v, %d messages in %d connections of %d clients; another client: %d fetches, at most %v",
		length, messages.Load(), connections.Load(), attackers, fetches, longest.Round(time.Microsecond))
	if messages.Load() < 1000 || fetches == 0 {
		t.Errorf("%d messages, %d fetches", messages.Load(), fetches)
	}
	if !c.Alive() {
		t.Fatal("the collector has ended")
	}
	c.costs(t, before, 96)
	c.Finish(t, 0)
}
