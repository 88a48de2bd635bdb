// Package prommmv is for programs with metrics in the Prometheus client library
// (github.com/prometheus/client_golang), which it publishes as metrics of PCP.
//
//	reg, err := mmv.New("shop", mmv.Options{})
//	if err != nil { ... }
//	defer reg.Close()
//	defer prommmv.Export(reg, prometheus.DefaultGatherer, prommmv.Options{}).Stop()
//
// Metrics keep their names, and their help. A counter, gauge or untyped metric
// is a double. Labels make the names of instances, code=200,method=GET,
// and are labels of them; one series without labels is a single value. Units are those
// of the family if it has any, otherwise those of the suffix of the name, such as
// _seconds, _bytes or _seconds_total; a counter without such a suffix is a count.
//
// A summary NAME is NAME over quantiles, NAME_count and NAME_sum; a histogram is
// NAME_bucket, NAME_count and NAME_sum, as a scrape would show them. A native
// histogram has NAME_quantile in place of the buckets, estimated from all
// observations since the program began. Exemplars and creation times have no
// counterpart in PCP and are left out.
//
// The gatherer is asked once per Options.Interval, whether or not there are clients:
// that costs as much as a scrape without the text. Count in the hottest paths of a
// program with package mmv itself.
package prommmv
