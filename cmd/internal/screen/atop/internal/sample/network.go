package sample

// Network has the counters of the network protocols, under the names of the MIBs.
type Network struct {
	IPv4   IPv4
	ICMPv4 ICMPv4
	UDPv4  UDPv4
	TCP    TCP
	IPv6   IPv6
	ICMPv6 ICMPv6
	UDPv6  UDPv6
}

// IPv4 has the counters of IPv4.
type IPv4 struct {
	Forwarding, DefaultTTL, InReceives, InHdrErrors, InAddrErrors       Count
	ForwDatagrams, InUnknownProtos, InDiscards, InDelivers, OutRequests Count
	OutDiscards, OutNoRoutes, ReasmTimeout, ReasmReqds, ReasmOKs        Count
	ReasmFails, FragOKs, FragFails, FragCreates                         Count
}

// ICMPv4 has the counters of ICMPv4.
type ICMPv4 struct {
	InMsgs, InErrors, InDestUnreachs, InTimeExcds, InParmProbs               Count
	InSrcQuenchs, InRedirects, InEchos, InEchoReps, InTimestamps             Count
	InTimestampReps, InAddrMasks, InAddrMaskReps, OutMsgs, OutErrors         Count
	OutDestUnreachs, OutTimeExcds, OutParmProbs, OutSrcQuenchs, OutRedirects Count
	OutEchos, OutEchoReps, OutTimestamps, OutTimestampReps, OutAddrMasks     Count
	OutAddrMaskReps                                                          Count
}

// UDPv4 has the counters of UDPv4.
type UDPv4 struct {
	InDatagrams, NoPorts, InErrors, OutDatagrams Count
}

// TCP has the counters of TCP.
type TCP struct {
	RtoAlgorithm, RtoMin, RtoMax, MaxConn, ActiveOpens         Count
	PassiveOpens, AttemptFails, EstabResets, CurrEstab, InSegs Count
	OutSegs, RetransSegs, InErrs, OutRsts                      Count
	InCsumErrors                                               Count // of PCP 7
}

// IPv6 has the counters of IPv6.
type IPv6 struct {
	InReceives, InHdrErrors, InTooBigErrors, InNoRoutes, InAddrErrors          Count
	InUnknownProtos, InTruncatedPkts, InDiscards, InDelivers, OutForwDatagrams Count
	OutRequests, OutDiscards, OutNoRoutes, ReasmTimeout, ReasmReqds            Count
	ReasmOKs, ReasmFails, FragOKs, FragFails, FragCreates                      Count
	InMcastPkts, OutMcastPkts                                                  Count
}

// ICMPv6 has the counters of ICMPv6.
type ICMPv6 struct {
	InMsgs, InErrors, InDestUnreachs, InPktTooBigs, InTimeExcds                                                   Count
	InParmProblems, InEchos, InEchoReplies, InGroupMembQueries, InGroupMembResponses                              Count
	InGroupMembReductions, InRouterSolicits, InRouterAdvertisements, InNeighborSolicits, InNeighborAdvertisements Count
	InRedirects, OutMsgs, OutDestUnreachs, OutPktTooBigs, OutTimeExcds                                            Count
	OutParmProblems, OutEchoReplies, OutRouterSolicits, OutNeighborSolicits, OutNeighborAdvertisements            Count
	OutRedirects, OutGroupMembResponses, OutGroupMembReductions                                                   Count
}

// UDPv6 has the counters of UDPv6.
type UDPv6 struct {
	InDatagrams, NoPorts, InErrors, OutDatagrams Count
}

// network is the part of the network in the table of scalars.
var network = []scalar{
	{metric: "network.ip.forwarding", field: func(s *System) *Count { return &s.Net.IPv4.Forwarding }, kind: gauge, sum: 'n'},
	{metric: "network.ip.defaultttl", field: func(s *System) *Count { return &s.Net.IPv4.DefaultTTL }, kind: gauge, sum: 'n'},
	{metric: "network.ip.inreceives", field: func(s *System) *Count { return &s.Net.IPv4.InReceives }, kind: plain, sum: 'n'},
	{metric: "network.ip.inhdrerrors", field: func(s *System) *Count { return &s.Net.IPv4.InHdrErrors }, kind: plain, sum: 'n'},
	{metric: "network.ip.inaddrerrors", field: func(s *System) *Count { return &s.Net.IPv4.InAddrErrors }, kind: plain, sum: 'n'},
	{metric: "network.ip.forwdatagrams", field: func(s *System) *Count { return &s.Net.IPv4.ForwDatagrams }, kind: plain, sum: 'n'},
	{metric: "network.ip.inunknownprotos", field: func(s *System) *Count { return &s.Net.IPv4.InUnknownProtos }, kind: plain, sum: 'n'},
	{metric: "network.ip.indiscards", field: func(s *System) *Count { return &s.Net.IPv4.InDiscards }, kind: plain, sum: 'n'},
	{metric: "network.ip.indelivers", field: func(s *System) *Count { return &s.Net.IPv4.InDelivers }, kind: plain, sum: 'n'},
	{metric: "network.ip.outrequests", field: func(s *System) *Count { return &s.Net.IPv4.OutRequests }, kind: plain, sum: 'n'},
	{metric: "network.ip.outdiscards", field: func(s *System) *Count { return &s.Net.IPv4.OutDiscards }, kind: plain, sum: 'n'},
	{metric: "network.ip.outnoroutes", field: func(s *System) *Count { return &s.Net.IPv4.OutNoRoutes }, kind: plain, sum: 'n'},
	{metric: "network.ip.reasmtimeout", field: func(s *System) *Count { return &s.Net.IPv4.ReasmTimeout }, kind: plain, sum: 'n'},
	{metric: "network.ip.reasmreqds", field: func(s *System) *Count { return &s.Net.IPv4.ReasmReqds }, kind: plain, sum: 'n'},
	{metric: "network.ip.reasmoks", field: func(s *System) *Count { return &s.Net.IPv4.ReasmOKs }, kind: plain, sum: 'n'},
	{metric: "network.ip.reasmfails", field: func(s *System) *Count { return &s.Net.IPv4.ReasmFails }, kind: plain, sum: 'n'},
	{metric: "network.ip.fragoks", field: func(s *System) *Count { return &s.Net.IPv4.FragOKs }, kind: plain, sum: 'n'},
	{metric: "network.ip.fragfails", field: func(s *System) *Count { return &s.Net.IPv4.FragFails }, kind: plain, sum: 'n'},
	{metric: "network.ip.fragcreates", field: func(s *System) *Count { return &s.Net.IPv4.FragCreates }, kind: plain, sum: 'n'},
	{metric: "network.icmp.inmsgs", field: func(s *System) *Count { return &s.Net.ICMPv4.InMsgs }, kind: plain, sum: 'n'},
	{metric: "network.icmp.inerrors", field: func(s *System) *Count { return &s.Net.ICMPv4.InErrors }, kind: plain, sum: 'n'},
	{metric: "network.icmp.indestunreachs", field: func(s *System) *Count { return &s.Net.ICMPv4.InDestUnreachs }, kind: plain, sum: 'n'},
	{metric: "network.icmp.intimeexcds", field: func(s *System) *Count { return &s.Net.ICMPv4.InTimeExcds }, kind: plain, sum: 'n'},
	{metric: "network.icmp.inparmprobs", field: func(s *System) *Count { return &s.Net.ICMPv4.InParmProbs }, kind: plain, sum: 'n'},
	{metric: "network.icmp.insrcquenchs", field: func(s *System) *Count { return &s.Net.ICMPv4.InSrcQuenchs }, kind: plain, sum: 'n'},
	{metric: "network.icmp.inredirects", field: func(s *System) *Count { return &s.Net.ICMPv4.InRedirects }, kind: plain, sum: 'n'},
	{metric: "network.icmp.inechos", field: func(s *System) *Count { return &s.Net.ICMPv4.InEchos }, kind: plain, sum: 'n'},
	{metric: "network.icmp.inechoreps", field: func(s *System) *Count { return &s.Net.ICMPv4.InEchoReps }, kind: plain, sum: 'n'},
	{metric: "network.icmp.intimestamps", field: func(s *System) *Count { return &s.Net.ICMPv4.InTimestamps }, kind: plain, sum: 'n'},
	{metric: "network.icmp.intimestampreps", field: func(s *System) *Count { return &s.Net.ICMPv4.InTimestampReps }, kind: plain, sum: 'n'},
	{metric: "network.icmp.inaddrmasks", field: func(s *System) *Count { return &s.Net.ICMPv4.InAddrMasks }, kind: plain, sum: 'n'},
	{metric: "network.icmp.inaddrmaskreps", field: func(s *System) *Count { return &s.Net.ICMPv4.InAddrMaskReps }, kind: plain, sum: 'n'},
	{metric: "network.icmp.outmsgs", field: func(s *System) *Count { return &s.Net.ICMPv4.OutMsgs }, kind: plain, sum: 'n'},
	{metric: "network.icmp.outerrors", field: func(s *System) *Count { return &s.Net.ICMPv4.OutErrors }, kind: plain, sum: 'n'},
	{metric: "network.icmp.outdestunreachs", field: func(s *System) *Count { return &s.Net.ICMPv4.OutDestUnreachs }, kind: plain, sum: 'n'},
	{metric: "network.icmp.outtimeexcds", field: func(s *System) *Count { return &s.Net.ICMPv4.OutTimeExcds }, kind: plain, sum: 'n'},
	{metric: "network.icmp.outparmprobs", field: func(s *System) *Count { return &s.Net.ICMPv4.OutParmProbs }, kind: plain, sum: 'n'},
	{metric: "network.icmp.outsrcquenchs", field: func(s *System) *Count { return &s.Net.ICMPv4.OutSrcQuenchs }, kind: plain, sum: 'n'},
	{metric: "network.icmp.outredirects", field: func(s *System) *Count { return &s.Net.ICMPv4.OutRedirects }, kind: plain, sum: 'n'},
	{metric: "network.icmp.outechos", field: func(s *System) *Count { return &s.Net.ICMPv4.OutEchos }, kind: plain, sum: 'n'},
	{metric: "network.icmp.outechoreps", field: func(s *System) *Count { return &s.Net.ICMPv4.OutEchoReps }, kind: plain, sum: 'n'},
	{metric: "network.icmp.outtimestamps", field: func(s *System) *Count { return &s.Net.ICMPv4.OutTimestamps }, kind: plain, sum: 'n'},
	{metric: "network.icmp.outtimestampreps", field: func(s *System) *Count { return &s.Net.ICMPv4.OutTimestampReps }, kind: plain, sum: 'n'},
	{metric: "network.icmp.outaddrmasks", field: func(s *System) *Count { return &s.Net.ICMPv4.OutAddrMasks }, kind: plain, sum: 'n'},
	{metric: "network.icmp.outaddrmaskreps", field: func(s *System) *Count { return &s.Net.ICMPv4.OutAddrMaskReps }, kind: plain, sum: 'n'},
	{metric: "network.udp.indatagrams", field: func(s *System) *Count { return &s.Net.UDPv4.InDatagrams }, kind: plain, sum: 'n'},
	{metric: "network.udp.noports", field: func(s *System) *Count { return &s.Net.UDPv4.NoPorts }, kind: plain, sum: 'n'},
	{metric: "network.udp.inerrors", field: func(s *System) *Count { return &s.Net.UDPv4.InErrors }, kind: plain, sum: 'n'},
	{metric: "network.udp.outdatagrams", field: func(s *System) *Count { return &s.Net.UDPv4.OutDatagrams }, kind: plain, sum: 'n'},
	{metric: "network.tcp.rtoalgorithm", field: func(s *System) *Count { return &s.Net.TCP.RtoAlgorithm }, kind: gauge, sum: 'n'},
	{metric: "network.tcp.rtomin", field: func(s *System) *Count { return &s.Net.TCP.RtoMin }, kind: gauge, sum: 'n'},
	{metric: "network.tcp.rtomax", field: func(s *System) *Count { return &s.Net.TCP.RtoMax }, kind: gauge, sum: 'n'},
	{metric: "network.tcp.maxconn", field: func(s *System) *Count { return &s.Net.TCP.MaxConn }, kind: gauge, sum: 'n'},
	{metric: "network.tcp.activeopens", field: func(s *System) *Count { return &s.Net.TCP.ActiveOpens }, kind: plain, sum: 'n'},
	{metric: "network.tcp.passiveopens", field: func(s *System) *Count { return &s.Net.TCP.PassiveOpens }, kind: plain, sum: 'n'},
	{metric: "network.tcp.attemptfails", field: func(s *System) *Count { return &s.Net.TCP.AttemptFails }, kind: plain, sum: 'n'},
	{metric: "network.tcp.estabresets", field: func(s *System) *Count { return &s.Net.TCP.EstabResets }, kind: plain, sum: 'n'},
	{metric: "network.tcp.currestab", field: func(s *System) *Count { return &s.Net.TCP.CurrEstab }, kind: gauge, sum: 'n'},
	{metric: "network.tcp.insegs", field: func(s *System) *Count { return &s.Net.TCP.InSegs }, kind: plain, sum: 'n'},
	{metric: "network.tcp.outsegs", field: func(s *System) *Count { return &s.Net.TCP.OutSegs }, kind: plain, sum: 'n'},
	{metric: "network.tcp.retranssegs", field: func(s *System) *Count { return &s.Net.TCP.RetransSegs }, kind: plain, sum: 'n'},
	{metric: "network.tcp.inerrs", field: func(s *System) *Count { return &s.Net.TCP.InErrs }, kind: plain, sum: 'n'},
	{metric: "network.tcp.outrsts", field: func(s *System) *Count { return &s.Net.TCP.OutRsts }, kind: plain, sum: 'n'},
	{metric: "network.ip6.inreceives", field: func(s *System) *Count { return &s.Net.IPv6.InReceives }, kind: plain, sum: 'n'},
	{metric: "network.ip6.inhdrerrors", field: func(s *System) *Count { return &s.Net.IPv6.InHdrErrors }, kind: plain, sum: 'n'},
	{metric: "network.ip6.intoobigerrors", field: func(s *System) *Count { return &s.Net.IPv6.InTooBigErrors }, kind: plain, sum: 'n'},
	{metric: "network.ip6.innoroutes", field: func(s *System) *Count { return &s.Net.IPv6.InNoRoutes }, kind: plain, sum: 'n'},
	{metric: "network.ip6.inaddrerrors", field: func(s *System) *Count { return &s.Net.IPv6.InAddrErrors }, kind: plain, sum: 'n'},
	{metric: "network.ip6.inunknownprotos", field: func(s *System) *Count { return &s.Net.IPv6.InUnknownProtos }, kind: plain, sum: 'n'},
	{metric: "network.ip6.intruncatedpkts", field: func(s *System) *Count { return &s.Net.IPv6.InTruncatedPkts }, kind: plain, sum: 'n'},
	{metric: "network.ip6.indiscards", field: func(s *System) *Count { return &s.Net.IPv6.InDiscards }, kind: plain, sum: 'n'},
	{metric: "network.ip6.indelivers", field: func(s *System) *Count { return &s.Net.IPv6.InDelivers }, kind: plain, sum: 'n'},
	{metric: "network.ip6.outforwdatagrams", field: func(s *System) *Count { return &s.Net.IPv6.OutForwDatagrams }, kind: plain, sum: 'n'},
	{metric: "network.ip6.outrequests", field: func(s *System) *Count { return &s.Net.IPv6.OutRequests }, kind: plain, sum: 'n'},
	{metric: "network.ip6.outdiscards", field: func(s *System) *Count { return &s.Net.IPv6.OutDiscards }, kind: plain, sum: 'n'},
	{metric: "network.ip6.outnoroutes", field: func(s *System) *Count { return &s.Net.IPv6.OutNoRoutes }, kind: plain, sum: 'n'},
	{metric: "network.ip6.reasmtimeout", field: func(s *System) *Count { return &s.Net.IPv6.ReasmTimeout }, kind: plain, sum: 'n'},
	{metric: "network.ip6.reasmreqds", field: func(s *System) *Count { return &s.Net.IPv6.ReasmReqds }, kind: plain, sum: 'n'},
	{metric: "network.ip6.reasmoks", field: func(s *System) *Count { return &s.Net.IPv6.ReasmOKs }, kind: plain, sum: 'n'},
	{metric: "network.ip6.reasmfails", field: func(s *System) *Count { return &s.Net.IPv6.ReasmFails }, kind: plain, sum: 'n'},
	{metric: "network.ip6.fragoks", field: func(s *System) *Count { return &s.Net.IPv6.FragOKs }, kind: plain, sum: 'n'},
	{metric: "network.ip6.fragfails", field: func(s *System) *Count { return &s.Net.IPv6.FragFails }, kind: plain, sum: 'n'},
	{metric: "network.ip6.fragcreates", field: func(s *System) *Count { return &s.Net.IPv6.FragCreates }, kind: plain, sum: 'n'},
	{metric: "network.ip6.inmcastpkts", field: func(s *System) *Count { return &s.Net.IPv6.InMcastPkts }, kind: plain, sum: 'n'},
	{metric: "network.ip6.outmcastpkts", field: func(s *System) *Count { return &s.Net.IPv6.OutMcastPkts }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.inmsgs", field: func(s *System) *Count { return &s.Net.ICMPv6.InMsgs }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.inerrors", field: func(s *System) *Count { return &s.Net.ICMPv6.InErrors }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.indestunreachs", field: func(s *System) *Count { return &s.Net.ICMPv6.InDestUnreachs }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.inpkttoobigs", field: func(s *System) *Count { return &s.Net.ICMPv6.InPktTooBigs }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.intimeexcds", field: func(s *System) *Count { return &s.Net.ICMPv6.InTimeExcds }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.inparmproblems", field: func(s *System) *Count { return &s.Net.ICMPv6.InParmProblems }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.inechos", field: func(s *System) *Count { return &s.Net.ICMPv6.InEchos }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.inechoreplies", field: func(s *System) *Count { return &s.Net.ICMPv6.InEchoReplies }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.ingroupmembqueries", field: func(s *System) *Count { return &s.Net.ICMPv6.InGroupMembQueries }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.ingroupmembresponses", field: func(s *System) *Count { return &s.Net.ICMPv6.InGroupMembResponses }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.ingroupmembreductions", field: func(s *System) *Count { return &s.Net.ICMPv6.InGroupMembReductions }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.inroutersolicits", field: func(s *System) *Count { return &s.Net.ICMPv6.InRouterSolicits }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.inrouteradvertisements", field: func(s *System) *Count { return &s.Net.ICMPv6.InRouterAdvertisements }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.inneighborsolicits", field: func(s *System) *Count { return &s.Net.ICMPv6.InNeighborSolicits }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.inneighboradvertisements", field: func(s *System) *Count { return &s.Net.ICMPv6.InNeighborAdvertisements }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.inredirects", field: func(s *System) *Count { return &s.Net.ICMPv6.InRedirects }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.outmsgs", field: func(s *System) *Count { return &s.Net.ICMPv6.OutMsgs }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.outdestunreachs", field: func(s *System) *Count { return &s.Net.ICMPv6.OutDestUnreachs }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.outpkttoobigs", field: func(s *System) *Count { return &s.Net.ICMPv6.OutPktTooBigs }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.outtimeexcds", field: func(s *System) *Count { return &s.Net.ICMPv6.OutTimeExcds }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.outparmproblems", field: func(s *System) *Count { return &s.Net.ICMPv6.OutParmProblems }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.outechoreplies", field: func(s *System) *Count { return &s.Net.ICMPv6.OutEchoReplies }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.outroutersolicits", field: func(s *System) *Count { return &s.Net.ICMPv6.OutRouterSolicits }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.outneighborsolicits", field: func(s *System) *Count { return &s.Net.ICMPv6.OutNeighborSolicits }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.outneighboradvertisements", field: func(s *System) *Count { return &s.Net.ICMPv6.OutNeighborAdvertisements }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.outredirects", field: func(s *System) *Count { return &s.Net.ICMPv6.OutRedirects }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.outgroupmembresponses", field: func(s *System) *Count { return &s.Net.ICMPv6.OutGroupMembResponses }, kind: plain, sum: 'n'},
	{metric: "network.icmp6.outgroupmembreductions", field: func(s *System) *Count { return &s.Net.ICMPv6.OutGroupMembReductions }, kind: plain, sum: 'n'},
	{metric: "network.udp6.indatagrams", field: func(s *System) *Count { return &s.Net.UDPv6.InDatagrams }, kind: plain, sum: 'n'},
	{metric: "network.udp6.noports", field: func(s *System) *Count { return &s.Net.UDPv6.NoPorts }, kind: plain, sum: 'n'},
	{metric: "network.udp6.inerrors", field: func(s *System) *Count { return &s.Net.UDPv6.InErrors }, kind: plain, sum: 'n'},
	{metric: "network.udp6.outdatagrams", field: func(s *System) *Count { return &s.Net.UDPv6.OutDatagrams }, kind: plain, sum: 'n'},
}
