// Package discover finds collectors and proxies in the network, as
// pmDiscoverServices(3) does: by trying all addresses of a subnet, by asking
// scripts for addresses to try, or by asking the Avahi daemon of this host.
//
//	urls, err := discover.Services(ctx, discover.PMCD, discover.Options{Mechanism: "probe=192.168.1.0/24"})
//
// The result is a list of URLs, such as "pcp://192.168.1.7:44321", in an order that does not depend on
// the order of the answers. A deadline of the context, or its end, ends the search early; services found
// until then are returned.
//
// Probing makes a connection to each address and closes it at once. Do so only in
// networks whose owners agree.
package discover
