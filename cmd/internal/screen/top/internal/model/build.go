package model

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/screen/internal/metrics"
)

// snapshot makes one of the columns.
func (s *Sampler) snapshot(ctx context.Context, need Group) (*Snapshot, error) {
	snap := s.take()
	snap.Time, snap.Groups = s.res.Time, need
	snap.noThreads = s.noThreads
	snap.archive, snap.called, snap.denied = s.archive != nil, s.called, s.cfg.Denied
	snap.Interval = 0
	for m := range s.cols {
		c := &s.cols[m]
		snap.why[m] = c.err
		if snap.Interval == 0 && c.kind == rate && table[m].group == System && !c.before.IsZero() {
			snap.Interval = c.at.Sub(c.before)
		}
	}
	s.totals(snap)
	if err := s.interfaces(ctx, snap, need&Network != 0); err != nil {
		return nil, err
	}
	var err error
	if need&CPUs != 0 {
		err = s.cpus(ctx, snap)
	} else {
		snap.CPUs = snap.CPUs[:0]
	}
	if need&Disks != 0 && err == nil {
		err = s.disks(ctx, snap)
	}
	if need&Files != 0 && err == nil {
		err = s.files(ctx, snap)
	}
	if need&Processes != 0 && err == nil {
		err = s.processes(ctx, snap)
		s.last = snap
	} else {
		snap.Processes = snap.Processes[:0]
		s.last = nil
	}
	if need&CGroups != 0 && err == nil {
		err = s.cgroups(ctx, snap)
	}
	snap.netModule = ""
	if need&ProcessNet != 0 && err == nil && s.cols[mModuleState].err == 0 {
		err = s.named(ctx, func(i int32, name string) {
			if name == "netatop" {
				snap.netModule = s.cols[mModuleState].textOf(i)
			}
		}, mModuleState)
	}
	if need&Containers != 0 && err == nil {
		err = s.containers(ctx, snap)
	}
	if err == nil {
		err = s.chartValues(ctx, snap)
	}
	if err != nil {
		return nil, err
	}
	return snap, nil
}

func (s *Sampler) one(m metric) float64 {
	if s.cols[m].err != 0 {
		return nan()
	}
	return s.cols[m].one()
}

func (s *Sampler) totals(snap *Snapshot) {
	snap.CPU = shares(CPU{
		User: s.one(mCPUUser), Nice: s.one(mCPUNice), Sys: s.one(mCPUSys), Idle: s.one(mCPUIdle),
		Wait: s.one(mCPUWait), IRQ: s.one(mCPUIRQ), Steal: s.one(mCPUSteal),
	})
	snap.NCPU = 0
	if n := s.one(mNCPU); n > 0 && n < 1<<20 {
		snap.NCPU = int(n)
	}
	load := &s.cols[mLoad]
	for i, minutes := range [...]int32{1, 5, 15} {
		snap.Load[i] = nan()
		if load.err == 0 {
			snap.Load[i] = load.of(minutes)
		}
	}
	snap.Uptime, snap.Users = s.one(mUptime), s.one(mUsers)
	snap.Procs, snap.Running, snap.Blocked = s.one(mNProcs), s.one(mRunning), s.one(mBlocked)
	snap.Switches, snap.Interrupts, snap.Forks = s.one(mSwitches), s.one(mInterrupts), s.one(mForks)
	snap.Memory = Memory{
		Total: s.one(mMemTotal), Free: s.one(mMemFree), Available: s.one(mMemAvailable),
		Buffers: zeroIfNaN(s.one(mMemBuffers)), Cached: zeroIfNaN(s.one(mMemCached)) + zeroIfNaN(s.one(mMemReclaimable)),
		Shared: s.one(mMemShared), Dirty: s.one(mMemDirty),
		SwapTotal: s.one(mSwapTotal), SwapUsed: s.one(mSwapUsed), SwapIn: s.one(mSwapIn), SwapOut: s.one(mSwapOut),
	}
	snap.Disk = Traffic{
		In: s.one(mDiskAllRead), Out: s.one(mDiskAllWritten), InOps: s.one(mDiskAllReads), OutOps: s.one(mDiskAllWrites),
	}
	p := &snap.Pressure
	s.stall(&p.CPU, mPSICPU, mPSICPUAvg, -1, -1)
	s.stall(&p.Memory, mPSIMemory, mPSIMemoryAvg, mPSIMemoryFull, mPSIMemoryFullAvg)
	s.stall(&p.IO, mPSIIO, mPSIIOAvg, mPSIIOFull, mPSIIOFullAvg)
	s.stall(&p.IRQ, -1, -1, mPSIIRQ, mPSIIRQAvg)
}

// stall fills in the pressure on a resource; -1 is a missing metric.
func (s *Sampler) stall(st *Stall, some, someAvg, full, fullAvg metric) {
	for _, side := range []struct {
		to       *[4]float64
		now, avg metric
	}{{&st.Some, some, someAvg}, {&st.Full, full, fullAvg}} {
		*side.to = [4]float64{nan(), nan(), nan(), nan()}
		if side.now < 0 {
			continue
		}
		side.to[0] = min(1, s.one(side.now)) // the clocks are not read at one time
		if c := &s.cols[side.avg]; c.err == 0 {
			// The instances are the seconds.
			for i, seconds := range [...]int32{10, 60, 300} {
				side.to[i+1] = c.of(seconds) / 100
			}
		}
	}
}

func zeroIfNaN(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return f
}

// shares converts times of processors, some of which may be unknown, to shares of one. If neither idle time
// nor user time is known, the result is unknown.
func shares(c CPU) CPU {
	if math.IsNaN(c.Idle) && math.IsNaN(c.User) {
		n := nan()
		return CPU{Name: c.Name, User: n, Nice: n, Sys: n, Idle: n, Wait: n, IRQ: n, Steal: n}
	}
	total := 0.0
	for _, f := range []*float64{&c.User, &c.Nice, &c.Sys, &c.Idle, &c.Wait, &c.IRQ, &c.Steal} {
		*f = zeroIfNaN(*f)
		total += *f
	}
	if total <= 0 {
		total = 1
	}
	for _, f := range []*float64{&c.User, &c.Nice, &c.Sys, &c.Idle, &c.Wait, &c.IRQ, &c.Steal} {
		*f /= total
	}
	return c
}

// name returns the name of an instance. It requests the names of the domain when it meets an unknown instance.
func (s *Sampler) name(ctx context.Context, c *column, inst int32) (string, error) {
	indom := c.desc.InDom
	if name, ok := s.names[indom][inst]; ok {
		return name, nil
	}
	names := s.names[indom]
	if names == nil {
		names = map[int32]string{}
		s.names[indom] = names
	}
	if s.archive != nil {
		list, err := s.archive.GetInDomArchive(ctx, indom)
		if err == nil {
			for _, in := range list {
				if _, ok := names[in.Inst]; !ok {
					names[in.Inst] = in.Name
				}
			}
		}
	} else {
		all, err := s.c.InstanceNames(ctx, indom)
		if metrics.Lost(ctx, err) {
			return "", err
		}
		for id, name := range all {
			names[id] = name
		}
	}
	if _, ok := names[inst]; !ok {
		names[inst] = "" // it has ended; do not ask again for each sample
	}
	return names[inst], nil
}

// named yields the instances of the first nonempty column, with their names.
func (s *Sampler) named(ctx context.Context, each func(inst int32, name string), from ...metric) error {
	for _, m := range from {
		c := &s.cols[m]
		if c.err != 0 || len(c.insts) == 0 {
			continue
		}
		for _, inst := range c.insts {
			name, err := s.name(ctx, c, inst)
			if err != nil {
				return err
			}
			if name == "" {
				continue
			}
			each(inst, name)
		}
		return nil
	}
	return nil
}

func (s *Sampler) of(m metric, inst int32) float64 {
	if s.cols[m].err != 0 {
		return nan()
	}
	return s.cols[m].of(inst)
}

func (s *Sampler) cpus(ctx context.Context, snap *Snapshot) error {
	snap.CPUs = snap.CPUs[:0]
	return s.named(ctx, func(i int32, name string) {
		snap.CPUs = append(snap.CPUs, shares(CPU{
			Name: name, User: s.of(mPerUser, i), Nice: s.of(mPerNice, i), Sys: s.of(mPerSys, i), Idle: s.of(mPerIdle, i),
			Wait: s.of(mPerWait, i), IRQ: s.of(mPerIRQ, i), Steal: s.of(mPerSteal, i),
		}))
	}, mPerIdle, mPerUser)
}

func (s *Sampler) disks(ctx context.Context, snap *Snapshot) error {
	snap.Disks = snap.Disks[:0]
	err := s.named(ctx, func(i int32, name string) {
		d := Disk{
			Name: name, Reads: s.of(mDevReads, i), Writes: s.of(mDevWrites, i), Read: s.of(mDevRead, i), Written: s.of(mDevWritten, i),
			Busy: min(1, s.of(mDevBusy, i)), Queue: s.of(mDevQueue, i), ReadWait: nan(), WriteWait: nan(),
		}
		if d.Reads > 0 {
			d.ReadWait = s.of(mDevReadTime, i) / d.Reads
		}
		if d.Writes > 0 {
			d.WriteWait = s.of(mDevWriteTime, i) / d.Writes
		}
		snap.Disks = append(snap.Disks, d)
	}, mDevReads, mDevRead, mDevBusy)
	slices.SortFunc(snap.Disks, func(a, b Disk) int { return cmp.Compare(a.Name, b.Name) })
	return err
}

func (s *Sampler) files(ctx context.Context, snap *Snapshot) error {
	snap.Files = snap.Files[:0]
	mount, kind := &s.cols[mFSMount], &s.cols[mFSType]
	err := s.named(ctx, func(i int32, name string) {
		snap.Files = append(snap.Files, FileSystem{
			Device: name, Mount: mount.textOf(i), Type: kind.textOf(i),
			Size: s.of(mFSSize, i), Used: s.of(mFSUsed, i), Avail: s.of(mFSAvail, i),
			Inodes: s.of(mFSInodes, i), InodesUsed: s.of(mFSInodesUsed, i),
		})
	}, mFSSize, mFSUsed)
	slices.SortFunc(snap.Files, func(a, b FileSystem) int {
		return cmp.Or(cmp.Compare(a.Mount, b.Mount), cmp.Compare(a.Device, b.Device))
	})
	return err
}

// passesOn reports whether an interface passes on traffic that another interface counts
// too.
func passesOn(name string) bool {
	for _, prefix := range []string{"lo", "veth", "docker", "br-", "virbr", "cali", "cni", "flannel", "vnet", "tap"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && (prefix != "lo" || rest == "") {
			return true
		}
	}
	return false
}

// interfaces fills in the sum of all interfaces, and if all is set each of them.
func (s *Sampler) interfaces(ctx context.Context, snap *Snapshot, all bool) error {
	snap.Interfaces = snap.Interfaces[:0]
	snap.Net = Traffic{In: nan(), Out: nan(), InOps: nan(), OutOps: nan()}
	add := func(to *float64, v float64) {
		if !math.IsNaN(v) {
			*to = zeroIfNaN(*to) + v
		}
	}
	err := s.named(ctx, func(i int32, name string) {
		in, out := s.of(mNetIn, i), s.of(mNetOut, i)
		if !passesOn(name) {
			add(&snap.Net.In, in)
			add(&snap.Net.Out, out)
		}
		if !all {
			return
		}
		snap.Interfaces = append(snap.Interfaces, Interface{
			Name: name, In: in, Out: out, InPackets: s.of(mNetInPackets, i), OutPackets: s.of(mNetOutPackets, i),
			InErrors: s.of(mNetInErrors, i), OutErrors: s.of(mNetOutErrors, i),
			InDrops: s.of(mNetInDrops, i), OutDrops: s.of(mNetOutDrops, i), Speed: s.of(mNetSpeed, i),
		})
	}, mNetIn, mNetInPackets)
	if !all {
		return err
	}
	slices.SortFunc(snap.Interfaces, func(a, b Interface) int { return cmp.Compare(a.Name, b.Name) })
	snap.Protocols = Protocols{
		Established: s.one(mTCPEstablished), Active: s.one(mTCPActive), Passive: s.one(mTCPPassive), Retrans: s.one(mTCPRetrans),
		SegsIn: s.one(mTCPIn), SegsOut: s.one(mTCPOut), SegErrors: s.one(mTCPErrors),
		DatagramsIn: s.one(mUDPIn), DatagramsOut: s.one(mUDPOut), DatagramErrors: s.one(mUDPErrors),
	}
	return err
}
