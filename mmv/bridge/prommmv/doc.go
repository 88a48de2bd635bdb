// Package prommmv publishes what a program counts with the Prometheus client
// library, github.com/prometheus/client_golang.
//
//	reg, err := mmv.New("shop", mmv.Options{})
//	if err != nil { ... }
//	defer reg.Close()
//	defer prommmv.Export(reg, prometheus.DefaultGatherer, prommmv.Options{}).Stop()
//
// Metrics keep their names, and their help. A counter, gauge or untyped metric
// is a double. Labels make the names of instances, code=200,method=GET,
// and are labels of them; one series without labels is a single value. Units are those
// of the family if it has any, else what the name ends in says, as _seconds, _bytes or
// _seconds_total; a counter that says nothing is a count.
//
// A summary NAME is NAME over quantiles, NAME_count and NAME_sum; a histogram is
// NAME_bucket, NAME_count and NAME_sum, as a scrape would show them. A native
// histogram has NAME_quantile in place of the buckets, estimated from all
// observations since the program began. Exemplars and creation times have no
// counterpart in PCP and are left out.
//
// The gatherer is asked once per Options.Interval, whether or not anybody
// looks: that costs what a scrape costs but for the text. What the program counts in its
// hottest paths is better counted with package mmv itself.
package prommmv
