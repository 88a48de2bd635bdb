// Package pmrep is the engine of reports: sets of metrics, as users name them at the command line of pmrep(1) or in
// files (pmrep.conf(5), package pmrep/conf), sampled together from a collector, archives or agents in the process.
// Programs that print, export or draw such samples are built on it.
//
//	cfg := conf.New(conf.PmrepKeys())
//	err := cfg.ReadFile("/etc/pcp/pmrep/vmstat.conf")
//	metrics, err := cfg.Select([]string{":vmstat", "disk.dev.read,reads,sda,,raw"}, true)
//	set, err := pmrep.New(ctx, c, metrics, pmrep.Options{Rank: 3})
//	loop := pmrep.Loop{Interval: time.Second, Live: true}
//	err = loop.Run(ctx, set, writer)
//
// [New] makes a [Set] of the metrics: names of trees become their leaves, and each [Metric] has a label, a unit, a
// width, its instances, and the type of its values. [Set.Fetch] returns a [Sample], the values after filters and
// ranking, which may be empty: counters have no rate before the second sample. A [Writer] renders samples, and
// [Loop.Run] hands it one after the other.
//
// Users set [conf.Settings] by name, in files or by options; [ParseOptions] converts them to Options. Errors of type
// [*conf.Error] are complete messages to the user, in the words of the C programs; other errors are from package
// pmapi.
//
// Values are computed, rounded and left out as in the Python module pmconfig of PCP 6, so that reports are the same.
// A Set and its samples are for one goroutine.
package pmrep
