package linux

import (
	"regexp"
	"slices"

	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of netMetrics.
const (
	blockNet = iota
	blockNetCount
	blockNetAll
	blockNetMTU
	blockNetSpeed
	blockNetDuplex
	blockNetFlags
	blockNetType
	blockNetWireless
	blockNetVirtual
)

// Columns of blockNet: the 16 numbers of /proc/net/dev in their order, then sums.
const (
	netRxBytes     = 0
	netRxPackets   = 1
	netRxErrors    = 2
	netRxDrops     = 3
	netRxMulticast = 7
	netTxBytes     = 8
	netTxPackets   = 9
	netTxErrors    = 10
	netTxDrops     = 11
	netCounters    = 16
)

const (
	netBytes = netCounters + iota
	netPackets
	netErrors
	netDrops
	netMulticast
	numNet
)

// A netReader reads /proc/net/dev, and attributes of interfaces in /sys.
type netReader struct {
	blocks []*column.Block
	host   *host
	names  column.Names
	sys    []*netSys // by instance
	last   []int32   // the instances of the last reading

	exclude *regexp.Regexp // names that network.all leaves out
	counted []bool         // by instance: network.all has it
}

// netSys are the files about one interface in /sys.
type netSys struct {
	mtu, speed, duplex, flags, state, typ *procfs.File
	wireless, virtual                     string // directories that may be missing
}

func newNetReader(h *host) *netReader {
	r := &netReader{host: h}
	h.share("interfaces", &r.names)
	indom := &column.InDom{
		Serial: 3, Help: "Network interfaces", Labels: `{"device_type":"interface","indom_name":"per interface"}`,
		InstanceLabels: func(_ int32, name string) map[string]any { return map[string]any{"interface": name} },
	}
	r.blocks = column.NewBlocks(netMetrics, []column.Layout{
		blockNet:         {Cols: numNet, InDom: indom, Lists: true},
		blockNetCount:    {Cols: 1},
		blockNetAll:      {Cols: numNetAll},
		blockNetMTU:      {Cols: 1, InDom: indom},
		blockNetSpeed:    {Cols: numSpeed, InDom: indom},
		blockNetDuplex:   {Cols: 1, InDom: indom},
		blockNetFlags:    {Cols: numNetFlags, InDom: indom},
		blockNetType:     {Cols: 1, InDom: indom},
		blockNetWireless: {Cols: 1, InDom: indom},
		blockNetVirtual:  {Cols: 1, InDom: indom},
	}...)
	return r
}

func (r *netReader) family() column.Family {
	dev := &column.Source{
		Name: "/proc/net/dev", File: r.host.file("proc/net/dev"), Parse: r.read, Blocks: r.blocks[:blockNetMTU], Scope: scopeNet,
	}
	// attribute is one of /sys; fill fills a row for each interface.
	attribute := func(block int, name string, fill func(out *column.Block, row int, sys *netSys)) *column.Source {
		return &column.Source{
			Name: "/sys/class/net/*/" + name, Blocks: r.blocks[block : block+1], After: []*column.Source{dev}, Scope: scopeSys,
			Read: func() error { r.eachInterface(r.blocks[block], fill); return nil },
		}
	}
	return column.Family{Name: "network.interface", Metrics: netMetrics, Sources: []*column.Source{
		dev,
		attribute(blockNetMTU, "mtu", readNetMTU),
		attribute(blockNetSpeed, "speed", readNetSpeed),
		attribute(blockNetDuplex, "duplex", readNetDuplex),
		attribute(blockNetFlags, "flags", readNetFlags),
		attribute(blockNetType, "type", readNetType),
		attribute(blockNetWireless, "wireless", readNetWireless),
		attribute(blockNetVirtual, "virtual", readNetVirtual),
	}}
}

// read fills the blocks of /proc/net/dev.
func (r *netReader) read(b []byte) {
	net := r.blocks[blockNet]
	r.parse(b, net)
	r.sumNet()
	r.closeGone(net.Insts())
	r.blocks[blockNetCount].Set(0, 0, uint64(net.Rows()))
}

// parse reads lines "eth0: 1 2 ..." of 16 numbers. A line with fewer is not
// reported.
func (r *netReader) parse(b []byte, out *column.Block) {
	out.Clear()
	r.names.Begin()
	for line := range procfs.Lines(b) {
		name, line, ok := procfs.Cut(line, ':')
		if !ok || len(name) == 0 {
			continue
		}
		var v [netCounters]uint64
		n := 0
		for ; n < netCounters; n++ {
			if v[n], line, ok = procfs.Uint(line); !ok {
				break
			}
		}
		if n < netCounters {
			continue
		}
		inst, kept := r.names.ID(name)
		if !r.names.First(inst) {
			continue
		}
		row := out.Row(out.AddNamed(inst, kept))
		for i := range v {
			row[i] = column.Num(v[i])
		}
		row[netBytes] = column.Num(v[netRxBytes] + v[netTxBytes])
		row[netPackets] = column.Num(v[netRxPackets] + v[netTxPackets])
		row[netErrors] = column.Num(v[netRxErrors] + v[netTxErrors])
		row[netDrops] = column.Num(v[netRxDrops] + v[netTxDrops])
		row[netMulticast] = column.Num(v[netRxMulticast]) // sent packets are not counted
	}
}

// closeGone closes the files of interfaces that have gone.
func (r *netReader) closeGone(insts []int32) {
	if slices.Equal(insts, r.last) {
		return
	}
	for _, inst := range r.last {
		if int(inst) < len(r.sys) && r.sys[inst] != nil && !slices.Contains(insts, inst) {
			sys := r.sys[inst]
			for _, f := range [...]*procfs.File{sys.mtu, sys.speed, sys.duplex, sys.flags, sys.state, sys.typ} {
				f.Close()
			}
			r.sys[inst] = nil
		}
	}
	r.last = append(r.last[:0], insts...)
}

// sysFiles returns the files of /sys about an interface.
func (r *netReader) sysFiles(inst int32, name string) *netSys {
	for len(r.sys) <= int(inst) {
		r.sys = append(r.sys, nil)
	}
	if r.sys[inst] == nil {
		dir := "sys/class/net/" + name + "/"
		r.sys[inst] = &netSys{
			mtu:      r.host.deviceFile(dir + "mtu"),
			speed:    r.host.deviceFile(dir + "speed"),
			duplex:   r.host.deviceFile(dir + "duplex"),
			flags:    r.host.deviceFile(dir + "flags"),
			state:    r.host.deviceFile(dir + "operstate"),
			typ:      r.host.deviceFile(dir + "type"),
			wireless: r.host.path(dir + "wireless"),
			virtual:  r.host.path("sys/devices/virtual/net/" + name),
		}
	}
	return r.sys[inst]
}

// eachInterface fills a block with a row for each interface.
func (r *netReader) eachInterface(out *column.Block, fill func(out *column.Block, row int, sys *netSys)) {
	net := r.blocks[blockNet]
	out.Clear()
	for i, inst := range net.Insts() {
		fill(out, out.Add(inst), r.sysFiles(inst, net.Names()[i]))
	}
}

func readNetMTU(out *column.Block, row int, sys *netSys) {
	if b, err := sys.mtu.Read(); err == nil {
		if v, _, ok := procfs.Uint(b); ok && v != 0 {
			out.Set(row, 0, v)
		}
	}
}

// Columns of blockNetSpeed.
const (
	speedMB = iota
	speedBytes
	numSpeed
)

// readNetSpeed reports the speed, which /sys has in 10^6 bits a second. Reading
// it fails for an interface that is down or has no speed. -1, unknown, becomes
// 2^32-1 as in proc_net_dev.c.
func readNetSpeed(out *column.Block, row int, sys *netSys) {
	b, err := sys.speed.Read()
	if err != nil {
		return
	}
	if v, _, ok := procfs.Int(b); ok && v != 0 {
		mbit := uint32(v)
		out.Set(row, speedMB, floatBits(float64(float32(mbit)*1000000/8/1024/1024)))
		out.Set(row, speedBytes, uint64(mbit)*1000000/8)
	}
}

func readNetDuplex(out *column.Block, row int, sys *netSys) {
	b, err := sys.duplex.Read()
	if err != nil {
		return
	}
	switch string(procfs.Trim(b)) {
	case "half":
		out.Set(row, 0, 1)
	case "full":
		out.Set(row, 0, 2)
	}
}

// Columns of blockNetFlags.
const (
	flagUp = iota
	flagRunning
	numNetFlags
)

// readNetFlags reports IFF_UP and IFF_RUNNING. The flags in /sys lack the latter,
// which the kernel derives from the former and the operational state
// (dev_get_flags).
func readNetFlags(out *column.Block, row int, sys *netSys) {
	const iffUp = 0x1
	b, err := sys.flags.Read()
	if err != nil {
		return
	}
	flags, _, ok := procfs.Hex(b)
	if !ok {
		return
	}
	up, running := flags&iffUp, uint64(0)
	if b, err := sys.state.Read(); err == nil && up != 0 {
		switch string(procfs.Trim(b)) {
		case "up", "unknown":
			running = 1
		}
	}
	out.Set(row, flagUp, up)
	out.Set(row, flagRunning, running)
}

func readNetType(out *column.Block, row int, sys *netSys) {
	if b, err := sys.typ.Read(); err == nil {
		if v, _, ok := procfs.Uint(b); ok {
			out.Set(row, 0, v)
		}
	}
}

func readNetWireless(out *column.Block, row int, sys *netSys) {
	out.Set(row, 0, exists(sys.wireless))
}

func readNetVirtual(out *column.Block, row int, sys *netSys) {
	out.Set(row, 0, exists(sys.virtual))
}

func exists(path string) uint64 {
	if procfs.Exists(path) {
		return 1
	}
	return 0
}
