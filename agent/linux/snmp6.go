package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// snmp6Family reads /proc/net/snmp6. It takes what a kernel does not count for 0, as
// the C agent does.
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
	{Name: "network.ip6.inreceives", Cluster: 58, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InReceives", Help: "Ip6InReceives in /proc/net/snmp6"},
	{Name: "network.ip6.inhdrerrors", Cluster: 58, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InHdrErrors", Help: "Ip6InHdrErrors in /proc/net/snmp6"},
	{Name: "network.ip6.intoobigerrors", Cluster: 58, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InTooBigErrors", Help: "Ip6InTooBigErrors in /proc/net/snmp6"},
	{Name: "network.ip6.innoroutes", Cluster: 58, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InNoRoutes", Help: "Ip6InNoRoutes in /proc/net/snmp6"},
	{Name: "network.ip6.inaddrerrors", Cluster: 58, Item: 4, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InAddrErrors", Help: "Ip6InAddrErrors in /proc/net/snmp6"},
	{Name: "network.ip6.inunknownprotos", Cluster: 58, Item: 5, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InUnknownProtos", Help: "Ip6InUnknownProtos in /proc/net/snmp6"},
	{Name: "network.ip6.intruncatedpkts", Cluster: 58, Item: 6, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InTruncatedPkts", Help: "Ip6InTruncatedPkts in /proc/net/snmp6"},
	{Name: "network.ip6.indiscards", Cluster: 58, Item: 7, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InDiscards", Help: "Ip6InDiscards in /proc/net/snmp6"},
	{Name: "network.ip6.indelivers", Cluster: 58, Item: 8, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InDelivers", Help: "Ip6InDelivers in /proc/net/snmp6"},
	{Name: "network.ip6.outforwdatagrams", Cluster: 58, Item: 9, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutForwDatagrams", Help: "Ip6OutForwDatagrams in /proc/net/snmp6"},
	{Name: "network.ip6.outrequests", Cluster: 58, Item: 10, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutRequests", Help: "Ip6OutRequests in /proc/net/snmp6"},
	{Name: "network.ip6.outdiscards", Cluster: 58, Item: 11, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutDiscards", Help: "Ip6OutDiscards in /proc/net/snmp6"},
	{Name: "network.ip6.outnoroutes", Cluster: 58, Item: 12, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutNoRoutes", Help: "Ip6OutNoRoutes in /proc/net/snmp6"},
	{Name: "network.ip6.reasmtimeout", Cluster: 58, Item: 13, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6ReasmTimeout", Help: "Ip6ReasmTimeout in /proc/net/snmp6"},
	{Name: "network.ip6.reasmreqds", Cluster: 58, Item: 14, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6ReasmReqds", Help: "Ip6ReasmReqds in /proc/net/snmp6"},
	{Name: "network.ip6.reasmoks", Cluster: 58, Item: 15, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6ReasmOKs", Help: "Ip6ReasmOKs in /proc/net/snmp6"},
	{Name: "network.ip6.reasmfails", Cluster: 58, Item: 16, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6ReasmFails", Help: "Ip6ReasmFails in /proc/net/snmp6"},
	{Name: "network.ip6.fragoks", Cluster: 58, Item: 17, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6FragOKs", Help: "Ip6FragOKs in /proc/net/snmp6"},
	{Name: "network.ip6.fragfails", Cluster: 58, Item: 18, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6FragFails", Help: "Ip6FragFails in /proc/net/snmp6"},
	{Name: "network.ip6.fragcreates", Cluster: 58, Item: 19, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6FragCreates", Help: "Ip6FragCreates in /proc/net/snmp6"},
	{Name: "network.ip6.inmcastpkts", Cluster: 58, Item: 20, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InMcastPkts", Help: "Ip6InMcastPkts in /proc/net/snmp6"},
	{Name: "network.ip6.outmcastpkts", Cluster: 58, Item: 21, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutMcastPkts", Help: "Ip6OutMcastPkts in /proc/net/snmp6"},
	{Name: "network.ip6.inoctets", Cluster: 58, Item: 22, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InOctets", Help: "Ip6InOctets in /proc/net/snmp6"},
	{Name: "network.ip6.outoctets", Cluster: 58, Item: 23, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutOctets", Help: "Ip6OutOctets in /proc/net/snmp6"},
	{Name: "network.ip6.inmcastoctets", Cluster: 58, Item: 24, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InMcastOctets", Help: "Ip6InMcastOctets in /proc/net/snmp6"},
	{Name: "network.ip6.outmcastoctets", Cluster: 58, Item: 25, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutMcastOctets", Help: "Ip6OutMcastOctets in /proc/net/snmp6"},
	{Name: "network.ip6.inbcastoctets", Cluster: 58, Item: 26, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InBcastOctets", Help: "Ip6InBcastOctets in /proc/net/snmp6"},
	{Name: "network.ip6.outbcastoctets", Cluster: 58, Item: 27, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6OutBcastOctets", Help: "Ip6OutBcastOctets in /proc/net/snmp6"},
	{Name: "network.ip6.innoectpkts", Cluster: 58, Item: 28, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InNoECTPkts", Help: "Ip6InNoECTPkts in /proc/net/snmp6"},
	{Name: "network.ip6.inect1pkts", Cluster: 58, Item: 29, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InECT1Pkts", Help: "Ip6InECT1Pkts in /proc/net/snmp6"},
	{Name: "network.ip6.inect0pkts", Cluster: 58, Item: 30, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InECT0Pkts", Help: "Ip6InECT0Pkts in /proc/net/snmp6"},
	{Name: "network.ip6.incepkts", Cluster: 58, Item: 31, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Ip6InCEPkts", Help: "Ip6InCEPkts in /proc/net/snmp6"},
	{Name: "network.icmp6.inmsgs", Cluster: 58, Item: 32, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InMsgs", Help: "Icmp6InMsgs in /proc/net/snmp6"},
	{Name: "network.icmp6.inerrors", Cluster: 58, Item: 33, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InErrors", Help: "Icmp6InErrors in /proc/net/snmp6"},
	{Name: "network.icmp6.outmsgs", Cluster: 58, Item: 34, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutMsgs", Help: "Icmp6OutMsgs in /proc/net/snmp6"},
	{Name: "network.icmp6.outerrors", Cluster: 58, Item: 35, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutErrors", Help: "Icmp6OutErrors in /proc/net/snmp6"},
	{Name: "network.icmp6.incsumerrors", Cluster: 58, Item: 36, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InCsumErrors", Help: "Icmp6InCsumErrors in /proc/net/snmp6"},
	{Name: "network.icmp6.indestunreachs", Cluster: 58, Item: 37, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InDestUnreachs", Help: "Icmp6InDestUnreachs in /proc/net/snmp6"},
	{Name: "network.icmp6.inpkttoobigs", Cluster: 58, Item: 38, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InPktTooBigs", Help: "Icmp6InPktTooBigs in /proc/net/snmp6"},
	{Name: "network.icmp6.intimeexcds", Cluster: 58, Item: 39, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InTimeExcds", Help: "Icmp6InTimeExcds in /proc/net/snmp6"},
	{Name: "network.icmp6.inparmproblems", Cluster: 58, Item: 40, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InParmProblems", Help: "Icmp6InParmProblems in /proc/net/snmp6"},
	{Name: "network.icmp6.inechos", Cluster: 58, Item: 41, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InEchos", Help: "Icmp6InEchos in /proc/net/snmp6"},
	{Name: "network.icmp6.inechoreplies", Cluster: 58, Item: 42, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InEchoReplies", Help: "Icmp6InEchoReplies in /proc/net/snmp6"},
	{Name: "network.icmp6.ingroupmembqueries", Cluster: 58, Item: 43, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InGroupMembQueries", Help: "Icmp6InGroupMembQueries in /proc/net/snmp6"},
	{Name: "network.icmp6.ingroupmembresponses", Cluster: 58, Item: 44, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InGroupMembResponses", Help: "Icmp6InGroupMembResponses in /proc/net/snmp6"},
	{Name: "network.icmp6.ingroupmembreductions", Cluster: 58, Item: 45, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InGroupMembReductions", Help: "Icmp6InGroupMembReductions in /proc/net/snmp6"},
	{Name: "network.icmp6.inroutersolicits", Cluster: 58, Item: 46, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InRouterSolicits", Help: "Icmp6InRouterSolicits in /proc/net/snmp6"},
	{Name: "network.icmp6.inrouteradvertisements", Cluster: 58, Item: 47, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InRouterAdvertisements", Help: "Icmp6InRouterAdvertisements in /proc/net/snmp6"},
	{Name: "network.icmp6.inneighborsolicits", Cluster: 58, Item: 48, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InNeighborSolicits", Help: "Icmp6InNeighborSolicits in /proc/net/snmp6"},
	{Name: "network.icmp6.inneighboradvertisements", Cluster: 58, Item: 49, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InNeighborAdvertisements", Help: "Icmp6InNeighborAdvertisements in /proc/net/snmp6"},
	{Name: "network.icmp6.inredirects", Cluster: 58, Item: 50, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InRedirects", Help: "Icmp6InRedirects in /proc/net/snmp6"},
	{Name: "network.icmp6.inmldv2reports", Cluster: 58, Item: 51, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6InMLDv2Reports", Help: "Icmp6InMLDv2Reports in /proc/net/snmp6"},
	{Name: "network.icmp6.outdestunreachs", Cluster: 58, Item: 52, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutDestUnreachs", Help: "Icmp6OutDestUnreachs in /proc/net/snmp6"},
	{Name: "network.icmp6.outpkttoobigs", Cluster: 58, Item: 53, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutPktTooBigs", Help: "Icmp6OutPktTooBigs in /proc/net/snmp6"},
	{Name: "network.icmp6.outtimeexcds", Cluster: 58, Item: 54, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutTimeExcds", Help: "Icmp6OutTimeExcds in /proc/net/snmp6"},
	{Name: "network.icmp6.outparmproblems", Cluster: 58, Item: 55, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutParmProblems", Help: "Icmp6OutParmProblems in /proc/net/snmp6"},
	{Name: "network.icmp6.outechos", Cluster: 58, Item: 56, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutEchos", Help: "Icmp6OutEchos in /proc/net/snmp6"},
	{Name: "network.icmp6.outechoreplies", Cluster: 58, Item: 57, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutEchoReplies", Help: "Icmp6OutEchoReplies in /proc/net/snmp6"},
	{Name: "network.icmp6.outgroupmembqueries", Cluster: 58, Item: 58, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutGroupMembQueries", Help: "Icmp6OutGroupMembQueries in /proc/net/snmp6"},
	{Name: "network.icmp6.outgroupmembresponses", Cluster: 58, Item: 59, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutGroupMembResponses", Help: "Icmp6OutGroupMembResponses in /proc/net/snmp6"},
	{Name: "network.icmp6.outgroupmembreductions", Cluster: 58, Item: 60, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutGroupMembReductions", Help: "Icmp6OutGroupMembReductions in /proc/net/snmp6"},
	{Name: "network.icmp6.outroutersolicits", Cluster: 58, Item: 61, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutRouterSolicits", Help: "Icmp6OutRouterSolicits in /proc/net/snmp6"},
	{Name: "network.icmp6.outrouteradvertisements", Cluster: 58, Item: 62, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutRouterAdvertisements", Help: "Icmp6OutRouterAdvertisements in /proc/net/snmp6"},
	{Name: "network.icmp6.outneighborsolicits", Cluster: 58, Item: 63, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutNeighborSolicits", Help: "Icmp6OutNeighborSolicits in /proc/net/snmp6"},
	{Name: "network.icmp6.outneighboradvertisements", Cluster: 58, Item: 64, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutNeighborAdvertisements", Help: "Icmp6OutNeighborAdvertisements in /proc/net/snmp6"},
	{Name: "network.icmp6.outredirects", Cluster: 58, Item: 65, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutRedirects", Help: "Icmp6OutRedirects in /proc/net/snmp6"},
	{Name: "network.icmp6.outmldv2reports", Cluster: 58, Item: 66, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Icmp6OutMLDv2Reports", Help: "Icmp6OutMLDv2Reports in /proc/net/snmp6"},
	{Name: "network.udp6.indatagrams", Cluster: 58, Item: 67, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6InDatagrams", Help: "Udp6InDatagrams in /proc/net/snmp6"},
	{Name: "network.udp6.noports", Cluster: 58, Item: 68, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6NoPorts", Help: "Udp6NoPorts in /proc/net/snmp6"},
	{Name: "network.udp6.inerrors", Cluster: 58, Item: 69, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6InErrors", Help: "Udp6InErrors in /proc/net/snmp6"},
	{Name: "network.udp6.outdatagrams", Cluster: 58, Item: 70, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6OutDatagrams", Help: "Udp6OutDatagrams in /proc/net/snmp6"},
	{Name: "network.udp6.rcvbuferrors", Cluster: 58, Item: 71, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6RcvbufErrors", Help: "Udp6RcvbufErrors in /proc/net/snmp6"},
	{Name: "network.udp6.sndbuferrors", Cluster: 58, Item: 72, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6SndbufErrors", Help: "Udp6SndbufErrors in /proc/net/snmp6"},
	{Name: "network.udp6.incsumerrors", Cluster: 58, Item: 73, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6InCsumErrors", Help: "Udp6InCsumErrors in /proc/net/snmp6"},
	{Name: "network.udp6.ignoredmulti", Cluster: 58, Item: 74, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Udp6IgnoredMulti", Help: "Udp6IgnoredMulti in /proc/net/snmp6"},
	{Name: "network.udplite6.indatagrams", Cluster: 58, Item: 75, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "UdpLite6InDatagrams", Help: "UdpLite6InDatagrams in /proc/net/snmp6"},
	{Name: "network.udplite6.noports", Cluster: 58, Item: 76, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "UdpLite6NoPorts", Help: "UdpLite6NoPorts in /proc/net/snmp6"},
	{Name: "network.udplite6.inerrors", Cluster: 58, Item: 77, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "UdpLite6InErrors", Help: "UdpLite6InErrors in /proc/net/snmp6"},
	{Name: "network.udplite6.outdatagrams", Cluster: 58, Item: 78, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "UdpLite6OutDatagrams", Help: "UdpLite6OutDatagrams in /proc/net/snmp6"},
	{Name: "network.udplite6.rcvbuferrors", Cluster: 58, Item: 79, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "UdpLite6RcvbufErrors", Help: "UdpLite6RcvbufErrors in /proc/net/snmp6"},
	{Name: "network.udplite6.sndbuferrors", Cluster: 58, Item: 80, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "UdpLite6SndbufErrors", Help: "UdpLite6SndbufErrors in /proc/net/snmp6"},
	{Name: "network.udplite6.incsumerrors", Cluster: 58, Item: 81, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "UdpLite6InCsumErrors", Help: "UdpLite6InCsumErrors in /proc/net/snmp6"},
}
