// Package agent is the table of the agents that come with this software, by
// the names that pmcd.conf and the command line know them by. The agents
// themselves are the packages below.
//
//	b, ok := agent.Named("linux")
//	a, err := b.Open(agent.Env{})
package agent
