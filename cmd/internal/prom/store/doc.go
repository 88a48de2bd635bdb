// Package store lets the engine of Prometheus read archives and collectors.
//
//	s := store.New(archives, store.Config{})
//	engine := store.NewEngine(store.EngineConfig{})
//	q, err := engine.NewInstantQuery(ctx, s, nil, "rate(disk_dev_read[5m])", time.Now())
//
// A [Store] is a storage.Queryable over the series of archives, a [Live] one over the current values of a collector, and
// [Both] joins the two. Names and labels of series are those of package names, as /metrics has them.
//
// # Values
//
// Samples are the values as recorded, with their times in milliseconds; counters are not converted, so that rate and its
// like work on them. 64-bit integers become floating-point numbers, as everywhere in Prometheus.
//
// A stale marker ends the values of a series at the time of a mark record, of an error in place of the metric's values, and of the first
// record that has other instances of the same group, but no longer this one. There is also one between two archives
// if the pause between their values is longer than three intervals. Without marker, a value is current for the look-back
// time of the engine.
//
// # Histograms
//
// A metric whose instances are ranges, as those of a histogram of the kernel, has in addition to their series those of a classic histogram: see
// names.NewHistogram.
//
// # Limits
//
// [DefaultMaxSamples] limits the samples that a query may load. Requests for labels and series read metadata only: a series exists in a window
// if one of the archives that overlap it has the metric, and if the instance was then in its domain, even without values.
package store
