// Package infiniband is the agent for adapters and ports of InfiniBand and RDMA over Ethernet: state, traffic, errors, and messages of the
// connection manager, of the files in /sys/class/infiniband.
//
//	a, err := infiniband.New(infiniband.Config{})
//
// It sends no management datagrams: metrics of switches, and others that are only to be had that way, answer that they are not supported.
// Counters have 64 bits and wrap as those of the driver. Names, PMIDs, types and units are those of pmdaib(1).
package infiniband
