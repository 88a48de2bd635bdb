// Package netstat is pcp-netstat of version 7: what the protocols of the network count, and a table of the interfaces, live
// or from archives.
//
//	pcp netstat -i
//	pcp -a archive netstat -p TCP -s 3
package netstat
