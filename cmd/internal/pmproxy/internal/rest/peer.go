package rest

import "context"

// A Peer is who sent a request, as pmproxy found out before a handler sees it.
type Peer struct {
	// Local says that the request comes from this host: over a Unix socket, or
	// from a loopback address to one.
	Local bool
	// Trusted says that the peer may store values, define derived metrics and
	// push archives: it is local and the configuration trusts such peers, or it
	// is authorised.
	Trusted bool
	// User is the name of an authenticated user, or "".
	User string
	// Address is the address of the peer, for logs and limits: without port,
	// and empty over a Unix socket.
	Address string
	// Sockets says that the peer may name the Unix socket of a collector, which takes
	// the server's user for the client's: it is authorised, or the kernel says that it
	// is a process of that user or of root.
	Sockets bool
}

type peerKey struct{}

// WithPeer returns a context for requests of a peer.
func WithPeer(ctx context.Context, p *Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// PeerOf returns the peer of a request's context, or a Peer that is neither
// local nor trusted.
func PeerOf(ctx context.Context) Peer {
	if p, ok := ctx.Value(peerKey{}).(*Peer); ok {
		return *p
	}
	return Peer{}
}
