// Package agentadmin implements "pcp agent", which supports an agent from the first
// line of its program to its line in a pmcd.conf.
//
//	pcp agent new clock
//	pcp agent test ./pmdaclock
//	pcp agent enable --reload clock /opt/clock/pmdaclock -d 400
//	pcp agent list
//	pcp agent disable --reload clock
//	pcp agent scripts
//
// A disabled agent stays in the file as a comment, from which it can be enabled
// unchanged. For agents with Install and Remove scripts, "pcp agent scripts" creates
// the files that they source; these call "pcp agent procedure".
package agentadmin
