// Package logger receives archives over HTTP: the requests below /logger/ of
// PMWEBAPI(3), by which pmlogger and pmlogpush of other hosts push what they
// record.
//
//	h, err := logger.New(logger.Config{Dir: "/var/log/pcp/pmproxy"})
//	if err != nil {
//		return err
//	}
//	defer h.Close()
//	server, err := pmproxy.New(pmproxy.Config{
//		Handlers: map[string]http.Handler{"/logger/": h},
//		…
//	})
//
// A client first posts the label of its archive and gets a number for it, which
// later requests name: those that append metadata, entries of the index and
// records of volumes. The files are written to Dir/HOST, with the time of the
// label as their name, and can be read while they grow.
//
// A client must be trusted, and a number is good only for the client that it
// was given to. Nothing of what comes is believed: each record is
// decoded before it is written, and a request with one that is damaged, or a
// volume that goes back in time, is refused as a whole. Files hold whole records only, however
// requests cut them. No path comes from a request but the name of
// the host, which has letters, digits, hyphens, dots and underscores.
//
// Two parameters let a client go on where it was interrupted, beyond what the C
// implementation has. With resume=true the label of an archive that is there
// already is answered with the number of that archive and the sizes of its
// files. With offset=N a request says where in the file its body belongs; what
// is there already is not written twice.
package logger
