// Package pcp is for all programs that use Performance Co-Pilot: it is the vocabulary of metric identifiers,
// descriptors, units, values, results, labels and error codes, with their conversion, scaling and printing. It does
// no I/O; the other packages of the module use its types.
//
//	u, mult, err := pcp.ParseUnits("10 Mbyte / sec")
//	id := pcp.NewPMID(60, 0, 20)   // prints as 60.0.20
//	fmt.Println(id, u, mult, err)
//
// Names follow the C headers in Go's spelling: pmID is [PMID], PM_TYPE_U64 is
// [TypeU64], PM_ERR_PMID is [ErrPMID]. Each constant cites its C name.
//
// # Memory
//
// Values of variable length ([Value.Bytes]) and the sets of a [Result] that a
// decoder filled may point into the decoder's buffer. If a function documents
// "valid until the next call", use [Result.Clone] to keep them.
package pcp
