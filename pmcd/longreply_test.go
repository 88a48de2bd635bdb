//go:build !race

// The race detector has sync.Pool forget at random.

package pmcd_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/wire"
)

// TestLongRepliesShareMemory has two clients fetch 16,000 metrics in turn. The
// memory of a reply serves the next.
func TestLongRepliesShareMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would free the shared memory
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("agent", 301, &scripted{})}})
	ids := make([]pcp.PMID, 16000)
	for i := range ids {
		ids[i] = pcp.NewPMID(301, 0, 1)
	}
	heavy := wire.Append(nil, 0, &wire.Fetch{HighRes: true, PMIDs: ids})
	clients := []*rawClient{dial(t, "unix", s.Socket), dial(t, "unix", s.Socket)}
	reply := 0
	fetch := func(c *rawClient) {
		c.write(heavy)
		h, _, err := c.pdus.Next()
		if err != nil || h.Type != wire.TypeHighResResult {
			t.Fatal(h, err)
		}
		reply = int(h.Len)
	}
	for _, c := range clients {
		c.send(&wire.Profile{})
		for range 10 {
			fetch(c)
		}
	}
	const n = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range n {
		fetch(clients[i%2])
	}
	runtime.ReadMemStats(&after)
	if each := int(after.TotalAlloc-before.TotalAlloc) / n; each > reply/2 {
		t.Errorf("a fetch with a reply of %d bytes allocates %d", reply, each)
	}
}
