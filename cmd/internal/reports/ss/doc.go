// Package ss implements pcp-ss, which lists the sockets of a host like ss(8), live or from
// archives.
//
//	pcp ss -t -a
//	pcp -a archive -S @14:00 ss -tm
package ss
