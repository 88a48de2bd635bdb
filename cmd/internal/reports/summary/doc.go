// Package summary is pcp-summary: it says in a few lines what a collector or an
// archive is of, and which agents, pmlogger and pmie processes there are.
//
//	pcp summary
//	pcp -a archive
package summary
