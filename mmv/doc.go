// Package mmv is for programs that publish their own metrics: the program counts with atomic stores into a mapped
// file, and PCP's collector reads the file when a client requests values. No calls, no scrapes, no copies.
//
//	reg, err := mmv.New("shop", mmv.Options{})
//	if err != nil { ... }
//	defer reg.Close()
//	orders := reg.Counter(mmv.Metric{Name: "orders", OneLine: "Orders taken"})
//	sold := reg.CounterVec(mmv.Metric{Name: "sold"})
//	orders.Inc()
//	sold.With("Anvils").Add(3)
//
// and then, on the same machine, pminfo -f mmv.shop.
//
// # Costs
//
// An update is one atomic operation and allocates nothing. A look-up by
// instance name ([Vec.With]) takes no lock once the instance exists. A count by a
// single goroutine costs a plain store ([Counter.Own]).
//
// # Files that grow, and fixed files
//
// The file appears when New returns, and each metric and instance when it is
// defined. No value ever moves; while something is added, for the time of a few
// stores, the file asks readers to retry. Such a file has holes where it can
// grow: see [Options.MaxValues]. It is of version 2, with labels of version 3.
//
// A file of [Options.Fixed] is written once, by [Registry.Start], and is byte
// for byte the file that libpcp_mmv makes of the same definitions: of version 1
// unless a name has more than 63 bytes or there are labels.
//
// # The end of the program
//
// Close removes the file; handles still work but have no effect. A program that is
// killed leaves the file behind, but marked with its process number: the agent drops
// the metrics when the process has gone. With [Options.Persist] they stay.
//
// With [Options.Continue] a program that starts again continues from the values in
// the file: counters, timers and closed sections of elapsed time are added to,
// gauges and texts keep their values until they are set. Metrics are found by their
// name and type, instances by their name; the rest of the program may have changed.
// The earlier run need not have closed the file: whenever a program is killed, all
// its counts are in the file, and a reader finds it complete or in flux. If the
// machine itself goes down, the loss depends on the file system, as nothing is ever
// synced.
//
// The mapping is shared memory: counts of a child made by fork(2) without exec(2)
// are counted here too. Go programs do not do that; the file's descriptor is
// closed on exec.
//
// # Changes of the file by others
//
// A file that is removed, or replaced by one of the same name, does no harm: the
// program keeps counting in memory that no agent sees, and [Registry.Err] reports it.
// A file that is cut short (truncate(2), or ">" in a shell) ends the program: the
// kernel sends SIGBUS for a store behind the end of a mapped file, which the Go
// runtime cannot turn into an error at a cost that a counter could bear. So let no
// other user write to the file: it has mode 0644, and only its owner and root can cut
// it. Do not give it to a group, do not run programs that do not trust each other as
// one user, and remove files of the folder instead of emptying them. A full file
// system does not end the program: space is allocated before it is used.
//
// # Coming from C
//
// mmv_stats_registry, mmv_stats_init and mmv_stats2_init are [New],
// mmv_stats_add_metric, _indom and _instance are the Registry's definitions,
// [Registry.InDom] and [InDom.AddInstance], the labels of each level are a
// field of its definition or AddLabel, mmv_stats_start is [Registry.Start],
// mmv_stats_stop and mmv_stats_free are [Registry.Close]; mmv_stats_reset is Close and
// New. mmv_lookup_value_desc and the other functions that find values by name are
// [Registry.Lookup], and the functions that change a value of any type are methods of
// [Value].
//
// Some definitions that C does not check are refused here, so that the agent does
// not have to drop them: names that are not valid in the name space, two metrics of
// one item, instances without a name.
package mmv
