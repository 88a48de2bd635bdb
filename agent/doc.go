// Package agent is for programs that run the agents of this software, such as a collector: it is the table of agents
// by their names in pmcd.conf and on the command line.
//
//	b, ok := agent.Named("linux")
//	a, err := b.Open(builtin.Env{})
package agent
