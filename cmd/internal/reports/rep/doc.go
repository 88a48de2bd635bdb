// Package rep is pmrep: reports of any metrics, as columns, CSV or archives, live or from archives. It is pcp2csv too.
//
//	pmrep :vmstat
//	pmrep -a archive -t 1min -o csv disk.dev.read
package rep
