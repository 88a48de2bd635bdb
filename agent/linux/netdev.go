package linux

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"

	"github.com/go-pcp/pcp/internal/procfs"
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
	file  *procfs.File
	names registry
	sys   []*netSys // by instance
	last  []int32   // the instances of the last reading

	exclude *regexp.Regexp // names that network.all leaves out
	counted []bool         // by instance: network.all has it
}

// netSys are the files about one interface in /sys.
type netSys struct {
	mtu, speed, duplex, flags, state, typ *procfs.File
	wireless, virtual                     string // directories that are there or not
}

func readNetDev(a *Agent) error {
	b, err := a.net.file.Read()
	if err != nil {
		return err
	}
	a.net.parse(b, &a.blocks[blockNet])
	a.sumNet()
	a.net.closeGone(a.blocks[blockNet].insts)
	a.blocks[blockNetCount].set(0, 0, uint64(a.blocks[blockNet].rows()))
	return nil
}

// parse reads lines "eth0: 1 2 ..." of 16 numbers. A line with fewer is not
// reported.
func (r *netReader) parse(b []byte, out *block) {
	out.clear()
	r.names.begin()
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
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
		inst, kept := r.names.id(name)
		if !r.names.first(inst) {
			continue
		}
		row := out.row(out.addNamed(inst, kept))
		for i := range v {
			row[i] = cell{v[i], true}
		}
		row[netBytes] = cell{v[netRxBytes] + v[netTxBytes], true}
		row[netPackets] = cell{v[netRxPackets] + v[netTxPackets], true}
		row[netErrors] = cell{v[netRxErrors] + v[netTxErrors], true}
		row[netDrops] = cell{v[netRxDrops] + v[netTxDrops], true}
		row[netMulticast] = cell{v[netRxMulticast], true} // nobody counts those sent
	}
}

// closeGone closes the files of interfaces that are there no more.
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
func (a *Agent) sysFiles(inst int32, name string) *netSys {
	r := &a.net
	for len(r.sys) <= int(inst) {
		r.sys = append(r.sys, nil)
	}
	if r.sys[inst] == nil {
		dir := "sys/class/net/" + name + "/"
		r.sys[inst] = &netSys{
			mtu:      a.deviceFile(dir + "mtu"),
			speed:    a.deviceFile(dir + "speed"),
			duplex:   a.deviceFile(dir + "duplex"),
			flags:    a.deviceFile(dir + "flags"),
			state:    a.deviceFile(dir + "operstate"),
			typ:      a.deviceFile(dir + "type"),
			wireless: a.path(dir + "wireless"),
			virtual:  a.path("sys/devices/virtual/net/" + name),
		}
	}
	return r.sys[inst]
}

// eachInterface fills block b with a row for each interface.
func (a *Agent) eachInterface(b blockID, fill func(out *block, row int, sys *netSys)) error {
	out, net := &a.blocks[b], &a.blocks[blockNet]
	out.clear()
	for i, inst := range net.insts {
		fill(out, out.add(inst), a.sysFiles(inst, net.names[i]))
	}
	return nil
}

func readNetMTU(a *Agent) error {
	return a.eachInterface(blockNetMTU, func(out *block, row int, sys *netSys) {
		if b, err := sys.mtu.Read(); err == nil {
			if v, _, ok := procfs.Uint(b); ok && v != 0 {
				out.set(row, 0, v)
			}
		}
	})
}

// Columns of blockNetSpeed.
const (
	speedMB = iota
	speedBytes
	numSpeed
)

// readNetSpeed reports the speed, which /sys has in 10^6 bits a second. Reading
// it fails for an interface that is down or has none. -1, unknown, comes out
// as 2^32-1 as in proc_net_dev.c.
func readNetSpeed(a *Agent) error {
	return a.eachInterface(blockNetSpeed, func(out *block, row int, sys *netSys) {
		b, err := sys.speed.Read()
		if err != nil {
			return
		}
		if v, _, ok := procfs.Int(b); ok && v != 0 {
			mbit := uint32(v)
			out.set(row, speedMB, floatBits(float64(float32(mbit)*1000000/8/1024/1024)))
			out.set(row, speedBytes, uint64(mbit)*1000000/8)
		}
	})
}

func readNetDuplex(a *Agent) error {
	return a.eachInterface(blockNetDuplex, func(out *block, row int, sys *netSys) {
		b, err := sys.duplex.Read()
		if err != nil {
			return
		}
		switch string(procfs.Trim(b)) {
		case "half":
			out.set(row, 0, 1)
		case "full":
			out.set(row, 0, 2)
		}
	})
}

// Columns of blockNetFlags.
const (
	flagUp = iota
	flagRunning
	numNetFlags
)

// readNetFlags reports IFF_UP and IFF_RUNNING. The flags in /sys lack the latter,
// which the kernel makes of the former and the operational state (dev_get_flags).
func readNetFlags(a *Agent) error {
	return a.eachInterface(blockNetFlags, func(out *block, row int, sys *netSys) {
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
		out.set(row, flagUp, up)
		out.set(row, flagRunning, running)
	})
}

func readNetType(a *Agent) error {
	return a.eachInterface(blockNetType, func(out *block, row int, sys *netSys) {
		if b, err := sys.typ.Read(); err == nil {
			if v, _, ok := procfs.Uint(b); ok {
				out.set(row, 0, v)
			}
		}
	})
}

func readNetWireless(a *Agent) error {
	return a.eachInterface(blockNetWireless, func(out *block, row int, sys *netSys) {
		out.set(row, 0, exists(sys.wireless))
	})
}

func readNetVirtual(a *Agent) error {
	return a.eachInterface(blockNetVirtual, func(out *block, row int, sys *netSys) {
		out.set(row, 0, exists(sys.virtual))
	})
}

func exists(path string) uint64 {
	if procfs.Exists(path) {
		return 1
	}
	return 0
}

// Columns of blockNetInet6.
const (
	addrInet6 = iota
	addrScope
	numInet6
)

// A netAddrReader finds the addresses of interfaces and of their aliases. An
// interface gets its instance when an address of it is first found.
type netAddrReader struct {
	inet6 *procfs.File
	names registry
}

// rowOf returns the row of an interface in out, a new one if it is the first time.
func (r *netAddrReader) rowOf(out *block, name []byte) int {
	inst, kept := r.names.id(name)
	for row, i := range out.insts {
		if i == inst {
			return row
		}
	}
	return out.addNamed(inst, kept)
}

// readNetHW reads the hardware addresses, in the order in which the kernel
// lists interfaces.
func readNetHW(a *Agent) error {
	r, out := &a.netAddr, &a.blocks[blockNetHW]
	out.clear()
	r.names.begin()
	for _, name := range procfs.Names(a.path("sys/class/net")) {
		b, err := procfs.ReadOnce(a.path("sys/class/net/" + name + "/address"))
		if err != nil {
			continue
		}
		if word, _ := procfs.Field(b); len(word) > 0 {
			out.setString(r.rowOf(out, []byte(name)), 0, word)
		}
	}
	return nil
}

// readNetInet asks the kernel by netlink, and so allocates. There is no file
// with the addresses, and none are reported below another root.
func readNetInet(a *Agent) error {
	r, out := &a.netAddr, &a.blocks[blockNetInet]
	out.clear()
	r.names.begin()
	if a.root == "/" {
		for _, addr := range inetAddrs() {
			out.setText(r.rowOf(out, []byte(addr.name)), 0, addr.addr)
		}
	}
	return nil
}

func readNetInet6(a *Agent) error {
	out := &a.blocks[blockNetInet6]
	b, err := a.netAddr.inet6.Read()
	if err != nil {
		return err
	}
	a.netAddr.parseInet6(b, out)
	return nil
}

// readNetAddr lists all that have an address of any kind.
func readNetAddr(a *Agent) error {
	out := &a.blocks[blockNetAddr]
	out.clear()
	for _, from := range [...]blockID{blockNetHW, blockNetInet, blockNetInet6} {
		b := &a.blocks[from]
		for row, inst := range b.insts {
			if !hasInst(out, inst) {
				out.addNamed(inst, b.names[row])
			}
		}
	}
	return nil
}

// parseInet6 reads lines of /proc/net/if_inet6:
// "fe80000000000000fc5400fffe906c44 02 40 20 80 eth0", the address, the number
// of the interface, the length of the prefix, scope and flags, all in
// hexadecimal. The last address of an interface counts.
func (r *netAddrReader) parseInet6(b []byte, out *block) {
	out.clear()
	r.names.begin()
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		hex, line := procfs.Field(line)
		_, line, ok1 := procfs.Hex(line)
		bits, line, ok2 := procfs.Hex(line)
		scope, line, ok3 := procfs.Hex(line)
		_, line, ok4 := procfs.Hex(line)
		name, _ := procfs.Field(line)
		if !ok1 || !ok2 || !ok3 || !ok4 || len(hex) != 32 || bits > 128 || len(name) == 0 {
			continue
		}
		var addr [16]byte
		valid := true
		for i := range addr {
			v, rest, ok := procfs.Hex(hex[2*i : 2*i+2])
			valid = valid && ok && len(rest) == 0
			addr[i] = byte(v)
		}
		if !valid {
			continue
		}
		row := r.rowOf(out, name)
		var room [64]byte
		text := append(netip.AddrFrom16(addr).AppendTo(room[:0]), '/')
		out.setString(row, addrInet6, strconv.AppendUint(text, bits, 10))
		out.setText(row, addrScope, scopeName(scope))
	}
}

// scopeName names the scope of an IPv6 address (IPV6_ADDR_* of the kernel).
func scopeName(scope uint64) string {
	switch scope {
	case 0x00:
		return "Global"
	case 0x10:
		return "Host"
	case 0x20:
		return "Link"
	case 0x40:
		return "Site"
	case 0x80:
		return "Compat"
	}
	return "Unknown"
}

// An inetAddr is the first IPv4 address of an interface, or that of an alias
// ("eth0:1").
type inetAddr struct{ name, addr string }
