package trace

// A State is a set of flags that control a client (pmtracestate(3)).
type State uint32

// Flags of a State. Those that show something write to [Config.Debug].
const (
	StateNone    State = 0  // PMTRACE_STATE_NONE: synchronous, no diagnostics
	StateAPI     State = 1  // PMTRACE_STATE_API: shows calls
	StateComms   State = 2  // PMTRACE_STATE_COMMS: shows events of the connection
	StatePDU     State = 4  // PMTRACE_STATE_PDU: shows the PDUs sent and received
	StatePDUBuf  State = 8  // PMTRACE_STATE_PDUBUF: shows buffers as written to the connection
	StateNoAgent State = 16 // PMTRACE_STATE_NOAGENT: nothing is sent, there is no connection
	StateAsync   State = 32 // PMTRACE_STATE_ASYNC: calls do not wait for the agent
)
