// Package agent is the table of the agents that come with this software, by
// their names in pmcd.conf and on the command line. The agents themselves are the
// packages below; each describes itself in its function Builtin.
//
//	b, ok := agent.Named("linux")
//	a, err := b.Open(builtin.Env{})
package agent
