package sample

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// A Host has the properties of a host that do not change.
type Host struct {
	Hertz    int // C keeps it in 16 bits
	MaxPID   int32
	PageSize int32
	BootTime int64
	GPUs     int32

	Node, Release, Version, Machine string
}

// ErrInitial means that the source lacks all metrics that are fetched first.
var ErrInitial = errors.New("pmFetch failed to fetch initial metric value(s)")

var hostMetrics = []string{
	"hinv.ncpu", "hinv.ndisk", "hinv.nnode", "hinv.ninterface", "nvidia.numcards", "hinv.map.dmname", "hinv.map.mdname",
	"hinv.pagesize", "kernel.all.hz", "kernel.all.pid_max", "kernel.all.boottime",
	"kernel.uname.release", "kernel.uname.version", "kernel.uname.machine", "kernel.uname.nodename",
}

// Places in hostMetrics.
const (
	hostGPUs = iota + 4
	hostDM
	hostMD
	hostPageSize
	hostHertz
	hostMaxPID
	hostBoot
	hostRelease
	hostVersion
	hostMachine
	hostNode
)

var linkMetrics = []string{
	"network.interface.baudrate", "network.interface.duplex", "network.interface.type", "network.interface.virtual", "network.interface.wireless",
}

// A link has the properties of a network interface.
type link struct {
	speed  Count // Mbit/s
	duplex bool
	kind   byte // 'e' Ethernet, 'w' wireless, 'v' virtual, '?'
}

// Setup finds the metrics, and reads the metadata needed before the first sample: from archives
// at the first record after start that has some of it, and at origin.
func (s *Sampler) Setup(ctx context.Context, start, origin Time) error {
	r := s.r
	if err := r.lookup(ctx); err != nil {
		return err
	}
	s.tasks.ready(r)
	s.NetIO = s.tasks.hasNet
	r.step = step(s.Interval)
	if r.archive == nil {
		s.wantThreads(ctx)
		if err := r.fetchOnly(ctx, slices.Concat(s.host, s.links)); err != nil {
			return err
		}
		if err := s.readHost(ctx); err != nil {
			return err
		}
		return s.readLinks(ctx)
	}
	when := start.Timestamp()
	if err := r.archive.SetMode(ctx, pmapi.ModeForw, &when, r.step); err != nil {
		return err
	}
	switch err := r.fetchOnly(ctx, s.host); {
	case errors.Is(err, pcp.ErrEOL), err == nil && len(r.res.Sets) == 0: // a mark
		return ErrInitial
	case err != nil:
		return err
	}
	if err := s.readHost(ctx); err != nil {
		return err
	}
	when = origin.Timestamp()
	if err := r.archive.SetMode(ctx, pmapi.ModeInterp, &when, r.step); err != nil {
		return err
	}
	if err := r.fetchOnly(ctx, s.links); err != nil && !errors.Is(err, pcp.ErrEOL) {
		return err
	}
	return s.readLinks(ctx)
}

// readHost reads the unchanging properties of the host from the fetched values.
func (s *Sampler) readHost(ctx context.Context) error {
	r, h := s.r, &s.Host
	h.Hertz = cmp.Or(int(uint16(max(r.firstInt(s.host[hostHertz]), 0))), 100)
	if h.MaxPID = r.firstInt(s.host[hostMaxPID]); h.MaxPID <= 0 {
		h.MaxPID = 0
		ins, err := r.instances(ctx, s.tasks.numbers[0], true)
		if err != nil {
			return &InstancesError{"maxpid", err}
		}
		for _, in := range ins {
			h.MaxPID = max(h.MaxPID, in.Inst)
		}
		if h.MaxPID == 0 {
			h.MaxPID = 1 << 15
		}
	}
	if h.PageSize = r.firstInt(s.host[hostPageSize]); h.PageSize <= 0 {
		h.PageSize = int32(os.Getpagesize())
	}
	if h.BootTime = r.first(s.host[hostBoot]); h.BootTime <= 0 {
		h.BootTime = r.res.Time.Sec - int64(s.Interval/time.Second)
	}
	if h.GPUs = r.firstInt(s.host[hostGPUs]); h.GPUs <= 0 {
		h.GPUs = 1
	}
	h.Release, h.Version = r.firstText(s.host[hostRelease], 72), r.firstText(s.host[hostVersion], 72)
	h.Machine, h.Node = r.firstText(s.host[hostMachine], 72), r.firstText(s.host[hostNode], 64)
	h.Node, _, _ = strings.Cut(h.Node, ".")
	return nil
}

// readLinks reads the properties of network interfaces from the fetched values.
func (s *Sampler) readLinks(ctx context.Context) error {
	r := s.r
	ins, err := r.instances(ctx, s.links[0], true)
	if err != nil {
		return &InstancesError{"ifprop", err}
	}
	list := slices.Clone(ins)
	for i, in := range list {
		name := r.keepString(in.Name, 32)
		if _, ok := s.properties[name]; ok {
			continue
		}
		p := link{kind: '?', speed: max(r.count(s.links[0], in.Inst, i), 0) / 125000, duplex: r.integer(s.links[1], in.Inst, i) > 0}
		switch kind := r.integer(s.links[2], in.Inst, i); {
		case r.integer(s.links[3], in.Inst, i) == 1:
			p.kind = 'v'
		case r.integer(s.links[4], in.Inst, i) == 1, kind == 0:
			p.kind = 'w'
		case kind == 1:
			p.kind = 'e'
		}
		s.properties[name] = p
	}
	return nil
}

// perClientThreads is proc.control.perclient.threads, which makes the agent list threads to this
// client.
var perClientThreads = pcp.NewPMID(3, 10, 2)

// wantThreads asks the agent to list threads. An agent that cannot list them ignores it.
func (s *Sampler) wantThreads(ctx context.Context) {
	var res pcp.Result
	res.AddSet(perClientThreads)
	res.Add(pcp.Uint32Value(1).WithInst(pcp.InNull))
	_ = s.r.c.Store(ctx, &res)
}

// Account starts or stops the agent's accounting for processes that end: the agent counts the
// clients that want it.
func (s *Sampler) Account(ctx context.Context, on bool) {
	id := pcp.NewPMID(3, 70, 28) // acct.control.enable_acct
	res, err := s.r.c.Fetch(ctx, []pcp.PMID{id})
	if err != nil || len(res.Sets) != 1 || len(res.Sets[0].Values) != 1 {
		return
	}
	n := res.Sets[0].Values[0].Int32()
	if n < 0 {
		return
	}
	if on {
		n++
	} else {
		n = max(n-1, 0)
	}
	var store pcp.Result
	store.AddSet(id)
	store.Add(pcp.Int32Value(n).WithInst(pcp.InNull))
	_ = s.r.c.Store(ctx, &store)
}
