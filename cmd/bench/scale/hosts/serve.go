package hosts

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// A Config configures simulated hosts.
type Config struct {
	// Metrics is the number of metrics of a host; 0 means 300.
	Metrics int
	// Clock returns how much the clock of a host is ahead; nil means that all clocks are right.
	Clock func(host int) time.Duration
	// Served, if not nil, is called for each sample that was sent: the host, the time of the values, and their number. It may be called by several
	// goroutines at a time. Requests for the collector's own metrics are not samples.
	Served func(host int, at time.Time, values int)
	// Racks is the number of values of the label "rack"; 0 means 40.
	Racks int
}

// A Sim serves simulated hosts.
type Sim struct {
	cfg     Config
	metrics []metric // sorted by name
	byID    map[pcp.PMID]*metric
	fetches atomic.Uint64
	values  atomic.Uint64
}

// maxMetrics is the largest number of metrics of a host.
const maxMetrics = 1000

// New returns simulated hosts.
func New(cfg Config) (*Sim, error) {
	cfg.Metrics, cfg.Racks = cmp.Or(cfg.Metrics, 300), cmp.Or(cfg.Racks, 40)
	if cfg.Metrics < 1 || cfg.Metrics > maxMetrics || cfg.Racks < 1 {
		return nil, fmt.Errorf("%d metrics and %d racks; a host can have 1 to %d metrics", cfg.Metrics, cfg.Racks, maxMetrics)
	}
	s := &Sim{cfg: cfg, metrics: makeMetrics(cfg.Metrics), byID: make(map[pcp.PMID]*metric)}
	for i, own := range []string{"pmcd.hostname", "pmcd.pid", "pmcd.seqnum", "pmcd.timezone"} {
		m := metric{name: own, text: "A metric of the collector", desc: pcp.Desc{
			PMID: pcp.NewPMID(pmcdDomain, 0, []int{itemHostname, itemPID, itemSeqNum, itemTimeZone}[i]), Type: pcp.TypeString, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete,
		}}
		switch m.desc.PMID.Item() {
		case itemPID:
			m.desc.Type = pcp.TypeU64
		case itemSeqNum:
			m.desc.Type = pcp.TypeU32
		}
		s.metrics = append(s.metrics, m)
	}
	slices.SortFunc(s.metrics, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	for i := range s.metrics {
		s.byID[s.metrics[i].desc.PMID] = &s.metrics[i]
	}
	return s, nil
}

// Items of pmcd's metrics.
const (
	itemTimeZone = 5
	itemHostname = 21
	itemPID      = 23
	itemSeqNum   = 24
)

// Values returns the number of values in a sample of all simulated metrics of a host.
func (s *Sim) Values() (n int) {
	for i := range s.metrics {
		if m := &s.metrics[i]; m.desc.PMID.Domain() == Domain {
			n += m.values()
		}
	}
	return n
}

// Served returns the number of fetches that were answered so far, and of values in them.
func (s *Sim) Served() (fetches, values uint64) { return s.fetches.Load(), s.values.Load() }

// perNet is the number of addresses that are used of 127.N.0.0/16.
const perNet = 62_500

// Address returns the address of a host. Hosts with numbers from 62,500 on are in another network than those before: 127.2.0.0/16.
func Address(host int) net.IP {
	in := host % perNet
	return net.IPv4(127, byte(1+host/perNet), byte(in/250), byte(in%250+1))
}

// number returns the number of the host with an address.
func number(ip net.IP) (int, bool) {
	ip = ip.To4()
	if ip == nil || ip[0] != 127 || ip[1] < 1 || ip[2] >= 250 || ip[3] < 1 || ip[3] > 250 {
		return 0, false
	}
	return int(ip[1]-1)*perNet + int(ip[2])*250 + int(ip[3]) - 1, true
}

// Name returns the name of a host.
func Name(host int) string { return fmt.Sprintf("host%05d", host) }

// Serve serves the hosts until ctx is done. The listener must be one of all addresses (0.0.0.0).
func (s *Sim) Serve(ctx context.Context, ln net.Listener) error {
	var mu sync.Mutex
	conns := make(map[net.Conn]bool)
	var clients sync.WaitGroup
	stop := context.AfterFunc(ctx, func() {
		ln.Close()
		mu.Lock()
		defer mu.Unlock()
		for c := range conns {
			c.Close()
		}
	})
	defer stop()
	defer clients.Wait()
	for {
		conn, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		addr, ok := conn.LocalAddr().(*net.TCPAddr)
		if !ok {
			conn.Close()
			continue
		}
		host, ok := number(addr.IP)
		if !ok {
			conn.Close()
			continue
		}
		mu.Lock()
		conns[conn] = true
		mu.Unlock()
		if ctx.Err() != nil {
			conn.Close()
		}
		clients.Go(func() {
			c := client{s: s, host: host, conn: conn}
			c.run() // its end is that of the client
			conn.Close()
			mu.Lock()
			defer mu.Unlock()
			delete(conns, conn)
		})
	}
}

// A client is a connection to a host.
type client struct {
	s    *Sim
	host int
	conn net.Conn
}

func (c *client) run() error {
	s := c.s
	hello := wire.Info{Version: wire.PDUVersion, Licensed: 1, Features: wire.FeatureLabels | wire.FeatureHighRes | wire.FeatureDescs}
	if _, err := c.conn.Write(wire.Append(nil, wire.FromAnon, &wire.Error{Extended: true, Info: hello.Pack()})); err != nil {
		return err
	}
	r := wire.NewReader(c.conn)
	h, _, err := r.Next()
	if err == nil && h.Type != wire.TypeCreds {
		err = fmt.Errorf("%v PDU before credentials: %w", h.Type, pcp.ErrIPC)
	}
	if err != nil {
		return err
	}
	for {
		if r.Buffered() == 0 {
			r.Rest()
		}
		h, body, err := r.Next()
		if err != nil {
			return err
		}
		out := buffers.Get().(*buffer)
		out.b = out.b[:0]
		reply, err := c.answer(h, body, out)
		if err != nil {
			reply = &wire.Error{Code: pcp.Code(err)}
		}
		if reply != nil {
			out.b = wire.Append(out.b, wire.FromAnon, reply)
		}
		_, err = c.conn.Write(out.b)
		if n := out.values; n > 0 {
			out.values = 0
			if err == nil && s.cfg.Served != nil {
				s.cfg.Served(c.host, out.res.Time.Time(), n)
			}
		}
		buffers.Put(out)
		if err != nil {
			return err
		}
	}
}

// A buffer has the memory for an answer.
type buffer struct {
	b   []byte
	res wire.Result
	req wire.Fetch

	values int // of the sample in res
}

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// answer returns the answer to a request, nil if there is none.
func (c *client) answer(h wire.Header, body []byte, out *buffer) (wire.PDU, error) {
	s := c.s
	switch h.Type {
	case wire.TypeProfile:
		return nil, nil
	case wire.TypeFetch, wire.TypeHighResFetch:
		out.req.HighRes = h.Type == wire.TypeHighResFetch
		if err := out.req.DecodeBody(body); err != nil {
			return nil, err
		}
		return c.fetch(out), nil
	}
	p, err := wire.Decode(h, body)
	if err != nil {
		return nil, err
	}
	switch p := p.(type) {
	case *wire.PMNSNames:
		return s.ids(p.Names)
	case *wire.PMNSIDs:
		if len(p.PMIDs) != 1 {
			return nil, pcp.ErrIPC
		}
		m, err := s.find(p.PMIDs[0])
		if err != nil {
			return nil, err
		}
		return &wire.PMNSNames{Names: []string{m.name}}, nil
	case *wire.PMNSTraverse:
		var reply wire.PMNSNames
		for i := range s.metrics {
			if name := s.metrics[i].name; p.Name == "" || name == p.Name || strings.HasPrefix(name, p.Name+".") {
				reply.Names = append(reply.Names, name)
			}
		}
		if len(reply.Names) == 0 {
			return nil, pcp.ErrName
		}
		return &reply, nil
	case *wire.PMNSChild:
		return s.children(p)
	case *wire.DescReq:
		m, err := s.find(p.PMID)
		if err != nil {
			return nil, err
		}
		return &wire.Desc{Desc: m.desc}, nil
	case *wire.DescIDs:
		var reply wire.Descs
		for _, id := range p.PMIDs {
			desc := pcp.Desc{PMID: pcp.PMIDNull}
			if m, err := s.find(id); err == nil {
				desc = m.desc
			}
			reply.Descs = append(reply.Descs, desc)
		}
		return &reply, nil
	case *wire.InstanceReq:
		return instances(p)
	case *wire.TextReq:
		if p.Kind&pcp.TextPMID == 0 {
			return &wire.Text{Ident: p.Ident, Text: "Simulated units"}, nil
		}
		m, err := s.find(pcp.PMID(p.Ident))
		if err != nil {
			return nil, err
		}
		text := m.text
		if p.Kind&pcp.TextOneLine != 0 {
			text, _, _ = strings.Cut(text, "\n")
		}
		return &wire.Text{Ident: p.Ident, Text: text}, nil
	case *wire.LabelReq:
		return c.labels(p)
	}
	return nil, fmt.Errorf("%v PDU: %w", h.Type, pcp.ErrNYI)
}

func (s *Sim) find(id pcp.PMID) (*metric, error) {
	if m := s.byID[id]; m != nil {
		return m, nil
	}
	return nil, pcp.ErrPMID
}

func (s *Sim) ids(names []string) (wire.PDU, error) {
	reply := wire.PMNSIDs{PMIDs: make([]pcp.PMID, len(names))}
	for i, name := range names {
		reply.PMIDs[i] = pcp.PMIDNull
		if j, ok := slices.BinarySearchFunc(s.metrics, name, func(m metric, name string) int { return strings.Compare(m.name, name) }); ok {
			reply.PMIDs[i] = s.metrics[j].desc.PMID
			reply.Status++
		}
	}
	if reply.Status == 0 && len(names) == 1 {
		under := func(m metric) bool { return strings.HasPrefix(m.name, names[0]+".") }
		if slices.ContainsFunc(s.metrics, under) {
			return nil, pcp.ErrNonLeaf
		}
		return nil, pcp.ErrName
	}
	return &reply, nil
}

func (s *Sim) children(p *wire.PMNSChild) (wire.PDU, error) {
	var reply wire.PMNSNames
	before := p.Name + "."
	if p.Name == "" {
		before = ""
	}
	for i := range s.metrics {
		rest, ok := strings.CutPrefix(s.metrics[i].name, before)
		if !ok {
			if s.metrics[i].name == p.Name {
				return &reply, nil // a leaf
			}
			continue
		}
		child, _, inner := strings.Cut(rest, ".")
		if n := len(reply.Names); n > 0 && reply.Names[n-1] == child {
			continue
		}
		reply.Names = append(reply.Names, child)
		if p.WithStatus {
			status := int32(0)
			if inner {
				status = wire.NonLeafStatus
			}
			reply.Status = append(reply.Status, status)
		}
	}
	if len(reply.Names) == 0 {
		return nil, pcp.ErrName
	}
	return &reply, nil
}

func instances(p *wire.InstanceReq) (wire.PDU, error) {
	if n := p.InDom.Serial(); p.InDom.Domain() != Domain || n < 1 || n > indoms {
		return nil, pcp.ErrInDom
	}
	reply := wire.Instance{InDom: p.InDom}
	for i := range int32(Instances) {
		one := pcp.Instance{Inst: i, Name: fmt.Sprintf("unit%d-%d", p.InDom.Serial(), i)}
		if p.Inst == pcp.InNull && (p.Name == "" || p.Name == one.Name) || p.Name == "" && p.Inst == i {
			reply.Instances = append(reply.Instances, one)
		}
	}
	if len(reply.Instances) == 0 {
		return nil, pcp.ErrInst
	}
	return &reply, nil
}

func (c *client) labels(p *wire.LabelReq) (wire.PDU, error) {
	reply := wire.Labels{Ident: p.Ident, Kind: p.Kind}
	var pairs []string
	switch p.Kind {
	case pcp.LabelContext:
		pairs = []string{"domainname", "example.com", "hostname", Name(c.host), "machineid", fmt.Sprintf("%032x", mixed(uint64(c.host)+1)), "rack", fmt.Sprintf("r%02d", c.host%c.s.cfg.Racks)}
	case pcp.LabelDomain:
		pairs = []string{"agent", "sim"}
	default:
		return &reply, nil
	}
	set, err := pcp.StringLabels(p.Kind, pairs...)
	if err != nil {
		return nil, err
	}
	set.Inst = pcp.InNull
	reply.Sets = []pcp.LabelSet{set}
	return &reply, nil
}

// fetch returns the values of the metrics in out.req.
func (c *client) fetch(out *buffer) wire.PDU {
	now := time.Now()
	if c.s.cfg.Clock != nil {
		now = now.Add(c.s.cfg.Clock(c.host))
	}
	res := &out.res
	res.HighRes = out.req.HighRes
	res.Reset()
	res.Time = pcp.TimestampOf(now)
	ms := now.UnixMilli()
	n, own := 0, 0
	for _, id := range out.req.PMIDs {
		m := c.s.byID[id]
		if m == nil {
			res.AddError(id, pcp.ErrPMID)
			continue
		}
		res.AddSet(id)
		switch {
		case id.Domain() == pmcdDomain:
			res.Add(c.own(id.Item()))
			own++
		case m.desc.InDom == pcp.InDomNull:
			res.Add(m.value(c.host, -1, ms).WithInst(pcp.InNull))
			n++
		default:
			for inst := range Instances {
				res.Add(m.value(c.host, inst, ms).WithInst(int32(inst)))
			}
			n += Instances
		}
	}
	c.s.fetches.Add(1)
	c.s.values.Add(uint64(n + own))
	out.values = n
	return res
}

// own returns the value of a metric of the collector.
func (c *client) own(item int) (v pcp.Value) {
	switch item {
	case itemHostname:
		v = pcp.StringValue(Name(c.host))
	case itemTimeZone:
		v = pcp.StringValue("UTC")
	case itemPID:
		v = pcp.Uint64Value(uint64(c.host + 1))
	default:
		v = pcp.Uint32Value(1)
	}
	return v.WithInst(pcp.InNull)
}
