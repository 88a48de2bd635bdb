// Package webapi implements pmproxy's interface to metrics over HTTP (PMWEBAPI(3)):
// it answers /pmapi/ and /metrics from collectors.
//
//	h, err := webapi.New(webapi.Config{})
//	if err != nil {
//		return err
//	}
//	defer h.Close()
//	err = http.ListenAndServe("localhost:44322", h)
//
// # Contexts
//
// A client creates a context with /pmapi/context and gives its number in later requests. A
// context expires when it is unused for the time that its creator chose (polltimeout). A request
// without a context creates one, whose number is in the answer.
//
// A context costs a few hundred bytes. Contexts on the same collector share connections, and cached
// metadata of its metrics. Fetches of the same metrics that arrive during another one are answered
// together by one later request to the collector. A context gets its own connection when it needs
// one: with the first instance profile, derived metric or stored value, or the first fetch of event
// records, which the collector queues for each of its clients.
//
// Requests of one context run one after the other, those of different contexts in parallel.
//
// # Access rights
//
// Package [github.com/go-pcp/pcp/pmproxy] identifies the sender of a request.
// Only trusted clients may store values and define derived metrics, and only
// local or trusted ones may make the handler connect to a Unix socket.
//
// Any client may name any host as the collector (hostspec), as with the C pmproxy.
// [Config.AllowHost] restricts that.
package webapi
