package webapi

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/wire"
)

// afterlife is the time for which an ended context is reported as expired; after that it is unknown.
const afterlife = 4 * time.Second

// A webContext is a context of a client.
type webContext struct {
	h       *Handler
	id      uint32 // 0 until it is registered
	text    string // the number as text
	src     *source
	peer    string
	timeout time.Duration
	turn    chan struct{} // holds a token during a request

	// Owned by the holder of the turn.
	view *view

	mu      sync.Mutex
	queued  int  // requests that hold the turn or wait for it
	lone    bool // created by a request without a context, and unused since
	used    time.Time
	expired bool
	timer   *time.Timer
}

// resolve returns the context of a request, a new one if the request names none. The caller must call
// leave.
func (h *Handler) resolve(r *request) (*webContext, error) {
	if !r.hasContext {
		return h.newContext(r)
	}
	id, ok := parseContext(r.context)
	if !ok {
		return nil, fail("invalid context identifier: " + r.context)
	}
	h.mu.RLock()
	wc := h.contexts[id]
	h.mu.RUnlock()
	if wc == nil {
		return nil, fail("unknown context identifier: " + strconv.FormatUint(uint64(id), 10))
	}
	if err := wc.src.admit(r); err != nil {
		return nil, err
	}
	wc.mu.Lock()
	wc.lone = false
	wc.mu.Unlock()
	return wc, nil
}

// parseContext parses the number of a context like strtoul; trailing text is an error.
func parseContext(s string) (uint32, bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	minus := false
	if s != "" && (s[0] == '+' || s[0] == '-') {
		minus = s[0] == '-'
		if s = s[1:]; s == "" {
			return 0, false
		}
	}
	var n uint64
	for i := range len(s) {
		c := s[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		if n > (math.MaxUint64-uint64(c-'0'))/10 {
			return math.MaxUint32, true
		}
		n = n*10 + uint64(c-'0')
	}
	if minus {
		n = -n
	}
	return uint32(n), true
}

// isSocket reports whether a collector is reached over its Unix socket, which gives it the user
// of this process. TCP cannot reach a host without a name, or with a path as its name.
func isSocket(hs *pmapi.HostSpec) bool {
	return hs.Protocol == "unix" || hs.Protocol == "local" || len(hs.Hosts) == 0 || strings.ContainsAny(hs.Hosts[0].Name, "/\x00")
}

// noSockets is the error of clients that would get the rights of this process by naming a Unix socket.
func noSockets() error { return &failure{http.StatusForbidden, pcp.ErrPermission.Error()} }

// admit reports whether the sender of a request may use the source.
func (s *source) admit(r *request) error {
	if s.private && !r.peer.Sockets {
		return noSockets()
	}
	if s.user == "" {
		return nil
	}
	user, pass, ok := r.http.BasicAuth()
	if !ok || s.pass == "" {
		return &failure{http.StatusUnauthorized, "authentication required"}
	}
	if subtle.ConstantTimeCompare([]byte(user), []byte(s.user))&subtle.ConstantTimeCompare([]byte(pass), []byte(s.pass)) == 0 {
		return &failure{http.StatusForbidden, "authentication failed"}
	}
	return nil
}

// newContext returns a context for the parameters of a request. It is not registered yet.
func (h *Handler) newContext(r *request) (*webContext, error) {
	timeout := h.cfg.PollTimeout
	if text, ok := r.params.Get("polltimeout"); ok {
		seconds, n, _ := ctext.Strtod(text)
		if n != len(text) || math.IsNaN(seconds) || seconds < 0 {
			return nil, fail("invalid timeout requested in polltime")
		}
		timeout = h.cfg.MaxTimeout
		if seconds < timeout.Seconds() {
			timeout = time.Duration(seconds * float64(time.Second))
		}
	}
	src, err := h.sourceOf(r)
	if err != nil {
		return nil, err
	}
	wc := &webContext{h: h, src: src, peer: r.peer.Address, timeout: timeout, turn: make(chan struct{}, 1), view: src.shared}
	wc.used, wc.lone = time.Now(), !r.making
	return wc, nil
}

// sourceOf returns the collector of a request, and adds a user to it.
func (h *Handler) sourceOf(r *request) (*source, error) {
	spec, ok := r.params.Get("hostspec")
	if !ok {
		spec, ok = r.params.Get("hostname")
	}
	_, hasAuth := r.http.Header["Authorization"]
	key := spec
	if !ok {
		key, spec = "\x00", h.cfg.Host
	}
	if !ok && !hasAuth {
		if s := h.useSource(key, nil); s != nil {
			return s, nil
		}
	}
	if len(spec) > MaxHostSpec {
		return nil, fail("host specification is too long")
	}
	hs, err := pmapi.ParseHostSpec(spec)
	if err != nil {
		if se, ok := err.(*pmapi.SpecError); ok {
			return nil, fail(se.Detail())
		}
		return nil, fail(errText(err))
	}
	var user, pass string
	if u, has := hs.Attr(wire.AttrUserName); has {
		user = u
		pass, _ = hs.Attr(wire.AttrPassword)
	} else if u, p, has := r.http.BasicAuth(); has && r.peer.User == "" {
		user, pass = u, p
		hs.Attrs = append(hs.Attrs, pmapi.HostAttr{Key: wire.AttrUserName, Value: u}, pmapi.HostAttr{Key: wire.AttrPassword, Value: p})
	}
	if ok {
		if isSocket(&hs) && !r.peer.Sockets {
			return nil, noSockets()
		}
		if h.cfg.AllowHost != nil && !h.cfg.AllowHost(&hs) {
			return nil, fail("cannot connect to PMCD: " + pcp.Error(-111).Error())
		}
		key = hs.String()
	} else if user != "" {
		key = "\x00" + hs.String()
	}
	made := newSource(h, hs.String(), user, pass)
	made.private = ok && isSocket(&hs)
	if !ok && user == "" {
		made.spec = spec
	}
	if user != "" {
		if err := made.admit(r); err != nil {
			return nil, err
		}
	}
	if s := h.useSource(key, made); s != nil {
		return s, nil
	}
	return nil, &failure{http.StatusServiceUnavailable, "too many collectors are asked, or the server is going down"}
}

// useSource returns the source of a key, created if necessary, and adds a user to it.
func (h *Handler) useSource(key string, made *source) *source {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sources[key]
	if s == nil {
		if made == nil || h.closed || len(h.sources) >= h.cfg.MaxSources && !h.evict() {
			return nil
		}
		s = made
		h.sources[key] = s
	}
	s.using++
	return s
}

// evict removes a source without contexts. h.mu is held.
func (h *Handler) evict() bool {
	for key, s := range h.sources {
		if s.using == 0 {
			delete(h.sources, key)
			go s.forget()
			return true
		}
	}
	return false
}

// unuse removes a user from a source.
func (s *source) unuse() {
	s.h.mu.Lock()
	s.using--
	s.used = time.Now()
	s.h.mu.Unlock()
}

// register assigns a number to a context, unless there are too many contexts.
func (wc *webContext) register() error {
	if wc.id != 0 {
		return nil
	}
	h := wc.h
	h.mu.Lock()
	var oldest *webContext
	defer func() {
		h.mu.Unlock()
		if oldest != nil {
			oldest.forsake()
		}
	}()
	switch {
	case h.closed:
		return &failure{http.StatusServiceUnavailable, "server is going down"}
	case len(h.contexts) >= h.cfg.MaxContexts || h.peers[wc.peer] >= h.cfg.MaxPerPeer:
		return &failure{http.StatusServiceUnavailable, "too many contexts"}
	}
	if wc.lone {
		oldest, h.lone[h.loneAt] = h.lone[h.loneAt], wc
		h.loneAt = (h.loneAt + 1) % len(h.lone)
	}
	for wc.id == 0 || h.contexts[wc.id] != nil {
		var b [4]byte
		rand.Read(b[:])
		wc.id = binary.LittleEndian.Uint32(b[:]) & math.MaxInt32
	}
	wc.text = strconv.FormatUint(uint64(wc.id), 10)
	h.contexts[wc.id] = wc
	h.peers[wc.peer]++
	wc.timer = time.AfterFunc(wc.timeout, wc.lapse)
	return nil
}

// lapse is called when the context may have expired.
func (wc *webContext) lapse() {
	wc.mu.Lock()
	defer wc.mu.Unlock()
	if wc.expired {
		wc.h.remove(wc)
		return
	}
	wait := wc.timeout - time.Since(wc.used)
	switch {
	case wc.queued > 0:
		wc.timer.Reset(max(wait, wc.timeout, 10*time.Millisecond))
	case wait > 0:
		wc.timer.Reset(wait)
	default:
		wc.expired = true
		wc.timer.Reset(afterlife)
		wc.end()
	}
}

// forsake ends an implicitly created context, so that clients that never name a
// context do not exhaust the limit.
func (wc *webContext) forsake() {
	wc.mu.Lock()
	defer wc.mu.Unlock()
	if wc.lone && wc.queued == 0 && !wc.expired {
		wc.timer.Stop()
		wc.expired = true
		wc.end()
		wc.h.remove(wc)
	}
}

// end releases the context's resources, when no request is in progress.
func (wc *webContext) end() {
	if wc.view.own != nil {
		wc.view.own.c.Close()
		wc.h.owned.Add(-1)
	}
	wc.view = nil
	wc.src.unuse()
}

// remove forgets an ended context.
func (h *Handler) remove(wc *webContext) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.contexts[wc.id] != wc {
		return
	}
	delete(h.contexts, wc.id)
	if h.peers[wc.peer]--; h.peers[wc.peer] == 0 {
		delete(h.peers, wc.peer)
	}
}

// enter waits for the request's turn in its context.
func (wc *webContext) enter(ctx context.Context) error {
	wc.mu.Lock()
	if wc.expired {
		wc.mu.Unlock()
		return fail("expired context identifier: " + wc.text)
	}
	if wc.queued > MaxQueued {
		wc.mu.Unlock()
		return &failure{http.StatusServiceUnavailable, "too many requests wait in context " + wc.text}
	}
	wc.queued++
	wc.mu.Unlock()
	select {
	case wc.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case wc.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		wc.mu.Lock()
		wc.queued--
		wc.mu.Unlock()
		return context.Cause(ctx)
	}
}

// leave ends the turn. It ends an unregistered context.
func (wc *webContext) leave() {
	wc.mu.Lock()
	wc.queued--
	wc.used = time.Now()
	if wc.id == 0 && !wc.expired {
		wc.expired = true
		wc.end()
	}
	wc.mu.Unlock()
	<-wc.turn
}

// possess gives the context its own connection.
func (wc *webContext) possess(ctx context.Context) error {
	if wc.view.own != nil {
		return nil
	}
	if err := wc.register(); err != nil {
		return err
	}
	if wc.h.owned.Add(1) > int64(wc.h.cfg.MaxOwn) {
		wc.h.owned.Add(-1)
		return &failure{http.StatusServiceUnavailable, "too many contexts have a connection of their own"}
	}
	l, err := wc.src.open(ctx)
	if err != nil {
		wc.h.owned.Add(-1)
		return &reconnectError{err}
	}
	v := newView(wc.src)
	v.own = l
	wc.view = v
	return nil
}
