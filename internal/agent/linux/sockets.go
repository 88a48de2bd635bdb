package linux

import (
	"cmp"
	"errors"
	"io/fs"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of socketMetrics.
const (
	blockTCP = iota
	blockTCP6
	blockUDP
	blockUDP6
	blockRaw
	blockRaw6
	blockUnix
)

// numTCPStates is one more than the largest number of a state of a TCP
// connection (TCP_MAX_STATES of the kernel's tcp_states.h); columns of
// blockTCP and blockTCP6 are states.
const numTCPStates = 12

// Columns of blockUDP and blockUDP6.
const (
	udpEstablished = iota
	udpListen
	numUDP
)

// Columns of blockUnix.
const (
	unixDatagrams = iota
	unixEstablished
	unixListen
	unixStreams
	numUnix
)

// socketFamily reads files of /proc/net that have a line for each socket. They can be
// long, and are only read on request.
func socketFamily(h *host) column.Family {
	b := column.NewBlocks(socketMetrics, []column.Layout{
		blockTCP:  {Cols: numTCPStates},
		blockTCP6: {Cols: numTCPStates},
		blockUDP:  {Cols: numUDP},
		blockUDP6: {Cols: numUDP},
		blockRaw:  {Cols: 1},
		blockRaw6: {Cols: 1},
		blockUnix: {Cols: numUnix},
	}...)
	file := func(name string, block int, count func(b []byte, out *column.Block)) oneFile {
		return oneFile{h.file("proc/net/" + name), func(text []byte) { count(text, b[block]) }, b[block]}
	}
	one := func(name string, block int, count func(b []byte, out *column.Block)) *column.Source {
		f := file(name, block, count)
		return &column.Source{Name: "/proc/net/" + name, File: f.file, Parse: f.parse, Blocks: b[block : block+1], Scope: scopeNet}
	}
	return column.Family{Name: "sockets", Metrics: socketMetrics, Sources: []*column.Source{
		one("tcp", blockTCP, countTCP),
		one("tcp6", blockTCP6, countTCP),
		{
			Name: "/proc/net/udp", Blocks: b[blockUDP:blockRaw], Scope: scopeNet,
			Read: bothFiles(file("udp", blockUDP, countUDP), file("udp6", blockUDP6, countUDP)),
		},
		{
			Name: "/proc/net/raw", Blocks: b[blockRaw:blockUnix], Scope: scopeNet,
			Read: bothFiles(file("raw", blockRaw, countRaw), file("raw6", blockRaw6, countRaw)),
		},
		one("unix", blockUnix, countUnix),
	}}
}

// A oneFile is a file, the parser of it, and the block that this fills.
type oneFile struct {
	file  *procfs.File
	parse func(b []byte)
	out   *column.Block
}

func (f oneFile) read() error {
	b, err := f.file.Read()
	if err != nil {
		f.out.Clear()
		return err
	}
	f.parse(b)
	return nil
}

// bothFiles reads a source of two files of which the second may be missing, as
// those of IPv6 are if it is disabled. An error of the first file clears the
// blocks of both.
func bothFiles(first, second oneFile) func() error {
	return func() error {
		err, err2 := first.read(), second.read()
		if errors.Is(err2, fs.ErrNotExist) {
			err2 = nil
		}
		return cmp.Or(err, err2)
	}
}

// eachState calls fn with the fourth field of each line after the header, a
// hexadecimal number.
func eachState(b []byte, fn func(state uint64)) {
	for line := range procfs.Lines(b) {
		for range 3 {
			_, line = procfs.Field(line)
		}
		if v, _, ok := procfs.Hex(line); ok {
			fn(v)
		}
	}
}

func countTCP(b []byte, out *column.Block) {
	out.Zero()
	eachState(b, func(state uint64) {
		if state < numTCPStates {
			out.Row(0)[state].Bits++
		}
	})
}

func countUDP(b []byte, out *column.Block) {
	out.Zero()
	eachState(b, func(state uint64) {
		switch state {
		case 0x01: // TCP_ESTABLISHED: it is connected
			out.Row(0)[udpEstablished].Bits++
		case 0x07: // TCP_CLOSE: it is not
			out.Row(0)[udpListen].Bits++
		}
	})
}

func countRaw(b []byte, out *column.Block) {
	out.Zero()
	eachState(b, func(uint64) { out.Row(0)[0].Bits++ })
}

// countUnix reads lines "ffff888: 00000002 00000000 00010000 0001 01 1234 path",
// with the type of the socket in the fifth field and its state in the sixth.
func countUnix(b []byte, out *column.Block) {
	out.Zero()
	for line := range procfs.Lines(b) {
		for range 4 {
			_, line = procfs.Field(line)
		}
		typ, line, ok1 := procfs.Hex(line)
		state, _, ok2 := procfs.Hex(line)
		switch {
		case !ok1 || !ok2:
		case typ == 2: // SOCK_DGRAM
			out.Row(0)[unixDatagrams].Bits++
		case typ == 1: // SOCK_STREAM
			out.Row(0)[unixStreams].Bits++
			switch state {
			case 1: // SS_UNCONNECTED
				out.Row(0)[unixListen].Bits++
			case 3: // SS_CONNECTED
				out.Row(0)[unixEstablished].Bits++
			}
		}
	}
}

// socketMetrics are the metrics of sockets.
var socketMetrics = []column.Metric{
	{Name: "network.udpconn.established", Cluster: 79, Item: 1, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockUDP, Col: udpEstablished, Help: "UDP sockets over IPv4 that are connected"},
	{Name: "network.udpconn.listen", Cluster: 79, Item: 2, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockUDP, Col: udpListen, Help: "UDP sockets over IPv4 that are not connected"},
	{Name: "network.rawconn.count", Cluster: 77, Item: 1, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockRaw, Help: "Raw sockets over IPv4"},
	{Name: "network.tcpconn.established", Cluster: 19, Item: 1, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP, Col: 1, Help: "TCP connections over IPv4 in the state ESTABLISHED"},
	{Name: "network.tcpconn.syn_sent", Cluster: 19, Item: 2, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP, Col: 2, Help: "TCP connections over IPv4 in the state SYN_SENT"},
	{Name: "network.tcpconn.syn_recv", Cluster: 19, Item: 3, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP, Col: 3, Help: "TCP connections over IPv4 in the state SYN_RECV"},
	{Name: "network.tcpconn.fin_wait1", Cluster: 19, Item: 4, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP, Col: 4, Help: "TCP connections over IPv4 in the state FIN_WAIT1"},
	{Name: "network.tcpconn.fin_wait2", Cluster: 19, Item: 5, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP, Col: 5, Help: "TCP connections over IPv4 in the state FIN_WAIT2"},
	{Name: "network.tcpconn.time_wait", Cluster: 19, Item: 6, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP, Col: 6, Help: "TCP connections over IPv4 in the state TIME_WAIT"},
	{Name: "network.tcpconn.close", Cluster: 19, Item: 7, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP, Col: 7, Help: "TCP connections over IPv4 in the state CLOSE"},
	{Name: "network.tcpconn.close_wait", Cluster: 19, Item: 8, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP, Col: 8, Help: "TCP connections over IPv4 in the state CLOSE_WAIT"},
	{Name: "network.tcpconn.last_ack", Cluster: 19, Item: 9, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP, Col: 9, Help: "TCP connections over IPv4 in the state LAST_ACK"},
	{Name: "network.tcpconn.listen", Cluster: 19, Item: 10, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP, Col: 10, Help: "TCP connections over IPv4 in the state LISTEN"},
	{Name: "network.tcpconn.closing", Cluster: 19, Item: 11, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP, Col: 11, Help: "TCP connections over IPv4 in the state CLOSING"},
	{Name: "network.unix.datagram.count", Cluster: 81, Item: 1, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockUnix, Col: unixDatagrams, Help: "Unix datagram sockets"},
	{Name: "network.unix.stream.established", Cluster: 81, Item: 2, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockUnix, Col: unixEstablished, Help: "Unix stream sockets that are connected"},
	{Name: "network.unix.stream.listen", Cluster: 81, Item: 3, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockUnix, Col: unixListen, Help: "Unix stream sockets that are not connected"},
	{Name: "network.unix.stream.count", Cluster: 81, Item: 4, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockUnix, Col: unixStreams, Help: "Unix stream sockets"},
	{Name: "network.udpconn6.established", Cluster: 80, Item: 1, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockUDP6, Col: udpEstablished, Help: "UDP sockets over IPv6 that are connected"},
	{Name: "network.udpconn6.listen", Cluster: 80, Item: 2, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockUDP6, Col: udpListen, Help: "UDP sockets over IPv6 that are not connected"},
	{Name: "network.rawconn6.count", Cluster: 78, Item: 1, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockRaw6, Help: "Raw sockets over IPv6"},
	{Name: "network.tcpconn6.established", Cluster: 76, Item: 1, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP6, Col: 1, Help: "TCP connections over IPv6 in the state ESTABLISHED"},
	{Name: "network.tcpconn6.syn_sent", Cluster: 76, Item: 2, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP6, Col: 2, Help: "TCP connections over IPv6 in the state SYN_SENT"},
	{Name: "network.tcpconn6.syn_recv", Cluster: 76, Item: 3, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP6, Col: 3, Help: "TCP connections over IPv6 in the state SYN_RECV"},
	{Name: "network.tcpconn6.fin_wait1", Cluster: 76, Item: 4, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP6, Col: 4, Help: "TCP connections over IPv6 in the state FIN_WAIT1"},
	{Name: "network.tcpconn6.fin_wait2", Cluster: 76, Item: 5, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP6, Col: 5, Help: "TCP connections over IPv6 in the state FIN_WAIT2"},
	{Name: "network.tcpconn6.time_wait", Cluster: 76, Item: 6, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP6, Col: 6, Help: "TCP connections over IPv6 in the state TIME_WAIT"},
	{Name: "network.tcpconn6.close", Cluster: 76, Item: 7, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP6, Col: 7, Help: "TCP connections over IPv6 in the state CLOSE"},
	{Name: "network.tcpconn6.close_wait", Cluster: 76, Item: 8, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP6, Col: 8, Help: "TCP connections over IPv6 in the state CLOSE_WAIT"},
	{Name: "network.tcpconn6.last_ack", Cluster: 76, Item: 9, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP6, Col: 9, Help: "TCP connections over IPv6 in the state LAST_ACK"},
	{Name: "network.tcpconn6.listen", Cluster: 76, Item: 10, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP6, Col: 10, Help: "TCP connections over IPv6 in the state LISTEN"},
	{Name: "network.tcpconn6.closing", Cluster: 76, Item: 11, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockTCP6, Col: 11, Help: "TCP connections over IPv6 in the state CLOSING"},
}
