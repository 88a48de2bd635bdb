// Package pmcd is for programs with a collector: it is the agent with the collector's own metrics, about clients,
// agents, traffic and settings (domain 2). It uses the collector through a small interface:
//
//	a, err := pmcd.New(pmcd.Config{Collector: server})
package pmcd
