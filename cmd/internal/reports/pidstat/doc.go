// Package pidstat implements pcp-pidstat, which reports the resources used by processes
// like pidstat(1), live or from archives.
//
//	pcp pidstat
//	pcp -a archive pidstat -r
package pidstat
