// Package series finds metrics in many archives at once and returns their values over time, as
// pmseries(1) and the /series requests of PMWEBAPI(3) do.
//
//	list, err := store.Select(ctx, series.Matcher{Field: series.MetricName, Value: "kernel.all.load"})
//	if err != nil {
//		return err
//	}
//	for sample, err := range store.Values(ctx, list, series.Window{Count: 1}) {
//		...
//	}
//
// A series is one metric of one host, over all archives of that host. It is identified by a
// [sid.ID], the same as in the C implementation. A metric with several names is one series for
// each name. The instances of a series belong to it and have their own identifiers.
//
// The query language and the REST requests use a [Store]. Package seriestest has an in-memory Store for tests.
package series
