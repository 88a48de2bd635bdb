// Package denki is the agent for electrical energy: what processors used since they were
// started, by RAPL (running average power limit), and what batteries have left.
//
//	a := denki.New(denki.Config{})
//
// Counters of the hardware start at 0 again after some minutes or hours. An [Agent] continues
// them, if they are read often enough. Only root can read the files of RAPL; for others the
// metrics have no values.
//
// The energy of single processes and containers cannot be measured. The agent estimates it from
// their share of the time of all processors.
//
// Names and numbers of metrics are those of pmdadenki(1) of PCP 7; those in clusters from 1000
// on are not there.
package denki
