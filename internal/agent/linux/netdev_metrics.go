package linux

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// netMetrics are the metrics of network interfaces.
var netMetrics = []column.Metric{
	{Name: "network.interface.collisions", Cluster: 3, Item: 13, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: 13, Help: "Collisions, of each interface"},
	{Name: "network.interface.mtu", Cluster: 3, Item: 21, Type: pcp.TypeU32, Sem: instant, Units: byteUnit, From: blockNetMTU, Help: "Largest packet, of each interface"},
	{Name: "network.interface.speed", Cluster: 3, Item: 22, Type: pcp.TypeFloat, Sem: discrete, Units: mbytePerSec, From: blockNetSpeed, Col: speedMB, Help: "Speed of the link, of each interface"},
	{Name: "network.interface.baudrate", Cluster: 3, Item: 23, Type: pcp.TypeU64, Sem: discrete, Units: bytePerSec, From: blockNetSpeed, Col: speedBytes, Help: "Speed of the link in bytes a second, of each interface"},
	{Name: "network.interface.duplex", Cluster: 3, Item: 24, Type: pcp.TypeU32, Sem: discrete, From: blockNetDuplex, Help: "1 for half duplex, 2 for full duplex, of each interface"},
	{Name: "network.interface.up", Cluster: 3, Item: 25, Type: pcp.TypeU32, Sem: instant, From: blockNetFlags, Col: flagUp, Help: "1 if the interface was brought up, of each interface"},
	{Name: "network.interface.running", Cluster: 3, Item: 26, Type: pcp.TypeU32, Sem: instant, From: blockNetFlags, Col: flagRunning, Help: "1 if the link works, of each interface"},
	{Name: "network.interface.wireless", Cluster: 3, Item: 28, Type: pcp.TypeU32, Sem: discrete, From: blockNetWireless, Help: "1 if the interface is wireless, of each interface"},
	{Name: "network.interface.type", Cluster: 3, Item: 29, Type: pcp.TypeU32, Sem: discrete, From: blockNetType, Help: "Kind of hardware, an ARPHRD number, of each interface"},
	{Name: "network.interface.virtual", Cluster: 3, Item: 30, Type: pcp.TypeU32, Sem: discrete, From: blockNetVirtual, Help: "1 if no hardware is behind the interface, of each interface"},
	{Name: "network.interface.in.bytes", Cluster: 3, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: blockNet, Help: "Bytes received, of each interface"},
	{Name: "network.interface.in.packets", Cluster: 3, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: 1, Help: "Packets received, of each interface"},
	{Name: "network.interface.in.errors", Cluster: 3, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: 2, Help: "Packets with errors, received, of each interface"},
	{Name: "network.interface.in.drops", Cluster: 3, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: 3, Help: "Packets dropped that were to be received, of each interface"},
	{Name: "network.interface.in.fifo", Cluster: 3, Item: 4, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: 4, Help: "Overruns of the buffer of packets received, of each interface"},
	{Name: "network.interface.in.frame", Cluster: 3, Item: 5, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: 5, Help: "Framing errors in packets received, of each interface"},
	{Name: "network.interface.in.compressed", Cluster: 3, Item: 6, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: 6, Help: "Compressed packets received, of each interface"},
	{Name: "network.interface.in.mcasts", Cluster: 3, Item: 7, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: 7, Help: "Multicast packets received, of each interface"},
	{Name: "network.interface.out.bytes", Cluster: 3, Item: 8, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: blockNet, Col: 8, Help: "Bytes sent, of each interface"},
	{Name: "network.interface.out.packets", Cluster: 3, Item: 9, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: 9, Help: "Packets sent, of each interface"},
	{Name: "network.interface.out.errors", Cluster: 3, Item: 10, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: 10, Help: "Packets with errors, sent, of each interface"},
	{Name: "network.interface.out.drops", Cluster: 3, Item: 11, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: 11, Help: "Packets dropped that were to be sent, of each interface"},
	{Name: "network.interface.out.fifo", Cluster: 3, Item: 12, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: 12, Help: "Overruns of the buffer of packets sent, of each interface"},
	{Name: "network.interface.out.carrier", Cluster: 3, Item: 14, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: 14, Help: "Losses of the carrier while packets were sent, of each interface"},
	{Name: "network.interface.out.compressed", Cluster: 3, Item: 15, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: 15, Help: "Compressed packets sent, of each interface"},
	{Name: "network.interface.total.bytes", Cluster: 3, Item: 16, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: blockNet, Col: netBytes, Help: "Bytes received and sent, of each interface"},
	{Name: "network.interface.total.packets", Cluster: 3, Item: 17, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: netPackets, Help: "Packets received and sent, of each interface"},
	{Name: "network.interface.total.errors", Cluster: 3, Item: 18, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: netErrors, Help: "Packets with errors, received and sent, of each interface"},
	{Name: "network.interface.total.drops", Cluster: 3, Item: 19, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: netDrops, Help: "Packets dropped that were to be received and sent, of each interface"},
	{Name: "network.interface.total.mcasts", Cluster: 3, Item: 20, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNet, Col: netMulticast, Help: "Multicast packets received, of each interface; those sent are not counted"},
	{Name: "network.all.in.bytes", Cluster: 90, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: blockNetAll, Col: allRxBytes, Help: "Bytes received on all physical interfaces"},
	{Name: "network.all.in.packets", Cluster: 90, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNetAll, Col: allRxPackets, Help: "Packets received on all physical interfaces"},
	{Name: "network.all.in.errors", Cluster: 90, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNetAll, Col: allRxErrors, Help: "Packets with errors received on all physical interfaces"},
	{Name: "network.all.in.drops", Cluster: 90, Item: 3, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNetAll, Col: allRxDrops, Help: "Packets dropped received on all physical interfaces"},
	{Name: "network.all.out.bytes", Cluster: 90, Item: 4, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: blockNetAll, Col: allTxBytes, Help: "Bytes sent on all physical interfaces"},
	{Name: "network.all.out.packets", Cluster: 90, Item: 5, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNetAll, Col: allTxPackets, Help: "Packets sent on all physical interfaces"},
	{Name: "network.all.out.errors", Cluster: 90, Item: 6, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNetAll, Col: allTxErrors, Help: "Packets with errors sent on all physical interfaces"},
	{Name: "network.all.out.drops", Cluster: 90, Item: 7, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNetAll, Col: allTxDrops, Help: "Packets dropped sent on all physical interfaces"},
	{Name: "network.all.total.bytes", Cluster: 90, Item: 8, Type: pcp.TypeU64, Sem: counter, Units: byteUnit, From: blockNetAll, Col: allBytes, Help: "Bytes received and sent on all physical interfaces"},
	{Name: "network.all.total.packets", Cluster: 90, Item: 9, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNetAll, Col: allPackets, Help: "Packets received and sent on all physical interfaces"},
	{Name: "network.all.total.errors", Cluster: 90, Item: 10, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNetAll, Col: allErrors, Help: "Packets with errors received and sent on all physical interfaces"},
	{Name: "network.all.total.drops", Cluster: 90, Item: 11, Type: pcp.TypeU64, Sem: counter, Units: count, From: blockNetAll, Col: allDrops, Help: "Packets dropped received and sent on all physical interfaces"},
	{Name: "hinv.ninterface", Cluster: 3, Item: 27, Type: pcp.TypeU32, Sem: discrete, From: blockNetCount, Help: "Network interfaces"},
}
