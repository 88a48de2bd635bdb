// Package pmproxy serves the metrics of collectors to who cannot reach them
// directly, or speaks HTTP: it forwards the connections of PCP's clients, and
// has a web server, on one port.
//
//	lns, err := pmcd.Listen(ctx, pmcd.ListenConfig{Ports: []int{pmproxy.DefaultPort}})
//	s, err := pmproxy.New(pmproxy.Config{
//		Listeners: lns,
//		Handlers:  map[string]http.Handler{"/pmapi": api, "/metrics": api},
//	})
//	err = s.Run(ctx)
//
// # One port
//
// The first byte that a client sends says what it speaks: p is the proxy protocol
// of PCP, a capital letter a request of HTTP, and 0x14 to 0x18 a record of TLS, in
// which the first byte counts again. Anything else ends the connection, and so
// does silence.
//
// # Forwarding
//
// A client that names a proxy (host@proxy, or PMPROXY_HOST) says hello and names a
// collector:
//
//	client  pmproxy-client 1\n
//	proxy   pmproxy-server 1\n
//	client  HOST PORT\n
//
// From there on all bytes are passed on in both directions as they are. If the
// collector cannot be reached, the connection ends, as with the C implementation.
// [Config.Collectors] limits which collectors clients can reach.
//
// # Requests
//
// A request goes to the handler of the longest prefix of its path, by text:
// /metricsfoo reaches the handler of /metrics. The server itself answers OPTIONS,
// TRACE and, for all handlers but that of /, HEAD, as well as requests for
// /-/healthy and /-/ready. It compresses, limits sizes and times, adds the headers
// for requests from other origins, and finds out who asks.
//
// A request over a loopback address whose Host header has a name that is not this
// host's is refused. Otherwise a page from anywhere could make its own name mean
// 127.0.0.1 and read what is meant for this host alone.
//
// # Who may do what
//
// Everybody may read. Handlers are told who asks, and let those who are trusted
// store values and define metrics: clients with a token, the password of an
// account or a certificate, and those on this host if [Config.TrustLocal] is set. A
// page from another origin is trusted with a token alone, since a browser sends
// all else without asking the page.
package pmproxy
