package opentelemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/go-pcp/pcp/internal/agent/pushed"
)

// Limits of the server.
const (
	maxBody        = 4 << 20  // as it is sent
	maxProtobuf    = 16 << 20 // of protocol buffers when decompressed
	maxJSON        = 4 << 20  // of JSON when decompressed, which takes more memory than its text
	maxConnections = 32
	maxAtOnce      = 2 // requests that are decoded at the same time
	bodyTime       = 30 * time.Second
	turnTime       = 10 * time.Second // that a request waits for others
)

// Paths of the server.
const (
	pathOTLP  = "/v1/metrics"
	pathWrite = "/api/v1/write"
)

// A refusal is an answer to a request that is not taken.
type refusal struct {
	status int
	reason pushed.Reason // "" if it is not counted
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }

func refuse(status int, reason pushed.Reason, format string, args ...any) *refusal {
	return &refusal{status, reason, fmt.Errorf(format, args...)}
}

// newServer returns the server; the caller has it listen.
func (a *Agent) newServer() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+pathOTLP, a.serveOTLP)
	mux.HandleFunc("POST "+pathWrite, a.serveWrite)
	return &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: bodyTime, ReadTimeout: bodyTime, WriteTimeout: 2 * bodyTime, IdleTimeout: 5 * time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
}

// allowed checks the token of a request.
func (a *Agent) allowed(r *http.Request) *refusal {
	if a.token == "" {
		return nil
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	want, have := sha256.Sum256([]byte(a.token)), sha256.Sum256([]byte(given))
	if !ok || subtle.ConstantTimeCompare(want[:], have[:]) != 1 {
		return refuse(http.StatusUnauthorized, reasonToken, "the request needs the header Authorization: Bearer TOKEN")
	}
	return nil
}

// body reads the body of a request.
func body(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLong := new(http.MaxBytesError); errors.As(err, &tooLong) {
		return nil, refuse(http.StatusRequestEntityTooLarge, reasonBody, "the body is longer than %d bytes", maxBody)
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, reasonMalformed, "reading the body: %w", err)
	}
	return b, nil
}

// decompress returns the body b of a request, at most limit bytes, decompressed.
func decompress(r *http.Request, b []byte, limit int64) ([]byte, *refusal) {
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err == nil {
			b, err = io.ReadAll(io.LimitReader(z, limit+1))
		}
		if err != nil {
			return nil, refuse(http.StatusBadRequest, reasonMalformed, "decompressing the body: %w", err)
		}
	case "snappy":
		n, err := s2.DecodedLen(b)
		if err == nil && int64(n) > limit {
			return nil, refuse(http.StatusRequestEntityTooLarge, reasonBody, "the body has more than %d bytes", limit)
		}
		if err == nil {
			b, err = s2.Decode(nil, b)
		}
		if err != nil {
			return nil, refuse(http.StatusBadRequest, reasonMalformed, "decompressing the body: %w", err)
		}
	default:
		return nil, refuse(http.StatusUnsupportedMediaType, reasonUnsupported, "content encoding %.40q is not supported", encoding)
	}
	if int64(len(b)) > limit {
		return nil, refuse(http.StatusRequestEntityTooLarge, reasonBody, "the body has more than %d bytes", limit)
	}
	return b, nil
}

// turn waits until a request may be decoded.
func (a *Agent) turn(ctx context.Context) (done func(), r *refusal) {
	timer := time.NewTimer(turnTime)
	defer timer.Stop()
	select {
	case a.turns <- struct{}{}:
		return func() { <-a.turns }, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, refuse(http.StatusServiceUnavailable, reasonBusy, "too many requests")
}

// take reads a request and decodes it.
func (a *Agent) take(w http.ResponseWriter, r *http.Request, limit int64, decode func([]byte) (outcome, error)) (o outcome, refused *refusal) {
	a.requests.Add(1)
	if refused = a.allowed(r); refused != nil {
		return o, refused
	}
	b, refused := body(w, r)
	if refused != nil {
		return o, refused
	}
	done, refused := a.turn(r.Context())
	if refused != nil {
		return o, refused
	}
	defer done()
	if b, refused = decompress(r, b, limit); refused != nil {
		return o, refused
	}
	a.bytes.Add(uint64(len(b)))
	o, err := decode(b)
	if err != nil {
		return o, refuse(http.StatusBadRequest, reasonMalformed, "decoding the body: %w", err)
	}
	return o, nil
}

// counted counts a refusal, and sets the headers of its answer.
func (a *Agent) counted(w http.ResponseWriter, r *http.Request, refused *refusal) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	if refused.reason != "" {
		a.Reject(host, refused.reason, refused.Error())
	}
	switch refused.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "10")
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
}

func (a *Agent) serveOTLP(w http.ResponseWriter, r *http.Request) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var o outcome
	var refused *refusal
	switch kind {
	case "application/x-protobuf":
		o, refused = a.take(w, r, maxProtobuf, func(b []byte) (outcome, error) { return a.otlp(protobuf{}, b) })
	case "application/json":
		o, refused = a.take(w, r, maxJSON, func(b []byte) (outcome, error) { return a.otlp(jsonFormat{}, b) })
	default:
		refused = refuse(http.StatusUnsupportedMediaType, reasonUnsupported, "content type %.60q: want application/x-protobuf or application/json", kind)
		kind = "application/json"
	}
	w.Header().Set("Content-Type", kind)
	if refused != nil {
		a.counted(w, r, refused)
		w.WriteHeader(refused.status)
		w.Write(status(kind, refused.Error()))
		return
	}
	w.Write(success(kind, &o))
}

// status returns a message google.rpc.Status.
func status(kind, text string) []byte {
	if kind == "application/json" {
		b, _ := json.Marshal(map[string]string{"message": text})
		return b
	}
	return appendString(nil, 2, text)
}

// success returns a message ExportMetricsServiceResponse.
func success(kind string, o *outcome) []byte {
	text := ""
	if o.rejected > 0 {
		text = o.why.Error()
	}
	switch {
	case kind == "application/json" && text == "":
		return []byte("{}")
	case kind == "application/json":
		b, _ := json.Marshal(map[string]any{"partialSuccess": map[string]string{
			"rejectedDataPoints": strconv.Itoa(o.rejected), "errorMessage": text,
		}})
		return b
	case text == "":
		return nil
	}
	partial := binary.AppendUvarint([]byte{1 << 3}, uint64(o.rejected))
	return appendString(nil, 1, string(appendString(partial, 2, text)))
}

// appendString appends a field of protocol buffers.
func appendString(b []byte, field int, s string) []byte {
	b = binary.AppendUvarint(append(b, byte(field<<3|wireBytes)), uint64(len(s)))
	return append(b, s...)
}

func (a *Agent) serveWrite(w http.ResponseWriter, r *http.Request) {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	second := params["proto"] == "io.prometheus.write.v2.Request"
	var o outcome
	var refused *refusal
	switch {
	case kind != "application/x-protobuf" || !second && params["proto"] != "" && params["proto"] != "prometheus.WriteRequest":
		refused = refuse(http.StatusUnsupportedMediaType, reasonUnsupported, "content type %.80q is not supported", r.Header.Get("Content-Type"))
	case r.Header.Get("Content-Encoding") != "snappy":
		refused = refuse(http.StatusUnsupportedMediaType, reasonUnsupported, "content encoding %.40q: want snappy", r.Header.Get("Content-Encoding"))
	case second:
		o, refused = a.take(w, r, maxProtobuf, a.write2)
	default:
		o, refused = a.take(w, r, maxProtobuf, a.write1)
	}
	if second {
		w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", strconv.Itoa(o.taken))
		w.Header().Set("X-Prometheus-Remote-Write-Histograms-Written", "0")
		w.Header().Set("X-Prometheus-Remote-Write-Exemplars-Written", "0")
	}
	switch {
	case refused != nil:
		a.counted(w, r, refused)
		http.Error(w, refused.Error(), refused.status)
	case o.rejected > 0 && !old(o.why): // a sender that catches up has old samples
		http.Error(w, fmt.Sprintf("%d samples were rejected, others taken: %v", o.rejected, o.why), http.StatusBadRequest)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func old(err error) bool {
	var r *pushed.Rejection
	return errors.As(err, &r) && r.Reason == pushed.ReasonOld
}

// limitListener limits the connections at the same time.
type limitListener struct {
	net.Listener
	free chan struct{}
	done chan struct{}
}

func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitedConn{Conn: c, free: l.free}, nil
}

func (l *limitListener) Close() error {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	return l.Listener.Close()
}

// ServeHTTP answers a request as the server does.
func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.server.Handler.ServeHTTP(w, r) }
