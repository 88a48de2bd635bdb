// Package httpmmv counts what an HTTP server does.
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
// GET:/orders/{id}:200. The route is the pattern of http.ServeMux by which the
// request was served, so that there are as many as the program has and not as many as
// its users ask for; the space in it becomes a colon. Requests that no pattern
// matched are those of the route other. That is also where all are if something between
// this handler and the ServeMux makes a copy of the request, by
// http.Request.WithContext: wrap the ServeMux itself.
//
// A request costs one allocation, of the http.ResponseWriter that counts; all
// the rest is atomic additions. The wrapped handler still finds http.Flusher,
// http.Hijacker and io.ReaderFrom, and http.ResponseController finds everything
// else. A handler that panics has the code 500, a handler that takes the
// connection over has 101.
package httpmmv
