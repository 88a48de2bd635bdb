// Package ss is pcp-ss: the sockets of a host, as ss(8) lists them, live or from archives.
//
//	pcp ss -t -a
//	pcp -a archive -S @14:00 ss -tm
package ss
