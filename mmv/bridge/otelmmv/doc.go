// Package otelmmv is for programs with OpenTelemetry metrics, which it publishes as metrics of PCP.
//
//	reg, err := mmv.New("shop", mmv.Options{})
//	if err != nil { ... }
//	defer reg.Close()
//	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(otelmmv.NewReader(reg, otelmmv.Options{})))
//	defer provider.Shutdown(ctx)
//
// Instruments keep their names and descriptions. Their units, codes of the
// Unified Code for Units of Measure, become units of PCP; a {request} is a count, as is
// a counter of something unknown. Monotonic sums are counters, other sums and gauges
// instantaneous values, of 64-bit integers or doubles as the instrument is. Attributes make
// the names of instances, code=200,method=GET, and are labels of them; an instrument whose first
// measurement has no attributes is a single value. The attributes of the resource are labels of
// the file, and the name of the scope is the label scope of a metric.
//
// A histogram NAME is NAME.bucket, whose instances le=... count the measurements up to that value,
// NAME.count and NAME.sum; an exponential histogram has NAME.quantile in place of the buckets. NAME.min
// and NAME.max are there if the SDK records them.
//
// The reader collects once per Options.Interval. The temporality is
// cumulative, since readers of PCP compute rates themselves.
package otelmmv
