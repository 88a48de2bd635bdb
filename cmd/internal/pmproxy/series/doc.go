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
// A series is one metric of one host, over all archives of that host. What it is called is a
// [sid.ID], which is that of the C implementation. A metric with several names is as many series.
// The instances of a series are part of it and have identifiers of their own.
//
// [Store] is what the query language and the REST requests stand on. Package seriestest has one in memory, for
// tests.
package series
