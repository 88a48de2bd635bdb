package stat

import (
	"context"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmapi"
)

// The items of a line.
const (
	loadAvg = iota
	swapUsed
	memFree
	memBuf
	memCached
	swapIn
	swapOut
	blkRead
	blkWrite
	interrupts
	pswitch
	cpuNice
	cpuUser
	cpuIntr
	cpuSys
	cpuIdle
	cpuWait
	cpuSteal
	cpuGuest     // since PCP 7
	cpuGuestNice // since PCP 7
	numItems
)

// items defines the source of each item: a metric, or if it does not exist
// another; one instance of it; the unit it is shown in, or "" for a counter as a
// rate; and its type.
var items = [numItems]struct {
	name, other, inst string
	scale             string
	typ               pcp.Type
}{
	loadAvg:    {name: "kernel.all.load", inst: "1 minute", typ: pcp.TypeFloat},
	swapUsed:   {name: "swap.used", scale: "kbyte", typ: pcp.TypeU32},
	memFree:    {name: "mem.util.free", scale: "kbyte", typ: pcp.TypeU32},
	memBuf:     {name: "mem.util.bufmem", other: "mem.bufmem", scale: "kbyte", typ: pcp.TypeU32},
	memCached:  {name: "mem.util.cached", scale: "kbyte", typ: pcp.TypeU32},
	swapIn:     {name: "swap.pagesin", other: "swap.in", typ: pcp.TypeU32},
	swapOut:    {name: "swap.pagesout", other: "swap.out", typ: pcp.TypeU32},
	blkRead:    {name: "disk.all.blkread", other: "disk.all.read", typ: pcp.TypeU32},
	blkWrite:   {name: "disk.all.blkwrite", other: "disk.all.write", typ: pcp.TypeU32},
	interrupts: {name: "kernel.all.intr", typ: pcp.TypeU32},
	pswitch:    {name: "kernel.all.pswitch", typ: pcp.TypeU32},
	cpuNice:    {name: "kernel.all.cpu.nice", typ: pcp.TypeU64},
	cpuUser:    {name: "kernel.all.cpu.user", typ: pcp.TypeU64},
	cpuIntr:    {name: "kernel.all.cpu.intr", typ: pcp.TypeU64},
	cpuSys:     {name: "kernel.all.cpu.sys", typ: pcp.TypeU64},
	cpuIdle:    {name: "kernel.all.cpu.idle", typ: pcp.TypeU64},
	cpuWait:    {name: "kernel.all.cpu.wait.total", typ: pcp.TypeU64},
	cpuSteal:   {name: "kernel.all.cpu.steal", typ: pcp.TypeU64},

	cpuGuest:     {name: "kernel.all.cpu.guest", typ: pcp.TypeU64},
	cpuGuestNice: {name: "kernel.all.cpu.guest_nice", typ: pcp.TypeU64},
}

// A host is a host or an archive with the result of its last fetch.
type host struct {
	group  *pmapi.FetchGroup // nil once it is given up
	name   string
	swapOp byte // in the headings: p for pages, s for swaps
	at     pcp.Timestamp
	seen   bool                       // a line was printed
	items  [numItems]*pmapi.GroupItem // nil if the host has no such metric
	names  [numItems]string           // of the metrics
}

// newHost looks up the metrics that a host has of those wanted. It is an
// error if there is none.
func newHost(ctx context.Context, c *pmapi.Context, cfg *config.Config, seven bool) (*host, error) {
	group, err := pmapi.NewFetchGroupConfig(c, cfg)
	if err != nil {
		return nil, err
	}
	s := &host{group: group, swapOp: 'p'}
	none := true
	list := items[:]
	if !seven {
		list = items[:cpuGuest]
	}
	for i, item := range list {
		s.names[i] = item.name
		s.items[i], err = group.Add(ctx, pmapi.GroupMetric{Metric: item.name, Instance: item.inst, Scale: item.scale, Type: item.typ})
		if err != nil && item.other != "" {
			if i == swapIn || i == swapOut {
				s.swapOp = 's'
			}
			s.names[i] = item.other
			s.items[i], err = group.Add(ctx, pmapi.GroupMetric{Metric: item.other, Instance: item.inst, Scale: item.scale, Type: item.typ})
		}
		if err != nil {
			s.items[i] = nil
			continue
		}
		none = false
	}
	if none {
		return nil, err
	}
	return s, nil
}

// fetch gets new values. Rates are known from the second fetch on.
func (s *host) fetch(ctx context.Context) error {
	err := s.group.Fetch(ctx)
	if s.at = s.group.Time(); err != nil {
		s.at = pcp.TimestampOf(time.Now()) // there is none; so the C library has it
	}
	return err
}

// value returns the value of the last fetch, and whether there is one.
func (s *host) value(item int) (pcp.Value, bool) {
	if s.items[item] == nil || s.items[item].Err != nil {
		return pcp.Value{}, false
	}
	return s.items[item].Value, true
}

// hostName returns the name of the host; it keeps it for when the host is gone.
func (s *host) hostName(ctx context.Context) string {
	if s.name == "" && s.group != nil {
		s.name, _ = s.group.Context().HostName(ctx)
	}
	return s.name
}

func (s *host) close() {
	if s.group != nil {
		s.group.Close()
		s.group = nil
	}
}
