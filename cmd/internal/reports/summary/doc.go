// Package summary implements pcp-summary, which summarizes a collector or an archive:
// the host, and its agents, pmlogger and pmie processes.
//
//	pcp summary
//	pcp -a archive
package summary
