package otlp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Limits of a request: it is sent when it has so many data points, or about so many bytes.
const (
	maxPoints = 8000
	maxSize   = 2 << 20
)

// maxHeld limits the compressed requests that wait for a server. The oldest are dropped.
const maxHeld = 64 << 20

// A batch is a request that is ready.
type batch struct {
	body   []byte // compressed
	points int
}

// newBatch compresses a request.
func newBatch(r *request, version string) (batch, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return batch{}, err
	}
	if _, err := z.Write(r.bytes(version)); err != nil {
		return batch{}, err
	}
	if err := z.Close(); err != nil {
		return batch{}, err
	}
	return batch{b.Bytes(), r.points}, nil
}

// totals count data points and requests.
type totals struct {
	points, requests, bytes int
	rejected                map[string]int // points, by reason
	dropped                 int            // points, while the server was away
}

func (t *totals) reject(n int, reason string) {
	if t.rejected == nil {
		t.rejected = make(map[string]int)
	}
	if _, ok := t.rejected[reason]; !ok && len(t.rejected) == maxReasons {
		reason = "other reasons"
	}
	t.rejected[reason] += n
}

// maxReasons limits the reasons that are counted apart.
const maxReasons = 50

// complete reports whether the server has everything.
func (t *totals) complete() bool { return len(t.rejected) == 0 && t.dropped == 0 }

func (t *totals) report(w io.Writer, name, did string) {
	fmt.Fprintf(w, "%s: %s %s in %s", name, did, count(t.points, "data point"), count(t.requests, "request"))
	fmt.Fprintf(w, ", %s\n", cli.Bytes(int64(t.bytes)))
	for _, reason := range slices.Sorted(maps.Keys(t.rejected)) {
		fmt.Fprintf(w, "%s: rejected %s: %s\n", name, count(t.rejected[reason], "data point"), reason)
	}
	if t.dropped > 0 {
		fmt.Fprintf(w, "%s: dropped %s while the server was away\n", name, count(t.dropped, "data point"))
	}
}

// count returns a number of things.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// again reports whether a request may succeed later, by the specification of OTLP.
func again(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// post sends a batch. An error means that no request can succeed now.
func post(ctx context.Context, c *remote.Client, b batch, t *totals) error {
	headers := http.Header{"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"gzip"}}
	r, err := c.Post(ctx, headers, b.body, again)
	if err != nil {
		return err
	}
	t.requests++
	t.bytes += len(b.body)
	if r.Status/100 == 2 {
		rejected, why, err := partial(r.Body)
		if err != nil {
			return err
		}
		n := int(min(rejected, int64(b.points)))
		if n > 0 {
			if why == "" {
				why = "no reason given"
			}
			t.reject(n, why)
		}
		t.points += b.points - n
		return nil
	}
	reason := r.Text
	if why := status(r.Body); why != "" {
		reason += ": " + why
	}
	switch r.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType:
		return &refusal{reason} // so would be any other request
	}
	if r.Status/100 == 3 {
		return &refusal{reason + ": redirects are not followed"}
	}
	t.reject(b.points, reason)
	return nil
}

// A refusal is the error of a server that takes no requests.
type refusal struct{ reason string }

func (e *refusal) Error() string { return "the server refuses requests: " + e.reason }

// An outbox holds batches for a server that may be slow or away.
type outbox struct {
	mu      sync.Mutex
	held    []batch
	bytes   int
	dropped int // points
	closed  bool
	ready   chan struct{} // has an element if held or closed has changed
}

func newOutbox() *outbox { return &outbox{ready: make(chan struct{}, 1)} }

func (o *outbox) signal() {
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// put adds a batch. It drops the oldest ones if there is no room.
func (o *outbox) put(b batch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = append(o.held, b)
	o.bytes += len(b.body)
	for o.bytes > maxHeld && len(o.held) > 1 {
		o.dropped += o.held[0].points
		o.bytes -= len(o.held[0].body)
		o.held[0] = batch{}
		o.held = o.held[1:]
	}
	o.signal()
}

// close means that no more batches come.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.signal()
}

// next waits for a batch. It reports false after the last one, or if ctx is done.
func (o *outbox) next(ctx context.Context) (batch, bool) {
	for {
		o.mu.Lock()
		if len(o.held) > 0 {
			b := o.held[0]
			o.held[0] = batch{}
			o.held = o.held[1:]
			o.bytes -= len(b.body)
			o.mu.Unlock()
			return b, true
		}
		closed := o.closed
		o.mu.Unlock()
		if closed {
			return batch{}, false
		}
		select {
		case <-o.ready:
		case <-ctx.Done():
			return batch{}, false
		}
	}
}
