// Package debug is the trace that -D and PCP_DEBUG switch on in the programs of
// PCP: which options there are (pmdbg(1)), how they are written, and a [Log] to
// print to what each of them asks for.
//
// A program makes one Log and passes it to the types it uses:
//
//	names, _ := debug.Parse("pdu,fetch")
//	d := pmapi.Dialer{Debug: debug.New(os.Stderr, names...)}
//
// The output has the layout of the C library, for the options that help to debug
// a source of metrics. It is meant for people; its layout is not a promise.
package debug
