// Package root is the agent that runs as root next to a collector that does not:
// it reports the containers of this host, and serves the programs of PCP that
// need a privilege, by the protocol of internal/rootproto.
//
//	a, err := root.New(root.ConfigFrom(os.Getenv))
//	s, err := a.Listen(root.ServerConfig{Path: "/var/lib/pcp/pmcd/root.socket"})
//	go s.Run(ctx)
//	err = pmda.Serve(ctx, stdio, a, pmda.ServeOptions{})
//
// Containers are found in the files of their engines (podman, docker, lxc), and
// in the answers of runtimes (docker, podman, containerd, CRI-O), which package
// runtimes asks in the background: a request waits for none. The agent runs no
// program except lxc-info of lxc.
//
// # Access
//
// The socket accepts connections from root and PCP's own user only. The server
// starts a program only if no user but root can have changed it, and for a sender
// that is not root at that moment only if the collector's configuration file
// lists it. It ends only programs that it started. The names of containers that
// clients send are only compared with the known names.
package root
