// Package pmcd is the agent with the collector's own metrics: its clients,
// agents, traffic and settings (domain 2). It sees the collector through a
// small interface:
//
//	a, err := pmcd.New(pmcd.Config{Collector: server})
package pmcd
