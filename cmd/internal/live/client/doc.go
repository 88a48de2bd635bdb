// Package client is pmclient and pmclient_fg, the small tools with which the
// Programmer's Guide shows how a client of PCP is written: the first asks for
// values and computes rates itself, the second leaves that to a fetch group.
//
//	pmclient -t 2 -s 10
package client
