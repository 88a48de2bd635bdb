// Package pmimport is the agent for programs that write archives of imported data, such as pcp import and sadc: their
// archives, versions and arguments (domain 43).
//
//	a, err := pmimport.New(pmimport.Config{Dir: "/run/pmimport"})
//
// Names and numbers of metrics are those of PCP 7. The programs describe themselves in files, see package importrun.
package pmimport
