package pmcd_test

import (
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/linux"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/wire"
)

// BenchmarkFetch is a fetch through a Unix socket, of one metric of the
// collector and of 50 of the kernel's, by one client and by many at a time.
func BenchmarkFetch(b *testing.B) {
	own := []pcp.PMID{pcp.NewPMID(2, 0, 4)}
	var fifty []pcp.PMID
	for _, names := range []string{"mem.util", "mem.vmstat"} {
		fifty = append(fifty, leaves(b, names)...)
	}
	fifty = fifty[:50]
	for _, c := range []struct {
		name    string
		ids     []pcp.PMID
		clients int
	}{{"own", own, 1}, {"own", own, 100}, {"fifty", fifty, 1}, {"fifty", fifty, 100}} {
		b.Run(fmt.Sprintf("%s/clients=%d", c.name, c.clients), func(b *testing.B) {
			s := start(b, pmcd.Config{Agents: []pmcd.AgentSpec{builtin(b, "pmcd"), builtin(b, "linux")}})
			b.ReportAllocs()
			var left atomic.Int64
			var done sync.WaitGroup
			conns := make([]*rawClient, c.clients)
			for i := range conns {
				conns[i] = dial(b, "unix", s.Socket)
				conns[i].fetch(c.ids...)
			}
			request := wire.Append(nil, 0, &wire.Fetch{HighRes: true, PMIDs: c.ids})
			b.ResetTimer()
			left.Store(int64(b.N))
			for _, cl := range conns {
				done.Go(func() {
					for left.Add(-1) >= 0 {
						if err := roundTrip(cl.conn, cl.pdus, request); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			done.Wait()
		})
	}
}

func roundTrip(conn net.Conn, r *wire.Reader, request []byte) error {
	if _, err := conn.Write(request); err != nil {
		return err
	}
	h, _, err := r.Next()
	if err == nil && h.Type != wire.TypeHighResResult {
		err = fmt.Errorf("got %v", h.Type)
	}
	return err
}

// leaves are the PMIDs of the kernel's metrics below a name.
func leaves(b *testing.B, name string) (ids []pcp.PMID) {
	b.Helper()
	below, err := linux.New(linux.Config{}).NameSpace().Leaves(name)
	if err != nil {
		b.Fatal(err)
	}
	for _, id := range below {
		ids = append(ids, id)
	}
	return ids
}

// TestFetchAllocatesNothing pins what a fetch costs the garbage collector.
func TestFetchAllocatesNothing(t *testing.T) {
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{builtin(t, "pmcd"), inProcess("other", 301, refresher{&scripted{}})}})
	for name, ids := range map[string][]pcp.PMID{
		"one agent":  {pcp.NewPMID(2, 0, 4), pcp.NewPMID(2, 0, 8)},
		"two agents": {pcp.NewPMID(2, 0, 4), pcp.NewPMID(2, 0, 24), pcp.NewPMID(2, 0, 8), pcp.NewPMID(400, 0, 0)},
	} {
		c := dial(t, "unix", s.Socket)
		c.fetch(ids...)
		request := wire.Append(nil, 0, &wire.Fetch{HighRes: true, PMIDs: ids})
		if n := testing.AllocsPerRun(200, func() {
			if err := roundTrip(c.conn, c.pdus, request); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: a fetch allocates %v times", name, n)
		}
	}
}

// BenchmarkHeavyFetch has 20 clients fetch 16,000 metrics each, under the
// limit of memory that the program sets.
func BenchmarkHeavyFetch(b *testing.B) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	s := start(b, pmcd.Config{Agents: []pmcd.AgentSpec{builtin(b, "sample")}, MemoryLimit: 24 << 20})
	ids := make([]pcp.PMID, 16000)
	for i := range ids {
		ids[i] = pcp.NewPMID(29, 0, []int{5, 6, 10, 11, 12, 15, 20, 25}[i%8])
	}
	heavy := wire.Append(nil, 0, &wire.Fetch{HighRes: true, PMIDs: ids})
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	clients := make([]*rawClient, 20)
	for i := range clients {
		clients[i] = dial(b, "unix", s.Socket)
		clients[i].send(&wire.Profile{})
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, c := range clients {
		wg.Go(func() {
			head := make([]byte, wire.HeaderSize)
			buf := make([]byte, 64<<10)
			for left.Add(-1) >= 0 {
				c.write(heavy)
				io.ReadFull(c.conn, head)
				h, _ := wire.ParseHeader(head)
				for n := int(h.Len) - len(head); n > 0; {
					k, err := c.conn.Read(buf[:min(n, len(buf))])
					if err != nil {
						b.Error(err)
						return
					}
					n -= k
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkConnect has a client come, shake hands, fetch one metric of the
// collector itself and go.
func BenchmarkConnect(b *testing.B) {
	s := start(b, pmcd.Config{Agents: []pmcd.AgentSpec{builtin(b, "pmcd")}})
	hello := wire.Append(nil, 1, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
	hello = append(hello, wire.Append(nil, 0, &wire.Profile{})...)
	hello = append(hello, wire.Append(nil, 0, &wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{pcp.NewPMID(2, 0, 4)}})...)
	reply := make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		conn, err := net.Dial("tcp", s.TCP)
		if err != nil {
			b.Fatal(err)
		}
		for _, request := range [][]byte{nil, hello} {
			if _, err := conn.Write(request); err != nil {
				b.Fatal(err)
			}
			if _, err := conn.Read(reply); err != nil {
				b.Fatal(err)
			}
		}
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
}
