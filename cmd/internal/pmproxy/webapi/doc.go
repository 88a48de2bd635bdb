// Package webapi is the interface of pmproxy to metrics over HTTP (PMWEBAPI(3)): it
// answers /pmapi/ and /metrics from collectors.
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
// A client makes a context with /pmapi/context and names it, by a number, in the
// requests that follow. A context ends when it was not used for as long as its
// maker said (polltimeout). A request without a context makes one, whose number is in the answer.
//
// A context costs a few hundred bytes. It has no connection of its own: contexts on
// one collector share some, and they share what was learned of its metrics. Fetches
// of the same metrics that arrive while another one is under way are answered by one
// request to the collector, which begins after they arrived. A context gets a
// connection of its own when it needs one: with the first instance profile, derived
// metric or stored value, or the first fetch of event records, which the collector queues for each of
// its clients.
//
// The requests of one context are carried out one after the other, those of different ones at
// the same time.
//
// # Who may do what
//
// The handler asks [github.com/go-pcp/pcp/pmproxy] who sent a request. Only a
// client that is trusted may store values and define derived metrics, and only a
// local or trusted one may have the handler connect to a Unix socket.
//
// Any client may name any host as the collector to ask (hostspec), as with the C pmproxy.
// [Config.AllowHost] restricts that.
package webapi
