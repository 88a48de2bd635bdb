// Package toptest simulates a host, for tests of pcp top: an agent with the metrics that a real host has, whose
// values depend on the time alone, and archives of it.
//
//	h := toptest.New(toptest.Start)
//	c, err := h.Context()
//
// Some of its processes have names that must not reach a terminal.
package toptest
