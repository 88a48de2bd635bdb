// Package proc is the agent for processes and control groups. It serves the resources that each of
// them uses, from /proc/PID and /sys/fs/cgroup, and the number of processes in each state.
//
//	a := proc.New(proc.Config{})
//
// An instance is a process, and its number the process identifier. An [Agent] reads
// only the files of the wanted metrics, only of the processes that a client wants,
// and once for all clients that ask at the same time. A process that ends meanwhile
// has no values; that is not an error.
//
// The metrics of hotproc are those of proc for processes that a predicate picks, such as
// cpuburn > 0.2.
//
// The metrics of cgroup are those of control groups, of version 1, 2 or both, whose instances are
// their paths. An Agent finds the groups in the directories of a hierarchy on request, and opens only
// the files of the wanted metrics. All clients may read them.
//
// The values that a client sees depend on its user. A client whose user the collector
// does not know gets pcp.ErrPermission for all metrics of single processes. A client of
// another user than the agent's gets the values that the kernel shows to that user: an
// agent of root takes on the user's identity while it reads; any other agent withholds
// values that only the owner of a process may read.
//
// Metrics keep the PMIDs, types, units and instance names that pmdaproc(1) has given
// them.
package proc
