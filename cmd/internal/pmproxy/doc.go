// Package pmproxy serves the metrics of collectors to clients that cannot reach
// the collectors directly or that use HTTP. It forwards the connections of
// PCP's clients and has a web server, both on one port.
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
// The first byte from a client identifies its protocol: p is the proxy protocol of
// PCP, a capital letter starts an HTTP request, and 0x14 to 0x18 start a TLS
// record, inside which the first byte is examined again. Any other byte, or
// silence, ends the connection.
//
// # Forwarding
//
// A client that uses a proxy (host@proxy, or PMPROXY_HOST) sends a hello and names
// a collector:
//
//	client  pmproxy-client 1\n
//	proxy   pmproxy-server 1\n
//	client  HOST PORT\n
//
// All later bytes are passed on unchanged in both directions. If the collector
// cannot be reached, the connection ends, as with the C implementation.
// [Config.Collectors] limits the collectors that clients can reach.
//
// # Requests
//
// The handler with the longest prefix of the path, compared as text, answers a
// request: /metricsfoo reaches the handler of /metrics. The server itself answers
// OPTIONS, TRACE and, for all handlers except that of /, HEAD, as well as requests
// for /-/healthy and /-/ready. It compresses responses, limits sizes and times,
// adds the CORS headers and authenticates clients.
//
// A request over a loopback address is refused if its Host header does not name
// this host. Otherwise any web page could make its own name resolve to 127.0.0.1
// and read data meant for this host alone.
//
// # Access rights
//
// All clients may read. Handlers are given the client's identity, and let trusted
// clients store values and define metrics: clients with a token, the password of an
// account or a certificate, and clients on this host if [Config.TrustLocal] is set.
// A page of another origin is trusted only with a token, since a browser sends all
// other credentials without the page's knowledge.
package pmproxy
