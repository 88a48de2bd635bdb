// Package netstat implements pcp-netstat of version 7, which reports counters of the network protocols and a table of the
// interfaces, live or from archives.
//
//	pcp netstat -i
//	pcp -a archive netstat -p TCP -s 3
package netstat
