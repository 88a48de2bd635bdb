// Package doctor is pcp doctor, which looks for faults of an installation: of collectors, agents, recorders,
// rules, receivers and the files of all of them.
//
//	pcp doctor
//
// The checks are in the table checks, and the faults that they find in the table faults, which docs/doctor.md
// explains. A check is a function of a [site]: the paths, environment, collector and clock of an installation.
package doctor
