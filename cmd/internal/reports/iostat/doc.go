// Package iostat is pcp-iostat, also called pmiostat: requests to disks, as iostat(1) shows them, live or from archives.
//
//	pmiostat -t 10 -x t
//	pmiostat -a archive -x dm,noidle
package iostat
