// Package dbg is pmdbg: it explains the debug options that -D of all tools takes.
//
//	pmdbg -l
//	pmdbg -D pdu,fetch
package dbg
