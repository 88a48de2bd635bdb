package sample

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
)

// A plan has the indexes of the metrics of a System.
type plan struct {
	load        metric
	scalars     []metric
	cpus        []metric
	disks       []metric
	volumes     []metric
	arrays      []metric
	interfaces  []metric
	ports       []metric
	mounts      []metric
	nodeMem     []metric
	nodeCPU     []metric
	gpus        []metric
	cpuNode     metric
	portLID     metric
	portWidth   metric
	export      metric
	gpuCard     metric
	gpuBus      metric
	gpuBusy     metric
	gpuMemBusy  metric
	gpuProcs    metric
	cpuPressure metric

	// Of PCP 7, else empty.
	caches       []metric
	cacheShare   metric
	zswapEnabled metric
}

func newPlan(r *reader, rows []scalar, seven bool) *plan {
	p := &plan{
		load:    r.metric("kernel.all.load"),
		cpuNode: r.metric("hinv.map.cpu_node"), portLID: r.metric("infiniband.port.lid"), portWidth: r.metric("infiniband.port.linkwidth"),
		export: r.metric("nfsclient.export"), gpuCard: r.metric("nvidia.cardname"), gpuBus: r.metric("nvidia.busid"),
		gpuBusy: r.metric("nvidia.gpuactive"), gpuMemBusy: r.metric("nvidia.memactive"), gpuProcs: r.metric("nvidia.nprocs"),
		cpuPressure: r.metric("kernel.all.pressure.cpu.some.total"),
	}
	for _, row := range rows {
		p.scalars = append(p.scalars, r.metric(row.metric))
	}
	p.cpus = places(r, cpuDomain)
	p.disks, p.volumes, p.arrays = places(r, diskDomain), places(r, volumeDomain), places(r, arrayDomain)
	p.interfaces, p.ports, p.mounts = places(r, interfaceDomain), places(r, portDomain), places(r, mountDomain)
	if seven {
		p.caches, p.cacheShare, p.zswapEnabled = places(r, cacheDomain), r.metric("resctrl.llc.occupancy"), r.metric("sysfs.module.zswap.enabled")
	}
	p.nodeMem, p.nodeCPU, p.gpus = places(r, nodeMemory(seven)), places(r, nodeCPUDomain), places(r, gpuDomain)
	return p
}

// places returns the indexes of the columns of a domain, followed by that of its key.
func places[T any](r *reader, d domain[T]) []metric {
	list := make([]metric, 0, len(d.columns)+1)
	for _, col := range d.columns {
		list = append(list, r.metric(col.metric))
	}
	return append(list, r.metric(d.key))
}

// A MissingError means that a source has no values of a resource that each system has. C exits
// without an error then.
type MissingError struct{ What string }

// Error returns the message of C.
func (e *MissingError) Error() string { return "no per-" + e.What + " values available" }

// An InstancesError means that the instances of a domain are not available.
type InstancesError struct {
	What string
	Err  error
}

// Error returns the message of C.
func (e *InstancesError) Error() string { return fmt.Sprintf("%s instances: %v", e.What, e.Err) }

// Unwrap returns Err.
func (e *InstancesError) Unwrap() error { return e.Err }

// readDomain reads a table of instances into the memory of list. Set adds the fields that columns
// do not have.
func readDomain[T any](ctx context.Context, s *Sampler, d domain[T], at []metric, list []T, set func(t *T, in pcp.Instance, hint int)) ([]T, error) {
	list = list[:0]
	ins, err := s.r.instances(ctx, at[len(at)-1], true)
	if err != nil {
		return list, &InstancesError{d.what, err}
	}
	for i, in := range ins {
		if s.Trace != nil {
			s.Trace(d.what, in)
		}
		var t T
		for j, col := range d.columns {
			f := col.field(&t)
			if col.instead && *f != 0 {
				continue
			}
			*f = s.r.count(at[j], in.Inst, i)
			if col.divide != 0 {
				*f /= col.divide
			}
		}
		set(&t, in, i)
		list = append(list, t)
	}
	return list, nil
}

// readSystem reads a System from the fetched values.
func (s *Sampler) readSystem(ctx context.Context, to *System) error {
	r, p := s.r, s.plan
	old := *to
	*to = System{Time: TimeOf(r.res.Time)}
	to.Load1, to.Load5, to.Load15 = r.float(p.load, 1, 0), r.float(p.load, 5, 1), r.float(p.load, 15, 2)
	for i := range s.rows {
		row := &s.rows[i]
		var n Count
		if in := row.inst; in != nil {
			n = r.count(p.scalars[i], in.inst, in.hint)
		} else {
			n = r.first(p.scalars[i])
		}
		if row.times != 0 {
			n *= row.times
		}
		if row.divide != 0 {
			n /= row.divide
		}
		*row.field(to) += n
	}
	to.Mem.Balloon = -1
	to.Pressure.Missing = len(r.values(p.cpuPressure)) == 0

	var err error
	if to.CPUs, err = readDomain(ctx, s, cpuDomain, p.cpus, old.CPUs, func(t *CPU, in pcp.Instance, _ int) {
		t.Nr = in.Inst
		to.CPU.Instr += t.Instr
		to.CPU.Cycles += t.Cycles
	}); err != nil {
		return err
	}
	if len(to.CPUs) == 0 {
		return &MissingError{"processor"}
	}
	if to.Interfaces, err = readDomain(ctx, s, interfaceDomain, p.interfaces, old.Interfaces, func(t *Interface, in pcp.Instance, _ int) {
		t.Name = s.r.keepString(in.Name, 32)
	}); err != nil {
		return err
	}
	if len(to.Interfaces) == 0 {
		return &MissingError{"interface"}
	}
	slices.SortStableFunc(to.Interfaces, func(a, b Interface) int { return strings.Compare(a.Name, b.Name) })
	name := func(t *Disk, in pcp.Instance, _ int) { t.Name = s.r.keepString(in.Name, 32) }
	if to.Disks, err = readDomain(ctx, s, diskDomain, p.disks, old.Disks, name); err != nil {
		return err
	}
	if len(to.Disks) == 0 {
		return &MissingError{"disk"}
	}
	if to.Volumes, err = readDomain(ctx, s, volumeDomain, p.volumes, old.Volumes, name); err != nil {
		return err
	}
	if to.Arrays, err = readDomain(ctx, s, arrayDomain, p.arrays, old.Arrays, name); err != nil {
		return err
	}
	if to.Mounts, err = readDomain(ctx, s, mountDomain, p.mounts, old.Mounts, func(t *Mount, in pcp.Instance, i int) {
		t.Device = s.r.keepString(in.Name, 128)
		if export, ok := r.text(p.export, in.Inst, i, 127); ok {
			t.Device = export
		}
	}); err != nil {
		return err
	}
	if s.seven {
		if to.Caches, err = s.readCaches(ctx, old.Caches); err != nil {
			return err
		}
		to.Mem.ZswapEnabled = strings.HasPrefix(r.firstText(p.zswapEnabled, 4), "Y")
	}
	if to.NodeMem, err = readDomain(ctx, s, nodeMemory(s.seven), p.nodeMem, old.NodeMem, func(t *NodeMemory, in pcp.Instance, _ int) {
		t.Nr = in.Inst
	}); err != nil {
		return err
	}
	if to.NodeCPU, err = readDomain(ctx, s, nodeCPUDomain, p.nodeCPU, old.NodeCPU, func(t *NodeCPU, in pcp.Instance, _ int) {
		t.Nr, t.CPUs = in.Inst, s.processorsOf(in.Inst)
	}); err != nil {
		return err
	}
	if to.Ports, err = readDomain(ctx, s, portDomain, p.ports, old.Ports, func(t *Port, in pcp.Instance, i int) {
		t.Name = s.r.keepString(in.Name, 12)
		t.Nr, t.Lanes = int16(r.integer(p.portLID, in.Inst, i)), int16(r.integer(p.portWidth, in.Inst, i))
	}); err != nil {
		return err
	}
	to.GPUs, err = readDomain(ctx, s, gpuDomain, p.gpus, old.GPUs, func(t *GPU, in pcp.Instance, i int) {
		t.Nr = in.Inst
		t.Type, _ = r.text(p.gpuCard, in.Inst, i, 12)
		t.Bus, _ = r.text(p.gpuBus, in.Inst, i, 12)
		t.Procs = uint8(r.integer(p.gpuProcs, in.Inst, i))
		t.BusyNow, t.MemBusyNow = r.integer(p.gpuBusy, in.Inst, i), r.integer(p.gpuMemBusy, in.Inst, i)
	})
	return err
}

// readCaches reads the last level caches, whose names end in their numbers: mon_L3_00.
func (s *Sampler) readCaches(ctx context.Context, list []Cache) ([]Cache, error) {
	return readDomain(ctx, s, cacheDomain, s.plan.caches, list, func(t *Cache, in pcp.Instance, i int) {
		t.Nr = in.Inst
		digits := strings.TrimPrefix(in.Name, "mon_L3_")
		if n, err := strconv.ParseInt(digits, 10, 8); err == nil {
			t.Nr = int32(n)
		}
		t.Occupancy = max(s.r.float(s.plan.cacheShare, in.Inst, i), 0)
	})
}

// processorsOf returns the number of processors of a NUMA node, 1 if it is not known.
func (s *Sampler) processorsOf(node int32) Count {
	n := Count(0)
	for _, v := range s.r.values(s.plan.cpuNode) {
		if int32(s.r.number(s.plan.cpuNode, v, pcp.Type32)) == node {
			n++
		}
	}
	return max(n, 1)
}

// keepString is a name cut as in C, where it has room in size bytes with its NUL.
func (r *reader) keepString(s string, size int) string {
	s, _, _ = strings.Cut(s, "\x00")
	if len(s) < size {
		return s
	}
	return r.keep([]byte(s[:size-1]))
}

// cut returns the part of a string that C keeps in a buffer of size bytes.
func cut(b []byte, size int) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	if size > 1 && len(b) >= size {
		b = b[:size-1]
	}
	return b[:min(len(b), size)]
}
