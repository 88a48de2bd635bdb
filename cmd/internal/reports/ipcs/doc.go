// Package ipcs is pcp-ipcs: System V message queues, shared memory and semaphores, as ipcs(1) shows them, live
// or from archives.
//
//	pcp ipcs -l
package ipcs
