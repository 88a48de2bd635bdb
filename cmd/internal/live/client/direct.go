package client

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pmapi"
)

// The metrics of a line, and their places in a result.
const (
	loadAvg = iota
	cpuUser
	cpuSys
	freeMem
	diskOps
	numMetrics
)

var metrics = [numMetrics]string{
	loadAvg: "kernel.all.load",
	cpuUser: "kernel.percpu.cpu.user",
	cpuSys:  "kernel.percpu.cpu.sys",
	freeMem: "mem.freemem",
	diskOps: "disk.all.total",
}

// A direct asks the context for values, and computes with two results. Like the C
// tool it computes in single precision.
type direct struct {
	env    *cli.Env
	c      *pmapi.Context
	ncpu   int
	ids    []pcp.PMID
	descs  []pcp.Desc
	load1  int32 // instances of loadAvg
	load15 int32
	res    [2]pcp.Result
	prev   *pcp.Result // nil before the second sample
	cur    *pcp.Result
}

func newDirect(ctx context.Context, env *cli.Env, c *pmapi.Context) (sampler, error) {
	d := &direct{env: env, c: c}
	if err := d.countProcessors(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// lookup finds metrics by name, and prints the names of missing ones.
func (d *direct) lookup(ctx context.Context, names ...string) ([]pcp.PMID, []pcp.Desc, error) {
	ids, err := d.c.LookupName(ctx, names...)
	if err != nil && (len(names) == 1 || !source.AnyFound(ids)) {
		d.env.Fatalf("pmLookupName: %s", cli.ErrText(err))
		for i, id := range ids {
			if id == pcp.PMIDNull {
				d.env.Fatalf("metric \"%s\" not in name space", names[i])
			}
		}
		return nil, nil, err
	}
	descs := make([]pcp.Desc, len(ids))
	for i, id := range ids {
		if descs[i], err = d.c.LookupDesc(ctx, id); err != nil {
			d.env.Fatalf("cannot retrieve description for metric \"%s\" (PMID: %s)\nReason: %s", names[i], id, cli.ErrText(err))
			return nil, nil, err
		}
	}
	return ids, descs, nil
}

func (d *direct) countProcessors(ctx context.Context) error {
	ids, descs, err := d.lookup(ctx, "hinv.ncpu")
	if err != nil {
		return err
	}
	res, err := d.c.Fetch(ctx, ids)
	if err != nil {
		d.env.Fatalf("pmFetch: %s", cli.ErrText(err))
		return err
	}
	d.ncpu = 1
	if values := res.Sets[0].Values; len(values) > 0 {
		if v, err := values[0].Extract(descs[0].Type, pcp.TypeU32); err == nil {
			d.ncpu = max(1, int(v.Uint32()))
		}
	}
	return nil
}

func (d *direct) time() pcp.Timestamp { return d.cur.Time }
func (d *direct) processors() int     { return d.ncpu }

func (d *direct) sample(ctx context.Context) error {
	first := d.cur == nil
	if first {
		var err error
		if d.ids, d.descs, err = d.lookup(ctx, metrics[:]...); err != nil {
			return err
		}
		d.cur = &d.res[0]
	} else {
		next := &d.res[0]
		if d.cur == next {
			next = &d.res[1]
		}
		d.prev, d.cur = d.cur, next
	}
	if _, err := d.c.FetchInto(ctx, d.ids, d.cur); err != nil {
		d.env.Fatalf("pmFetch: %s", cli.ErrText(err))
		return err
	}
	// The result's memory is the context's until the next fetch.
	*d.cur = *d.cur.Clone()
	if first {
		return d.chooseLoads(ctx)
	}
	return nil
}

// chooseLoads finds the two load averages of the line, and asks for no other from
// now on.
func (d *direct) chooseLoads(ctx context.Context) error {
	indom := d.descs[loadAvg].InDom
	lookup := d.c.LookupInDom
	if a, ok := d.c.Archive(); ok {
		lookup = a.LookupInDomArchive
	}
	var err error
	for _, l := range []struct {
		inst *int32
		name string
	}{{&d.load1, "1 minute"}, {&d.load15, "15 minute"}} {
		if *l.inst, err = lookup(ctx, indom, l.name); err != nil {
			d.env.Fatalf("cannot translate instance for %s load average", l.name)
			return err
		}
	}
	if err := d.c.DelProfile(indom); err != nil {
		return err
	}
	return d.c.AddProfile(indom, d.load1, d.load15)
}

// value returns a value of a result as a number, 0 if it is not one.
func (d *direct) value(res *pcp.Result, metric, i int) float32 {
	vs := &res.Sets[metric]
	if i >= len(vs.Values) {
		return 0
	}
	v, err := vs.Values[i].Extract(d.descs[metric].Type, pcp.TypeFloat)
	if err != nil {
		return 0
	}
	return v.Float()
}

// both reports whether both results have values of a metric.
func (d *direct) both(metric int) bool {
	return len(d.prev.Sets[metric].Values) > 0 && len(d.cur.Sets[metric].Values) > 0
}

func (d *direct) append(b []byte) []byte {
	dt := d.cur.Time.Sub(d.prev.Time)
	b = d.appendProcessors(b, dt)
	mem, ok := float32(-1), d.both(freeMem)
	if ok {
		v := pcp.FloatValue(d.value(d.cur, freeMem, 0))
		mem = 0
		if v, err := pcp.ConvScale(v, d.descs[freeMem].Units, pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceMByte}); err == nil {
			mem = v.Float()
		}
	}
	b = appendKnown(b, " ", mem, 9, 3)
	if ops, ok := d.diskRate(dt); ok && ops >= 0 {
		b = fmt.Appendf(b, " %6d", ops)
	} else {
		b = append(b, "      ?"...)
	}
	load1, load15 := float32(-1), float32(-1)
	for i, v := range d.cur.Sets[loadAvg].Values {
		switch v.Inst {
		case d.load1:
			load1 = d.value(d.cur, loadAvg, i)
		case d.load15:
			load15 = d.value(d.cur, loadAvg, i)
		}
	}
	b = appendKnown(b, "  ", load1, 7, 2)
	b = appendKnown(b, "  ", load15, 7, 2)
	return append(b, '\n')
}

// appendProcessors appends how busy the processors are, and the busiest of them.
func (d *direct) appendProcessors(b []byte, dt float64) []byte {
	util, peak, peakUtil := float32(-1), -1, float32(-1)
	if d.both(cpuUser) && d.both(cpuSys) {
		util = 0
		for i := range d.ncpu {
			u := d.value(d.cur, cpuUser, i) - d.value(d.prev, cpuUser, i)
			u += d.value(d.cur, cpuSys, i)
			u -= d.value(d.prev, cpuSys, i)
			u = min(float32(float64(u)/(1000*dt)), 1) // the times are milliseconds
			util += u
			if u > peakUtil {
				peakUtil, peak = u, i
			}
		}
		util /= float32(d.ncpu)
	}
	b = appendKnown(b, "", util, 5, 2)
	if d.ncpu > 1 {
		if peak >= 0 {
			b = fmt.Appendf(b, "   %3d", peak)
		} else {
			b = append(b, "     ?"...)
		}
		b = appendKnown(b, "   ", peakUtil, 5, 2)
	}
	return b
}

// diskRate returns the operations of the disks each second, computed as the C tool
// does with numbers of 32 bits.
func (d *direct) diskRate(dt float64) (ops int32, ok bool) {
	if !d.both(diskOps) {
		return 0, false
	}
	var count [2]uint32
	for i, res := range []*pcp.Result{d.prev, d.cur} {
		// A count that does not fit is 0 there.
		v, _ := res.Sets[diskOps].Values[0].Extract(d.descs[diskOps].Type, pcp.TypeU32)
		count[i] = v.Uint32()
	}
	return int32((float64(float32(int32(count[1]-count[0]))) + 0.5) / dt), true
}

// appendKnown appends a number, or a question mark if it is less than 0.
func appendKnown(b []byte, gap string, f float32, width, prec int) []byte {
	b = append(b, gap...)
	if f >= 0 {
		return appendFloat(b, float64(f), width, prec)
	}
	return fmt.Appendf(b, "%*s", width, "?")
}
