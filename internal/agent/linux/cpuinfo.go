package linux

import (
	"bytes"
	"errors"
	"io/fs"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of cpuInfoMetrics.
const (
	blockCPUInfo = iota
	blockCPUOnline
	blockNodeOnline
	blockThrottle
	blockFreq
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

// A cpuText has the texts of a processor in /proc/cpuinfo. The strings point into
// the buffer of the file.
type cpuText struct {
	vendor, model, modelName, stepping, flags []byte
	cache, align                              uint64
	clock, bogomips                           float64
}

// A cpuInfoReader reads /proc/cpuinfo, whose keys differ between architectures.
type cpuInfoReader struct {
	cpus     []cpuText
	shared   cpuText // the texts for all processors
	isShared bool    // rather than of each
}

func cpuInfoFamily(h *host, cpus *cpuReader) column.Family {
	b := column.NewBlocks(cpuInfoMetrics, []column.Layout{
		blockCPUInfo:    {Cols: numCPUInfo, InDom: cpus.cpuInDom},
		blockCPUOnline:  {Cols: 1, InDom: cpus.cpuInDom},
		blockNodeOnline: {Cols: 1, InDom: cpus.nodeInDom},
		blockThrottle:   {Cols: numThrottle, InDom: cpus.cpuInDom},
		blockFreq:       {Cols: numFreq, InDom: cpus.cpuInDom},
	}...)
	info, file := new(cpuInfoReader), h.file("proc/cpuinfo")
	sys := &cpuSysReader{host: h, cpus: cpus}
	after := []*column.Source{cpus.source}
	return column.Family{Name: "cpuinfo", Metrics: cpuInfoMetrics, Sources: []*column.Source{{
		Name: "/proc/cpuinfo", Blocks: b[:blockCPUOnline], After: after,
		Read: func() error {
			text, err := file.Read()
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // if missing, the nodes of processors are used
				return err
			}
			info.parse(text)
			info.fill(cpus, b[blockCPUInfo])
			return nil
		},
	}, {
		Name: "/sys/devices/system: online", Blocks: b[blockCPUOnline:blockThrottle], After: after,
		Read: func() error { sys.readOnline(b[blockCPUOnline], b[blockNodeOnline]); return nil },
	}, {
		Name: "/sys/devices/system/cpu: thermal_throttle", Blocks: b[blockThrottle:blockFreq], After: after,
		Read: func() error { sys.readThrottle(b[blockThrottle]); return nil },
	}, {
		Name: "/sys/devices/system/cpu: cpufreq", Blocks: b[blockFreq:], After: after,
		Read: func() error { sys.readFrequency(b[blockFreq]); return nil },
	}}}
}

// fill makes a row for each processor that is online.
func (r *cpuInfoReader) fill(cpus *cpuReader, out *column.Block) {
	out.Clear()
	for i, cpu := range cpus.online().Insts() {
		row := out.Add(cpu)
		out.Set(row, infoNum, uint64(cpu))
		if n := cpus.node(int(cpu)); n >= 0 {
			out.Set(row, infoNode, uint64(cpus.nodes[n].id))
		}
		// Sections are those of the processors online, in order.
		if r.isShared {
			r.shared.put(out, row)
		} else if i < len(r.cpus) {
			r.cpus[i].put(out, row)
		}
	}
}

func (t *cpuText) put(out *column.Block, row int) {
	text := func(col int, s, instead []byte) {
		if s == nil {
			s = instead
		}
		if s == nil {
			out.SetText(row, col, "unknown")
			return
		}
		out.SetString(row, col, s)
	}
	text(infoVendor, t.vendor, nil)
	text(infoModel, t.model, t.modelName)
	text(infoModelName, t.modelName, t.model)
	text(infoStepping, t.stepping, nil)
	text(infoFlags, t.flags, nil)
	if t.cache != 0 {
		out.Set(row, infoCache, t.cache)
	}
	if t.align != 0 {
		out.Set(row, infoCacheAlign, t.align)
	}
	if t.bogomips != 0 {
		out.Set(row, infoBogomips, floatBits(t.bogomips))
	}
	if t.clock != 0 {
		out.Set(row, infoClock, floatBits(t.clock))
	}
}

// parse splits the file into sections, one for each processor. If all the
// "processor" lines come first, or if there are none, the other lines apply to each
// processor.
func (r *cpuInfoReader) parse(b []byte) {
	r.cpus, r.shared, r.isShared = r.cpus[:0], cpuText{}, false
	lastWasProcessor := false
	for line := range procfs.Lines(b) {
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

// set stores one line. The first of several keys for the same thing counts,
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

// hasFold reports whether b begins with prefix, ignoring case.
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

// A cpuSysReader reads the files in /sys about each processor and node.
type cpuSysReader struct {
	host   *host
	cpus   *cpuReader
	files  []*cpuSysFiles // by processor number
	online []*procfs.File // by index in topology.nodes
}

func (r *cpuSysReader) of(i int, name string) *cpuSysFiles {
	for len(r.files) <= i {
		r.files = append(r.files, nil)
	}
	if r.files[i] == nil {
		dir := "sys/devices/system/cpu/" + name + "/"
		f := &cpuSysFiles{
			online:  r.host.deviceFile(dir + "online"),
			inState: r.host.deviceFile(dir + "cpufreq/stats/time_in_state"),
			cur:     r.host.deviceFile(dir + "cpufreq/scaling_cur_freq"),
			max:     r.host.deviceFile(dir + "cpufreq/cpuinfo_max_freq"),
			min:     r.host.deviceFile(dir + "cpufreq/cpuinfo_min_freq"),
		}
		for j, name := range [...]string{"core_throttle_count", "core_throttle_total_time_ms", "package_throttle_count", "package_throttle_total_time_ms"} {
			f.throttle[j] = r.host.deviceFile(dir + "thermal_throttle/" + name)
		}
		r.files[i] = f
	}
	return r.files[i]
}

// readOnline reports the processors and nodes that are online; those without such
// a file cannot be taken offline.
func (r *cpuSysReader) readOnline(out, nodes *column.Block) {
	cpus := r.cpus.online()
	out.Clear()
	for i, cpu := range cpus.Insts() {
		row := out.Add(cpu)
		out.Set(row, 0, number(r.of(int(cpu), cpus.Names()[i]).online, 1))
	}
	nodes.Clear()
	for i := range r.cpus.nodes {
		for len(r.online) <= i {
			r.online = append(r.online, nil)
		}
		path := r.host.path(nodeDir + "/" + r.cpus.nodes[i].name + "/online")
		if f := r.online[i]; f == nil || f.Path() != path {
			r.online[i] = procfs.NewWholeFile(path).In(&r.host.devices)
		}
		nodes.Set(nodes.Add(int32(i)), 0, number(r.online[i], 1))
	}
}

// readThrottle reports the number of times, and of milliseconds, that heat slowed
// processors down; 0 if the kernel does not report it.
func (r *cpuSysReader) readThrottle(out *column.Block) {
	cpus := r.cpus.online()
	out.Clear()
	for i, cpu := range cpus.Insts() {
		row := out.Add(cpu)
		for j, f := range r.of(int(cpu), cpus.Names()[i]).throttle {
			out.Set(row, j, number(f, 0))
		}
	}
}

// Columns of blockFreq.
const (
	freqCount = iota
	freqTime
	freqMax
	freqMin
	freqCurrent
	numFreq
)

// readFrequency reports in MHz, from the times at each frequency or else from
// the limits and the current one.
func (r *cpuSysReader) readFrequency(out *column.Block) {
	cpus := r.cpus.online()
	out.Clear()
	for i, cpu := range cpus.Insts() {
		row := out.Add(cpu)
		f := r.of(int(cpu), cpus.Names()[i])
		if v := number(f.cur, 0); v != 0 {
			out.Set(row, freqCurrent, floatBits(float64(v)/1000))
		}
		if b, err := f.inState.Read(); err == nil {
			parseTimeInState(b, out.Row(row))
			continue
		}
		for _, c := range [...]struct {
			col  int
			file *procfs.File
		}{{freqMax, f.max}, {freqMin, f.min}, {freqCount, f.cur}} {
			if v := number(c.file, 0); v != 0 {
				out.Set(row, c.col, v/1000)
			}
		}
	}
}

// parseTimeInState reads lines of a frequency in kHz and the number of ticks at
// it.
func parseTimeInState(b []byte, row []column.Cell) {
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
	row[freqCount] = column.Num(product)
	row[freqTime] = column.Num(ticks)
	row[freqMax] = column.Num(high)
	row[freqMin] = column.Num(low)
}

// cpuInfoMetrics are the metrics of each processor and node except times.
var cpuInfoMetrics = []column.Metric{
	{Name: "hinv.map.cpu_num", Cluster: 18, Item: 6, Type: pcp.TypeU32, Sem: discrete, From: blockCPUInfo, Col: infoNum, Help: "Number of each processor"},
	{Name: "hinv.map.cpu_node", Cluster: 18, Item: 8, Type: pcp.TypeU32, Sem: discrete, From: blockCPUInfo, Col: infoNode, Help: "NUMA node of each processor"},
	{Name: "hinv.cpu.clock", Cluster: 18, Item: 0, Type: pcp.TypeFloat, Sem: discrete, Units: perUsec, From: blockCPUInfo, Col: infoClock, Help: "Clock rate of each processor at the moment, in MHz"},
	{Name: "hinv.cpu.vendor", Cluster: 18, Item: 1, Type: pcp.TypeString, Sem: discrete, From: blockCPUInfo, Col: infoVendor, Help: "Maker of each processor"},
	{Name: "hinv.cpu.model", Cluster: 18, Item: 2, Type: pcp.TypeString, Sem: discrete, From: blockCPUInfo, Col: infoModel, Help: "Model number of each processor"},
	{Name: "hinv.cpu.stepping", Cluster: 18, Item: 3, Type: pcp.TypeString, Sem: discrete, From: blockCPUInfo, Col: infoStepping, Help: "Stepping of each processor"},
	{Name: "hinv.cpu.cache", Cluster: 18, Item: 4, Type: pcp.TypeU32, Sem: discrete, Units: kbyte, From: blockCPUInfo, Col: infoCache, Help: "Cache size of each processor"},
	{Name: "hinv.cpu.bogomips", Cluster: 18, Item: 5, Type: pcp.TypeFloat, Sem: discrete, From: blockCPUInfo, Col: infoBogomips, Help: "Turns of the delay loop in a second, in millions, of each processor"},
	{Name: "hinv.cpu.model_name", Cluster: 18, Item: 9, Type: pcp.TypeString, Sem: discrete, From: blockCPUInfo, Col: infoModelName, Help: "Model name of each processor"},
	{Name: "hinv.cpu.flags", Cluster: 18, Item: 10, Type: pcp.TypeString, Sem: discrete, From: blockCPUInfo, Col: infoFlags, Help: "Features of each processor"},
	{Name: "hinv.cpu.cache_alignment", Cluster: 18, Item: 11, Type: pcp.TypeU32, Sem: discrete, From: blockCPUInfo, Col: infoCacheAlign, Help: "Alignment of the caches of each processor"},
	{Name: "hinv.cpu.online", Cluster: 55, Item: 0, Type: pcp.TypeU32, Sem: instant, From: blockCPUOnline, Help: "1 if the processor is online"},
	{Name: "hinv.cpu.thermal_throttle.core.count", Cluster: 55, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockThrottle, Col: throttleCore, Help: "Times that heat slowed the core down"},
	{Name: "hinv.cpu.thermal_throttle.core.time", Cluster: 55, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: msec, From: blockThrottle, Col: throttleCoreTime, Help: "Time that heat slowed the core down"},
	{Name: "hinv.cpu.thermal_throttle.package.count", Cluster: 55, Item: 4, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockThrottle, Col: throttlePackage, Help: "Times that heat slowed the package down"},
	{Name: "hinv.cpu.thermal_throttle.package.time", Cluster: 55, Item: 5, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockThrottle, Col: throttlePackageTime, Help: "Time that heat slowed the package down"},
	{Name: "hinv.cpu.frequency_scaling.count", Cluster: 55, Item: 6, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockFreq, Col: freqCount, Help: "Sum of MHz times time at it, or the present MHz, of each processor"},
	{Name: "hinv.cpu.frequency_scaling.time", Cluster: 55, Item: 7, Type: pcp.TypeU64, Sem: counter, Units: usec, From: blockFreq, Col: freqTime, Help: "Time at all frequencies, of each processor"},
	{Name: "hinv.cpu.frequency_scaling.max", Cluster: 55, Item: 8, Type: pcp.TypeU32, Sem: instant, Units: perUsec, From: blockFreq, Col: freqMax, Help: "Highest frequency in MHz of each processor"},
	{Name: "hinv.cpu.frequency_scaling.current", Cluster: 55, Item: 10, Type: pcp.TypeFloat, Sem: instant, Units: perUsec, From: blockFreq, Col: freqCurrent, Help: "Present frequency in MHz of each processor"}, // newer than PCP 6.0.3
	{Name: "hinv.cpu.frequency_scaling.min", Cluster: 55, Item: 9, Type: pcp.TypeU32, Sem: instant, Units: perUsec, From: blockFreq, Col: freqMin, Help: "Lowest frequency in MHz of each processor"},
	{Name: "hinv.node.online", Cluster: 55, Item: 1, Type: pcp.TypeU32, Sem: instant, From: blockNodeOnline, Help: "1 if the node is online"},
}
