package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// snmp6Family reads /proc/net/snmp6. Values that a kernel does not count are 0, as
// in the C agent.
func snmp6Family(h *host) column.Family {
	b := column.NewBlocks(snmp6Metrics, column.Layout{})
	keyed := procfs.NewKeyed(b[0].Keys())
	return column.Family{Name: "snmp6", Metrics: snmp6Metrics, Sources: []*column.Source{{
		Name: "/proc/net/snmp6", File: h.wholeFile("proc/net/snmp6"), Blocks: b, Scope: scopeNet,
		Parse: func(text []byte) {
			b[0].Zero()
			row := b[0].Row(0)
			keyed.Parse(text, nil, func(col int, v uint64) { row[col].Bits = v })
		},
	}}}
}

// snmp6Metrics are the metrics of /proc/net/snmp6, by its keys.
var snmp6Metrics = []column.Metric{
	{Name: "network.ip6.inreceives", Cluster: 58, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InReceives"},
	{Name: "network.ip6.inhdrerrors", Cluster: 58, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InHdrErrors"},
	{Name: "network.ip6.intoobigerrors", Cluster: 58, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InTooBigErrors"},
	{Name: "network.ip6.innoroutes", Cluster: 58, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InNoRoutes"},
	{Name: "network.ip6.inaddrerrors", Cluster: 58, Item: 4, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InAddrErrors"},
	{Name: "network.ip6.inunknownprotos", Cluster: 58, Item: 5, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InUnknownProtos"},
	{Name: "network.ip6.intruncatedpkts", Cluster: 58, Item: 6, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InTruncatedPkts"},
	{Name: "network.ip6.indiscards", Cluster: 58, Item: 7, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InDiscards"},
	{Name: "network.ip6.indelivers", Cluster: 58, Item: 8, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InDelivers"},
	{Name: "network.ip6.outforwdatagrams", Cluster: 58, Item: 9, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutForwDatagrams"},
	{Name: "network.ip6.outrequests", Cluster: 58, Item: 10, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutRequests"},
	{Name: "network.ip6.outdiscards", Cluster: 58, Item: 11, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutDiscards"},
	{Name: "network.ip6.outnoroutes", Cluster: 58, Item: 12, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutNoRoutes"},
	{Name: "network.ip6.reasmtimeout", Cluster: 58, Item: 13, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6ReasmTimeout"},
	{Name: "network.ip6.reasmreqds", Cluster: 58, Item: 14, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6ReasmReqds"},
	{Name: "network.ip6.reasmoks", Cluster: 58, Item: 15, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6ReasmOKs"},
	{Name: "network.ip6.reasmfails", Cluster: 58, Item: 16, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6ReasmFails"},
	{Name: "network.ip6.fragoks", Cluster: 58, Item: 17, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6FragOKs"},
	{Name: "network.ip6.fragfails", Cluster: 58, Item: 18, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6FragFails"},
	{Name: "network.ip6.fragcreates", Cluster: 58, Item: 19, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6FragCreates"},
	{Name: "network.ip6.inmcastpkts", Cluster: 58, Item: 20, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InMcastPkts"},
	{Name: "network.ip6.outmcastpkts", Cluster: 58, Item: 21, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutMcastPkts"},
	{Name: "network.ip6.inoctets", Cluster: 58, Item: 22, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InOctets"},
	{Name: "network.ip6.outoctets", Cluster: 58, Item: 23, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutOctets"},
	{Name: "network.ip6.inmcastoctets", Cluster: 58, Item: 24, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InMcastOctets"},
	{Name: "network.ip6.outmcastoctets", Cluster: 58, Item: 25, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutMcastOctets"},
	{Name: "network.ip6.inbcastoctets", Cluster: 58, Item: 26, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InBcastOctets"},
	{Name: "network.ip6.outbcastoctets", Cluster: 58, Item: 27, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutBcastOctets"},
	{Name: "network.ip6.innoectpkts", Cluster: 58, Item: 28, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InNoECTPkts"},
	{Name: "network.ip6.inect1pkts", Cluster: 58, Item: 29, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InECT1Pkts"},
	{Name: "network.ip6.inect0pkts", Cluster: 58, Item: 30, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InECT0Pkts"},
	{Name: "network.ip6.incepkts", Cluster: 58, Item: 31, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InCEPkts"},
	{Name: "network.icmp6.inmsgs", Cluster: 58, Item: 32, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InMsgs"},
	{Name: "network.icmp6.inerrors", Cluster: 58, Item: 33, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InErrors"},
	{Name: "network.icmp6.outmsgs", Cluster: 58, Item: 34, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutMsgs"},
	{Name: "network.icmp6.outerrors", Cluster: 58, Item: 35, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutErrors"},
	{Name: "network.icmp6.incsumerrors", Cluster: 58, Item: 36, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InCsumErrors"},
	{Name: "network.icmp6.indestunreachs", Cluster: 58, Item: 37, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InDestUnreachs"},
	{Name: "network.icmp6.inpkttoobigs", Cluster: 58, Item: 38, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InPktTooBigs"},
	{Name: "network.icmp6.intimeexcds", Cluster: 58, Item: 39, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InTimeExcds"},
	{Name: "network.icmp6.inparmproblems", Cluster: 58, Item: 40, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InParmProblems"},
	{Name: "network.icmp6.inechos", Cluster: 58, Item: 41, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InEchos"},
	{Name: "network.icmp6.inechoreplies", Cluster: 58, Item: 42, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InEchoReplies"},
	{Name: "network.icmp6.ingroupmembqueries", Cluster: 58, Item: 43, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InGroupMembQueries"},
	{Name: "network.icmp6.ingroupmembresponses", Cluster: 58, Item: 44, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InGroupMembResponses"},
	{Name: "network.icmp6.ingroupmembreductions", Cluster: 58, Item: 45, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InGroupMembReductions"},
	{Name: "network.icmp6.inroutersolicits", Cluster: 58, Item: 46, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InRouterSolicits"},
	{Name: "network.icmp6.inrouteradvertisements", Cluster: 58, Item: 47, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InRouterAdvertisements"},
	{Name: "network.icmp6.inneighborsolicits", Cluster: 58, Item: 48, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InNeighborSolicits"},
	{Name: "network.icmp6.inneighboradvertisements", Cluster: 58, Item: 49, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InNeighborAdvertisements"},
	{Name: "network.icmp6.inredirects", Cluster: 58, Item: 50, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InRedirects"},
	{Name: "network.icmp6.inmldv2reports", Cluster: 58, Item: 51, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InMLDv2Reports"},
	{Name: "network.icmp6.outdestunreachs", Cluster: 58, Item: 52, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutDestUnreachs"},
	{Name: "network.icmp6.outpkttoobigs", Cluster: 58, Item: 53, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutPktTooBigs"},
	{Name: "network.icmp6.outtimeexcds", Cluster: 58, Item: 54, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutTimeExcds"},
	{Name: "network.icmp6.outparmproblems", Cluster: 58, Item: 55, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutParmProblems"},
	{Name: "network.icmp6.outechos", Cluster: 58, Item: 56, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutEchos"},
	{Name: "network.icmp6.outechoreplies", Cluster: 58, Item: 57, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutEchoReplies"},
	{Name: "network.icmp6.outgroupmembqueries", Cluster: 58, Item: 58, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutGroupMembQueries"},
	{Name: "network.icmp6.outgroupmembresponses", Cluster: 58, Item: 59, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutGroupMembResponses"},
	{Name: "network.icmp6.outgroupmembreductions", Cluster: 58, Item: 60, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutGroupMembReductions"},
	{Name: "network.icmp6.outroutersolicits", Cluster: 58, Item: 61, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutRouterSolicits"},
	{Name: "network.icmp6.outrouteradvertisements", Cluster: 58, Item: 62, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutRouterAdvertisements"},
	{Name: "network.icmp6.outneighborsolicits", Cluster: 58, Item: 63, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutNeighborSolicits"},
	{Name: "network.icmp6.outneighboradvertisements", Cluster: 58, Item: 64, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutNeighborAdvertisements"},
	{Name: "network.icmp6.outredirects", Cluster: 58, Item: 65, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutRedirects"},
	{Name: "network.icmp6.outmldv2reports", Cluster: 58, Item: 66, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutMLDv2Reports"},
	{Name: "network.udp6.indatagrams", Cluster: 58, Item: 67, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6InDatagrams"},
	{Name: "network.udp6.noports", Cluster: 58, Item: 68, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6NoPorts"},
	{Name: "network.udp6.inerrors", Cluster: 58, Item: 69, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6InErrors"},
	{Name: "network.udp6.outdatagrams", Cluster: 58, Item: 70, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6OutDatagrams"},
	{Name: "network.udp6.rcvbuferrors", Cluster: 58, Item: 71, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6RcvbufErrors"},
	{Name: "network.udp6.sndbuferrors", Cluster: 58, Item: 72, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6SndbufErrors"},
	{Name: "network.udp6.incsumerrors", Cluster: 58, Item: 73, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6InCsumErrors"},
	{Name: "network.udp6.ignoredmulti", Cluster: 58, Item: 74, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6IgnoredMulti"},
	{Name: "network.udplite6.indatagrams", Cluster: 58, Item: 75, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "UdpLite6InDatagrams"},
	{Name: "network.udplite6.noports", Cluster: 58, Item: 76, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "UdpLite6NoPorts"},
	{Name: "network.udplite6.inerrors", Cluster: 58, Item: 77, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "UdpLite6InErrors"},
	{Name: "network.udplite6.outdatagrams", Cluster: 58, Item: 78, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "UdpLite6OutDatagrams"},
	{Name: "network.udplite6.rcvbuferrors", Cluster: 58, Item: 79, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "UdpLite6RcvbufErrors"},
	{Name: "network.udplite6.sndbuferrors", Cluster: 58, Item: 80, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "UdpLite6SndbufErrors"},
	{Name: "network.udplite6.incsumerrors", Cluster: 58, Item: 81, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "UdpLite6InCsumErrors"},
}
