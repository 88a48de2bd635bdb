// Package runtimemmv is for Go programs that publish the metrics of their runtime.
//
//	reg, err := mmv.New("shop", mmv.Options{})
//	if err != nil { ... }
//	defer reg.Close()
//	defer runtimemmv.Export(reg, runtimemmv.Options{Prefix: "go"}).Stop()
//
// It publishes all metrics of runtime/metrics in this version of Go except the
// settings of GODEBUG. Slashes and the colon of their names become dots:
// /sched/goroutines:goroutines is go.sched.goroutines.goroutines, and
// /gc/heap/allocs:bytes is go.gc.heap.allocs.bytes, next to
// go.gc.heap.allocs.objects. Metrics that the runtime calls cumulative are
// counters.
//
// A histogram, such as /sched/latencies:seconds, is NAME.count and NAME.bucket, whose
// instances le=... count the observations up to that value, in steps of at least a factor
// of two; and NAME.quantile, with p50, p90, p99 and p100 of the observations between the
// last two samples that differ. The runtime keeps no sum.
//
// A sample reads the runtime's own counters; it does not stop the world.
package runtimemmv
