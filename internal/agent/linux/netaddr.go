package linux

import (
	"errors"
	"io/fs"
	"net/netip"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/nsenter"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of netAddrMetrics.
const (
	blockNetHW = iota
	blockNetInet
	blockNetInet6
	blockNetAddr // all interfaces with an address of any kind
)

// Columns of blockNetInet6.
const (
	addrInet6 = iota
	addrScope
	numInet6
)

// A netAddrReader finds the addresses of interfaces and of their aliases. An
// interface gets its instance when an address of it is first found.
type netAddrReader struct {
	blocks []*column.Block
	host   *host
	names  column.Names
}

func newNetAddrReader(h *host) *netAddrReader {
	r := &netAddrReader{host: h}
	h.share("addresses", &r.names)
	indom := &column.InDom{
		Serial: 17, Help: "Network interfaces with their aliases", Labels: `{"device_type":"interface","indom_name":"per interface"}`,
	}
	r.blocks = column.NewBlocks(netAddrMetrics, []column.Layout{
		blockNetHW:    {Cols: 1, InDom: indom},
		blockNetInet:  {Cols: 1, InDom: indom},
		blockNetInet6: {Cols: numInet6, InDom: indom},
		blockNetAddr:  {InDom: indom, Lists: true},
	}...)
	return r
}

func netAddrFamily(h *host) column.Family {
	r := newNetAddrReader(h)
	b := r.blocks
	hw := &column.Source{Name: "/sys/class/net/*/address", Read: r.readHW, Blocks: b[blockNetHW:blockNetInet], Scope: scopeSys}
	inet := &column.Source{Name: "netlink", Read: r.readInet, Blocks: b[blockNetInet:blockNetInet6], Scope: scopeNet}
	inet6 := &column.Source{
		Name: "/proc/net/if_inet6", File: h.file("proc/net/if_inet6"), Parse: r.parseInet6,
		Blocks: b[blockNetInet6:blockNetAddr], Scope: scopeNet,
	}
	return column.Family{Name: "network addresses", Metrics: netAddrMetrics, Sources: []*column.Source{hw, inet, inet6, {
		Name: "addresses", Read: r.readAll, Blocks: b[blockNetAddr:], Scope: scopeBoth, After: []*column.Source{hw, inet, inet6},
	}}}
}

// rowOf returns the row of an interface in out, a new one if it is the first time.
func (r *netAddrReader) rowOf(out *column.Block, name []byte) int {
	inst, kept := r.names.ID(name)
	for row, i := range out.Insts() {
		if i == inst {
			return row
		}
	}
	return out.AddNamed(inst, kept)
}

// readHW reads the hardware addresses, in the order in which the kernel
// lists interfaces.
func (r *netAddrReader) readHW() error {
	out := r.blocks[blockNetHW]
	out.Clear()
	r.names.Begin()
	for _, name := range procfs.Names(r.host.path("sys/class/net")) {
		b, err := procfs.ReadOnce(r.host.path("sys/class/net/" + name + "/address"))
		if err != nil {
			continue
		}
		if word, _ := procfs.Field(b); len(word) > 0 {
			out.SetString(r.rowOf(out, []byte(name)), 0, word)
		}
	}
	return nil
}

// readInet asks the kernel by netlink, and so allocates. No file has the
// addresses: those of a host whose files are a copy are not known. In a container
// that has a network of its own and no right to enter that of the host, there are none.
func (r *netAddrReader) readInet() error {
	out := r.blocks[blockNetInet]
	out.Clear()
	r.names.Begin()
	if r.host.root != "/" && !r.host.cfg.Live {
		return nil
	}
	var addrs []inetAddr
	err := nsenter.InHostNet(r.host.root, func() error { addrs = inetAddrs(); return nil })
	for _, addr := range addrs {
		out.SetText(r.rowOf(out, []byte(addr.name)), 0, addr.addr)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// readAll lists all interfaces with an address of any kind.
func (r *netAddrReader) readAll() error {
	out := r.blocks[blockNetAddr]
	out.Clear()
	for _, b := range r.blocks[:blockNetAddr] {
		for row, inst := range b.Insts() {
			if !out.Has(inst) {
				out.AddNamed(inst, b.Names()[row])
			}
		}
	}
	return nil
}

// parseInet6 reads lines of /proc/net/if_inet6:
// "fe80000000000000fc5400fffe906c44 02 40 20 80 eth0", the address, the number
// of the interface, the length of the prefix, scope and flags, all in
// hexadecimal. The last address of an interface counts.
func (r *netAddrReader) parseInet6(b []byte) {
	out := r.blocks[blockNetInet6]
	out.Clear()
	r.names.Begin()
	for line := range procfs.Lines(b) {
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
		out.SetString(row, addrInet6, strconv.AppendUint(text, bits, 10))
		out.SetText(row, addrScope, scopeName(scope))
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

// netAddrMetrics are the metrics of addresses.
var netAddrMetrics = []column.Metric{
	{Name: "network.interface.inet_addr", Cluster: 33, Item: 0, Type: pcp.TypeString, Sem: discrete, From: blockNetInet, Help: "IPv4 address, of each interface"},
	{Name: "network.interface.ipv6_addr", Cluster: 33, Item: 1, Type: pcp.TypeString, Sem: discrete, From: blockNetInet6, Col: addrInet6, Help: "IPv6 address and prefix length, of each interface"},
	{Name: "network.interface.ipv6_scope", Cluster: 33, Item: 2, Type: pcp.TypeString, Sem: discrete, From: blockNetInet6, Col: addrScope, Help: "Scope of the IPv6 address, of each interface"},
	{Name: "network.interface.hw_addr", Cluster: 33, Item: 3, Type: pcp.TypeString, Sem: discrete, From: blockNetHW, Help: "Hardware address, of each interface"},
}
