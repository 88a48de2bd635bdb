package xsos

import "strings"

var diskMetrics = []string{
	"disk.dev.capacity", "filesys.capacity", "filesys.used", "filesys.avail", "filesys.full", "filesys.mountdir",
}

// disks prints the section of storage. Sizes of metrics are in KiB.
func (p *page) disks() {
	c := &p.colors
	const gib = 1 << 20
	total := 0.0
	devices := p.values["disk.dev.capacity"]
	for _, d := range devices {
		total += number(d.text)
	}
	p.printf("%sSTORAGE%s\n%sWhole Disks from /proc/partitions:%s\n", p.h0(), c.reset, p.h1(), c.reset)
	p.printf("    %s%d disks, totalling %s GiB (%s TiB)\n", c.boldWhite, len(devices), decimal(total/gib), round(total/gib/1024, 2))
	p.printf("    - - - - - - - - - - - - - - - - - - - - -\n")
	p.printf("%sDisk \tSize in GiB%s\n%s---- \t-----------%s\n", p.h2(), c.reset, p.h2(), c.reset)
	for _, d := range devices {
		p.printf("    %s \t%s\n", d.name, round(number(d.text)/gib, 2))
	}
	p.printf("\n%sFilesystem usage from df:%s\n    %sFilesystem     1K-blocks     Used Available Use%% Mounted on%s\n", p.h1(), c.reset, c.boldWhite, c.reset)
	for _, f := range p.values["filesys.capacity"] {
		of := func(name string) string { return p.of("filesys."+name, f.inst) }
		p.printf("    %s %14s %8s %9s %3s%% %s\n", f.name, f.text, of("used"), of("avail"), round(number(of("full")), 0), of("mountdir"))
	}
}

var netMetrics = []string{
	"network.interface.in.bytes", "network.interface.in.packets", "network.interface.in.errors", "network.interface.in.drops",
	"network.interface.in.fifo", "network.interface.in.frame", "network.interface.in.compressed", "network.interface.in.mcasts",
	"network.interface.out.bytes", "network.interface.out.packets", "network.interface.out.errors", "network.interface.out.drops",
	"network.interface.out.fifo", "network.interface.collisions", "network.interface.out.compressed", "network.interface.out.carrier",
	"network.sockstat.total", "network.sockstat.tcp.mem", "network.sockstat.tcp.inuse", "network.sockstat.tcp.orphan",
	"network.sockstat.tcp.tw", "network.sockstat.tcp.alloc", "network.sockstat.udp.inuse", "network.sockstat.frag.inuse",
	"network.sockstat.udp.mem", "network.sockstat.udplite.inuse", "network.sockstat.raw.inuse", "network.sockstat.raw6.inuse",
	"network.sockstat.frag.memory", "network.sockstat.tcp6.inuse", "network.sockstat.udp6.inuse", "network.sockstat.udplite6.inuse",
	"network.sockstat.frag6.inuse", "network.sockstat.frag6.memory",
}

// interfaces prints the section of network interfaces and sockets.
func (p *page) interfaces() {
	c, u := &p.colors, p.net
	const ruler = "  =========  =========  =========  ======  ======  ======  ======  =======  =========="
	p.printf("%sNETDEV\n", p.h0())
	p.printf("  %sInterface  Rx%sytes  RxPackets  RxErrs  RxDrop  RxFifo  RxComp  RxFrame  RxMultCast\n%s%s\n", c.boldPurple, u.name, ruler, c.reset)
	p.traffic("in.bytes", "in.packets", "in.errors", "in.drops", "in.fifo", "in.compressed", "in.frame", "in.mcasts")
	p.printf("  - - - - - - - - - - - - - - - - -\n")
	p.printf("  %sInterface  Tx%sytes  TxPackets  TxErrs  TxDrop  TxFifo  TxComp  TxColls  TxCarrier\n%s%s\n", c.boldPurple, u.name, ruler, c.reset)
	p.traffic("out.bytes", "out.packets", "out.errors", "out.drops", "out.fifo", "out.compressed", "collisions", "out.carrier")

	p.printf("\n%sSOCKSTAT%s\n", p.h0(), c.reset)
	for _, l := range []struct {
		title  string
		fields []string // name and metric
	}{
		{"sockets", []string{"used", "total"}},
		{"TCP", []string{"inuse", "tcp.inuse", "orphan", "tcp.orphan", "tw", "tcp.tw", "alloc", "tcp.alloc", "mem", "tcp.mem"}},
		{"UDP", []string{"inuse", "udp.inuse", "mem", "udp.mem"}},
		{"UDPLITE", []string{"inuse", "udplite.inuse"}},
		{"RAW", []string{"inuse", "raw.inuse"}},
		{"FRAG", []string{"inuse", "frag.inuse", "memory", "frag.memory"}},
		{"TCP6", []string{"inuse", "tcp6.inuse"}},
		{"UDP6", []string{"inuse", "udp6.inuse"}},
		{"UDPLITE6", []string{"inuse", "udplite6.inuse"}},
		{"RAW6", []string{"inuse", "raw6.inuse"}},
		{"FRAG6", []string{"inuse", "frag6.inuse", "memory", "frag6.memory"}},
	} {
		p.printf("  %s%s:%s", p.h2(), l.title, c.reset)
		for i := 0; i < len(l.fields); i += 2 {
			p.put(" "+l.fields[i]+" %s", "network.sockstat."+l.fields[i+1])
		}
		p.printf("\n")
	}
}

// traffic prints a line for each interface: bytes, packets, and six counters of faults with their
// part of all packets.
func (p *page) traffic(bytes, packets string, faults ...string) {
	u := p.net
	for _, v := range p.values["network.interface."+bytes] {
		if strings.HasPrefix(v.name, "lo") {
			continue
		}
		of := func(name string) string { return p.of("network.interface."+name, v.inst) }
		total := number(of(packets))
		for _, name := range faults {
			total += number(of(name))
		}
		p.printf("  %s%-9s%s  %-9s  %-9s", p.colors.blue, v.name, p.colors.reset, round(number(v.text)/u.divisor, u.bytes), round(number(of(packets))/max(u.packetsN, 1), 0)+u.packets)
		for i, name := range faults {
			text := of(name)
			if n := number(text); n > 0 {
				text += "(" + round(n*100/total, 0) + "%)"
			}
			p.printf("  %-*s", []int{6, 6, 6, 6, 7, 10}[i], text)
		}
		p.printf("\n")
	}
}

// netstatLines are the lines of the section of network statistics.
var netstatLines = []struct{ title, metric string }{
	{"Icmp.InErrors", "icmp.inerrors"},
	{"Icmp6.InErrors", "icmp6.inerrors"},
	{"Tcp.AttemptFails", "tcp.attemptfails"},
	{"Tcp.EstabResets", "tcp.estabresets"},
	{"Tcp.InErrs", "tcp.inerrs"},
	{"Tcp.OutRsts", "tcp.outrsts"},
	{"TcpExt.DelayedACKLocked", "tcp.delayedacklocked"},
	{"TcpExt.DelayedACKLost", "tcp.delayedacklost"},
	{"TcpExt.DelayedACKs", "tcp.delayedacks"},
	{"TcpExt.PAWSEstab", "tcp.pawsestabrejected"},
	{"TcpExt.TCPAbortOnTimeout", "tcp.abortontimeout"},
	{"TcpExt.TCPLossProbeRecovery", "tcp.lossproberecovery"},
	{"TcpExt.TCPLossProbes", "tcp.lossprobes"},
	{"TcpExt.TCPTimeouts", "tcp.timeouts"},
	{"TcpExt.TcpTimeoutRehash", "tcp.tcptimeoutrehash"},
	{"Ip.InAddrErrors", "ip.inaddrerrors"},
	{"Ip6.InAddrErrors", "ip6.inaddrerrors"},
}

func netstatMetrics() []string {
	var list []string
	for _, l := range netstatLines {
		list = append(list, "network."+l.metric)
	}
	return list
}

// netstat prints the section of network statistics.
func (p *page) netstat() {
	p.printf("%sNET STATS%s\n", p.h0(), p.colors.reset)
	for _, l := range netstatLines {
		text := p.text("network." + l.metric)
		if text == "" {
			text = p.colors.orange + "unknown"
		}
		p.printf("  %s: %*s\n", l.title, 43-len(l.title), text)
	}
}
