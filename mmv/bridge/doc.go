// Package bridge is for programs that publish the metrics of other libraries as memory-mapped values, and for authors
// of further bridges.
//
// The packages below it publish metrics that most Go programs already have, with
// one line each:
//
//	defer runtimemmv.Export(reg, runtimemmv.Options{Prefix: "go"}).Stop()
//	defer prommmv.Export(reg, prometheus.DefaultGatherer, prommmv.Options{}).Stop()
//	defer sqlmmv.Export(reg, db, sqlmmv.Options{Prefix: "db"}).Stop()
//
// This package is their common part: a Sink gives foreign metrics names, units and instances of PCP, and an Exporter
// updates it from time to time.
//
//	bridge.Start(reg, bridge.Options{Prefix: "cache"}, func(s *bridge.Sink) error {
//		s.Metric("hits", hits).SetInt(cache.Hits())
//		return nil
//	})
//
// # Names
//
// A name of PCP consists of letters, digits and underscores, with dots between
// components that start with a letter. Other characters of a foreign name become underscores,
// and a component that starts with another character gets the prefix x. Names that become the
// same get the suffixes _2, _3 and so on in the order in which they are first seen. A metric
// cannot be a group of metrics as well: next to a metric cache the name cache.size becomes
// cache_size, and next to cache.size the metric cache becomes cache_2. A name longer than 200
// bytes is cut and ends in a hash of the whole.
//
// # Instances
//
// The labels of a foreign metric make the name of an instance,
// "code=200,method=GET", and are labels of the instance as well, for as long as
// the file has room for them: the format ends at 255 labels. A metric has
// at most Options.MaxInstances instances; later ones are left out, and
// [Exporter.Err] reports that.
//
// A file of memory-mapped values cannot drop an instance. When a library no longer
// reports one, a float value becomes NaN, which in a registry with
// mmv.Options.Sentinel means that there is no value. A whole number keeps its
// value.
package bridge
