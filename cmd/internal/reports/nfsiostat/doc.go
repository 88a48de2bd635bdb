// Package nfsiostat implements pcp-nfsiostat of version 7, which reports reads and writes of NFS mounts, live or
// from archives.
//
//	pcp nfsiostat -t 5 -s 3
//	pcp -a archive nfsiostat -S @10:00
package nfsiostat
