// Package check examines archives: the records of every file, the labels, the
// temporal index, the metadata and the values.
//
//	c := check.Checker{Path: "/var/log/pcp/pmlogger/host/20260101"}
//	c.Found = func(f check.Finding) { fmt.Println(f.File, f.Offset, f.Text) }
//	ok := c.Run()
//
// It works in four passes as pmlogcheck(1) does, with the same findings in the
// same words. Pass 0 checks each file alone, without opening the archive: lengths
// before and after each record, and the label. Pass 1 checks the temporal index,
// pass 2 at the descriptors of metrics, pass 3 at the values, where a counter
// that goes down may have wrapped.
//
// No more than a record of each file is in memory, and some bytes for each
// instance of a counter.
package check
