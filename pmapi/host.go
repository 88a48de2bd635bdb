package pmapi

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pmns"
)

// A host is a connection to a collector, the source of a host context. Its
// Context calls one method at a time; only close and dup may come at any time.
//
// A request that is given up, by time-out or by its context, leaves its answer
// on the way. The connection is then of no more use: requests return ErrIPC
// until reconnect.
//
// Each part has its own state, and host only joins them. Two have a mutex: link, in
// conversation, for close, and login, for dup. No method holds both.
type host struct {
	target                              // where the collector is
	as           identity               // as whom the client comes there
	waits        func() []time.Duration // between attempts to reconnect; read when they are needed first
	attempts     pacing.Attempts        // to reconnect, that failed
	conversation                        // the connection, with PDUs and profile

	foreseen    foreseen // answers that Ahead asked for
	remoteNames          // requests for names
	remoteMeta           // for descriptors, texts, labels and instances
	fetcher              // for values
}

// newHost returns a host that is not connected.
func newHost(to target, as identity, waits func() []time.Duration) *host {
	h := &host{target: to, as: as, waits: waits}
	c := &h.conversation
	h.foreseen.on = c
	h.remoteNames = remoteNames{c, &h.foreseen}
	h.remoteMeta = remoteMeta{c, &h.foreseen}
	h.fetcher.on = c
	return h
}

// connect connects to the collector.
func (h *host) connect(ctx context.Context) error {
	return h.target.connect(ctx, h.trace, func(ctx context.Context, conn net.Conn, at place) error {
		h.foreseen.forget()
		return h.attach(ctx, conn, func() error { return h.as.handshake(ctx, &h.conversation, &h.target, at) })
	})
}

// reconnect is pmReconnectContext for a host. Too soon after a failure it does
// not try.
func (h *host) reconnect(ctx context.Context) error {
	if h.ended() {
		return errClosed
	}
	etimedout := -pcp.Error(syscall.ETIMEDOUT)
	if wait := h.attempts.Left(time.Now()); wait > 0 {
		return fmt.Errorf("reconnect to %q: too soon, wait another %v: %w", HidePassword(h.given), wait.Round(time.Second), etimedout)
	}
	waits := h.waits() // warns of mistakes in any case
	h.fail(pcp.ErrIPC)
	if err := h.connect(ctx); err != nil {
		if ctx.Err() != nil {
			return dialError(h.given, err)
		}
		if de, ok := err.(*DialError); ok {
			err = de.Err
		}
		h.attempts.Failed(time.Now(), waits)
		return &DialError{Spec: h.given, Code: etimedout, Err: err}
	}
	h.attempts = pacing.Attempts{}
	return nil
}

// dup makes another connection to the same collector.
func (h *host) dup(ctx context.Context) (source, error) {
	if h.ended() {
		return nil, errClosed
	}
	n := newHost(h.target, h.as.another(), h.waits)
	n.timeout, n.denied = h.timeout, h.denied
	n.trace = h.trace.another() // Dup has it print as its context does
	if err := n.connect(ctx); err != nil {
		return nil, dialError(h.given, err)
	}
	return n, nil
}

func (h *host) kind() SourceKind { return SourceHost }

func (h *host) location() Location { return PMNSRemote }

func (h *host) namesIn(t *pmns.Tree) nameSpace { return treeNames{t} }

func (h *host) archive() *recording { return nil }

func (h *host) nextOf(context.Context, []pcp.PMID, *pcp.Result) error { return pcp.ErrNotArchive }

func (h *host) ahead(ctx context.Context, descs []pcp.Desc, labelsOnly bool) error {
	return h.foreseen.ahead(ctx, descs, labelsOnly)
}

func (h *host) rest() {
	h.foreseen.forget()
	h.conversation.rest()
	h.fetcher.rest()
}

// hostName returns the name that the collector reports, or else the name it was
// found by.
func (h *host) hostName(ctx context.Context, p profile) (string, error) {
	name, err := h.fetchString(ctx, p, "pmcd.hostname")
	if err != nil && ctx.Err() != nil {
		return "", err
	}
	if name == "" {
		name = h.givenName()
	}
	return name, nil
}

func (h *host) timeZone(ctx context.Context, p profile) (string, error) {
	return h.fetchString(ctx, p, "pmcd.timezone")
}

// fetchString fetches the value of a metric that is a single string.
func (h *host) fetchString(ctx context.Context, p profile, name string) (string, error) {
	ids := []pcp.PMID{pcp.PMIDNull}
	if err := h.lookupNames(ctx, []string{name}, ids); err != nil {
		return "", nameError(name, err)
	}
	var res pcp.Result
	changes, err := h.fetch(ctx, p, ids, &res, false)
	if h.trace.on(debugname.Fetch) {
		h.trace.fetched(ctx, h.trace.lookup, changes, &res, err)
	}
	if err != nil {
		return "", err
	}
	vs := &res.Sets[0]
	if vs.Err < 0 {
		return "", nameError(name, vs.Err)
	}
	if len(vs.Values) == 0 {
		return "", nameError(name, pcp.ErrValue)
	}
	return string(vs.Values[0].Bytes()), nil
}
