// Package logger receives archives over HTTP. It answers the requests below
// /logger/ of PMWEBAPI(3), with which pmlogger and pmlogpush of other hosts
// push their recordings.
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
// A client first posts the label of its archive and gets a number for the
// archive. Its later requests name this number and append metadata, index
// entries and records of volumes. The files are written to Dir/HOST, named
// after the time of the label, and can be read while they grow.
//
// A client must be trusted, and can use only the numbers that it was given. All data is
// checked: each record is decoded before it is written, and a request with a damaged record,
// or with a volume that goes back in time, is refused as a whole. Files have complete records
// only, wherever requests split them. The only part of a path that a request supplies is the
// host name, of letters, digits, hyphens, dots and underscores.
//
// The C implementation lacks the following. A client can continue after an
// interruption: with resume=true the label of an archive is answered with the
// sizes of its files, and with the number of the archive that has this label, if
// there is one. A compressed file counts as its contents, and is expanded when it
// grows. With offset=N a request gives the position of its body in the file; bytes
// already there are not written twice. A request to end an archive syncs it
// to the disk.
//
// A client with a token for some hosts can push only their
// archives, and only as many bytes for each host as the token allows.
package logger
