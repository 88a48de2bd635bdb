package pmapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A collector is a small collector in the test's own process. Its handling of a
// request can be replaced.
type collector struct {
	greeting wire.PDU
	names    *pmns.Tree
	descs    map[pcp.PMID]pcp.Desc
	fetch    func(id pcp.PMID, res *pcp.Result)
	// answer, if set, is asked first; it returns false to have the usual answer.
	answer func(s *session, hdr wire.Header, body []byte) bool

	mu   sync.Mutex
	seen []wire.Type // of all PDUs received
	wg   sync.WaitGroup
	once sync.Once
}

// Metrics of the collector.
var (
	idCount = pcp.NewPMID(400, 0, 0) // demo.count, single u32
	idLoad  = pcp.NewPMID(400, 0, 1) // demo.load, double with 3 instances
	idName  = pcp.NewPMID(400, 0, 2) // demo.name, string
	idHost  = pcp.NewPMID(400, 0, 3) // pmcd.hostname
	indom   = pcp.NewInDom(400, 1)
)

const allFeatures = wire.FeatureContainer | wire.FeatureLabels | wire.FeatureHighRes | wire.FeatureDescs

func greet(f wire.Features) wire.PDU {
	return &wire.Error{Extended: true, Info: wire.Info{Version: 2, Licensed: 1, Features: f}.Pack()}
}

func newCollector() *collector {
	c := &collector{greeting: greet(allFeatures), names: pmns.New(), descs: make(map[pcp.PMID]pcp.Desc)}
	add := func(name string, d pcp.Desc) {
		if err := c.names.Add(name, d.PMID); err != nil {
			panic(err)
		}
		c.descs[d.PMID] = d
	}
	add("demo.count", pcp.Desc{PMID: idCount, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemCounter})
	add("demo.load", pcp.Desc{PMID: idLoad, Type: pcp.TypeDouble, InDom: indom, Sem: pcp.SemInstant})
	add("demo.name", pcp.Desc{PMID: idName, Type: pcp.TypeString, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete})
	add("pmcd.hostname", pcp.Desc{PMID: idHost, Type: pcp.TypeString, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete})
	var count atomic.Uint32
	wallaby := []byte("wallaby")
	c.fetch = func(id pcp.PMID, res *pcp.Result) {
		switch id {
		case idCount:
			res.AddSet(id)
			res.Add(pcp.Uint32Value(count.Add(1)))
		case idLoad:
			res.AddSet(id)
			for i := range 3 {
				res.Add(pcp.DoubleValue(float64(i) / 2).WithInst(int32(i)))
			}
		case idName, idHost:
			res.AddSet(id)
			res.Add(pcp.BytesValue(pcp.TypeString, wallaby))
		default:
			res.AddError(id, pcp.ErrNoAgent)
		}
	}
	return c
}

// dialer returns a Dialer whose connections are pipes to c.
func (c *collector) dialer() *Dialer {
	return &Dialer{
		Config: config.New(func(string) string { return "" }),
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			c.wg.Go(func() { c.serve(bufferedPipe{server, bufio.NewReaderSize(server, 1<<16)}) })
			return client, nil
		},
	}
}

// A bufferedPipe reads at once the bytes that were written at once, like a socket
// with its buffer.
type bufferedPipe struct {
	net.Conn
	r *bufio.Reader
}

func (p bufferedPipe) Read(b []byte) (int, error) { return p.r.Read(b) }

// dial connects to c; at the end of the test all is closed.
func (c *collector) dial(t testing.TB) *Context {
	t.Helper()
	ctx, err := c.dialer().Dial(t.Context(), "fake")
	if err != nil {
		t.Fatal(err)
	}
	c.once.Do(func() { t.Cleanup(c.wg.Wait) }) // runs after the last Close
	t.Cleanup(func() { ctx.Close() })
	return ctx
}

// listen serves c on a TCP port and returns its address.
func (c *collector) listen(t interface {
	Cleanup(func())
	Fatal(...any)
},
) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.serve(conn) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		c.wg.Wait()
	})
	return ln.Addr().String()
}

// types returns the PDUs received since the last call.
func (c *collector) types() []wire.Type {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	c.seen = nil
	return seen
}

// A session is one client's connection.
type session struct {
	c    *collector
	conn net.Conn
	r    *wire.Reader
	out  []byte
	res  wire.Result
	req  wire.Fetch
}

func (s *session) send(p wire.PDU) bool {
	s.out = wire.Append(s.out[:0], wire.FromAnon, p)
	_, err := s.conn.Write(s.out)
	return err == nil
}

func (s *session) status(code pcp.Error) bool { return s.send(&wire.Error{Code: code}) }

func (c *collector) serve(conn net.Conn) {
	defer conn.Close()
	s := &session{c: c, conn: conn, r: wire.NewReader(conn)}
	if c.greeting == nil || !s.send(c.greeting) {
		return
	}
	for {
		hdr, body, err := s.r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, net.ErrClosed) {
				conn.Close()
			}
			return
		}
		c.mu.Lock()
		// When the credentials come, with regard to what the test does next, is chance.
		if hdr.Type != wire.TypeCreds && len(c.seen) < 1000 {
			c.seen = append(c.seen, hdr.Type)
		}
		c.mu.Unlock()
		if c.answer != nil && c.answer(s, hdr, body) {
			continue
		}
		if !s.reply(hdr, body) {
			return
		}
	}
}

// reply answers a request in the usual way.
func (s *session) reply(hdr wire.Header, body []byte) bool {
	c := s.c
	switch hdr.Type {
	case wire.TypeCreds, wire.TypeAttr, wire.TypeProfile:
		return true
	case wire.TypeFetch, wire.TypeHighResFetch:
		s.req.HighRes = hdr.Type == wire.TypeHighResFetch
		if err := s.req.DecodeBody(body); err != nil {
			return s.status(pcp.ErrIPC)
		}
		s.res.Reset()
		s.res.HighRes = s.req.HighRes
		s.res.Time = pcp.Timestamp{Sec: 1e9, Nsec: 123456789}
		for _, id := range s.req.PMIDs {
			c.fetch(id, &s.res.Result)
		}
		return s.send(&s.res)
	case wire.TypePMNSNames:
		var req wire.PMNSNames
		if err := req.DecodeBody(body); err != nil {
			return s.status(pcp.ErrIPC)
		}
		var ans wire.PMNSIDs
		var last error
		for _, name := range req.Names {
			id, err := c.names.Lookup(name)
			if err != nil {
				id, last = pcp.PMIDNull, err
			} else {
				ans.Status++
			}
			ans.PMIDs = append(ans.PMIDs, id)
		}
		if last != nil && len(req.Names) == 1 {
			ans.Status = pcp.Code(last)
		}
		return s.send(&ans)
	case wire.TypeDescReq:
		var req wire.DescReq
		if err := req.DecodeBody(body); err != nil {
			return s.status(pcp.ErrIPC)
		}
		d, ok := c.descs[req.PMID]
		if !ok {
			return s.status(pcp.ErrPMID)
		}
		return s.send(&wire.Desc{Desc: d})
	case wire.TypeDescIDs:
		var req wire.DescIDs
		if err := req.DecodeBody(body); err != nil {
			return s.status(pcp.ErrIPC)
		}
		var ans wire.Descs
		for _, id := range req.PMIDs {
			d, ok := c.descs[id]
			if !ok {
				d.PMID = pcp.PMIDNull
			}
			ans.Descs = append(ans.Descs, d)
		}
		return s.send(&ans)
	case wire.TypeInstanceReq:
		var req wire.InstanceReq
		if err := req.DecodeBody(body); err != nil || req.InDom != indom {
			return s.status(pcp.ErrInDom)
		}
		ans := wire.Instance{InDom: indom}
		for i, name := range []string{"one", "two 2", "three"} {
			if req.Name == "" && (req.Inst == pcp.InNull || req.Inst == int32(i)) || pcp.MatchInstance(name, req.Name) {
				ans.Instances = append(ans.Instances, pcp.Instance{Inst: int32(i), Name: name})
			}
		}
		if len(ans.Instances) == 0 {
			return s.status(pcp.ErrInst)
		}
		return s.send(&ans)
	case wire.TypeResult:
		return s.status(0)
	}
	return s.status(pcp.ErrNYI)
}

// StartDemo starts a collector for the tests of package pmapi_test, which see its address.
func StartDemo() (addr string, stop func()) {
	c := newCollector()
	var undo cleanups
	addr = c.listen(&undo)
	return addr, func() {
		for _, f := range undo {
			f()
		}
	}
}

// Record is record, for the tests of the other package.
func Record(t testing.TB) (path string, start pcp.Timestamp) { return record(t) }

// LeavesOf collects the names from Traverse.
func LeavesOf(ctx context.Context, c *Context, name string) (names []string, err error) {
	for name, err := range c.Traverse(ctx, name) {
		if err != nil {
			return names, err
		}
		names = append(names, name)
	}
	return names, nil
}

type cleanups []func()

func (c *cleanups) Cleanup(f func()) { *c = append(*c, f) }
func (c *cleanups) Fatal(v ...any)   { panic(v) }
