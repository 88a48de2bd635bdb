// Package columns keeps the numbers of a finished archive a second time, as columns.
//
//	err := columns.Make(ctx, "/var/log/pcp/pmlogger/www/20261124", "")
//	...
//	f, err := columns.Open("/var/log/pcp/pmlogger/www/20261124", "")
//	if err != nil {
//		return err // read the archive
//	}
//	defer f.Close()
//	m, err := f.Metric(pmid)
//
// An archive has its values record by record, so that a program that wants one metric of a day steps over all the others. The
// file of columns, .BASE.columns beside the archive, has the values of each instance of a metric together, compressed. It is
// never the truth: it can be removed at any time, and [Open] refuses it if the files of the archive have other names, sizes, times or
// labels than when it was made. Metrics of strings, aggregates and events, and those whose values in the archive are irregular
// (an instance twice in a record, another type than the descriptor has), are not in it: [Left]. [Make] refuses archives that
// are damaged or whose records are not in the order of time.
//
// # Format
//
// All numbers are unsigned varints as in encoding/binary, unless noted; signed ones are zigzag varints. Checksums are CRC-32C, 4 bytes,
// little-endian.
//
//	file     "PCPCOL1\n" block… index footer
//	footer   offset of the index (8 bytes, little-endian), its length (8), its checksum, "PCPCOLE\n"
//	index    identity of the archive (length and text: a line for each file with name, size, modification
//	         time in nanoseconds, and checksum of the first 1,024 bytes)
//	         times: number, unit in nanoseconds, length of block, checksum
//	         marks: number, differences of their records
//	         sequences: number; each: number of runs; each run: records between, records
//	         presences: number; each: number of runs; each run: samples between, samples
//	         metrics: number; each: difference of PMID, type (0 if left to the archive); unless left: number of the
//	         sequence, number of status runs (samples between, samples, signed status), length of block, checksum
//
// Blocks follow each other in the order of the index, the first after the magic text. The block of times is chunks with the time of each record
// in units. The block of a metric has the number of its columns, then for each: difference of instance (signed), number of the
// presence plus 1 (0 if the instance is in all samples of the metric that have values), length of chunks; and then the chunks of all columns.
//
// A sequence is the records with a metric, and is shared by the metrics of the same group of the recorder. A presence is the samples of a
// sequence with an instance, and is shared by the metrics of the same instance domain.
//
//	chunk    number of values, coding, scale, length of what follows, contents
//
// The scale is 0 for integers and for bits, else 1 more than the number of decimals of floating-point numbers: the value is an integer divided by that power of 10.
// The low 4 bits of the coding are a layout, the high 4 bits the order: 0 for the values, 1 for their differences, 2 for differences of
// differences, 3 for bits that differ from those of the value before, in reverse. Order values (1 with order 3) precede as signed
// numbers, then in layout
//
//	0        nothing: all others are 0
//	1        for each 128 of them: the smallest (signed), a width, and their distance to it in width bits, the lowest bits first
//	2        each as a signed number (unsigned with order 3)
//	3        the same as in 2, compressed by Zstandard
package columns
