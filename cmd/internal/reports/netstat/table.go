package netstat

// A line is a line of a section: a metric, and the text for its value.
type line struct{ metric, text string }

// A section is a section of the report. The words are those of the C program, which scripts
// look for.
type section struct {
	name  string
	lines []line
}

var sections = []section{
	{"Ip", []line{
		{"network.ip.forwarding", "Forwarding: %s"},
		{"network.ip.inreceives", "%s total packets received"},
		{"network.ip.inaddrerrors", "%s with invalid addresses"},
		{"network.ip.forwdatagrams", "%s forwarded"},
		{"network.ip.indiscards", "%s incoming packets discarded"},
		{"network.ip.indelivers", "%s incoming packets delivered"},
		{"network.ip.outrequests", "%s requests sent out"},
		{"network.ip.outnoroutes", "%s dropped because of missing route"},
	}},
	{"Icmp", []line{
		{"network.icmp.inmsgs", "%s ICMP messages received"},
		{"network.icmp.inerrors", "%s Input ICMP message failed"},
		{"network.icmp.indestunreachs", "ICMP input histogram:\n\t\tdestination unreachable: %s"},
		{"network.icmp.outmsgs", "%s ICMP messages sent"},
		{"network.icmp.outerrors", "%s ICMP messages failed"},
		{"network.icmp.outdestunreachs", "ICMP input histogram:\n\t\tOutput destination unreachable: %s"},
	}},
	{"IcmpMsg", []line{
		{"network.icmpmsg.intype", "\tInType3: %s"},
		{"network.icmpmsg.outtype", "\tOutType0: %s"},
	}},
	{"Tcp", []line{
		{"network.tcp.activeopens", "%s active connections openings"},
		{"network.tcp.passiveopens", "%s passive connection openings"},
		{"network.tcp.attemptfails", "%s failed connection attempts"},
		{"network.tcp.estabresets", "%s connection resets received"},
		{"network.tcpconn.established", "%s connections established"},
		{"network.tcp.insegs", "%s segments received"},
		{"network.tcp.outsegs", "%s segments send out"},
		{"network.tcp.retranssegs", "%s segments retransmited"},
		{"network.tcp.inerrs", "%s bad segments received."},
		{"network.tcp.outrsts", "%s resets sent"},
	}},
	{"Udp", []line{
		{"network.udp.indatagrams", "%s packets received"},
		{"network.udp.noports", "%s packets to unknown port received"},
		{"network.udp.inerrors", "%s packet receive errors"},
		{"network.udp.outdatagrams", "%s packets sent"},
		{"network.udp.recvbuferrors", "%s receive buffer errors"},
		{"network.udp.sndbuferrors", "%s send buffer errors"},
	}},
	{"UdpLite", []line{
		{"network.udplite.indatagrams", "%s packets received"},
		{"network.udplite.noports", "%s packets to unknown port received"},
		{"network.udplite.inerrors", "%s packet receive errors"},
		{"network.udplite.outdatagrams", "%s packets sent"},
		{"network.udplite.recvbuferrors", "%s receive buffer errors"},
		{"network.udplite.sndbuferrors", "%s send buffer errors"},
		{"network.udplite.incsumerrors", "%s checksum errors"},
	}},
	{"TcpExt", []line{
		{"network.tcp.delayedacks", "%s delayed acks sent"},
		{"network.tcp.delayedacklocked", "%s delayed acks further delayed because of locked socket"},
		{"network.tcp.hphits", "%s packet headers predicted"},
		{"network.tcp.hpacks", "%s predicted acknowledgments"},
		{"network.tcp.sackrecovery", "TCPSackRecovery: %s"},
		{"network.tcp.sackreorder", "Detected reordering %s times using SACK"},
		{"network.tcp.dsackundo", "TCPDSACKUndo: %s"},
		{"network.tcp.lostretransmit", "TCPLostRetransmitt: %s"},
		{"network.tcp.sackfailures", "TCPSackFailures: %s"},
		{"network.tcp.fastretrans", "%s fast retransmits"},
		{"network.tcp.timeouts", "TCPTimeouts: %s"},
		{"network.tcp.lossprobes", "TCPLossProbes: %s"},
		{"network.tcp.lossproberecovery", "TCPLossProbeRecovery: %s"},
		{"network.tcp.tcpbacklogcoalesce", "TCPBacklogCoalesce: %s"},
		{"network.tcp.dsackoldsent", "TCPDSACKOldSent: %s"},
		{"network.tcp.dsackofosent", "TCPDSACKOfoSent: %s"},
		{"network.tcp.dsackrecv", "TCPDSACKRecv: %s"},
		{"network.tcp.dsackoforecv", "TCPDSACKOfoRecv: %s"},
		{"network.tcp.abortondata", "%s connections aborted due to data"},
		{"network.tcp.abortonclose", "%s connections reset due to early user close"},
		{"network.tcp.abortontimeout", "%s connections aborted due to timeout"},
		{"network.tcp.dsackignorednoundo", "TCPDSACKIgnoredNoUndo: %s"},
		{"network.tcp.sackshifted", "TCPSackShifted: %s"},
		{"network.tcp.sackmerged", "TCPSackMerged: %s"},
		{"network.tcp.sackshiftfallback", "TCPSackShiftFallback: %s"},
		{"network.tcp.iprpfilter", "IPReversePathFilter: %s"},
		{"network.tcp.rcvcoalesce", "TCPRcvCoalesce: %s"},
		{"network.tcp.ofoqueue", "TCPOFOQueue: %s"},
		{"network.tcp.ofomerge", "TCPOFOMerge: %s"},
		{"network.tcp.challengeack", "TCPChallengeAck: %s"},
		{"network.tcp.synchallenge", "TCPSynChallenge: %s"},
		{"network.tcp.spuriousrtxhostqueues", "TCPSpuriousRtxHostQueues: %s"},
		{"network.tcp.autocorking", "TCPAutoCorking: %s"},
		{"network.tcp.synretrans", "TCPSynRetrans: %s"},
		{"network.tcp.origdatasent", "TCPOrigDataSent: %s"},
		{"network.tcp.tcphystarttraindetect", "TCPHystartTrainDetect: %s"},
		{"network.tcp.tcphystarttraincwnd", "TCPHystartTrainCwnd: %s"},
		{"network.tcp.tcphystartdelaydetect", "TCPHystartDelayDetect: %s"},
		{"network.tcp.tcphystartdelaycwnd", "TCPHystartDelayCwnd: %s"},
		{"network.tcp.tcpackskippedseq", "TCPACKSkippedSeq: %s"},
		{"network.tcp.tcpkeepalive", "TCPKeepAlive: %s"},
		{"network.tcp.tcpdelivered", "TCPDelivered: %s"},
		{"network.tcp.tcpackcompressed", "TCPAckCompressed: %s"},
	}},
	{"IpExt", []line{
		{"network.ip.inmcastpkts", "InMcastPkts: %s"},
		{"network.ip.inbcastpkts", "InBcastPkts: %s"},
		{"network.ip.inoctets", "InOctets: %s"},
		{"network.ip.outoctets", "OutOctets: %s"},
		{"network.ip.inmcastoctets", "InMcastOctets: %s"},
		{"network.ip.inbcastoctets", "InBcastOctets: %s"},
		{"network.ip.noectpkts", "InNoECTpkts: %s"},
	}},
}

// A column is a column of the table of interfaces.
type column struct{ title, metric string }

var columns = []column{
	{"MTU", "network.interface.mtu"},
	{"RX-OK", "network.interface.in.packets"},
	{"RX-ERR", "network.interface.in.errors"},
	{"RX-DRP", "network.interface.in.drops"},
	{"TX-OK", "network.interface.out.packets"},
	{"TX-ERR", "network.interface.out.errors"},
	{"TX-DRP", "network.interface.out.drops"},
}
