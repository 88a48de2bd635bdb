package webapi

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

const (
	// freshFor is the time for which cached data of a collector is used without a check.
	freshFor = time.Second
	// idleLink is the time for which an unused connection is kept.
	idleLink = 30 * time.Second
	// linkTimeout limits operations for which several requests wait, even if some are cancelled.
	linkTimeout = 30 * time.Second
)

// A source is a collector, with the state that its contexts share.
type source struct {
	h    *Handler
	spec string // of the connection, with the client's credentials
	user string // user that each request must have, with pass; "" means no authentication
	pass string
	// private reports whether a client named the collector's Unix socket: then only clients with that right
	// can use the source.
	private bool

	shared *view
	room   chan struct{} // has a token for each connection
	using  int           // contexts, guarded by h.mu
	used   time.Time     // when the last of them ended, guarded by h.mu

	mu   sync.Mutex
	idle []*link // the last element was used last
	host hostInfo
}

// A hostInfo is the description of a collector in /pmapi/context.
type hostInfo struct {
	known  bool
	name   string // of the host
	labels string // JSON
	id     string // of the source: a SHA-1 in hexadecimal digits
	sets   []pcp.LabelSet
}

// A link is a connection to a collector, for one request at a time.
type link struct {
	c     *pmapi.Context
	since time.Time // time since when it would have noticed changes: its creation, or its last fetch
	used  time.Time
	fresh bool // unused so far
	res   pcp.Result
}

func newSource(h *Handler, spec, user, pass string) *source {
	s := &source{h: h, spec: spec, user: user, pass: pass, room: make(chan struct{}, h.cfg.Connections)}
	s.shared = newView(s)
	return s
}

// open connects to the collector.
func (s *source) open(ctx context.Context) (*link, error) {
	c, err := s.h.cfg.Open(ctx, s.spec)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &link{c: c, since: now, used: now, fresh: true}, nil
}

// acquire returns an unused connection, opening one if necessary.
func (s *source) acquire(ctx context.Context) (*link, error) {
	select {
	case s.room <- struct{}{}:
	default:
		select {
		case s.room <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		l := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return l, nil
	}
	s.mu.Unlock()
	l, err := s.open(ctx)
	if err != nil {
		<-s.room
	}
	return l, err
}

// release returns a connection. If it is broken, the unused ones are closed too.
func (s *source) release(l *link, err error) {
	defer func() { <-s.room }()
	if broken(err) {
		l.c.Close()
		s.forget()
		s.shared.reset()
		return
	}
	l.fresh, l.used = false, time.Now()
	s.mu.Lock()
	s.idle = append(s.idle, l)
	s.mu.Unlock()
}

// forget closes the unused connections.
func (s *source) forget() {
	s.mu.Lock()
	idle := s.idle
	s.idle = nil
	s.host.known = false
	s.mu.Unlock()
	for _, l := range idle {
		l.c.Close()
	}
}

// tidy closes connections that were unused for long.
func (s *source) tidy(now time.Time) {
	s.mu.Lock()
	n := 0
	for n < len(s.idle) && now.Sub(s.idle[n].used) > idleLink {
		n++
	}
	old := s.idle[:n:n]
	s.idle = append([]*link(nil), s.idle[n:]...)
	s.mu.Unlock()
	for _, l := range old {
		l.c.Close()
	}
}

// broken reports whether a connection cannot be used after an error.
func broken(err error) bool {
	return err != nil && (errors.Is(err, pcp.ErrIPC) || errors.Is(err, pcp.ErrTimeout) || errors.Is(err, pcp.ErrNoContext) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

// with calls f with a connection, twice if the first connection broke since its last
// use.
func (s *source) with(ctx context.Context, f func(l *link) error) error {
	for {
		l, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		again := !l.fresh
		err = f(l)
		s.release(l, err)
		if !again || !errors.Is(err, pcp.ErrIPC) || ctx.Err() != nil {
			return err
		}
	}
}

// info returns the description of the collector; l is a connection to it.
func (s *source) info(ctx context.Context, l *link) (hostInfo, error) {
	s.mu.Lock()
	host := s.host
	s.mu.Unlock()
	if host.known {
		return host, nil
	}
	name, err := l.c.HostName(ctx)
	if err != nil {
		return host, err
	}
	sets, err := l.c.Labels(ctx, pcp.LabelContext, 0)
	if broken(err) {
		return host, err
	}
	merged, merr := pcp.MergeLabels(sets, nil)
	if err != nil || merr != nil || merged.JSON == "" {
		// An old collector, or one without labels.
		if merged, err = pcp.StringLabels(pcp.LabelContext, "hostname", name); err != nil {
			return host, err
		}
		sets = []pcp.LabelSet{merged}
	}
	host = hostInfo{true, name, merged.JSON, sourceID(merged.JSON), sets}
	s.mu.Lock()
	s.host = host
	s.mu.Unlock()
	return host, nil
}

// sourceID returns the identifier of a source with the given labels, part of the schema of series.
func sourceID(labels string) string { return hash(`{"series":"source","labels":` + labels + "}") }

func hash(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}
