// Package iostat implements pcp-iostat, also called pmiostat, which reports requests to disks like iostat(1), live or
// from archives.
//
//	pmiostat -t 10 -x t
//	pmiostat -a archive -x dm,noidle
package iostat
