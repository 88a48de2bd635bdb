// Package mmvdump implements mmvdump, which prints the contents of a file of
// memory-mapped values, record by record, or the errors in it.
//
//	mmvdump /var/lib/pcp/tmp/mmv/acme
//	mmvdump --json /var/lib/pcp/tmp/mmv/acme     its metrics, not its layout
//	mmvdump --watch=500msec /var/lib/pcp/tmp/mmv/acme
//
// Without options the output is that of the C tool to the byte, oddities included: the offsets of
// instances in files of versions 2 and 3 are those that they would have in version 1, and the check
// that the strings section fits uses steps of less than a string. Where the C tool reads outside of
// the file and so crashes, this one reports that the file is bad.
package mmvdump
