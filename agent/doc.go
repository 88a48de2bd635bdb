// Package agent is the table of the agents that come with this software, by
// the names that pmcd.conf and the command line know them by. The agents
// themselves are the packages below; each describes itself in its function
// Builtin.
//
//	b, ok := agent.Named("linux")
//	a, err := b.Open(builtin.Env{})
package agent
