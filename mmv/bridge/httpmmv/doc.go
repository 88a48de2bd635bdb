// Package httpmmv is for HTTP servers: it publishes the number, sizes and times of requests.
//
//	reg, err := mmv.New("shop", mmv.Options{})
//	if err != nil { ... }
//	defer reg.Close()
//	http.ListenAndServe(":8080", httpmmv.Handler(reg, mux, httpmmv.Options{}))
//
// Below the prefix, http unless Options sets another, are
//
//	in_flight                    requests that are being served
//	requests                     requests served
//	request.bytes                bytes read from their bodies
//	response.bytes               bytes written to theirs
//	latency.count .sum .stats    time to serve them, as of mmv.Histogram
//
// all but the first with an instance for each route and status code, such as
// GET:/orders/{id}:200. The route is the pattern of http.ServeMux that matched the
// request, so that the program and not its users determine the number of routes; the
// space in it becomes a colon. Requests that no pattern matched have the route other.
// So do all requests if something between this handler and the ServeMux makes a copy of
// the request, by http.Request.WithContext: wrap the ServeMux itself.
//
// A request costs one allocation, of the http.ResponseWriter that counts; all
// the rest is atomic additions. The wrapped handler still finds http.Flusher,
// http.Hijacker and io.ReaderFrom, and http.ResponseController finds everything
// else. A handler that panics has the code 500, a handler that takes the
// connection over has 101.
package httpmmv
