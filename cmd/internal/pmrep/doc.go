// Package pmrep is the engine of reports: sets of metrics, as users name them at the command line of pmrep(1) or in files
// (pmrep.conf(5), package pmrep/conf), sampled together from a collector, archives or agents in the process. Programs
// that print, export or draw such samples stand on it.
//
//	cfg := conf.New(conf.PmrepKeys())
//	err := cfg.ReadFile("/etc/pcp/pmrep/vmstat.conf")
//	metrics, err := cfg.Select([]string{":vmstat", "disk.dev.read,reads,sda,,raw"}, true)
//	set, err := pmrep.New(ctx, c, metrics, pmrep.Options{Rank: 3})
//	loop := pmrep.Loop{Interval: time.Second, Live: true}
//	err = loop.Run(ctx, set, writer)
//
// A [Set] is what [New] makes of the metrics: names of trees become their leaves, and each [Metric] has a
// label, a unit, a width, the instances that it is to show, and the type of its values. [Set.Fetch] returns a
// [Sample], the values after filters and ranking, of which there may be none: counters have no rate before the second
// sample. A [Writer] renders samples, and [Loop.Run] hands it one after the other.
//
// What a user may set by name, in files or by options, are [conf.Settings]; [ParseOptions] makes Options of
// them. Errors of type [*conf.Error] are complete messages to the user, in the words of the C programs; others are
// those of package pmapi.
//
// Everything here computes, rounds and leaves out what the Python module pmconfig of PCP 6 does, so that
// reports are the same. A Set and its samples are for one goroutine.
package pmrep
