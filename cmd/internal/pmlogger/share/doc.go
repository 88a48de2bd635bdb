// Package share divides hosts among the recorders of a fleet: several processes, on several machines, each of which
// records some of the hosts.
//
//	m, err := share.New(share.Config{Store: store, ID: "recorder-1", Changed: func(members []string) {
//		// Record the hosts that rendezvous.Owner gives to recorder-1.
//	}})
//	if err != nil {
//		return err
//	}
//	return m.Run(ctx)
//
// The recorders need a directory that all of them can write, in object storage or on a file system, and nothing else: they do not
// talk to each other. Its files:
//
//	fleet/recorders/ID      the lease of a recorder, which it writes every [Renew]
//	fleet/hosts/ADDRESS     the registration of a host, see [Registration]
//	fleet/status/ID.json    a [Status], which a recorder writes every [StatusEvery]
//
// Each recorder computes the owner of each host by itself, from the names of the recorders that hold a lease (package
// rendezvous). There is no table of owners that could be lost or out of date, and a new recorder takes its part of the hosts, and
// no more, from all others.
//
// A lease expires if it has the same version for [Expire]. Each recorder measures that time with its own monotonic clock, and
// only while the store answers: the clocks of the recorders need not agree, and a failure of the store expires no lease. The
// recorder that notices it replaces the lease by an empty one, on condition that its version is still the same. If the owner of the
// lease is alive after all, its next renewal fails: it ends its archives, and joins again.
//
// Two recorders can own the same host for a short time: while a lease expires, or when a recorder joins. Both record it then, in
// archives of different names, and readers use one of them for each moment. Rather two recorders than none.
package share
