package sar

import "github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"

// Reports are all reports in the order in which -A prints them.
var Reports = []Report{
	{
		Flag: 'c', Categories: "c", About: "cpu utilization",
		Head: "cpu  %usr %nice %sys %irq %softirq  %steal %guest  %wait %idle  _cpu_",
		line: cpuLine,
	},
	{
		Flag: 'p', Categories: "c", About: "process(or) load",
		Head: "pswch/s devintr/s  clones/s  loadavg1 loadavg5 loadavg15       _load_",
		line: loadLine,
	},
	{
		Flag: 'P', Categories: "c", Tasks: true, About: "processes & threads",
		Head:  "clones/s pexit/s  curproc curzomb    thrrun thrslpi thrslpu _procthr_",
		head7: "clones/s pexit/s  curproc curzomb   trun  tslpi tslpu tidle _procthr_",
		line:  tasksLine,
	},
	{
		Flag: 'g', Categories: "c", About: "gpu utilization",
		Head: "   busaddr   gpubusy  membusy  memocc  memtot memuse  gputype   _gpu_",
		line: gpuLine,
	},
	{
		Flag: 'm', Categories: "m", About: "memory & swapspace",
		Head: "memtotal memfree buffers cached dirty slabmem  swptotal swpfree _mem_",
		line: memoryLine,
	},
	{
		Flag: 's', Categories: "m", About: "swap rate",
		Head: "pagescan/s  swapin/s swapout/s oomkill  commitspc  commitlim   _swap_",
		line: swapLine,
	},
	{
		Flag: 'B', Categories: "cmd", About: "pressure stall info (PSI)",
		Head: "cpusome    memsome  memfull    iosome  iofull",
		line: pressureLine,
	},
	{
		Flag: 'l', Categories: "cd", About: "logical volume activity",
		Head:  "disk           busy read/s KB/read  writ/s KB/writ avque avserv _lvm_",
		disks: func(s *sample.System) []sample.Disk { return s.Volumes },
	},
	{
		Flag: 'f', Categories: "cd", About: "multiple device activity",
		Head:  "disk           busy read/s KB/read  writ/s KB/writ avque avserv _mdd_",
		disks: func(s *sample.System) []sample.Disk { return s.Arrays },
	},
	{
		Flag: 'd', Categories: "cd", About: "disk activity",
		Head:  "disk           busy read/s KB/read  writ/s KB/writ avque avserv _dsk_",
		disks: func(s *sample.System) []sample.Disk { return s.Disks },
	},
	{
		Flag: 'h', Categories: "n", About: "infiniband utilization",
		Head: "controller port  busy ipack/s opack/s igbps ogbps maxgbps lanes  _ib_",
		line: portLine,
	},
	{
		Flag: 'n', Categories: "n", About: "NFS client mounts",
		Head: "mounted_device                          physread/s  physwrit/s  _nfm_",
		line: mountLine,
	},
	{
		Flag: 'j', Categories: "n", About: "NFS client activity",
		Head: "     rpc/s   rpcread/s  rpcwrite/s  retrans/s  autrefresh/s     _nfc_",
		rates: []rate{
			{"", 10, 2, func(s *sample.System) *sample.Count { return &s.Client.Calls }},
			{"  ", 10, 2, func(s *sample.System) *sample.Count { return &s.Client.Reads }},
			{"  ", 10, 2, func(s *sample.System) *sample.Count { return &s.Client.Writes }},
			{" ", 10, 2, func(s *sample.System) *sample.Count { return &s.Client.Retrans }},
			{"  ", 12, 2, func(s *sample.System) *sample.Count { return &s.Client.AuthRefresh }},
		},
	},
	{
		Flag: 'J', Categories: "n", About: "NFS server activity",
		Head: "  rpc/s  rpcread/s rpcwrite/s MBcr/s  MBcw/s  nettcp/s netudp/s _nfs_",
		line: nfsServerLine,
	},
	{
		Flag: 'i', Categories: "n", About: "net-interf (general)",
		Head: "interf busy ipack/s opack/s iKbyte/s oKbyte/s imbps ombps maxmbps_if_",
		line: interfaceLine,
	},
	{
		Flag: 'I', Categories: "n", About: "net-interf (errors)",
		Head: "interf ierr/s oerr/s coll/s idrop/s odrop/s iframe/s ocarrier/s  _if_",
		line: interfaceErrorLine,
	},
	{
		Flag: 'w', Categories: "n", About: "ip   v4    (general)",
		Head: "inrecv/s outreq/s indeliver/s forward/s reasmok/s fragcreat/s  _ipv4_",
		rates: []rate{
			{"", 8, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv4.InReceives }},
			{" ", 8, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv4.OutRequests }},
			{" ", 11, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv4.InDelivers }},
			{" ", 9, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv4.Forwarding }},
			{" ", 9, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv4.ReasmOKs }},
			{" ", 11, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv4.FragCreates }},
		},
	},
	{
		Flag: 'W', Categories: "n", About: "ip   v4    (errors)",
		Head: "in: dsc/s hder/s ader/s unkp/s ratim/s rfail/s out: dsc/s nrt/s_ipv4_",
		rates: []rate{
			{"    ", 5, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv4.InDiscards }},
			{" ", 6, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv4.InHdrErrors }},
			{" ", 6, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv4.InAddrErrors }},
			{" ", 6, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv4.InUnknownProtos }},
			{" ", 7, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv4.ReasmTimeout }},
			{" ", 7, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv4.ReasmFails }},
			{"      ", 5, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv4.OutDiscards }},
			{" ", 5, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv4.OutNoRoutes }},
		},
	},
	{
		Flag: 'y', Categories: "n", About: "icmp v4    (general)",
		Head: "intot/s outtot/s  inecho/s inerep/s  otecho/s oterep/s       _icmpv4_",
		rates: []rate{
			{"", 7, 1, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.InMsgs }},
			{" ", 8, 1, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.OutMsgs }},
			{"  ", 8, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.InEchos }},
			{" ", 8, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.OutEchos }},
			{"  ", 8, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.InEchoReps }},
			{" ", 8, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.OutEchoReps }},
		},
	},
	{
		Flag: 'Y', Categories: "n", About: "icmp v4    (per type)",
		Head: "ierr/s isq/s ird/s idu/s ite/s oerr/s osq/s ord/s odu/s ote/s_icmpv4_",
		rates: []rate{
			{"", 6, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.InErrors }},
			{" ", 5, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.InSrcQuenchs }},
			{" ", 5, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.InRedirects }},
			{" ", 5, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.InDestUnreachs }},
			{" ", 5, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.InTimeExcds }},
			{" ", 6, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.OutErrors }},
			{" ", 5, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.OutSrcQuenchs }},
			{" ", 5, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.OutRedirects }},
			{" ", 5, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.OutDestUnreachs }},
			{" ", 5, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv4.OutTimeExcds }},
		},
	},
	{
		Flag: 'u', Categories: "n", About: "udp  v4",
		Head: "indgram/s outdgram/s   inerr/s  noport/s                      _udpv4_",
		rates: []rate{
			{"", 9, 1, func(s *sample.System) *sample.Count { return &s.Net.UDPv4.InDatagrams }},
			{" ", 10, 1, func(s *sample.System) *sample.Count { return &s.Net.UDPv4.OutDatagrams }},
			{"   ", 7, 2, func(s *sample.System) *sample.Count { return &s.Net.UDPv4.InErrors }},
			{" ", 9, 2, func(s *sample.System) *sample.Count { return &s.Net.UDPv4.NoPorts }},
		},
	},
	{
		Flag: 'z', Categories: "n", About: "ip   v6    (general)",
		Head: "inrecv/s outreq/s inmc/s outmc/s indeliv/s reasmok/s fragcre/s _ipv6_",
		rates: []rate{
			{"", 8, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.InReceives }},
			{" ", 8, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.OutRequests }},
			{" ", 6, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.InMcastPkts }},
			{" ", 7, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.OutMcastPkts }},
			{" ", 9, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.InDelivers }},
			{" ", 9, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.ReasmOKs }},
			{" ", 9, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.FragCreates }},
		},
	},
	{
		Flag: 'Z', Categories: "n", About: "ip   v6    (errors)",
		Head: "in: dsc/s hder/s ader/s unkp/s ratim/s rfail/s out: dsc/s nrt/s_ipv6_",
		rates: []rate{
			{"    ", 5, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.InDiscards }},
			{" ", 6, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.InHdrErrors }},
			{" ", 6, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.InAddrErrors }},
			{" ", 6, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.InUnknownProtos }},
			{" ", 7, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.ReasmTimeout }},
			{" ", 7, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.ReasmFails }},
			{"      ", 5, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.OutDiscards }},
			{" ", 5, 1, func(s *sample.System) *sample.Count { return &s.Net.IPv6.OutNoRoutes }},
		},
	},
	{
		Flag: 'k', Categories: "n", About: "icmp v6    (general)",
		Head: "intot/s outtot/s inerr/s innsol/s innadv/s otnsol/s otnadv/s  _icmp6_",
		rates: []rate{
			{"", 7, 1, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.InMsgs }},
			{" ", 8, 1, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.OutMsgs }},
			{" ", 7, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.InErrors }},
			{" ", 8, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.InNeighborSolicits }},
			{" ", 8, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.InNeighborAdvertisements }},
			{" ", 8, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.OutNeighborSolicits }},
			{" ", 8, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.OutNeighborAdvertisements }},
		},
	},
	{
		Flag: 'K', Categories: "n", About: "icmp v6    (per type)",
		Head: "iecho/s ierep/s oerep/s idu/s odu/s ird/s ord/s ite/s ote/s  _icmpv6_",
		rates: []rate{
			{"", 7, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.InEchos }},
			{" ", 7, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.InEchoReplies }},
			{" ", 7, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.OutEchoReplies }},
			{" ", 5, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.InDestUnreachs }},
			{" ", 5, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.OutDestUnreachs }},
			{" ", 5, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.InRedirects }},
			{" ", 5, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.OutRedirects }},
			{" ", 5, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.InTimeExcds }},
			{" ", 5, 2, func(s *sample.System) *sample.Count { return &s.Net.ICMPv6.OutTimeExcds }},
		},
	},
	{
		Flag: 'U', Categories: "n", About: "udp  v6",
		Head: "indgram/s outdgram/s   inerr/s  noport/s                      _udpv6_",
		rates: []rate{
			{"", 9, 1, func(s *sample.System) *sample.Count { return &s.Net.UDPv6.InDatagrams }},
			{" ", 10, 1, func(s *sample.System) *sample.Count { return &s.Net.UDPv6.OutDatagrams }},
			{"   ", 7, 2, func(s *sample.System) *sample.Count { return &s.Net.UDPv6.InErrors }},
			{" ", 9, 2, func(s *sample.System) *sample.Count { return &s.Net.UDPv6.NoPorts }},
		},
	},
	{
		Flag: 't', Categories: "n", About: "tcp        (general)",
		Head: "insegs/s outsegs/s  actopen/s pasopen/s  nowopen                _tcp_",
		line: tcpLine,
	},
	{
		Flag: 'T', Categories: "n", About: "tcp        (errors)",
		Head: "inerr/s  retrans/s  attfail/s  estabreset/s  outreset/s         _tcp_",
		rates: []rate{
			{"", 7, 1, func(s *sample.System) *sample.Count { return &s.Net.TCP.InErrs }},
			{"  ", 9, 1, func(s *sample.System) *sample.Count { return &s.Net.TCP.RetransSegs }},
			{"  ", 9, 1, func(s *sample.System) *sample.Count { return &s.Net.TCP.AttemptFails }},
			{"  ", 12, 1, func(s *sample.System) *sample.Count { return &s.Net.TCP.EstabResets }},
			{"  ", 10, 1, func(s *sample.System) *sample.Count { return &s.Net.TCP.OutRsts }},
		},
	},
	{
		Flag: 'o', Categories: "n", About: "HTTP activity",
		Head: "requests/s  Kbytes/s  bytes/req    idleworkers busyworkers     _http_",
		line: webLine,
	},
	{
		Flag: 'O', Categories: "", Tasks: true, About: "top-3 processes cpu",
		Head: "  pid command  cpu% |   pid command  cpu% |   pid command  cpu%_top3_",
		line: topCPULine,
	},
	{
		Flag: 'G', Categories: "", Tasks: true, About: "top-3 processes memory",
		Head: "  pid command  mem% |   pid command  mem% |   pid command  mem%_top3_",
		line: topMemoryLine,
	},
	{
		Flag: 'D', Categories: "", Tasks: true, About: "top-3 processes disk",
		Head: "  pid command  dsk% |   pid command  dsk% |   pid command  dsk%_top3_",
		line: topDiskLine,
	},
	{
		Flag: 'N', Categories: "", Tasks: true, About: "top-3 processes network",
		Head: "  pid command  net% |   pid command  net% |   pid command  net%_top3_",
		line: topNetLine,
	},
}
