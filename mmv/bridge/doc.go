// Package bridge publishes what other libraries count as memory-mapped values.
//
// The packages below it do so for what most Go programs already have, by one
// line each:
//
//	defer runtimemmv.Export(reg, runtimemmv.Options{Prefix: "go"}).Stop()
//	defer prommmv.Export(reg, prometheus.DefaultGatherer, prommmv.Options{}).Stop()
//	defer sqlmmv.Export(reg, db, sqlmmv.Options{Prefix: "db"}).Stop()
//
// This package is what they share, for those who write another one: a Sink
// gives foreign metrics names, units and instances of PCP, and an Exporter
// brings it up to date from time to time.
//
//	bridge.Start(reg, bridge.Options{Prefix: "cache"}, func(s *bridge.Sink) error {
//		s.Metric("hits", hits).SetInt(cache.Hits())
//		return nil
//	})
//
// # Names
//
// A name of PCP consists of letters, digits and underscores, with dots between
// components that start with a letter. What else a foreign name has becomes an
// underscore, and a component that starts otherwise gets an x in front. Names that
// become the same are told apart by _2, _3 and so on in the order in which they are
// first seen. A metric can not be a group of metrics as well: beside a metric
// cache the name cache.size becomes cache_size, and beside cache.size the
// metric becomes cache_2. A name longer than 200 bytes is cut and ends in a hash of the whole.
//
// # Instances
//
// The labels of a foreign metric make the name of an instance,
// "code=200,method=GET", and are labels of the instance as well, for as long as
// the file has room for them: the format ends at 255 labels. A metric has
// at most Options.MaxInstances instances; what comes after is left out, and
// [Exporter.Err] says so.
//
// A file of memory-mapped values cannot drop an instance. When a library no longer
// reports one, a float value becomes NaN, which in a registry with
// mmv.Options.Sentinel means that there is no value. A whole number stays as it
// was.
package bridge
