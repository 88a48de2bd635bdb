// Package ipcs implements pcp-ipcs, which reports System V message queues, shared memory and semaphores like
// ipcs(1), live or from archives.
//
//	pcp ipcs -l
package ipcs
