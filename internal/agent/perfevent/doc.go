// Package perfevent is the agent for the kernel's performance counters: events of processors, of the kernel and its tracepoints, which
// perf_event_open(2) counts on each processor. The file perfevent.conf lists the events; Parse reads it.
//
//	a, err := perfevent.New(perfevent.Config{Conf: conf})
//
// Names, PMIDs, types and units are those of pmdaperfevent(1). Names of events are those of the kernel: the agent has no tables of the
// events of single processors (libpfm), and metric perfevent.refused has the reason for each event that is not counted.
package perfevent
