// Package ps implements pcp-ps, which lists the processes of a host like ps(1), live or from
// archives.
//
//	pcp ps -e
//	pcp -a archive ps -o pid,uname,%cpu,args
package ps
