package bpf

import (
	"encoding/binary"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// How many connections are followed at one time, in the making and later.
const (
	maxConnecting = 4096
	maxSockets    = 16384
)

// States of TCP in the kernel (TCP_ESTABLISHED and others), and numbers of protocols.
const (
	tcpEstablished = 1
	tcpSynSent     = 2
	tcpClose       = 7

	protocolTCP = 6
	protocolUDP = 17
)

// Kinds of counts of tcpconnlat. The first two have a bucket in the low byte of their keys.
const (
	tcpConnects = iota
	tcpLives
	tcpFailed
	tcpRetransmits
	tcpResetsSent
	tcpResetsReceived
	numTCPCounts

	connectGroup = 32 // where a connection in the making has its control group
)

// A connectEvent is what the program of tcpconnlat notes about a connection.
type connectEvent struct {
	PID, Family    uint32
	Took           uint64 // nanoseconds
	Comm           [commLen]byte
	Source, Target [16]byte // the first 4 bytes of IPv4
	Ports          [2]uint32
}

// Families of addresses in the kernel (AF_INET and AF_INET6).
const (
	familyIPv4 = 2
	familyIPv6 = 10
)

// tcpconnlat measures how long connections take to be made, and how long they live.
func tcpconnlat(cfg Config) *module {
	m := &module{name: "tcpconnlat", write: writeTCP}
	row := func(item int, name string, t pcp.Type, sem pcp.Sem, help, long string) column.Metric {
		return column.Metric{Name: "bpf.tcpconnlat." + name, Cluster: clusterTCPConnLat, Item: item, Type: t, Sem: sem, Col: item, Help: help, Long: long}
	}
	took := row(7, "lat", pcp.TypeDouble, pcp.SemInstant, "Time until the connection was established", "The time from connect(2) until the answer of the other side.")
	took.Units = microseconds()
	lost := row(8, "lost", pcp.TypeU32, pcp.SemCounter, "Number of events that were lost", "Events are lost if more than 256 happen between two fetches. The histograms have them.")
	lost.Units, lost.From, lost.Col = count(), 1, 0
	metric := counters("bpf.tcp.", clusterTCPConnLat)
	own := func(item, from, col int, name, help, long string) column.Metric {
		return metric(item, from, col, name, count(), help, long)
	}
	metrics := []column.Metric{
		row(0, "pid", pcp.TypeU32, pcp.SemDiscrete, "Number of the process", "The process that has connected."),
		row(1, "comm", pcp.TypeString, pcp.SemInstant, "Name of the program", "The first 15 bytes of its name."),
		row(2, "ipversion", pcp.TypeU32, pcp.SemInstant, "Version of IP", "4 or 6."),
		row(3, "saddr", pcp.TypeString, pcp.SemInstant, "Own address", "The address of this side."),
		row(4, "lport", pcp.TypeU32, pcp.SemInstant, "Own port", "The port of this side."),
		row(5, "daddr", pcp.TypeString, pcp.SemInstant, "Address of the other side", "The address to which the process has connected."),
		row(6, "dport", pcp.TypeU32, pcp.SemInstant, "Port of the other side", "The port to which the process has connected."),
		took, lost,
		own(0, 2, 0, "connect.latency", "Number of connections made, by range of microseconds that it took", "The time from connect(2) until the answer of the other side."),
		own(6, 3, 0, "cgroup.connect.latency", "Number of connections that tasks of a control group made, by range of microseconds that it took", "As bpf.tcp.connect.latency, for the control group of the task that connected."),
		own(1, 2, 1, "life.latency", "Number of connections closed, by range of microseconds that they lived", "The time from the establishment of a connection, by either side, until its end."),
		own(2, 1, 1, "connect.failed", "Number of connections that could not be made", "The other side refused, or did not answer in time."),
		own(3, 1, 2, "retransmits", "Number of segments sent again", "Each call that sends segments again counts once."),
		own(4, 1, 3, "resets.sent", "Number of resets sent", "Segments with the flag RST that the kernel sent on its own, as for a port without a listener."),
		own(5, 1, 4, "resets.received", "Number of resets received", "Segments with the flag RST for connections of this host."),
	}
	blocks := column.NewBlocks(
		metrics,
		column.Layout{Cols: 8, Lists: true, InDom: lastEvents(clusterTCPConnLat, "connections that were made")},
		column.Layout{Cols: 5},
		column.Layout{Cols: 2, Lists: true, InDom: buckets(1000+clusterTCPConnLat, "times of connections, in microseconds")},
		column.Layout{Cols: 1, Lists: true, InDom: groupInDom(1400+clusterTCPConnLat, "microseconds")},
	)
	list := &eventList[connectEvent]{most: cfg.Settings.processes(m.name), block: blocks[0], lost: blocks[1]}
	times := &histogram{block: blocks[2]}
	dir, _ := groupDir(cfg.HostRoot)
	byGroup := newGroupRanges(dir, blocks[3])
	m.read = func(o *object) error {
		times.list()
		if err := byGroup.read(o); err != nil {
			return err
		}
		_, missing, err := list.fetch(o)
		if o == nil || err != nil {
			return err
		}
		list.lost.Set(0, 0, missing)
		list.newest(func(row int, e *connectEvent) {
			b := list.block
			b.Set(row, 0, uint64(e.PID))
			b.SetText(row, 1, text(e.Comm[:]))
			b.Set(row, 2, 4)
			if e.Family == familyIPv6 {
				b.Set(row, 2, 6)
			}
			b.SetText(row, 3, address(e.Family, e.Source))
			b.Set(row, 4, uint64(e.Ports[0]))
			b.SetText(row, 5, address(e.Family, e.Target))
			b.Set(row, 6, uint64(swapPort(e.Ports[1])))
			b.Set(row, 7, pcp.DoubleValue(float64(e.Took)/1000).Bits())
		})
		var hist [2][numBuckets]uint64
		var sums [numTCPCounts]uint64
		err = each(o.maps["counts"], func(key, n uint64) {
			switch kind, slot := key>>8, key&0xff; {
			case kind <= tcpLives && slot < numBuckets:
				hist[kind][slot] = n
			case kind < numTCPCounts:
				sums[kind] = n
			}
		})
		for col := range hist {
			times.set(col, hist[col][:])
		}
		for kind := tcpFailed; kind < numTCPCounts; kind++ {
			list.lost.Set(0, 1+kind-tcpFailed, sums[kind])
		}
		return err
	}
	m.clear = list.reset
	m.family = column.Family{Name: m.name, Metrics: metrics, Sources: []*column.Source{{Name: "eBPF at inet_sock_set_state, tcp_retransmit_skb, tcp_send_reset and tcp_receive_reset", Blocks: blocks, Restricted: true}}}
	return m
}

// address returns an address as text.
func address(family uint32, b [16]byte) string {
	if family == familyIPv4 {
		return netip.AddrFrom4([4]byte(b[:4])).String()
	}
	return netip.AddrFrom16(b).String()
}

// swapPort returns a port that the kernel has in the order of the network.
func swapPort(port uint32) uint16 {
	return binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, uint16(port)))
}

// socketFields are those of struct sock.
type socketFields struct {
	protocol, family, source, target, source6, target6, own, other field
}

func (k *kernel) socket() (f socketFields, err error) {
	for _, to := range []struct {
		field *field
		name  string
	}{
		{&f.protocol, "sk_protocol"},
		{&f.family, "__sk_common.skc_family"},
		{&f.source, "__sk_common.skc_rcv_saddr"},
		{&f.target, "__sk_common.skc_daddr"},
		{&f.source6, "__sk_common.skc_v6_rcv_saddr"},
		{&f.target6, "__sk_common.skc_v6_daddr"},
		{&f.own, "__sk_common.skc_num"},
		{&f.other, "__sk_common.skc_dport"},
	} {
		if err == nil {
			*to.field, err = k.field("sock", to.name)
		}
	}
	return f, err
}

// bytes copies bytes of a structure at src to the stack.
func (c *code) bytes(at int16, src asm.Register, f field, n int32) {
	c.address(asm.R1, at)
	c.add(asm.Mov.Imm(asm.R2, n), asm.Mov.Reg(asm.R3, src), asm.Add.Imm(asm.R3, int32(f.offset)), asm.FnProbeReadKernel.Call())
}

func writeTCP(k *kernel, o *object) error {
	sock, err := k.socket()
	if err != nil {
		return err
	}
	const size = 72 // of a connectEvent
	o.events(size)
	// A connection in the making has the time, the process, its name and its control group; others have the time.
	o.table(&ebpf.MapSpec{Name: "connecting", Type: ebpf.LRUHash, KeySize: 8, ValueSize: connectGroup + 8, MaxEntries: maxConnecting})
	o.groupCounts()
	o.table(&ebpf.MapSpec{Name: "living", Type: ebpf.LRUHash, KeySize: 8, ValueSize: 8, MaxEntries: maxSockets})
	o.counts("counts", 8, 512)

	const (
		at     = -size // of the event
		key    = at - 8
		began  = key - connectGroup - 8
		number = began - 8
		spare  = number - 8
	)
	c := new(code)
	c.arg(asm.R6, asm.R1, 0)
	c.arg(asm.R7, asm.R1, 1)
	c.arg(asm.R8, asm.R1, 2)
	for _, r := range []asm.Register{asm.R7, asm.R8} {
		c.add(asm.LSh.Imm(r, 32), asm.RSh.Imm(r, 32))
	}
	c.load(asm.R1, asm.R6, sock.protocol)
	c.add(asm.JNE.Imm(asm.R1, protocolTCP, exit))
	c.store(key, asm.R6)
	c.now()
	c.add(asm.Mov.Reg(asm.R9, asm.R0))

	established, closed := c.label(), c.label()
	c.add(asm.JNE.Imm(asm.R8, tcpSynSent, established))
	c.store(began, asm.R9)
	c.add(asm.FnGetCurrentPidTgid.Call(), asm.RSh.Imm(asm.R0, 32))
	c.store(began+8, asm.R0)
	c.address(asm.R1, began+16)
	c.add(asm.Mov.Imm(asm.R2, commLen), asm.FnGetCurrentComm.Call())
	c.ownGroup(k)
	c.store(began+connectGroup, asm.R1)
	c.update("connecting", key, began, updateAny)
	c.add(asm.Ja.Label(exit))

	c.mark(established)
	c.add(asm.JNE.Imm(asm.R8, tcpEstablished, closed))
	c.store(number, asm.R9)
	c.update("living", key, number, updateAny)
	c.add(asm.JNE.Imm(asm.R7, tcpSynSent, exit))
	c.lookup("connecting", key)
	c.add(asm.JEq.Imm(asm.R0, 0, exit), asm.Mov.Reg(asm.R7, asm.R0))
	c.zero(at, size)
	c.add(asm.LoadMem(asm.R1, asm.R7, 0, asm.DWord), asm.Sub.Reg(asm.R9, asm.R1))
	c.store(at+8, asm.R9)
	c.add(asm.LoadMem(asm.R1, asm.R7, 8, asm.DWord), asm.StoreMem(asm.RFP, at, asm.R1, asm.Word))
	for i := int16(0); i < commLen; i += 8 {
		c.add(asm.LoadMem(asm.R1, asm.R7, 16+i, asm.DWord))
		c.store(at+16+i, asm.R1)
	}
	c.add(asm.LoadMem(asm.R1, asm.R7, connectGroup, asm.DWord))
	c.store(began, asm.R1)
	c.load(asm.R7, asm.R6, sock.family)
	c.add(asm.StoreMem(asm.RFP, at+4, asm.R7, asm.Word))
	c.load(asm.R1, asm.R6, sock.own)
	c.add(asm.StoreMem(asm.RFP, at+64, asm.R1, asm.Word))
	c.load(asm.R1, asm.R6, sock.other)
	c.add(asm.StoreMem(asm.RFP, at+68, asm.R1, asm.Word))
	six, done := c.label(), c.label()
	c.add(asm.JEq.Imm(asm.R7, familyIPv6, six))
	c.bytes(at+32, asm.R6, sock.source, 4)
	c.bytes(at+48, asm.R6, sock.target, 4)
	c.add(asm.Ja.Label(done))
	c.mark(six)
	c.bytes(at+32, asm.R6, sock.source6, 16)
	c.bytes(at+48, asm.R6, sock.target6, 16)
	c.mark(done)
	c.event(at, spare)
	c.remove("connecting", key)
	c.add(asm.Div.Imm(asm.R9, 1000))
	c.log2(asm.R8, asm.R9, asm.R2)
	c.store(number, asm.R8) // tcpConnects is 0
	c.bump("counts", number, spare, asm.R0)
	c.get(asm.R1, began)
	c.countGroup(began, asm.R8)
	c.add(asm.Ja.Label(exit))

	c.mark(closed)
	c.add(asm.JNE.Imm(asm.R8, tcpClose, exit))
	lived := c.label()
	c.add(asm.JNE.Imm(asm.R7, tcpSynSent, lived))
	c.remove("connecting", key)
	c.add(asm.Mov.Imm(asm.R1, tcpFailed<<8))
	c.store(number, asm.R1)
	c.bump("counts", number, spare, asm.R0)
	c.add(asm.Ja.Label(exit))
	c.mark(lived)
	c.lookup("living", key)
	c.add(asm.JEq.Imm(asm.R0, 0, exit), asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.Sub.Reg(asm.R9, asm.R1), asm.Div.Imm(asm.R9, 1000))
	c.remove("living", key)
	c.log2(asm.R8, asm.R9, asm.R2)
	c.add(asm.Or.Imm(asm.R8, tcpLives<<8))
	c.store(number, asm.R8)
	c.bump("counts", number, spare, asm.R0)
	o.on("inet_sock_set_state", c)

	for kind, tracepoint := range map[int32]string{tcpRetransmits: "tcp_retransmit_skb", tcpResetsSent: "tcp_send_reset", tcpResetsReceived: "tcp_receive_reset"} {
		c := new(code)
		c.add(asm.Mov.Imm(asm.R1, kind<<8))
		c.store(-8, asm.R1)
		c.bump("counts", -8, -16, asm.R0)
		o.on(tracepoint, c)
	}
	return nil
}
