// Package proc is the agent for processes and control groups: what each of them uses, from /proc/PID
// and /sys/fs/cgroup, and how many processes there are of each state.
//
//	a := proc.New(proc.Config{})
//
// An instance is a process, and its number the process identifier. An [Agent] reads
// only those files of a process that the wanted metrics come from, only of the
// processes that a client wants, and once for all clients that ask at the same time.
// A process that ends meanwhile has no values; that is not an error.
//
// The metrics of hotproc are those of proc for processes that a predicate picks, such as
// cpuburn > 0.2.
//
// The metrics of cgroup are those of control groups, of version 1, 2 or both, whose instances are
// their paths. An Agent finds the groups in the directories of a hierarchy when they are asked for, and
// opens only those files that the wanted metrics come from. All clients may have them.
//
// What a client sees depends on who it is. A client of which the collector knows no
// user gets pcp.ErrPermission for all that is about single processes. A client of another
// user than that of the agent is answered with what the kernel shows to that user: an
// agent of root takes on the user's identity while it reads; any other agent keeps to
// itself what only the owner of a process may read.
//
// Metrics keep the PMIDs, types, units and instance names that pmdaproc(1) has given
// them.
package proc
