// Package ps is pcp-ps: the processes of a host, as ps(1) lists them, live or from archives.
//
//	pcp ps -e
//	pcp -a archive ps -o pid,uname,%cpu,args
package ps
