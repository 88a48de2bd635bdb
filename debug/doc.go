// Package debug is for programs that trace their use of PCP, like -D and PCP_DEBUG in its tools. It has the options
// (pmdbg(1)), parses them, and provides a [Log] to print to for each of them.
//
// A program makes one Log and passes it to the types it uses:
//
//	names, _ := debug.Parse("pdu,fetch")
//	d := pmapi.Dialer{Debug: debug.New(os.Stderr, names...)}
//
// The output has the layout of the C library, for the options that help to debug
// a source of metrics. It is meant for people; its layout may change.
package debug
