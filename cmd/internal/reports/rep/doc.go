// Package rep implements pmrep and pcp2csv, which report any metrics as columns, CSV or archives, live or from
// archives.
//
//	pmrep :vmstat
//	pmrep -a archive -t 1min -o csv disk.dev.read
package rep
