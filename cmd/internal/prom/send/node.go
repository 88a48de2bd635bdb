package send

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/internal/pacing"
)

const (
	// requests is the number of requests at a time to a server.
	requests = 8
	// longestWait limits the times between attempts, and of Retry-After.
	longestWait = time.Hour
)

// delays are those between attempts to reach a server.
var delays = pacing.Backoff{First: 500 * time.Millisecond, Longest: time.Minute}

// A node is a server of a target. Senders of many directories share it.
type node struct {
	target *Target
	url    string
	shard  int
	agent  string // User-Agent
	event  func(text string, err error)
	filter *filter
	slots  chan struct{}
	pool   *pool
	shared *shared // by all nodes of the Recorder
	delays pacing.Backoff

	mu       sync.Mutex
	until    time.Time // no request before
	failures int
	err      error // the last failure, nil after a success
	errTime  time.Time
	renewed  int  // number of times that secrets are to be read again
	blind    bool // the server does not answer queries
	conns    *remote.Connections
	secrets  int // the renewal that conns are of
	sent     uint64
	rejected uint64
	reasons  map[string]uint64
	lost     uint64
}

// name returns the name of the node without secrets.
func (n *node) name() string {
	u, err := url.Parse(n.url)
	if err != nil {
		return n.target.Name
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// client returns a client for one sender, which shares the connections of all.
func (n *node) client() (*remote.Client, error) {
	cfg, err := n.target.config(n.url)
	if err != nil {
		return nil, err
	}
	cfg.UserAgent = n.agent
	n.mu.Lock()
	switch {
	case n.conns == nil:
		n.conns = remote.NewConnections(cfg.TLS)
	case n.secrets != n.renewed:
		n.conns.SetTLS(cfg.TLS)
	}
	n.secrets = n.renewed
	cfg.Connections = n.conns
	n.mu.Unlock()
	return remote.New(cfg)
}

// close closes the connections, which no sender uses any more.
func (n *node) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conns != nil {
		n.conns.CloseIdleConnections()
	}
}

// breaks returns what Breaks of the connections returns, and no breaks before there are any.
func (n *node) breaks(had int) (now int, until time.Time) {
	n.mu.Lock()
	c := n.conns
	n.mu.Unlock()
	if c == nil {
		return 0, time.Time{}
	}
	return c.Breaks(had)
}

// enter waits until a request may be made.
func (n *node) enter(ctx context.Context) error {
	for {
		n.mu.Lock()
		wait := time.Until(n.until)
		n.mu.Unlock()
		if wait > 0 {
			if err := pause(ctx, wait); err != nil {
				return err
			}
			continue
		}
		select {
		case n.slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		n.mu.Lock()
		ok := !time.Now().Before(n.until)
		n.mu.Unlock()
		if ok {
			return nil
		}
		<-n.slots
	}
}

// leave notes the result of a request.
func (n *node) leave(err error) {
	<-n.slots
	n.mu.Lock()
	now := time.Now()
	if err == nil {
		was := n.err
		n.failures, n.err = 0, nil
		n.mu.Unlock()
		if was != nil {
			n.event("accepts samples again", nil)
		}
		return
	}
	if now.Before(n.until) { // a request of the same time failed too
		n.mu.Unlock()
		return
	}
	n.failures++
	wait := n.delays.After(n.failures)
	var f *remote.Failure
	if errors.As(err, &f) {
		wait = max(wait, min(f.After, longestWait))
	} else {
		wait = n.delays.Longest
		n.renewed++ // another token may help
	}
	first := n.err == nil || n.err.Error() != err.Error() && now.Sub(n.errTime) > time.Minute
	n.until, n.err, n.errTime = now.Add(wait), err, now
	n.mu.Unlock()
	if first {
		n.event("is tried again", err)
	}
}

// renewal returns a number that changes when clients have to be made again.
func (n *node) renewal() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.renewed
}

// cannotAsk reports whether an error of a query means that the server answers none.
func cannotAsk(err error) bool {
	var r *remote.Refusal
	var f *remote.Failure
	switch {
	case errors.As(err, &r):
		return r.Status == http.StatusNotFound || r.Status == http.StatusMethodNotAllowed || r.Status == http.StatusNotImplemented || r.Status == http.StatusBadRequest ||
			r.Status/100 == 3
	case errors.As(err, &f):
		return false
	}
	return true // an answer that is not one
}

// blinded notes that the server does not answer queries.
func (n *node) blinded(err error) {
	n.mu.Lock()
	was := n.blind
	n.blind = true
	n.mu.Unlock()
	if !was {
		n.event("does not answer queries: after an interruption samples may be missing or arrive twice", err)
	}
}

func (n *node) isBlind() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.blind
}

// accepted counts samples.
func (n *node) accepted(samples int) {
	n.mu.Lock()
	n.sent += uint64(max(samples, 0))
	n.mu.Unlock()
}

// refused counts samples that the server does not take.
func (n *node) refused(samples int, reason string) {
	if samples <= 0 {
		return
	}
	n.mu.Lock()
	if n.reasons == nil {
		n.reasons = make(map[string]uint64)
	}
	_, known := n.reasons[reason]
	if !known && len(n.reasons) >= maxReasons {
		reason = "other reasons"
		_, known = n.reasons[reason]
	}
	n.rejected += uint64(samples)
	n.reasons[reason] += uint64(samples)
	n.mu.Unlock()
	if !known {
		n.event(fmt.Sprintf("rejected %d samples, which are passed over", samples), errors.New(reason))
	}
}

// missed counts an archive that was removed before it was sent.
func (n *node) missed() {
	n.mu.Lock()
	n.lost++
	n.mu.Unlock()
}

func (n *node) status() Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := Status{Target: n.target.Name, URL: n.name(), Sent: n.sent, Rejected: n.rejected, Reasons: maps.Clone(n.reasons), Lost: n.lost}
	if n.err != nil {
		s.Err, s.ErrTime = n.err.Error(), n.errTime
	}
	return s
}
