package rocestat

// below is the prefix of the counters of adapters.
const below = "rocestat.hw."

// counters are the counters of an adapter, with their groups, in the order of the
// report.
var counters = []string{
	"link.link_error_recovery", "link.link_downed", "link.local_link_integrity_errors", "rnr.rnr_nak_retry_err",
	"resp.resp_local_length_error", "resp.resp_cqe_error", "resp.resp_cqe_flush_error",
	"resp.resp_remote_access_errors", "req.req_remote_invalid_request", "req.req_cqe_error", "req.req_cqe_flush_error",
	"req.duplicate_request", "req.rx_read_requests", "req.rx_atomic_requests", "req.req_remote_access_errors",
	"req.rx_write_requests", "mcast.multicast_rcv_packets", "mcast.multicast_xmit_packets", "ucast.unicast_rcv_packets",
	"ucast.unicast_xmit_packets", "rcv.port_rcv_errors", "rcv.port_rcv_remote_physical_errors", "rcv.port_rcv_packets",
	"rcv.port_rcv_data", "rcv.port_rcv_constraint_errors", "rcv.port_rcv_switch_relay_errors", "xmit.port_xmit_data",
	"xmit.port_xmit_constraint_errors", "xmit.port_xmit_wait", "xmit.port_xmit_packets", "xmit.port_xmit_discards",
	"roce_slow_restart_trans", "roce_slow_restart_cnps", "roce_slow_restart", "roce_adp_retrans_to", "clear_counters",
	"local_ack_timeout_err", "lifespan", "implied_nak_seq_err", "packet_seq_err", "roce_adp_retrans", "out_of_buffer",
	"out_of_sequence", "VL15_dropped", "excessive_buffer_overrun_errors", "symbol_error", "rp_cnp_handled",
	"rp_cnp_ignored", "np_cnp_sent", "np_ecn_marked_roce_packets",
}
