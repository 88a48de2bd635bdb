// Package hosts simulates the collectors of many hosts in one process.
//
//	s, err := hosts.New(hosts.Config{Metrics: 300})
//	if err != nil {
//		return err
//	}
//	return s.Serve(ctx, listener) // of all addresses; clients connect to hosts.Address(i)
//
// Each address of the loopback interface is a host with a name, labels and a clock of its own. A host costs a
// goroutine and a connection: values are computed from the host, the metric, the instance and the time, and not stored.
//
// The server implements the requests of clients that record: names, descriptors, texts, labels, instances and values. It ignores
// profiles: answers have all instances.
package hosts
