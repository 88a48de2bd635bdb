// Package haproxy is the agent for HAProxy: what its socket answers to show info and show stat, or what its page of statistics has.
//
//	a, err := haproxy.New(haproxy.Config{Socket: "/run/haproxy/admin.sock"})
//
// Instances are the frontends, backends and servers, called PROXY::SERVER. Names and numbers of metrics are those of pmdahaproxy(1). The page has no values
// of haproxy.info.
package haproxy
