package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
)

// Limits and defaults.
const (
	// DefaultTimeout is the time limit of a request to a server.
	DefaultTimeout = 30 * time.Second
	// MaxURLs is the maximum number of servers.
	MaxURLs = 16

	maxRequests = 16      // at a time
	maxForm     = 2 << 10 // bytes of a form in an address
	maxReason   = 4 << 10 // bytes read of the reply to a request that failed
	probeEvery  = time.Second
	probeLimit  = 3 * time.Second
	probation   = 40 * time.Second // after a restart, in which its sender may not have filled gaps yet
	slack       = 15               // seconds that the newest marker of a server may be behind that of another one
)

// Errors of requests.
var (
	// ErrAway is the error if no server answers.
	ErrAway = errors.New("no engine answers")
	// errTooLarge is the error for an answer with too many bytes.
	errTooLarge = errors.New("the answer of the engine is too large")
	errClosed   = errors.New("closed")
)

// A Refusal is a reply of a server that any other would give, too.
type Refusal struct {
	Status int
	Reason string
}

func (e *Refusal) Error() string { return "the engine refuses the request: " + e.Reason }

// A Config configures a Client.
type Config struct {
	// URLs are the servers, without /api/v1: http://localhost:8428, http://vmselect:8481/select/0/prometheus.
	URLs []string
	// Connection has headers, secrets and certificates. The other fields are not used.
	Connection remote.Config
	// Timeout limits a request to one server; 0 means DefaultTimeout.
	Timeout time.Duration
	// Log receives failures of servers; nil discards them.
	Log *slog.Logger

	probation time.Duration // in tests
}

// A Client sends requests to servers. It is safe for concurrent use.
//
// Of several servers each has all samples. A request goes to the server of the one before, as long as this answers and its newest marker
// (pcp_sent) is at most 15 seconds older than those of the others; otherwise to the one with the newest marker. If a server fails during a request,
// the next one gets the request. A server that was restarted gets requests again after 40 seconds, when its senders
// have filled its gaps, or if no other one answers.
type Client struct {
	cfg   Config
	log   *slog.Logger
	nodes []*node
	http  *http.Client
	slots chan struct{}
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu     sync.Mutex
	last   *node // which answered last
	closed bool
}

// A node is a server.
type node struct {
	url  string
	name string // for messages

	// The fields are those of the client's mutex.
	failed  bool
	err     string
	since   time.Time // of the failure, or of the end of it
	suspect bool      // it was away: see probation
	marker  float64   // its newest, 0 without markers
	probed  bool
	gone    chan struct{} // closed when it fails
}

// Dial returns a Client. It makes no connections; with several servers it begins to watch them.
func Dial(cfg Config) (*Client, error) {
	if len(cfg.URLs) == 0 {
		return nil, errors.New("no address of an engine")
	}
	if len(cfg.URLs) > MaxURLs {
		return nil, fmt.Errorf("%d addresses of engines, at most %d", len(cfg.URLs), MaxURLs)
	}
	c := &Client{cfg: cfg, log: cfg.Log, slots: make(chan struct{}, maxRequests)}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.cfg.Timeout <= 0 {
		c.cfg.Timeout = DefaultTimeout
	}
	if c.cfg.probation == 0 {
		c.cfg.probation = probation
	}
	for i, one := range cfg.URLs {
		check := cfg.Connection
		check.URL = one
		if _, err := remote.New(check); err != nil { // of the address, and of secrets that it must not get
			return nil, err
		}
		if slices.Contains(cfg.URLs[:i], one) {
			return nil, fmt.Errorf("an engine is named twice: %s", one)
		}
		u, err := url.Parse(one)
		if err != nil {
			return nil, err
		}
		if u.RawQuery != "" {
			return nil, errors.New("the address of an engine has a query: " + u.Host)
		}
		u.Path, _, _ = strings.Cut(u.Path, "/api/v1")
		u.Path = strings.TrimRight(u.Path, "/")
		c.nodes = append(c.nodes, &node{url: u.String(), name: u.Host, gone: make(chan struct{})})
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.TLSClientConfig = cfg.Connection.TLS
	tr.MaxIdleConnsPerHost = maxRequests
	c.http = &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	if len(c.nodes) > 1 {
		for _, n := range c.nodes {
			c.done.Go(func() { c.watch(ctx, n) })
		}
	}
	return c, nil
}

// Close ends the client. Requests in progress fail.
func (c *Client) Close() {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	if first {
		for _, n := range c.nodes {
			c.fail(n, errClosed)
		}
	}
	c.mu.Unlock()
	c.stop()
	c.done.Wait()
	c.http.CloseIdleConnections()
}

// watch asks a server again and again for its newest marker.
func (c *Client) watch(ctx context.Context, n *node) {
	// Connections of its own show restarts.
	tr := c.http.Transport.(*http.Transport).Clone()
	own := &http.Client{Transport: tr, CheckRedirect: c.http.CheckRedirect}
	defer own.CloseIdleConnections()
	for ctx.Err() == nil {
		c.probe(ctx, n, own)
		t := time.NewTimer(probeEvery)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
}

// probe asks a server for its newest marker.
func (c *Client) probe(ctx context.Context, n *node, own *http.Client) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	fresh := false
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { fresh = !info.Reused }}
	form := url.Values{"query": {"max(last_over_time(pcp_sent[10m]))"}, "latency_offset": {"1ms"}, "nocache": {"1"}}
	marker := 0.0
	err := c.attempt(httptrace.WithClientTrace(ctx, trace), own, n, "query", form, func(r io.Reader) error {
		list, err := decodePoints(r)
		for _, p := range list {
			marker = max(marker, p)
		}
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	var refused *Refusal
	if err != nil && !errors.As(err, &refused) {
		if c.stopped() || ctx.Err() == context.Canceled {
			return
		}
		c.fail(n, err)
		return
	}
	if n.failed {
		n.failed, n.gone, n.since = false, make(chan struct{}), time.Now()
		c.log.Info("an engine answers again", "url", n.name)
	} else if fresh && n.probed { // its connection was lost between two probes
		n.suspect, n.since = true, time.Now()
	}
	n.probed, n.marker = true, marker
}

// stopped reports whether the client is closed. The caller has the mutex.
func (c *Client) stopped() bool { return c.closed }

// fail notes that a server does not answer. The caller has the mutex.
func (c *Client) fail(n *node, err error) {
	if n.failed {
		return
	}
	n.failed, n.suspect, n.since, n.err = true, true, time.Now(), err.Error()
	close(n.gone)
	if err != errClosed {
		c.log.Warn("an engine does not answer", "url", n.name, "err", err)
	}
}

// order returns the servers in the order in which they are asked.
func (c *Client) order() []*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.nodes) == 1 {
		return c.nodes
	}
	now := time.Now()
	newest := 0.0
	rank := func(n *node) int {
		switch {
		case n.failed:
			return 3
		case n.suspect && now.Sub(n.since) < c.cfg.probation:
			return 2
		case n.marker < newest-slack:
			return 1
		}
		n.suspect = false
		return 0
	}
	for _, n := range c.nodes {
		if !n.failed && !(n.suspect && now.Sub(n.since) < c.cfg.probation) {
			newest = max(newest, n.marker)
		}
	}
	list := slices.Clone(c.nodes)
	ranks := make(map[*node]int, len(list))
	for _, n := range list {
		ranks[n] = rank(n)
	}
	slices.SortStableFunc(list, func(a, b *node) int {
		ra, rb := ranks[a], ranks[b]
		if ra != rb {
			return ra - rb
		}
		if ra == 0 && (a == c.last) != (b == c.last) {
			return map[bool]int{true: -1, false: 1}[a == c.last]
		}
		return cmp.Compare(b.marker, a.marker)
	})
	return list
}

// get makes a request for a path below /api/v1, and passes the body of the answer to read, with another server perhaps again.
func (c *Client) get(ctx context.Context, path string, form url.Values, read func(io.Reader) error) error {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var last error
	for _, n := range c.order() {
		err := c.attempt(ctx, c.http, n, path, form, read)
		var refused *Refusal
		switch {
		case err == nil, errors.As(err, &refused), errors.Is(err, errTooLarge):
			c.mu.Lock()
			if c.last != n {
				c.last = n
			}
			if len(c.nodes) == 1 && n.failed && !c.closed {
				n.failed, n.gone = false, make(chan struct{})
				c.log.Info("an engine answers again", "url", n.name)
			}
			c.mu.Unlock()
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		c.mu.Lock()
		closed := c.closed
		if !closed {
			c.fail(n, err)
		}
		c.mu.Unlock()
		if closed {
			return errClosed
		}
		last = fmt.Errorf("%s: %w", n.name, err)
	}
	return fmt.Errorf("%w: %w", ErrAway, last)
}

// attempt makes a request to a server.
func (c *Client) attempt(ctx context.Context, via *http.Client, n *node, path string, form url.Values, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, fmt.Errorf("no answer within %v", c.cfg.Timeout))
	defer cancel()
	if via == c.http && len(c.nodes) > 1 {
		// A server that stops to answer probes does not hold the request for longer.
		c.mu.Lock()
		gone, failed := n.gone, n.failed
		c.mu.Unlock()
		if !failed {
			over, cancelOver := context.WithCancelCause(ctx)
			done := make(chan struct{})
			defer close(done)
			defer cancelOver(nil)
			go func() {
				select {
				case <-gone:
					cancelOver(errors.New("it has stopped to answer"))
				case <-done:
				}
			}()
			ctx = over
		}
	}
	return c.once(ctx, via, n, path, form, read)
}

// once makes a request to a server within a time.
func (c *Client) once(ctx context.Context, via *http.Client, n *node, path string, form url.Values, read func(io.Reader) error) error {
	target, body := n.url+"/api/v1/"+path, form.Encode()
	var req *http.Request
	var err error
	if len(body) < maxForm || strings.HasPrefix(path, "label/") {
		req, err = http.NewRequestWithContext(ctx, http.MethodGet, target+"?"+body, nil)
	} else {
		req, err = http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(body))
	}
	if err != nil {
		return err
	}
	if req.Method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	conn := &c.cfg.Connection
	for name, values := range conn.Header {
		req.Header[name] = values
	}
	if conn.UserAgent != "" {
		req.Header.Set("User-Agent", conn.UserAgent)
	}
	switch {
	case conn.Token != "":
		req.Header.Set("Authorization", "Bearer "+conn.Token)
	case conn.User != "":
		req.SetBasicAuth(conn.User, conn.Password)
	}
	w, err := via.Do(req)
	if err != nil {
		return plain(ctx, err)
	}
	defer w.Body.Close()
	if w.StatusCode/100 == 2 {
		if err := read(w.Body); err != nil {
			return plain(ctx, err)
		}
		return nil
	}
	b, _ := io.ReadAll(io.LimitReader(w.Body, maxReason)) // the status is enough
	reason := reasonOf(w.Status, b)
	if strings.Contains(string(b), `"errorType":"timeout"`) {
		return &Refusal{w.StatusCode, reason} // by Prometheus, of a request that takes too long
	}
	if w.StatusCode/100 == 5 || w.StatusCode == http.StatusTooManyRequests || w.StatusCode == http.StatusRequestTimeout {
		return errors.New(reason)
	}
	return &Refusal{w.StatusCode, reason}
}

// plain returns an error without the address, which is long for queries, or the reason why ctx has ended.
func plain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}

// Limits of answers that are passed on.
const (
	maxPassed = 512 << 20 // bytes
	heldBack  = 1 << 20   // bytes that are read before the first is written, so that another server can answer
)

// Pass makes a request for a path below /api/v1 and writes the answer. An error is one before the first byte of it; after that, the connection
// to the client is aborted.
func (c *Client) Pass(ctx context.Context, w http.ResponseWriter, path string, form url.Values) error {
	return c.get(ctx, path, form, func(r io.Reader) error {
		in := &limited{r, maxPassed}
		head := make([]byte, heldBack)
		n, err := io.ReadFull(in, head)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		if bytes.Contains(head[:min(n, 200)], []byte(`"isPartial":true`)) {
			return errPartial
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(head[:n]) // an error is the connection's
		if err == nil {
			if _, err := io.Copy(w, in); err != nil {
				panic(http.ErrAbortHandler)
			}
		}
		return nil
	})
}
