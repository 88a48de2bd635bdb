// Package rocestat implements pcp-rocestat of version 7, which reports the counters of adapters for RDMA over Ethernet, and
// of the queues of their ports, live or from archives.
//
//	pcp -h HOST rocestat -s 2
//	pcp -a archive rocestat --lane_stats
package rocestat
