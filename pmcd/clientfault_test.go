package pmcd_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/wire"
)

// header builds the head of a PDU by hand.
func header(length uint32, t wire.Type) []byte {
	b := binary.BigEndian.AppendUint32(nil, length)
	b = binary.BigEndian.AppendUint32(b, uint32(t))
	return binary.BigEndian.AppendUint32(b, 0)
}

// TestClientFaults has a client break the rules. It alone must go, with one
// line in the log that has its address.
func TestClientFaults(t *testing.T) {
	s := start(t, pmcd.Config{Access: new(access.Rules), Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}})
	bystander := dial(t, "tcp", s.TCP)
	bystander.fetch(pcp.NewPMID(301, 0, 1))

	for _, c := range []struct {
		name  string
		bytes []byte
		last  pcp.Error // the error that it gets before the end, 0 for none
		log   string
	}{
		{"length below the header's", header(11, wire.TypeFetch), 0, "header with a length of 11"},
		{"length of zero", header(0, wire.TypeFetch), 0, "header with a length of 0"},
		{"length negative", header(1<<31, wire.TypeFetch), 0, "bytes where 65536 are accepted"},
		{"one byte too long", header(65537, wire.TypeFetch), 0, "65537 bytes where 65536 are accepted"},
		{"fetch without a body", header(12, wire.TypeFetch), pcp.ErrIPC, "FETCH PDU"},
		{"fetch with too many metrics", append(header(28, wire.TypeFetch), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff), pcp.ErrIPC, "FETCH PDU"},
		{"names that overlap", append(header(32, wire.TypePMNSNames), 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 99, 'x', 'y', 'z', 0), pcp.ErrIPC, "PMNS_NAMES PDU"},
		{"result that points outside", append(header(44, wire.TypeResult),
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0), pcp.ErrIPC, "RESULT PDU"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := dial(t, "tcp", s.TCP)
			cl.fetch(pcp.NewPMID(301, 0, 1))
			cl.write(c.bytes)
			last := cl.gone()
			if c.last == 0 && len(last) != 0 {
				t.Errorf("before the end comes %+v", last)
			}
			if c.last != 0 {
				if len(last) != 1 || last[0].(*wire.Error).Code != c.last {
					t.Errorf("before the end comes %+v, want %v", last, c.last)
				}
			}
			addr := cl.conn.LocalAddr().String()
			s.Log.waitFor(t, addr)
			if lines := s.Log.lines(addr); len(lines) != 1 || !strings.Contains(lines[0], c.log) {
				t.Errorf("log has %q, want one line with %q", lines, c.log)
			}
		})
	}
	if res := bystander.fetchAgain(pcp.NewPMID(301, 0, 1)); len(res.Sets[0].Values) != 1 {
		t.Errorf("bystander gets %+v", res.Sets)
	}
}

// TestUnknownPDU checks that an unknown PDU is refused, as by the real collector,
// and that the client is then served.
func TestUnknownPDU(t *testing.T) {
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}})
	c := dial(t, "tcp", s.TCP)
	for _, typ := range []wire.Type{0x7018, 0, 0x700a, wire.TypeDesc} {
		c.write(header(12, typ))
		var e wire.Error
		c.expect(&e)
		if e.Code != pcp.ErrIPC {
			t.Errorf("%v gets %v", typ, e.Code)
		}
	}
	if res := c.fetch(pcp.NewPMID(301, 0, 1)); len(res.Sets[0].Values) != 1 {
		t.Errorf("afterwards a fetch gives %+v", res.Sets)
	}
}

// TestSlowPDU begins a PDU and does not finish it.
func TestSlowPDU(t *testing.T) {
	t.Parallel()
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}})
	slow, quiet := dial(t, "tcp", s.TCP), dial(t, "tcp", s.TCP)
	quiet.fetch(pcp.NewPMID(301, 0, 1))
	slow.fetch(pcp.NewPMID(301, 0, 1))
	began := time.Now()
	// At a byte a second it would take a minute and more.
	pdu := wire.Append(nil, 0, &wire.Fetch{HighRes: true, PMIDs: make([]pcp.PMID, 30)})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for _, b := range pdu {
			if _, err := slow.conn.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
	slow.gone()
	if d := time.Since(began); d < 4*time.Second {
		t.Errorf("it was dropped after %v", d)
	}
	s.Log.waitFor(t, slow.conn.LocalAddr().String())
	// A client between PDUs has no time limit.
	if res := quiet.fetchAgain(pcp.NewPMID(301, 0, 1)); len(res.Sets[0].Values) != 1 {
		t.Errorf("quiet client gets %+v", res.Sets)
	}
	slow.conn.Close()
	<-ended
}

// TestClientThatNeverReads asks for much and takes nothing.
func TestClientThatNeverReads(t *testing.T) {
	t.Parallel()
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}})
	greedy := dial(t, "unix", s.Socket)
	ids := make([]pcp.PMID, 1000)
	for i := range ids {
		ids[i] = pcp.NewPMID(301, 0, i)
	}
	greedy.fetch(ids...)
	requests := wire.Append(nil, 0, &wire.Fetch{HighRes: true, PMIDs: ids})
	began := time.Now()
	for {
		if _, err := greedy.conn.Write(requests); err != nil {
			break
		}
	}
	if d := time.Since(began); d < 4*time.Second {
		t.Errorf("it was dropped after %v", d)
	}
	s.Log.waitFor(t, "client dropped")
	if res := dial(t, "unix", s.Socket).fetch(ids[1]); len(res.Sets[0].Values) != 1 {
		t.Errorf("another client gets %+v", res.Sets)
	}
}

func TestHandshake(t *testing.T) {
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}})
	c := dial(t, "tcp", s.TCP)
	want := wire.Info{Version: 2, Licensed: 1, Features: wire.FeatureDescs | wire.FeatureLabels | wire.FeatureHighRes}
	if c.info != want {
		t.Errorf("server says it is %+v, want %+v", c.info, want)
	}
	for _, bad := range []struct {
		name string
		pdu  wire.PDU
		last pcp.Error
	}{
		{"a request before credentials", &wire.DescReq{PMID: 1}, 0},
		{"an unknown version", &wire.Creds{Creds: []wire.Cred{wire.VersionCred(1, 0)}}, pcp.ErrIPC},
		{"encryption", &wire.Creds{Creds: []wire.Cred{wire.VersionCred(2, wire.FeatureSecure)}}, pcp.ErrNotConn},
		{"compression", &wire.Creds{Creds: []wire.Cred{wire.VersionCred(2, wire.FeatureCompress)}}, -pcp.Error(syscall.EOPNOTSUPP)},
		{"what nobody wants", &wire.Creds{Creds: []wire.Cred{wire.VersionCred(2, wire.FeatureLabels)}}, pcp.ErrIPC},
		{"a container", &wire.Creds{Creds: []wire.Cred{wire.VersionCred(2, wire.FeatureContainer)}}, pcp.ErrNYI},
	} {
		c := dialOnly(t, "tcp", s.TCP)
		c.greet()
		c.send(bad.pdu)
		last := c.gone()
		switch {
		case bad.last == 0 && len(last) == 0:
		case bad.last != 0 && len(last) == 1 && last[0].(*wire.Error).Code == bad.last:
		default:
			t.Errorf("%s: before the end comes %+v, want %v", bad.name, last, bad.last)
		}
	}
}

func TestLimits(t *testing.T) {
	s := start(t, pmcd.Config{MaxPDU: 1 << 20, Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}})
	c := dial(t, "unix", s.Socket)
	expect := func(what string, want pcp.Error) {
		t.Helper()
		var e wire.Error
		c.expect(&e)
		if e.Code != want {
			t.Errorf("%s: %v, want %v", what, e.Code, want)
		}
	}
	c.send(&wire.Profile{})
	c.send(&wire.Fetch{PMIDs: make([]pcp.PMID, 32769)})
	expect("too many metrics", pcp.ErrTooBig)

	for i := range int32(1024) {
		c.send(&wire.Profile{Context: i})
	}
	c.send(&wire.Profile{Context: 1024})
	expect("too many contexts", pcp.ErrAgain)

	big := &wire.Profile{Profile: pcp.Profile{State: pcp.ProfileExclude, InDoms: []pcp.ProfileInDom{{InDom: 1, Insts: make([]int32, 250000)}}}}
	for i := range big.Profile.InDoms[0].Insts {
		big.Profile.InDoms[0].Insts[i] = int32(i)
	}
	for i := range int32(5) {
		big.Context = i
		c.send(big)
	}
	expect("too much profile", pcp.ErrTooBig)
	if res := c.fetch(pcp.NewPMID(301, 0, 1)); len(res.Sets[0].Values) != 1 {
		t.Errorf("afterwards a fetch gives %+v", res.Sets)
	}
}

// TestConfiguredLimits has limits below the defaults.
func TestConfiguredLimits(t *testing.T) {
	s := start(t, pmcd.Config{MaxContexts: 2, MaxMetrics: 3, Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}})
	c := dial(t, "unix", s.Socket)
	for i := range int32(3) {
		c.send(&wire.Profile{Context: i})
	}
	var e wire.Error
	if c.expect(&e); e.Code != pcp.ErrAgain {
		t.Errorf("a third context: %v, want %v", e.Code, pcp.ErrAgain)
	}
	c.send(&wire.Fetch{PMIDs: make([]pcp.PMID, 4)})
	if c.expect(&e); e.Code != pcp.ErrTooBig {
		t.Errorf("four metrics: %v, want %v", e.Code, pcp.ErrTooBig)
	}
	if res := c.fetch(pcp.NewPMID(301, 0, 1)); len(res.Sets[0].Values) != 1 {
		t.Errorf("afterwards a fetch gives %+v", res.Sets)
	}
}

// TestManyClientsAtOnce connects 500 clients in the same moment.
func TestManyClientsAtOnce(t *testing.T) {
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("other", 301, refresher{&scripted{}})}})
	const n = 500
	gate := make(chan struct{})
	errs := make(chan error, n)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			<-gate
			errs <- oneFetch(s.TCP)
		})
	}
	close(gate)
	wg.Wait()
	for range n {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

// oneFetch is the whole life of a client.
func oneFetch(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Minute)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	r := wire.NewReader(conn)
	if _, _, err := r.Next(); err != nil {
		return err
	}
	b := wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(2, 0)}})
	b = wire.Append(b, 0, &wire.Profile{})
	b = wire.Append(b, 0, &wire.Fetch{PMIDs: []pcp.PMID{pcp.NewPMID(301, 0, 1)}})
	if _, err := conn.Write(b); err != nil {
		return err
	}
	h, _, err := r.Next()
	if err == nil && h.Type != wire.TypeResult {
		err = fmt.Errorf("got %v", h.Type)
	}
	return err
}

// TestNothingIsLeftBehind counts goroutines and descriptors after clients and
// agents have come and gone.
func TestNothingIsLeftBehind(t *testing.T) {
	// The first server of a process opens files that stay open, such as that of
	// the network poller.
	start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}}).stop(t)
	before := runtime.NumGoroutine()
	fds := descriptors(t)
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{
		builtin(t, "pmcd"),
		{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "good")}},
		{Name: "dies", Domain: 310, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "exit")}},
	}})
	var clients []*rawClient
	for i := range 20 {
		network, addr := "tcp", s.TCP
		if i%2 == 0 {
			network, addr = "unix", s.Socket
		}
		c := dial(t, network, addr)
		c.fetch(fakeGood, pcp.NewPMID(2, 0, 3))
		clients = append(clients, c)
	}
	for _, c := range clients[:10] {
		c.conn.Close()
	}
	eventually(t, "clients leave", func() bool { return len(s.Control().ClientStates()) == 10 })
	s.stop(t)
	for _, c := range clients[10:] {
		if _, err := io.ReadAll(c.conn); err != nil && !isReset(err) {
			t.Errorf("connection after the end: %v", err)
		}
		c.conn.Close()
	}
	eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= before })
	eventually(t, "descriptors are closed", func() bool { return descriptors(t) <= fds })
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return len(list)
}
