package linux

import (
	"bytes"
	"errors"
	"io/fs"

	"github.com/go-pcp/pcp/internal/procfs"
)

// Columns of blockCPUInfo.
const (
	infoClock = iota
	infoVendor
	infoModel
	infoModelName
	infoStepping
	infoFlags
	infoCache
	infoCacheAlign
	infoBogomips
	infoNum
	infoNode
	numCPUInfo
)

// A cpuText is what /proc/cpuinfo says about a processor. The strings point
// into the buffer of the file.
type cpuText struct {
	vendor, model, modelName, stepping, flags []byte
	cache, align                              uint64
	clock, bogomips                           float64
}

// A cpuInfoReader reads /proc/cpuinfo, whose keys differ between architectures.
type cpuInfoReader struct {
	file     *procfs.File
	cpus     []cpuText
	shared   cpuText // what is said of all of them
	isShared bool    // rather than of each
}

func readCPUInfo(a *Agent) error {
	b, err := a.cpuinfo.file.Read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without it there are the nodes of processors
		return err
	}
	a.cpuinfo.parse(b)
	out, cpus := &a.blocks[blockCPUInfo], &a.blocks[blockCPU]
	out.clear()
	for i, cpu := range cpus.insts {
		row := out.add(cpu)
		out.set(row, infoNum, uint64(cpu))
		if n := a.stat.node(int(cpu)); n >= 0 {
			out.set(row, infoNode, uint64(a.stat.nodes[n].id))
		}
		// Sections stand for the processors online, in order.
		if a.cpuinfo.isShared {
			a.cpuinfo.shared.put(out, row)
		} else if i < len(a.cpuinfo.cpus) {
			a.cpuinfo.cpus[i].put(out, row)
		}
	}
	return nil
}

func (t *cpuText) put(out *block, row int) {
	text := func(col int, s, instead []byte) {
		if s == nil {
			s = instead
		}
		if s == nil {
			out.setText(row, col, "unknown")
			return
		}
		out.setString(row, col, s)
	}
	text(infoVendor, t.vendor, nil)
	text(infoModel, t.model, t.modelName)
	text(infoModelName, t.modelName, t.model)
	text(infoStepping, t.stepping, nil)
	text(infoFlags, t.flags, nil)
	if t.cache != 0 {
		out.set(row, infoCache, t.cache)
	}
	if t.align != 0 {
		out.set(row, infoCacheAlign, t.align)
	}
	if t.bogomips != 0 {
		out.set(row, infoBogomips, floatBits(t.bogomips))
	}
	if t.clock != 0 {
		out.set(row, infoClock, floatBits(t.clock))
	}
}

// parse splits the file in sections, one for each processor. Where all the
// "processor" lines come first, what follows is of each of them; and so is all
// where there are none.
func (r *cpuInfoReader) parse(b []byte) {
	r.cpus, r.shared, r.isShared = r.cpus[:0], cpuText{}, false
	lastWasProcessor := false
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			break
		}
		b = rest
		key, val, ok := procfs.Cut(line, ':')
		if !ok {
			continue
		}
		if hasFold(key, "processor") {
			if len(r.cpus) >= maxCPU {
				return
			}
			r.cpus = append(r.cpus, cpuText{})
			r.isShared = r.isShared || lastWasProcessor
			lastWasProcessor = true
			continue
		}
		lastWasProcessor = false
		r.isShared = r.isShared || len(r.cpus) == 0
		if r.isShared {
			r.shared.set(key, val)
		} else {
			r.cpus[len(r.cpus)-1].set(key, val)
		}
	}
}

// set notes one line. The first of several keys for the same thing counts,
// except for the clock, which changes.
func (t *cpuText) set(key, val []byte) {
	text := func(s *[]byte, keys ...string) bool {
		for _, k := range keys {
			if *s == nil && hasFold(key, k) {
				*s = val
				return true
			}
		}
		return false
	}
	switch {
	case hasFold(key, "cpu MHz"):
		if v, _, ok := procfs.Float(val); ok {
			t.clock = v
		}
	case text(&t.modelName, "model name", "hardware"):
	case text(&t.model, "model", "cpu model", "cpu variant"):
	case text(&t.vendor, "vendor", "cpu implementer"):
	case text(&t.stepping, "step", "revision", "cpu revision"):
	case text(&t.flags, "flags", "features"):
	case t.cache == 0 && hasFold(key, "cache size"):
		t.cache, _, _ = procfs.Uint(val)
	case t.align == 0 && hasFold(key, "cache_align"):
		t.align, _, _ = procfs.Uint(val)
	case t.bogomips == 0 && hasFold(key, "bogo"):
		t.bogomips, _, _ = procfs.Float(val)
	case t.clock == 0 && hasFold(key, "cycle frequency"):
		if v, _, ok := procfs.Float(val); ok {
			t.clock = v / 1e6
		}
	}
}

// hasFold tells whether b begins with prefix, in whatever case.
func hasFold(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && bytes.EqualFold(b[:len(prefix)], []byte(prefix))
}

// Columns of blockThrottle.
const (
	throttleCore = iota
	throttleCoreTime
	throttlePackage
	throttlePackageTime
	numThrottle
)

// cpuSysFiles are the files about one processor in /sys.
type cpuSysFiles struct {
	online   *procfs.File
	throttle [4]*procfs.File // in the order of the columns
	inState  *procfs.File
	cur      *procfs.File
	max, min *procfs.File
}

func (a *Agent) cpuSysFile(i int, name string) *cpuSysFiles {
	for len(a.cpuSys) <= i {
		a.cpuSys = append(a.cpuSys, nil)
	}
	if a.cpuSys[i] == nil {
		dir := "sys/devices/system/cpu/" + name + "/"
		f := &cpuSysFiles{
			online:  a.deviceFile(dir + "online"),
			inState: a.deviceFile(dir + "cpufreq/stats/time_in_state"),
			cur:     a.deviceFile(dir + "cpufreq/scaling_cur_freq"),
			max:     a.deviceFile(dir + "cpufreq/cpuinfo_max_freq"),
			min:     a.deviceFile(dir + "cpufreq/cpuinfo_min_freq"),
		}
		for j, name := range [...]string{"core_throttle_count", "core_throttle_total_time_ms", "package_throttle_count", "package_throttle_total_time_ms"} {
			f.throttle[j] = a.deviceFile(dir + "thermal_throttle/" + name)
		}
		a.cpuSys[i] = f
	}
	return a.cpuSys[i]
}

// readOnline reports the processors and nodes that are online: what has no such
// file cannot be taken offline.
func readOnline(a *Agent) error {
	cpus, out := &a.blocks[blockCPU], &a.blocks[blockCPUOnline]
	out.clear()
	for i, cpu := range cpus.insts {
		row := out.add(cpu)
		out.set(row, 0, number(a.cpuSysFile(int(cpu), cpus.names[i]).online, 1))
	}
	nodes := &a.blocks[blockNodeOnline]
	nodes.clear()
	for i := range a.stat.nodes {
		for len(a.nodeOnline) <= i {
			a.nodeOnline = append(a.nodeOnline, nil)
		}
		path := a.path(nodeDir + "/" + a.stat.nodes[i].name + "/online")
		if f := a.nodeOnline[i]; f == nil || f.Path() != path {
			a.nodeOnline[i] = procfs.NewWholeFile(path).In(&a.devices)
		}
		nodes.set(nodes.add(int32(i)), 0, number(a.nodeOnline[i], 1))
	}
	return nil
}

// readThrottle reports how often, and for how many milliseconds, heat slowed
// processors down; 0 where the kernel does not say.
func readThrottle(a *Agent) error {
	cpus, out := &a.blocks[blockCPU], &a.blocks[blockThrottle]
	out.clear()
	for i, cpu := range cpus.insts {
		row := out.add(cpu)
		for j, f := range a.cpuSysFile(int(cpu), cpus.names[i]).throttle {
			out.set(row, j, number(f, 0))
		}
	}
	return nil
}

// Columns of blockFreq.
const (
	freqCount = iota
	freqTime
	freqMax
	freqMin
	numFreq
)

// readFrequency reports in MHz, from the times at each frequency or else from
// the limits and the present one.
func readFrequency(a *Agent) error {
	cpus, out := &a.blocks[blockCPU], &a.blocks[blockFreq]
	out.clear()
	for i, cpu := range cpus.insts {
		row := out.add(cpu)
		f := a.cpuSysFile(int(cpu), cpus.names[i])
		if b, err := f.inState.Read(); err == nil {
			parseTimeInState(b, out.row(row))
			continue
		}
		for _, c := range [...]struct {
			col  int
			file *procfs.File
		}{{freqMax, f.max}, {freqMin, f.min}, {freqCount, f.cur}} {
			if v := number(c.file, 0); v != 0 {
				out.set(row, c.col, v/1000)
			}
		}
	}
	return nil
}

// parseTimeInState reads lines of a frequency in kHz and how many ticks were
// spent at it.
func parseTimeInState(b []byte, row []cell) {
	var product, ticks, high, low uint64
	for {
		khz, rest, ok1 := procfs.Uint(b)
		n, rest, ok2 := procfs.Uint(rest)
		if !ok1 || !ok2 {
			break
		}
		mhz := khz / 1000
		product += mhz * n
		ticks += n
		high = max(high, mhz)
		if low == 0 || mhz < low {
			low = mhz
		}
		_, b, _ = procfs.Line(rest)
	}
	row[freqCount] = cell{product, true}
	row[freqTime] = cell{ticks, true}
	row[freqMax] = cell{high, true}
	row[freqMin] = cell{low, true}
}

// number reads a file of one number, or returns instead.
func number(f *procfs.File, instead uint64) uint64 {
	b, err := f.Read()
	if err != nil {
		return instead
	}
	v, _, ok := procfs.Uint(b)
	if !ok {
		return instead
	}
	return v
}
