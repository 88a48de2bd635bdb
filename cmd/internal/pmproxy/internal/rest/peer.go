package rest

import "context"

// A Peer is the sender of a request, as pmproxy identified it before the handler is called.
type Peer struct {
	// Local reports whether the request is from this host: over a Unix socket,
	// or between loopback addresses.
	Local bool
	// Trusted reports whether the peer may store values, define derived metrics
	// and push archives: it is local and the configuration trusts such peers,
	// or it is authorised.
	Trusted bool
	// User is the name of an authenticated user, or "".
	User string
	// Address is the peer's address, for logs and limits: without the port, and
	// empty for a Unix socket.
	Address string
	// Push, if not nil, is what a peer may push that has a token for pushing archives only.
	Push *PushRight
	// Sockets reports whether the peer may name the Unix socket of a collector, which
	// then sees the server's user in place of the client's. The peer must be
	// authorised, or a process of the server's user or of root according to the
	// kernel.
	Sockets bool
}

// A PushRight is the right to push archives of some hosts.
type PushRight struct {
	// Hosts are patterns, as of path.Match, for the names of hosts in labels.
	Hosts []string
	// Quota limits the bytes of all archives of each of the hosts; 0 means the server's limit.
	Quota int64
}

type peerKey struct{}

// WithPeer returns a context for the requests of a peer.
func WithPeer(ctx context.Context, p *Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

type closingKey struct{}

// WithClosing returns a context with a channel that is closed when the server ends, for responses that last.
func WithClosing(ctx context.Context, closing <-chan struct{}) context.Context {
	return context.WithValue(ctx, closingKey{}, closing)
}

// Closing returns the channel of WithClosing, nil if there is none.
func Closing(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(closingKey{}).(<-chan struct{})
	return c
}

// PeerOf returns the peer in a request's context, or else a Peer that is
// neither local nor trusted.
func PeerOf(ctx context.Context) Peer {
	if p, ok := ctx.Value(peerKey{}).(*Peer); ok {
		return *p
	}
	return Peer{}
}
