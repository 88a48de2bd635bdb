package pmcd

// Debug options, as bits of Config.Debug. Others mean
// nothing to a Server.
const (
	DebugPDU    = 1 << 0  // pdu: each PDU, in hexadecimal with its meaning
	DebugIO     = 1 << 11 // appl0: clients that come and go, their requests and failures of these
	DebugAccess = 1 << 12 // appl1: the permissions of clients when they connect
	DebugConfig = 1 << 13 // appl2: agents of a configuration as they were understood
)

// Debug are the debug options in effect.
func (s control) Debug() int32 { return s.journal.debug.Load() }

// SetDebug changes them.
func (s control) SetDebug(flags int32) { s.setDebug(flags) }
