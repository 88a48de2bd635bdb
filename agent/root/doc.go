// Package root is the agent that runs as root beside a collector that does not:
// it reports the containers of this host, and serves those programs of PCP that
// need a privilege, by the protocol of internal/rootproto.
//
//	a, err := root.New(root.ConfigFrom(os.Getenv))
//	s, err := a.Listen(root.ServerConfig{Path: "/var/lib/pcp/pmcd/root.socket"})
//	go s.Run(ctx)
//	err = pmda.Serve(ctx, stdio, a, pmda.ServeOptions{})
//
// Containers are found in what their engines (podman, docker, lxc) leave on
// disk; no engine is asked but lxc, whose lxc-info is run.
//
// # Who is served, and what
//
// The socket takes connections of root and of PCP's own user alone. It starts a
// program only if no user but root can have changed it, and for a sender that is
// not root at that moment only if it stands in the configuration file of the
// collector. It ends only what it started. The names of containers that clients
// send are compared with those that are known, and used for nothing else.
package root
