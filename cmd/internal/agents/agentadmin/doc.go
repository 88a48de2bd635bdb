// Package agentadmin is "pcp agent": what an agent goes through from the first
// line of its program to its line in a pmcd.conf.
//
//	pcp agent new clock
//	pcp agent test ./pmdaclock
//	pcp agent enable --reload clock /opt/clock/pmdaclock -d 400
//	pcp agent list
//	pcp agent disable --reload clock
//	pcp agent scripts
//
// An agent that is disabled stays in the file as a comment, from where it can
// be enabled as it was. For agents with Install and Remove scripts "pcp agent scripts"
// makes what these source; what they call is "pcp agent procedure".
package agentadmin
