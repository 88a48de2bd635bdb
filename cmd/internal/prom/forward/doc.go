// Package forward answers /api/v1 of Prometheus from another server of that family.
//
//	http.Handle("/api/v1/", forward.New(forward.Config{Engine: client, Local: handler}))
//
// Queries, series and labels are those of the server. All other requests are for the local handler. If metrics are hidden from the
// clients of a Handler, each selector of a request gets a matcher that excludes them.
package forward
