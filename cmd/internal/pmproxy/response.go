package pmproxy

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// minCompress is the size from which responses are compressed.
const minCompress = 1024

// A response is a response in progress: it is compressed if the client accepts
// that and it is text of sufficient length.
type response struct {
	http.ResponseWriter
	accepts bool // the client accepts gzip
	head    bool
	started bool
	status  int
	sent    uint64
	held    []byte // start of a response that may be too short to compress
	gz      *gzip.Writer
	plain   bool // not compressed
	live    bool // a stream of events
}

func newResponse(rw http.ResponseWriter, r *http.Request) *response {
	return &response{ResponseWriter: rw, accepts: acceptsGzip(r.Header.Values("Accept-Encoding")), head: r.Method == http.MethodHead}
}

// Unwrap is for http.ResponseController.
func (o *response) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// WriteHeader begins the response. The header may wait until it is known whether
// the response is compressed.
func (o *response) WriteHeader(status int) {
	if o.started {
		return
	}
	if status < 200 { // more follows
		o.ResponseWriter.WriteHeader(status)
		return
	}
	o.started, o.status = true, status
	h := o.Header()
	o.plain = o.head || status == http.StatusNoContent || status == http.StatusNotModified ||
		status == http.StatusPartialContent || h.Get("Content-Encoding") != "" || !compressible(h.Get("Content-Type"))
	if text := h.Get("Content-Length"); text != "" && !o.plain {
		n, err := strconv.ParseInt(text, 10, 64)
		o.plain = err != nil || n < minCompress
	}
	if !o.plain {
		h.Add("Vary", "Accept-Encoding")
	}
	o.plain = o.plain || !o.accepts
	if o.plain {
		o.ResponseWriter.WriteHeader(status)
	} else if h.Get("Content-Length") != "" {
		o.compress()
	}
}

// compress starts the compression.
func (o *response) compress() {
	h := o.Header()
	h.Del("Content-Length")
	h.Set("Content-Encoding", "gzip")
	o.ResponseWriter.WriteHeader(o.status)
	if o.live = h.Get("Content-Type") == "text/event-stream"; o.live {
		// An event is compressed by itself, so a stream keeps no memory between events.
		o.gz, _ = gzip.NewWriterLevel(nil, gzip.StatelessCompression)
	} else if o.gz, _ = gzipWriters.Get().(*gzip.Writer); o.gz == nil {
		o.gz, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // no error: the level is valid
	}
	o.gz.Reset((*sink)(o))
}

// gzipWriters are unused writers.
var gzipWriters sync.Pool

// sink receives the response after compression.
type sink response

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.ResponseWriter.Write(p)
	s.sent += uint64(n)
	return n, err
}

func (o *response) Write(p []byte) (int, error) {
	if !o.started {
		o.WriteHeader(http.StatusOK)
	}
	switch {
	case o.plain:
		return (*sink)(o).Write(p)
	case o.gz != nil:
		return o.gz.Write(p)
	case len(o.held)+len(p) < minCompress:
		o.held = append(o.held, p...)
		return len(p), nil
	}
	o.compress()
	if len(o.held) > 0 {
		if _, err := o.gz.Write(o.held); err != nil {
			return 0, err
		}
		o.held = nil
	}
	return o.gz.Write(p)
}

// Flush sends the buffered bytes. A flushed response is probably long, and is
// compressed from its first byte if at all.
func (o *response) Flush() {
	if !o.started {
		o.WriteHeader(http.StatusOK)
	}
	if !o.plain && o.gz == nil {
		o.compress()
		o.gz.Write(o.held)
		o.held = nil
	}
	if o.gz != nil {
		o.gz.Flush()
	}
	if f, ok := o.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// finish sends the remaining bytes.
func (o *response) finish() {
	if !o.started {
		o.WriteHeader(http.StatusOK)
	}
	switch {
	case o.gz != nil:
		o.gz.Close() // an error is the connection's
	case !o.plain: // short response
		o.plain = true
		o.Header().Set("Content-Length", strconv.Itoa(len(o.held)))
		o.ResponseWriter.WriteHeader(o.status)
		(*sink)(o).Write(o.held)
	}
}

// taken records that the connection was taken over, and answered with a status.
func (o *response) taken(status int) {
	o.started, o.status, o.plain = true, status, true
}

// release frees the buffers.
func (o *response) release() {
	if o.gz != nil {
		o.gz.Reset(nil)
		if !o.live {
			gzipWriters.Put(o.gz)
		}
		o.gz = nil
	}
}

// compressible reports whether a content type is text.
func compressible(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	if strings.HasPrefix(kind, "text/") {
		return true
	}
	switch kind {
	case "application/json", "application/javascript", "application/openmetrics-text", "image/svg+xml", "application/manifest+json":
		return true
	}
	return strings.HasSuffix(kind, "+json")
}

// acceptsGzip reports whether a client accepts gzip (RFC 9110, 12.5.3).
func acceptsGzip(headers []string) bool {
	accepts, any := false, false
	named := false
	for _, list := range headers {
		for field := range strings.SplitSeq(list, ",") {
			coding, params, _ := strings.Cut(field, ";")
			good := true
			if q, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(params)), "q="); ok {
				v, err := strconv.ParseFloat(q, 64)
				good = err == nil && v > 0
			}
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				named, accepts = true, good
			case "*":
				any = good
			}
		}
	}
	return accepts || any && !named
}
