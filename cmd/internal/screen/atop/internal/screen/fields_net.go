package screen

import (
	"sync"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/figure"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// transportFields are the fields of the line about TCP and UDP.
var transportFields = sync.OnceValue(func() []field {
	return []field{
		{name: "NETTRANSPORT", put: func(x *line) { x.b = append(x.b, "transport   "...) }},
		count("NETTCPI", "tcpi ", 7, func(x *line) sample.Count { return x.s.Net.TCP.InSegs }),
		count("NETTCPO", "tcpo ", 7, func(x *line) sample.Count { return x.s.Net.TCP.OutSegs }),
		count("NETUDPI", "udpi ", 7, func(x *line) sample.Count { return x.s.Net.UDPv4.InDatagrams + x.s.Net.UDPv6.InDatagrams }),
		count("NETUDPO", "udpo ", 7, func(x *line) sample.Count { return x.s.Net.UDPv4.OutDatagrams + x.s.Net.UDPv6.OutDatagrams }),
		count("NETTCPACTOPEN", "tcpao ", 6, func(x *line) sample.Count { return x.s.Net.TCP.ActiveOpens }),
		count("NETTCPPASVOPEN", "tcppo ", 6, func(x *line) sample.Count { return x.s.Net.TCP.PassiveOpens }),
		count("NETTCPRETRANS", "tcprs ", 6, func(x *line) sample.Count { return x.s.Net.TCP.RetransSegs }),
		count("NETTCPINERR", "tcpie ", 6, func(x *line) sample.Count { return x.s.Net.TCP.InErrs }),
		count("NETTCPCSUMERR", "csumie ", 5, func(*line) sample.Count { return 0 }), // C does not read it
		count("NETTCPORESET", "tcpor ", 6, func(x *line) sample.Count { return x.s.Net.TCP.OutRsts }),
		count("NETTCPCSUMERR", "csumie ", 5, func(x *line) sample.Count { return x.s.Net.TCP.InCsumErrors }),
		count("NETUDPNOPORT", "udpnp ", 6, func(x *line) sample.Count { return x.s.Net.UDPv4.NoPorts }),
		count("NETUDPINERR", "udpie ", 6, func(x *line) sample.Count { return x.s.Net.UDPv4.InErrors }),
		blankBox,
	}
})

// networkFields are the fields of the line about IP and ICMP.
var networkFields = sync.OnceValue(func() []field {
	return []field{
		{name: "NETNETWORK", put: func(x *line) { x.b = append(x.b, "network     "...) }},
		count("NETIPI", "ipi ", 8, func(x *line) sample.Count { return x.s.Net.IPv4.InReceives + x.s.Net.IPv6.InReceives }),
		count("NETIPO", "ipo ", 8, func(x *line) sample.Count { return x.s.Net.IPv4.OutRequests + x.s.Net.IPv6.OutRequests }),
		count("NETIPFRW", "ipfrw ", 6, func(x *line) sample.Count { return x.s.Net.IPv4.ForwDatagrams + x.s.Net.IPv6.OutForwDatagrams }),
		count("NETIPDELIV", "deliv ", 6, func(x *line) sample.Count { return x.s.Net.IPv4.InDelivers + x.s.Net.IPv6.InDelivers }),
		count("NETICMPIN", "icmpi ", 6, func(x *line) sample.Count { return x.s.Net.ICMPv4.InMsgs + x.s.Net.ICMPv6.InMsgs }),
		count("NETICMPOUT", "icmpo ", 6, func(x *line) sample.Count { return x.s.Net.ICMPv4.OutMsgs + x.s.Net.ICMPv6.OutMsgs }),
		blankBox,
	}
})

// netInterface is the network interface of the line.
func (x *line) netInterface() *sample.Interface { return &x.s.Interfaces[x.index] }

// kilobits returns a number of bytes in kbit/s.
func (x *line) kilobits(n sample.Count) sample.Count { return figure.Count(float64(n/125) / x.seconds) }

// busyInterface returns the use of an interface in per cent, from the kbit/s received and sent.
func busyInterface(t *sample.Interface, received, sent sample.Count) sample.Count {
	if t.Duplex {
		return max(received, sent) / (t.Speed * 10)
	}
	return (received + sent) / (t.Speed * 10)
}

// interfaceFields are the fields of the line about a network interface.
var interfaceFields = sync.OnceValue(func() []field {
	return []field{
		{name: "NETNAME", put: func(x *line) {
			x.color = colorDefault
			t := x.netInterface()
			x.b = append(left(x.b, 7, t.Name), ' ')
			if t.Speed == 0 {
				x.b = append(x.b, "----"...)
				return
			}
			received, sent := x.kilobits(t.InBytes), x.kilobits(t.OutBytes)
			busy := max(busyInterface(t, received, sent), 0)
			if busy > 100 && t.Speed < t.SpeedBefore { // a wireless interface that was slow for a moment
				t.Speed = t.SpeedBefore
				busy = busyInterface(t, received, sent)
			}
			x.b = append(figure.Int(x.b, 3, min(max(busy, -99), 999)), '%')
		}},
		colored(count("NETPCKI", "pcki ", 7, func(x *line) sample.Count { return x.netInterface().InPackets })),
		colored(count("NETPCKO", "pcko ", 7, func(x *line) sample.Count { return x.netInterface().OutPackets })),
		{name: "NETSPEEDMAX", put: func(x *line) { x.topSpeed(x.netInterface().Speed) }},
		{name: "NETSPEEDIN", put: func(x *line) { x.speed("si ", x.netInterface().InBytes) }},
		{name: "NETSPEEDOUT", put: func(x *line) { x.speed("so ", x.netInterface().OutBytes) }},
		count("NETCOLLIS", "coll ", 7, func(x *line) sample.Count { return x.netInterface().Collisions }),
		count("NETMULTICASTIN", "mlti ", 7, func(x *line) sample.Count { return x.netInterface().InMulticast }),
		count("NETRCVERR", "erri ", 7, func(x *line) sample.Count { return x.netInterface().InErrors }),
		count("NETSNDERR", "erro ", 7, func(x *line) sample.Count { return x.netInterface().OutErrors }),
		count("NETRCVDROP", "drpi ", 7, func(x *line) sample.Count { return x.netInterface().InDrops }),
		count("NETSNDDROP", "drpo ", 7, func(x *line) sample.Count { return x.netInterface().OutDrops }),
		blankBox,
	}
})

// topSpeed puts the speed of an interface, which is in Mbit/s.
func (x *line) topSpeed(n sample.Count) {
	x.color = colorDefault
	unit := " Mbps"
	if n = max(n, 0); n >= 10000 {
		n, unit = min(n/1000, 9999), " Gbps"
	}
	x.b = append(figure.Int(append(x.b, "sp "...), 4, n), unit...)
}

// speed puts a number of bytes as bits per second.
func (x *line) speed(label string, n sample.Count) {
	x.color = colorDefault
	n, unit := bits(x.kilobits(n))
	x.b = figure.Int(append(x.b, label...), 4, min(max(n, -999), 9999))
	x.b = append(x.b, ' ', unit, 'b', 'p', 's')
	x.trim(long)
}

// bits returns a speed in kbit/s in the unit in which it is shortest.
func bits(n sample.Count) (sample.Count, byte) {
	switch {
	case n < 10000:
		return n, 'K'
	case n < 10000*1000:
		return n / 1000, 'M'
	case n < 10000*1000*1000:
		return n / (1000 * 1000), 'G'
	}
	return n / 1000 / 1000 / 1000, 'T'
}

// port is the InfiniBand port of the line.
func (x *line) port() *sample.Port { return &x.s.Ports[x.index] }

// busyPort returns the use of a port in per cent.
func (x *line) busyPort() sample.Count {
	t := x.port()
	if t.Rate == 0 {
		return 0
	}
	return max(x.kilobits(t.InBytes), x.kilobits(t.OutBytes)) * int64(t.Lanes) / (t.Rate * 10)
}

// portFields are the fields of the line about an InfiniBand port.
var portFields = sync.OnceValue(func() []field {
	return []field{
		{name: "IFBNAME", put: func(x *line) {
			x.color = colorDefault
			name := x.port().Name + "/" + string(figure.Int(nil, 0, int64(x.port().Nr)))
			x.b = append(left(x.b, 7, tail(name, 7)), ' ')
			x.b = append(figure.Int(x.b, 3, min(max(x.busyPort(), 0), 100)), '%')
		}},
		colored(count("IFBPCKI", "pcki ", 7, func(x *line) sample.Count { return x.port().InPackets })),
		colored(count("IFBPCKO", "pcko ", 7, func(x *line) sample.Count { return x.port().OutPackets })),
		{name: "IFBSPEEDMAX", put: func(x *line) { x.topSpeed(x.port().Rate) }},
		{name: "IFBSPEEDIN", put: func(x *line) { x.speed("si ", x.port().InBytes*int64(x.port().Lanes)) }},
		{name: "IFBSPEEDOUT", put: func(x *line) { x.speed("so ", x.port().OutBytes*int64(x.port().Lanes)) }},
		number("IFBLANES", "lanes ", 6, long, func(x *line) sample.Count { return int64(x.port().Lanes) }),
		blankBox,
	}
})
