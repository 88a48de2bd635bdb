package attack

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/wire"
)

// costs checks that the collector's resident set has grown by no more than
// mib since before.
func (c *Collector) costs(t testing.TB, before, mib int) {
	t.Helper()
	now, peak := c.Memory()
	t.Logf("memory: %d MiB before, %d MiB at the most, %d MiB now", before>>20, peak>>20, now>>20)
	if peak-before > mib<<20 {
		t.Errorf("it takes %d MiB more, want at most %d", (peak-before)>>20, mib)
	}
}

// TestEndlessProfiles is 5.E of the audit of 2024: each context with a profile
// took memory for as long as its client was there.
func TestEndlessProfiles(t *testing.T) {
	c := Start(t, Options{})
	c.Watch(t)
	before, _ := c.Memory()
	cl := c.Dial(t, "tcp")
	var refused int
	var b []byte
	for round := range 20 {
		b = b[:0]
		for i := range 5000 {
			b = wire.Append(b, 0, &wire.Profile{Context: int32(round*5000 + i), Profile: pcp.Profile{
				State: pcp.ProfileExclude, InDoms: []pcp.ProfileInDom{{InDom: 1, Insts: []int32{1, 2, 3}}},
			}})
		}
		// Its refusals must be taken, or it is a slow reader.
		done := make(chan int)
		go func() {
			n := 0
			for {
				p, err := cl.Answer()
				if _, ok := p.(*wire.Desc); ok || err == nil || Ended(err) {
					done <- n
					return
				}
				n++
			}
		}()
		if err := cl.Write(wire.Append(b, 0, &wire.DescReq{PMID: control[0]})); err != nil {
			t.Fatal(err)
		}
		refused += <-done
	}
	if want := 100000 - 1024; refused < want {
		t.Errorf("%d of 100000 profiles are refused, want at least %d", refused, want)
	}
	if err := cl.Check(control...); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	c.costs(t, before, 32)
	cl.Conn.Close()
	c.Finish(t, 0)
}

// TestBigProfiles has 100 clients fill their contexts with the largest
// profiles. One of usual size finds room all the same.
func TestBigProfiles(t *testing.T) {
	c := Start(t, Options{})
	c.Watch(t)
	before, _ := c.Memory()
	p := &wire.Profile{Profile: pcp.Profile{State: pcp.ProfileExclude, InDoms: []pcp.ProfileInDom{{InDom: 1, Insts: make([]int32, 16000)}}}}
	for i := range p.Profile.InDoms[0].Insts {
		p.Profile.InDoms[0].Insts[i] = int32(i)
	}
	var clients []*Client
	refused := 0
	for range 100 {
		cl := c.Dial(t, "tcp")
		clients = append(clients, cl)
		for i := range 64 {
			p.Context = int32(i + 1)
			if err := cl.Send(p); err != nil {
				t.Fatal(err)
			}
		}
		p, err := cl.Ask(&wire.DescReq{PMID: control[0]})
		for ; p == nil || p.Type() != wire.TypeDesc; p, err = cl.Answer() {
			if Ended(err) {
				t.Fatal(err)
			}
			refused++
		}
	}
	t.Logf("%d of 6400 are refused", refused)
	other := c.Dial(t, "tcp")
	other.Send(&wire.Profile{Context: 7, Profile: pcp.Profile{InDoms: []pcp.ProfileInDom{{InDom: pcp.NewInDom(29, 2), Insts: []int32{100}}}}})
	if err := other.Check(control...); err != nil {
		t.Errorf("a client with a profile of usual size: %v", err)
	}
	c.costs(t, before, 192)
	for _, cl := range append(clients, other) {
		cl.Conn.Close()
	}
	c.Finish(t, 0)
}

// TestMetricLists is 5.F of the audit of 2024: clients ask for as many metrics
// as a PDU holds, and stay.
func TestMetricLists(t *testing.T) {
	c := Start(t, Options{})
	c.Watch(t)
	before, _ := c.Memory()
	for _, domain := range []int{29, 222} { // an existing one, a missing one
		ids := make([]pcp.PMID, 16000)
		for i := range ids {
			ids[i] = pcp.NewPMID(domain, 4000, i%1024)
		}
		ids[1] = control[0] // makes it two agents
		for range 100 {
			cl := c.Dial(t, "tcp")
			defer cl.Conn.Close()
			if _, err := cl.Fetch(ids...); err != nil {
				t.Fatal(err)
			}
			if p, err := cl.Ask(&wire.DescIDs{PMIDs: ids}); err != nil {
				t.Fatalf("%+v, %v", p, err)
			}
			if err := cl.Check(control...); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.costs(t, before, 64)
}

// TestCVE_2012_3420 sends some thousand requests of each kind that could not be answered: they left
// memory behind.
func TestCVE_2012_3420(t *testing.T) {
	c := Start(t, Options{})
	c.Watch(t)
	const n = 2000
	for _, req := range []struct {
		name  string
		bytes []byte
	}{
		{"types below zero", PDU(wire.Type(0xffffffff), make([]uint32, 200)...)},
		{"fetches without a profile", wire.Append(nil, 0, &wire.Fetch{Context: 77, PMIDs: make([]pcp.PMID, 500)})},
		{"names that are not there", wire.Append(nil, 0, &wire.PMNSNames{Names: []string{strings.Repeat("a.", 2000) + "a"}})},
		{"instances by long names", wire.Append(nil, 0, &wire.InstanceReq{InDom: pcp.NewInDom(29, 2), Inst: pcp.InNull, Name: strings.Repeat("b", 10000)})},
		{"texts", wire.Append(nil, 0, &wire.TextReq{Ident: uint32(control[1]), Kind: pcp.TextPMID | pcp.TextHelp})},
		{"labels of the context", wire.Append(nil, 0, &wire.LabelReq{Ident: uint32(pcp.PMIDNull), Kind: pcp.LabelContext})},
		{"labels of instances", wire.Append(nil, 0, &wire.LabelReq{Ident: uint32(pcp.NewInDom(29, 2)), Kind: pcp.LabelInstances})},
		{"traversals", wire.Append(nil, 0, &wire.PMNSTraverse{Name: ""})},
		{"stores of a long string", func() []byte {
			res := &wire.Result{}
			res.AddSet(pcp.NewPMID(29, 0, 31)) // sample.string.hullo
			res.Add(pcp.BytesValue(pcp.TypeString, make([]byte, 60000)))
			return wire.Append(nil, 0, res)
		}()},
		{"stores of an aggregate", func() []byte {
			res := &wire.Result{}
			res.AddSet(control[1])
			res.Add(pcp.BytesValue(pcp.TypeAggregate, make([]byte, 60000)))
			return wire.Append(nil, 0, res)
		}()},
	} {
		t.Run(req.name, func(t *testing.T) {
			cl := c.Dial(t, "unix")
			before, _ := c.Memory()
			c.ResetPeak()
			sent := make(chan error, 1)
			go func() { // while its answers are read
				for range n {
					if err := cl.Write(req.bytes); err != nil {
						sent <- err
						return
					}
				}
				sent <- nil
			}()
			for i := range n {
				if _, err := cl.Answer(); Ended(err) {
					t.Fatalf("request %d: %v", i, err)
				}
			}
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
			c.costs(t, before, 24)
			cl.Conn.Close()
		})
	}
	c.Finish(t, 0)
}

// TestDroppedClients has 2,000 clients connect, break the rules and leave.
func TestDroppedClients(t *testing.T) {
	c := Start(t, Options{})
	c.Watch(t)
	before, _ := c.Memory()
	began := time.Now()
	bad := PDU(wire.TypeFetch, 0, 0, 0, 0x1000, 1)
	for range 2000 {
		cl := c.Dial(t, "unix")
		if err := cl.Write(bad); err != nil && !Ended(err) {
			t.Fatal(err)
		}
		cl.Gone(t)
		cl.Conn.Close()
	}
	c.costs(t, before, 32)
	c.logged(t, "client dropped", began)
	c.Finish(t, 0)
}

// TestCVE_2012_3421 has clients send, or read, a byte a second: none other was served meanwhile. They must
// go, and no other client waits for them.
func TestCVE_2012_3421(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	c.Watch(t)
	before, _ := c.Memory()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { // writes slowly
			cl := c.Dial(t, "tcp")
			addr := cl.Conn.LocalAddr().String()
			for _, b := range PDU(wire.TypeFetch, 0, 0, 0, 4, 1, 2, 3, 4) {
				if cl.Write([]byte{b}) != nil || len(c.Lines(addr)) > 0 {
					break
				}
				time.Sleep(time.Second)
			}
			cl.Gone(t)
			c.OneLine(t, addr, "client dropped")
		})
		wg.Go(func() { // reads slowly, and repeats its request
			cl := c.Dial(t, "tcp")
			addr := cl.Conn.LocalAddr().String()
			req := wire.Append(nil, 0, &wire.PMNSTraverse{})
			go func() {
				for {
					if _, err := cl.Conn.Write(req); err != nil {
						return
					}
				}
			}()
			for len(c.Lines(addr)) == 0 {
				if _, err := cl.Conn.Read(make([]byte, 1)); err != nil {
					break
				}
				time.Sleep(time.Second)
			}
			c.OneLine(t, addr, "client dropped")
			cl.Conn.Close()
		})
	}
	wg.Wait()
	c.costs(t, before, 64)
	c.Finish(t, 0)
}

// TestPipelined has clients send requests without end and read nothing.
func TestPipelined(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	c.Watch(t)
	before, _ := c.Memory()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			cl := c.Dial(t, "tcp")
			addr := cl.Conn.LocalAddr().String()
			req := wire.Append(nil, 0, &wire.PMNSTraverse{})
			for range 4 {
				req = append(req, req...)
			}
			for {
				if err := cl.Write(req); err != nil {
					if !Ended(err) {
						t.Error(err)
					}
					break
				}
			}
			c.OneLine(t, addr, "client dropped")
		})
	}
	wg.Wait()
	c.costs(t, before, 64)
	c.Finish(t, 0)
}

// TestHalfOpen has clients that send nothing, or half of their credentials.
func TestHalfOpen(t *testing.T) {
	c := Start(t, Options{})
	c.Watch(t)
	before, _ := c.Memory()
	var clients []*Client
	for i := range 1000 {
		cl := c.Connect(t, "tcp")
		if i%2 == 0 {
			cl.Greet(t)
			cl.Write(Claim(20, wire.TypeCreds, 1))
		}
		clients = append(clients, cl)
	}
	if cl := c.Dial(t, "tcp"); cl.Check(control...) != nil {
		t.Error("one that comes after them is not served")
	} else {
		cl.Conn.Close()
	}
	c.costs(t, before, 64)
	for _, cl := range clients {
		cl.Conn.Close()
	}
	c.Finish(t, 0)
}

// TestHandshakesThatNeverEnd waits until silent clients are dropped, which
// takes half a minute.
func TestHandshakesThatNeverEnd(t *testing.T) {
	if !longtest.Enabled() {
		t.Skip("SKIPPED: PCP_TEST_LONG is not set")
	}
	t.Parallel()
	c := Start(t, Options{})
	c.Watch(t)
	var clients []*Client
	for i := range 100 {
		cl := c.Connect(t, "tcp")
		cl.Greet(t)
		if i%2 == 0 {
			cl.Write(Claim(20, wire.TypeCreds, 1))
		}
		clients = append(clients, cl)
	}
	for _, cl := range clients {
		cl.Gone(t)
		c.OneLine(t, cl.Conn.LocalAddr().String(), "client dropped")
	}
	c.Finish(t, 0)
}

// TestManyConnections has 10,000 clients of one host at the same time. All are
// served, and the cost of a fetch does not change.
func TestManyConnections(t *testing.T) {
	const n = 10000
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	if lim.Max < n+500 {
		t.Skipf("SKIPPED: %d connections need more than the %d descriptors that this system allows", n, lim.Max)
	}
	if lim.Cur < n+500 {
		lim.Cur = lim.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
			t.Fatal(err)
		}
	}
	c := Start(t, Options{})
	c.Watch(t)
	before, _ := c.Memory()
	hello := wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
	hello = wire.Append(hello, 0, &wire.Profile{})
	hello = wire.Append(hello, 0, &wire.Fetch{HighRes: true, PMIDs: control})
	conns := make([]net.Conn, n)
	for i := range conns {
		conn, err := net.Dial("tcp", c.TCP)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer conn.Close()
		conn.(*net.TCPConn).SetLinger(0)
		if _, err := conn.Write(hello); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		conns[i] = conn
	}
	// All at once are connected; then each looks at its reply.
	Eventually(t, fmt.Sprintf("there are %d clients", n+1), func() bool { return c.NumClients() == n+1 })
	for i, conn := range conns {
		conn.SetReadDeadline(time.Now().Add(patience))
		r := wire.NewReader(conn)
		for _, want := range []wire.Type{wire.TypeError, wire.TypeHighResResult} {
			h, _, err := r.Next()
			if err != nil || h.Type != want {
				t.Fatalf("connection %d: %v, %v where a %v PDU should be", i, h.Type, err, want)
			}
		}
	}
	c.costs(t, before, 400)
	for _, conn := range conns {
		conn.Close()
	}
	c.Finish(t, 0)
}

// TestNoDescriptors has more clients than the collector may have descriptors.
// Connected clients are served, the log has one line, and when some leave the
// others get in.
func TestNoDescriptors(t *testing.T) {
	c := Start(t, Options{Files: 64})
	c.Watch(t)
	var conns []net.Conn
	for range 200 {
		conn, err := net.DialTimeout("tcp", c.TCP, patience)
		if err != nil {
			if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) {
				break
			}
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	c.OneLine(t, "clients cannot be let in", "too many open files")
	last := conns[len(conns)-1]
	for _, conn := range conns[:len(conns)-1] {
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
	cl := NewClient(t, last)
	cl.Shake(t)
	if err := cl.Check(control...); err != nil {
		t.Errorf("who had to wait: %v", err)
	}
	last.Close()
	c.Finish(t, 0)
}
