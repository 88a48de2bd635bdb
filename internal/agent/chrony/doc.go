// Package chrony is the agent for chronyd: what chronyc(1) reports about the clock and its sources.
//
//	a, err := chrony.New(chrony.Config{})
//
// Names and numbers of metrics are those of pmdachrony(1). CHRONYC names another program than chronyc.
package chrony
