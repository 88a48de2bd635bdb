package sockets

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// Units of the table.
var (
	count      = pcp.Units{DimCount: 1}
	byteUnit   = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	msec       = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	bytePerSec = pcp.Units{DimSpace: 1, DimTime: -1, ScaleSpace: pcp.SpaceByte, ScaleTime: pcp.TimeSec}
)

// Blocks of metrics.
const (
	blockSockets = iota
	blockFilter
)

// Columns of blockSockets.
const (
	colNetid = iota
	colState
	colRecvq
	colSendq
	colSrc
	colDst
	colInode
	colUid
	colSk
	colCgroup
	colV6only
	colTs
	colSack
	colCubic
	colAto
	colMss
	colPmtu
	colRcvmss
	colAdvmss
	colCwnd
	colSsthresh
	colBytesSent
	colBytesRetrans
	colBytesAcked
	colBytesReceived
	colSegsOut
	colSegsIn
	colDataSegsOut
	colDataSegsIn
	colSend
	colLastsnd
	colLastrcv
	colLastack
	colPacingRate
	colDeliveryRate
	colDelivered
	colAppLimited
	colReordSeen
	colBusy
	colDsackDups
	colRcvRtt
	colRcvSpace
	colRcvSsthresh
	colMinrtt
	colNotsent
	colTimerStr
	colTimerName
	colTimerExpireStr
	colTimerRetrans
	colSkmemStr
	colSkmemRmemAlloc
	colSkmemWmemAlloc
	colSkmemRcvBuf
	colSkmemSndBuf
	colSkmemFwdAlloc
	colSkmemWmemQueued
	colSkmemRoptMem
	colSkmemBackLog
	colSkmemSockDrop
	colWscaleStr
	colWscaleSnd
	colWscaleRcv
	colRoundTripStr
	colRoundTripRtt
	colRoundTripRttvar
	numCols
)

// metrics are all metrics of the agent. The units of the rates are those of the C agent, which
// calls bits bytes.
var metrics = []column.Metric{
	{Name: "network.persocket.filter", Cluster: 0, Item: 0, Type: pcp.TypeString, Sem: pcp.SemDiscrete, From: blockFilter, Help: "Which sockets are reported, in the words of ss(8)"},
	{Name: "network.persocket.netid", Cluster: 1, Item: 0, Type: pcp.TypeString, Sem: pcp.SemDiscrete, From: blockSockets, Col: colNetid, Help: "Protocol: tcp or udp"},
	{Name: "network.persocket.state", Cluster: 1, Item: 1, Type: pcp.TypeString, Sem: pcp.SemDiscrete, From: blockSockets, Col: colState, Help: "State, such as ESTAB or LISTEN"},
	{Name: "network.persocket.recvq", Cluster: 1, Item: 2, Type: pcp.Type32, Sem: pcp.SemInstant, Units: count, From: blockSockets, Col: colRecvq, Help: "Bytes received and not read yet; connections to accept of a listener"},
	{Name: "network.persocket.sendq", Cluster: 1, Item: 3, Type: pcp.Type32, Sem: pcp.SemInstant, Units: count, From: blockSockets, Col: colSendq, Help: "Bytes sent and not acknowledged yet; most of recvq of a listener"},
	{Name: "network.persocket.src", Cluster: 1, Item: 4, Type: pcp.TypeString, Sem: pcp.SemDiscrete, From: blockSockets, Col: colSrc, Help: "Address and port of this side"},
	{Name: "network.persocket.dst", Cluster: 1, Item: 5, Type: pcp.TypeString, Sem: pcp.SemDiscrete, From: blockSockets, Col: colDst, Help: "Address and port of the other side"},
	{Name: "network.persocket.inode", Cluster: 1, Item: 6, Type: pcp.Type64, Sem: pcp.SemDiscrete, From: blockSockets, Col: colInode, Help: "Inode of the socket"},
	{Name: "network.persocket.uid", Cluster: 1, Item: 8, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, From: blockSockets, Col: colUid, Help: "User that owns the socket"},
	{Name: "network.persocket.sk", Cluster: 1, Item: 9, Type: pcp.TypeU64, Sem: pcp.SemDiscrete, From: blockSockets, Col: colSk, Help: "Number by which the kernel knows the socket"},
	{Name: "network.persocket.cgroup", Cluster: 1, Item: 10, Type: pcp.TypeString, Sem: pcp.SemDiscrete, From: blockSockets, Col: colCgroup, Help: "Control group (version 2) that the socket was made in"},
	{Name: "network.persocket.v6only", Cluster: 1, Item: 11, Type: pcp.Type32, Sem: pcp.SemDiscrete, From: blockSockets, Col: colV6only, Help: "Whether it is for IPv6 only: 1, else 0"},
	{Name: "network.persocket.ts", Cluster: 1, Item: 13, Type: pcp.Type32, Sem: pcp.SemDiscrete, From: blockSockets, Col: colTs, Help: "Whether TCP timestamps are in use: 1, else 0"},
	{Name: "network.persocket.sack", Cluster: 1, Item: 14, Type: pcp.Type32, Sem: pcp.SemDiscrete, From: blockSockets, Col: colSack, Help: "Whether selective acknowledgements are in use: 1, else 0"},
	{Name: "network.persocket.cubic", Cluster: 1, Item: 15, Type: pcp.Type32, Sem: pcp.SemDiscrete, From: blockSockets, Col: colCubic, Help: "Whether the congestion control is cubic: 1, else 0"},
	{Name: "network.persocket.ato", Cluster: 1, Item: 16, Type: pcp.TypeDouble, Sem: pcp.SemDiscrete, Units: msec, From: blockSockets, Col: colAto, Help: "Time after which a delayed acknowledgement is sent"},
	{Name: "network.persocket.mss", Cluster: 1, Item: 17, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, Units: byteUnit, From: blockSockets, Col: colMss, Help: "Largest segment that is sent"},
	{Name: "network.persocket.pmtu", Cluster: 1, Item: 18, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, Units: byteUnit, From: blockSockets, Col: colPmtu, Help: "Largest packet on the path"},
	{Name: "network.persocket.rcvmss", Cluster: 1, Item: 19, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, Units: byteUnit, From: blockSockets, Col: colRcvmss, Help: "Largest segment that is expected"},
	{Name: "network.persocket.advmss", Cluster: 1, Item: 20, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, Units: byteUnit, From: blockSockets, Col: colAdvmss, Help: "Largest segment that was offered to the other side"},
	{Name: "network.persocket.cwnd", Cluster: 1, Item: 21, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, Units: count, From: blockSockets, Col: colCwnd, Help: "Congestion window, in segments"},
	{Name: "network.persocket.ssthresh", Cluster: 1, Item: 22, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, Units: count, From: blockSockets, Col: colSsthresh, Help: "Window at which slow start ends, in segments"},
	{Name: "network.persocket.bytes_sent", Cluster: 1, Item: 23, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: byteUnit, From: blockSockets, Col: colBytesSent, Help: "Bytes sent, repetitions included"},
	{Name: "network.persocket.bytes_retrans", Cluster: 1, Item: 24, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: byteUnit, From: blockSockets, Col: colBytesRetrans, Help: "Bytes sent again"},
	{Name: "network.persocket.bytes_acked", Cluster: 1, Item: 25, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: byteUnit, From: blockSockets, Col: colBytesAcked, Help: "Bytes that were acknowledged"},
	{Name: "network.persocket.bytes_received", Cluster: 1, Item: 36, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: byteUnit, From: blockSockets, Col: colBytesReceived, Help: "Bytes received"},
	{Name: "network.persocket.segs_out", Cluster: 1, Item: 37, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: count, From: blockSockets, Col: colSegsOut, Help: "Segments sent"},
	{Name: "network.persocket.segs_in", Cluster: 1, Item: 38, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: count, From: blockSockets, Col: colSegsIn, Help: "Segments received"},
	{Name: "network.persocket.data_segs_out", Cluster: 1, Item: 39, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: count, From: blockSockets, Col: colDataSegsOut, Help: "Segments sent with data"},
	{Name: "network.persocket.data_segs_in", Cluster: 1, Item: 40, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: count, From: blockSockets, Col: colDataSegsIn, Help: "Segments received with data"},
	{Name: "network.persocket.send", Cluster: 1, Item: 41, Type: pcp.TypeDouble, Sem: pcp.SemInstant, Units: count, From: blockSockets, Col: colSend, Help: "Rate that the congestion window allows, in bits a second"},
	{Name: "network.persocket.lastsnd", Cluster: 1, Item: 42, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: msec, From: blockSockets, Col: colLastsnd, Help: "Time since data were last sent"},
	{Name: "network.persocket.lastrcv", Cluster: 1, Item: 43, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: msec, From: blockSockets, Col: colLastrcv, Help: "Time since data were last received"},
	{Name: "network.persocket.lastack", Cluster: 1, Item: 44, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: msec, From: blockSockets, Col: colLastack, Help: "Time since the last acknowledgement"},
	{Name: "network.persocket.pacing_rate", Cluster: 1, Item: 45, Type: pcp.TypeDouble, Sem: pcp.SemInstant, Units: bytePerSec, From: blockSockets, Col: colPacingRate, Help: "Rate at which segments are spread, in bits a second"},
	{Name: "network.persocket.delivery_rate", Cluster: 1, Item: 46, Type: pcp.TypeDouble, Sem: pcp.SemInstant, Units: bytePerSec, From: blockSockets, Col: colDeliveryRate, Help: "Rate of delivery last measured, in bits a second"},
	{Name: "network.persocket.delivered", Cluster: 1, Item: 47, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count, From: blockSockets, Col: colDelivered, Help: "Segments delivered, repetitions included"},
	{Name: "network.persocket.app_limited", Cluster: 1, Item: 48, Type: pcp.Type32, Sem: pcp.SemDiscrete, From: blockSockets, Col: colAppLimited, Help: "Whether the program, not the network, limits the rate: 1, else 0"},
	{Name: "network.persocket.reord_seen", Cluster: 1, Item: 49, Type: pcp.Type32, Sem: pcp.SemDiscrete, Units: count, From: blockSockets, Col: colReordSeen, Help: "Times that segments arrived in another order"},
	{Name: "network.persocket.busy", Cluster: 1, Item: 50, Type: pcp.TypeU64, Sem: pcp.SemInstant, From: blockSockets, Col: colBusy, Help: "Milliseconds in which there was something to send"},
	{Name: "network.persocket.dsack_dups", Cluster: 1, Item: 51, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: count, From: blockSockets, Col: colDsackDups, Help: "Segments that arrived twice, as the other side reported"},
	{Name: "network.persocket.rcv_rtt", Cluster: 1, Item: 52, Type: pcp.TypeDouble, Sem: pcp.SemInstant, Units: msec, From: blockSockets, Col: colRcvRtt, Help: "Round trip time as the receiver measures it"},
	{Name: "network.persocket.rcv_space", Cluster: 1, Item: 53, Type: pcp.Type32, Sem: pcp.SemDiscrete, Units: byteUnit, From: blockSockets, Col: colRcvSpace, Help: "Receive buffer that adapts itself"},
	{Name: "network.persocket.rcv_ssthresh", Cluster: 1, Item: 54, Type: pcp.Type32, Sem: pcp.SemDiscrete, Units: count, From: blockSockets, Col: colRcvSsthresh, Help: "Window that is offered at most"},
	{Name: "network.persocket.minrtt", Cluster: 1, Item: 55, Type: pcp.TypeDouble, Sem: pcp.SemDiscrete, Units: msec, From: blockSockets, Col: colMinrtt, Help: "Shortest round trip time"},
	{Name: "network.persocket.notsent", Cluster: 1, Item: 56, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: byteUnit, From: blockSockets, Col: colNotsent, Help: "Bytes that are not sent yet"},
	{Name: "network.persocket.timer.str", Cluster: 1, Item: 70, Type: pcp.TypeString, Sem: pcp.SemDiscrete, From: blockSockets, Col: colTimerStr, Help: "Timer, time left and repetitions"},
	{Name: "network.persocket.timer.name", Cluster: 1, Item: 71, Type: pcp.TypeString, Sem: pcp.SemDiscrete, From: blockSockets, Col: colTimerName, Help: "Timer that runs, such as keepalive"},
	{Name: "network.persocket.timer.expire_str", Cluster: 1, Item: 72, Type: pcp.TypeString, Sem: pcp.SemDiscrete, From: blockSockets, Col: colTimerExpireStr, Help: "Time until the timer expires, such as 59sec"},
	{Name: "network.persocket.timer.retrans", Cluster: 1, Item: 73, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, From: blockSockets, Col: colTimerRetrans, Help: "Repetitions that the timer has caused"},
	{Name: "network.persocket.skmem.str", Cluster: 1, Item: 80, Type: pcp.TypeString, Sem: pcp.SemDiscrete, From: blockSockets, Col: colSkmemStr, Help: "Memory of the socket, as ss(8) prints it"},
	{Name: "network.persocket.skmem.rmem_alloc", Cluster: 1, Item: 81, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: byteUnit, From: blockSockets, Col: colSkmemRmemAlloc, Help: "Memory of packets received"},
	{Name: "network.persocket.skmem.wmem_alloc", Cluster: 1, Item: 82, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: byteUnit, From: blockSockets, Col: colSkmemWmemAlloc, Help: "Memory of packets given to the network layer"},
	{Name: "network.persocket.skmem.rcv_buf", Cluster: 1, Item: 83, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: byteUnit, From: blockSockets, Col: colSkmemRcvBuf, Help: "Memory that packets received may take"},
	{Name: "network.persocket.skmem.snd_buf", Cluster: 1, Item: 84, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: byteUnit, From: blockSockets, Col: colSkmemSndBuf, Help: "Memory that packets to send may take"},
	{Name: "network.persocket.skmem.fwd_alloc", Cluster: 1, Item: 95, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: byteUnit, From: blockSockets, Col: colSkmemFwdAlloc, Help: "Memory kept for packets to come"},
	{Name: "network.persocket.skmem.wmem_queued", Cluster: 1, Item: 86, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: byteUnit, From: blockSockets, Col: colSkmemWmemQueued, Help: "Memory of packets to send"},
	{Name: "network.persocket.skmem.ropt_mem", Cluster: 1, Item: 87, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: byteUnit, From: blockSockets, Col: colSkmemRoptMem, Help: "Memory of options"},
	{Name: "network.persocket.skmem.back_log", Cluster: 1, Item: 88, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: byteUnit, From: blockSockets, Col: colSkmemBackLog, Help: "Memory of packets not processed yet"},
	{Name: "network.persocket.skmem.sock_drop", Cluster: 1, Item: 89, Type: pcp.TypeU32, Sem: pcp.SemInstant, From: blockSockets, Col: colSkmemSockDrop, Help: "Packets dropped before the socket got them"},
	{Name: "network.persocket.wscale.str", Cluster: 1, Item: 60, Type: pcp.TypeString, Sem: pcp.SemDiscrete, From: blockSockets, Col: colWscaleStr, Help: "Window scales, sent and received"},
	{Name: "network.persocket.wscale.snd", Cluster: 1, Item: 61, Type: pcp.Type32, Sem: pcp.SemInstant, From: blockSockets, Col: colWscaleSnd, Help: "Window scale of sent segments"},
	{Name: "network.persocket.wscale.rcv", Cluster: 1, Item: 62, Type: pcp.Type32, Sem: pcp.SemInstant, From: blockSockets, Col: colWscaleRcv, Help: "Window scale of received segments"},
	{Name: "network.persocket.round_trip.str", Cluster: 1, Item: 90, Type: pcp.TypeString, Sem: pcp.SemDiscrete, From: blockSockets, Col: colRoundTripStr, Help: "Round trip time and its deviation"},
	{Name: "network.persocket.round_trip.rtt", Cluster: 1, Item: 91, Type: pcp.TypeDouble, Sem: pcp.SemInstant, Units: msec, From: blockSockets, Col: colRoundTripRtt, Help: "Average round trip time"},
	{Name: "network.persocket.round_trip.rttvar", Cluster: 1, Item: 92, Type: pcp.TypeDouble, Sem: pcp.SemInstant, Units: msec, From: blockSockets, Col: colRoundTripRttvar, Help: "Mean deviation of the round trip time"},
}
