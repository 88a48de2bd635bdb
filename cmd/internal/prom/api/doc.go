// Package api serves the HTTP interface of Prometheus, /api/v1, over archives and a collector, for Grafana, promtool and other clients of
// Prometheus.
//
//	h := api.New(api.Config{Store: store.New(archives, store.Config{}), Live: live})
//	mux.Handle("/api/v1/", h)
//
// It answers query, query_range, series, labels, label/NAME/values, metadata, parse_query, format_query, alerts, status and read, and has no rules
// and exemplars. Parameters, replies, status codes and error texts are those of Prometheus.
//
// # Limits
//
// Requests are bounded by [MaxForm], [MaxExpr], [MaxNesting], [MaxRegexp], [MaxCaptures], [MaxMatchers] and [MaxPoints], queries also by
// [store.EngineConfig]. Other requests for series and labels share a limit of [MaxConcurrent] at once, and have the time limit of
// queries. Remote read has the limits [MaxReads], [MaxReadRequest], [MaxReadQueries] and [MaxReadSamples]. The bodies of all open
// requests have at most [MaxBodies] bytes.
package api
