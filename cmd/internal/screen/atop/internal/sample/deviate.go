package sample

// since returns the growth of a counter: its value if it has started again, -1 if it has no value.
func since(now, before Count) Count {
	switch {
	case now == -1:
		return -1
	case now >= before:
		return now - before
	}
	return now
}

// deviate sets dev to the changes from pre to cur.
func (s *Sampler) deviate(dev, cur, pre *System, seconds float64) {
	old := *dev
	*dev = System{
		Time: cur.Time, Load1: cur.Load1, Load5: cur.Load5, Load15: cur.Load15,
		CPUs: old.CPUs, Interfaces: old.Interfaces, Ports: old.Ports, Disks: old.Disks, Volumes: old.Volumes, Arrays: old.Arrays,
		NodeMem: old.NodeMem, NodeCPU: old.NodeCPU, Mounts: old.Mounts, GPUs: old.GPUs, Caches: old.Caches,
	}
	for i := range s.rows {
		f, row := s.rows[i].field, &s.rows[i]
		to, now, before := f(dev), *f(cur), *f(pre)
		switch row.kind {
		case gauge:
			*to = now
		case counter:
			*to = since(now, before)
		case plain:
			*to = now - before
		case pressure: // as in C, which mistakes missing values for present ones
			if *to = now; cur.Pressure.Missing {
				*to = now - before
			}
		}
	}
	dev.Mem.Balloon, dev.Mem.ZswapEnabled = cur.Mem.Balloon, cur.Mem.ZswapEnabled
	dev.Pressure.Missing = cur.Pressure.Missing
	dev.CPU.Instr, dev.CPU.Cycles = since(cur.CPU.Instr, pre.CPU.Instr), since(cur.CPU.Cycles, pre.CPU.Cycles)
	if dev.Web.Requests, dev.Web.KBytes = cur.Web.Requests, cur.Web.KBytes; cur.Web.Uptime >= pre.Web.Uptime {
		dev.Web.Requests, dev.Web.KBytes = since(cur.Web.Requests, pre.Web.Requests), since(cur.Web.KBytes, pre.Web.KBytes)
	}

	// The domains in which C compares instances at the same index.
	dev.CPUs = pairwise(dev.CPUs, cur.CPUs, pre.CPUs, len(pre.CPUs) >= len(cur.CPUs), func(t *CPU, now, before *CPU) {
		columnsSince(cpuColumns, t, now, before)
		if t.Nr, t.Freq, t.FreqTicks = now.Nr, now.Freq, now.FreqTicks; now.FreqTicks != 0 {
			t.Freq, t.FreqTicks = since(now.Freq, before.Freq), since(now.FreqTicks, before.FreqTicks)
		}
	})
	dev.NodeMem = append(dev.NodeMem[:0], cur.NodeMem...)
	dev.NodeCPU = dev.NodeCPU[:0]
	for i := range cur.NodeCPU {
		t := NodeCPU{CPUs: cur.NodeCPU[i].CPUs}
		t.Nr = cur.NodeCPU[i].Nr
		if len(cur.NodeCPU) > 1 && i < len(pre.NodeCPU) && pre.NodeCPU[i].CPUs != 0 {
			columnsSince(nodeCPUColumns, &t, &cur.NodeCPU[i], &pre.NodeCPU[i])
		}
		dev.NodeCPU = append(dev.NodeCPU, t)
	}
	dev.Ports = pairwise(dev.Ports, cur.Ports, pre.Ports, true, func(t *Port, now, before *Port) {
		t.Name, t.Nr, t.Lanes = now.Name, now.Nr, now.Lanes
		columnsSince(portColumns, t, now, before)
	})
	dev.GPUs = pairwise(dev.GPUs, cur.GPUs, pre.GPUs, true, func(t *GPU, now, before *GPU) {
		t.Type, t.Bus, t.Procs, t.BusyNow, t.MemBusyNow = now.Type, now.Bus, now.Procs, now.BusyNow, now.MemBusyNow
		columnsSince(gpuColumns, t, now, before)
		for _, f := range []*Count{&t.Busy, &t.MemBusy, &t.MemUsedSum} {
			*f = max(*f, -1)
		}
	})
	dev.Caches = dev.Caches[:0]
	for i := range cur.Caches {
		t := Cache{Nr: cur.Caches[i].Nr, Occupancy: cur.Caches[i].Occupancy}
		if i < len(pre.Caches) { // else nothing, as in C
			columnsSince(cacheColumns, &t, &cur.Caches[i], &pre.Caches[i])
		}
		dev.Caches = append(dev.Caches, t)
	}
	for i := range dev.GPUs {
		dev.GPUs[i].Nr = int32(i)
	}

	s.deviateInterfaces(dev, cur, pre)
	dev.Disks = deviateDisks(dev.Disks, cur.Disks, pre.Disks, diskColumns)
	dev.Volumes = deviateDisks(dev.Volumes, cur.Volumes, pre.Volumes, volumeColumns)
	dev.Arrays = deviateDisks(dev.Arrays, cur.Arrays, pre.Arrays, arrayColumns)
	dev.Mounts = deviateMounts(dev.Mounts, cur.Mounts, pre.Mounts, seconds)
}

// columnsSince sets the growth of the columns of an instance. Special columns are left alone.
func columnsSince[T any](columns []column[T], t, now, before *T) {
	for i := range columns {
		f := columns[i].field
		switch columns[i].kind {
		case gauge:
			*f(t) = *f(now)
		case counter:
			*f(t) = since(*f(now), *f(before))
		case plain:
			*f(t) = *f(now) - *f(before)
		}
	}
}

// pairwise compares the instances at the same indexes, or with nothing if not known.
func pairwise[T any](list, cur, pre []T, known bool, set func(t, now, before *T)) []T {
	list = list[:0]
	var none T
	for i := range cur {
		before := &none
		if known && i < len(pre) {
			before = &pre[i]
		}
		var t T
		set(&t, &cur[i], before)
		list = append(list, t)
	}
	return list
}

// deviateInterfaces compares interfaces of the same name. The way in which C looks for them shows
// when they appear and disappear.
func (s *Sampler) deviateInterfaces(dev, cur, pre *System) {
	for i := range cur.Interfaces {
		in := &cur.Interfaces[i]
		p := s.properties[in.Name]
		in.Type, in.Speed, in.SpeedBefore, in.Duplex = p.kind, p.speed, p.speed, p.duplex
	}
	if len(pre.Interfaces) < len(cur.Interfaces) { // the first sample, or one more
		pre.Interfaces = pre.Interfaces[:0]
		for _, in := range cur.Interfaces {
			pre.Interfaces = append(pre.Interfaces, Interface{Name: in.Name, Type: in.Type, Speed: in.Speed, SpeedBefore: in.SpeedBefore, Duplex: in.Duplex})
		}
	}
	dev.Interfaces = dev.Interfaces[:0]
	j := 0
	for i := range cur.Interfaces {
		now := &cur.Interfaces[i]
		if j >= len(pre.Interfaces) || pre.Interfaces[j].Name != now.Name {
			for j = 0; j < len(pre.Interfaces) && pre.Interfaces[j].Name != now.Name && pre.Interfaces[j].Name != ""; j++ {
			}
			if j == len(pre.Interfaces) || pre.Interfaces[j].Name == "" {
				dev.Interfaces = append(dev.Interfaces, *now)
				j = 1
				continue
			}
		}
		before := &pre.Interfaces[j]
		t := Interface{Name: now.Name, Type: now.Type, Duplex: now.Duplex, Speed: now.Speed, SpeedBefore: before.Speed}
		columnsSince(interfaceColumns, &t, now, before)
		now.SpeedBefore = before.Speed
		dev.Interfaces = append(dev.Interfaces, t)
		j++
	}
}

// deviateDisks compares disks of the same name.
func deviateDisks(list, cur, pre []Disk, columns []column[Disk]) []Disk {
	list = list[:0]
	j := 0
	at := func(j int) *Disk {
		if j < len(pre) {
			return &pre[j]
		}
		return &Disk{}
	}
	for i := range cur {
		here := j
		if at(j).Name == "" || at(j).Name != cur[i].Name {
			for j = 0; at(j).Name != "" && at(j).Name != cur[i].Name; j++ {
			}
		}
		t := Disk{Name: cur[i].Name}
		columnsSince(columns, &t, &cur[i], at(j))
		list = append(list, t)
		if at(j).Name != "" {
			j++
		} else {
			j = here
		}
	}
	return list
}

// deviateMounts compares mounts of the same name. A mount that is newer than the sample before starts at
// 0.
func deviateMounts(list, cur, pre []Mount, seconds float64) []Mount {
	list = list[:0]
	j := 0
	for i := range cur {
		if j >= len(pre) || pre[j].Device != cur[i].Device {
			for j = 0; j < len(pre) && pre[j].Device != cur[i].Device; j++ {
			}
		}
		t := Mount{Device: cur[i].Device, Age: cur[i].Age}
		if j < len(pre) {
			if float64(t.Age) <= seconds {
				pre[j] = Mount{}
			}
			columnsSince(mountColumns, &t, &cur[i], &pre[j])
		}
		list = append(list, t)
		j++
	}
	return list
}
