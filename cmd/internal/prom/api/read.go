package api

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"google.golang.org/protobuf/encoding/protowire"
)

// Limits of remote read.
const (
	MaxReads       = 2         // requests answered at once; others wait. Prometheus has 10
	MaxReadRequest = 1 << 20   // bytes of a request, compressed and not
	MaxReadQueries = 100       // queries of a request
	MaxReadSamples = 5_000_000 // samples and series of a response that is not streamed
	maxReadBody    = 256 << 20 // bytes of a response that is not streamed, before compression
	maxFrame       = 1 << 20   // bytes of chunks in a frame, as in Prometheus
	chunkSamples   = 120       // of a chunk, as in Prometheus
)

// A readError is an error with its status. Prometheus answers these requests with plain text.
type readError struct {
	status int
	err    error
}

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// read is the endpoint read: the protocol remote read of Prometheus.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
	case http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		w.Header().Set("Allow", "POST")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	out := &begun{ResponseWriter: w}
	err := h.answer(out, r)
	if err == nil {
		return
	}
	if out.started {
		h.cfg.Log.Warn("the response to a remote read ended early", "err", err)
		panic(http.ErrAbortHandler) // otherwise the client believes that it has all
	}
	status := http.StatusInternalServerError
	var e *readError
	var f *failure
	var canceled promql.ErrQueryCanceled
	switch {
	case errors.As(err, &e):
		status = e.status
	case errors.As(err, &f):
		status = f.status
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		status = statusClosed
	case errors.Is(err, context.DeadlineExceeded):
		status = http.StatusServiceUnavailable
	}
	w.Header().Del("Content-Encoding")
	http.Error(w, err.Error(), status)
}

// A begun is a response of which a part may have been written.
type begun struct {
	http.ResponseWriter
	started bool
}

func (b *begun) Write(p []byte) (int, error) {
	b.started = true
	return b.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (h *Handler) answer(w http.ResponseWriter, r *http.Request) error {
	give, err := h.takeBody(r, MaxReadRequest)
	if err != nil {
		return err
	}
	defer give()
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxReadRequest))
	if err != nil {
		return &readError{http.StatusBadRequest, err}
	}
	ctx, leave, err := h.enter(r, h.reads)
	if err != nil {
		return err
	}
	defer leave()
	req, err := decodeBody(b)
	if err != nil {
		return &readError{http.StatusBadRequest, err}
	}
	var to readWriter = &rawWriter{w: w}
	if req.streamed {
		to = &streamWriter{w: w}
	}
	for i, q := range req.queries {
		if err := h.readQuery(ctx, to, i, q); err != nil {
			return err
		}
	}
	return to.end()
}

// decodeBody decompresses and decodes a request.
func decodeBody(b []byte) (*readRequest, error) {
	n, err := s2.DecodedLen(b)
	if err != nil {
		return nil, fmt.Errorf("the request is not compressed by snappy: %w", err)
	}
	if n > MaxReadRequest {
		return nil, fmt.Errorf("the request has %d bytes, more than %d", n, MaxReadRequest)
	}
	if b, err = s2.Decode(nil, b); err != nil {
		return nil, fmt.Errorf("the request is not compressed by snappy: %w", err)
	}
	return decodeRead(b)
}

// A readWriter writes a response: the series of each query in turn.
type readWriter interface {
	begin(query int)
	// series writes a series. It is not retained.
	series(l labels.Labels, it chunkenc.Iterator) error
	finish()
	end() error
}

func (h *Handler) readQuery(ctx context.Context, to readWriter, i int, q readQuery) error {
	querier, err := h.data.Querier(q.start, q.end)
	if err != nil {
		return err
	}
	defer querier.Close()
	to.begin(i)
	set := querier.Select(ctx, true, q.hints, q.matchers...)
	var it chunkenc.Iterator
	for set.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := set.At()
		it = s.Iterator(it)
		if err := to.series(s.Labels(), it); err != nil {
			return err
		}
		if err := it.Err(); err != nil {
			return err
		}
	}
	var many promql.ErrTooManySamples
	if err := set.Err(); errors.As(err, &many) {
		return &readError{http.StatusBadRequest, fmt.Errorf("exceeded sample limit: %w", err)}
	} else if err != nil {
		return err
	}
	for _, note := range set.Warnings() {
		h.cfg.Log.Warn("remote read", "warning", note)
	}
	to.finish()
	return nil
}

// A rawWriter makes a response of type SAMPLES: a message ReadResponse in a block of snappy.
//
//	ReadResponse 1*{QueryResult 1*{TimeSeries labels 1*{name 1, value 2} samples 2*{value 1:double, time 2:ms}}}
type rawWriter struct {
	w      http.ResponseWriter
	body   []byte
	result []byte // of the current query
	one    []byte // of the current series
	label  []byte
	n      int
}

func (w *rawWriter) begin(int) { w.result = w.result[:0] }

func (w *rawWriter) series(l labels.Labels, it chunkenc.Iterator) error {
	w.one, w.label = appendLabels(w.one[:0], w.label, l)
	w.n++
	for it.Next() == chunkenc.ValFloat {
		t, v := it.At()
		size := 1 + 8 + 1 + protowire.SizeVarint(uint64(t))
		w.one = protowire.AppendTag(w.one, 2, protowire.BytesType)
		w.one = protowire.AppendVarint(w.one, uint64(size))
		w.one = appendDouble(w.one, 1, v)
		w.one = appendInt(w.one, 2, t)
		if w.n++; w.n > MaxReadSamples {
			break
		}
	}
	w.result = appendBytes(w.result, 1, w.one)
	if w.n > MaxReadSamples || len(w.body)+len(w.result) > maxReadBody {
		return &readError{http.StatusBadRequest, fmt.Errorf("exceeded sample limit (%d)", MaxReadSamples)}
	}
	return nil
}

func (w *rawWriter) finish() { w.body = appendBytes(w.body, 1, w.result) }

func (w *rawWriter) end() error {
	b := s2.EncodeSnappy(nil, w.body)
	w.w.Header().Set("Content-Type", "application/x-protobuf")
	w.w.Header().Set("Content-Encoding", "snappy")
	w.w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, err := w.w.Write(b)
	return err
}

// A streamWriter makes a response of type STREAMED_XOR_CHUNKS: frames of a length, a checksum and a message
// ChunkedReadResponse with chunks of one series.
//
//	ChunkedReadResponse 1{ChunkedSeries labels 1*{name 1, value 2} chunks 2*{min 1:ms, max 2:ms, type 3, data 4}} query 2
type streamWriter struct {
	w      http.ResponseWriter
	query  int
	labels []byte
	chunks []byte
	msg    []byte
	frame  []byte
	label  []byte
}

func (w *streamWriter) begin(query int) { w.query = query }

func (w *streamWriter) series(l labels.Labels, it chunkenc.Iterator) error {
	w.labels, w.label = appendLabels(w.labels[:0], w.label, l)
	w.chunks = w.chunks[:0]
	for it.Next() == chunkenc.ValFloat {
		chunk := chunkenc.NewXORChunk()
		app, err := chunk.Appender()
		if err != nil {
			return err
		}
		first, v := it.At()
		last := first
		app.Append(0, first, v)
		for chunk.NumSamples() < chunkSamples && it.Next() == chunkenc.ValFloat {
			last, v = it.At()
			app.Append(0, last, v)
		}
		m := appendInt(w.msg[:0], 1, first)
		m = appendInt(m, 2, last)
		m = appendInt(m, 3, int64(chunkenc.EncXOR))
		m = appendBytes(m, 4, chunk.Bytes())
		w.msg = m
		w.chunks = appendBytes(w.chunks, 2, m)
		if len(w.labels)+len(w.chunks) >= maxFrame {
			if err := w.send(); err != nil {
				return err
			}
		}
	}
	if len(w.chunks) > 0 {
		return w.send()
	}
	return nil
}

// castagnoli is the polynomial of the checksum of frames.
const castagnoli = crc32.Castagnoli

// send writes a frame of the chunks so far.
func (w *streamWriter) send() error {
	m := protowire.AppendTag(w.msg[:0], 1, protowire.BytesType)
	m = protowire.AppendVarint(m, uint64(len(w.labels)+len(w.chunks)))
	m = append(append(m, w.labels...), w.chunks...)
	m = appendInt(m, 2, int64(w.query))
	w.msg, w.chunks = m, w.chunks[:0]
	b := binary.AppendUvarint(w.frame[:0], uint64(len(m)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(m, crc32.MakeTable(castagnoli)))
	w.frame = append(b, m...)
	w.head()
	_, err := w.w.Write(w.frame)
	return err
}

func (w *streamWriter) head() {
	w.w.Header().Set("Content-Type", "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse")
}

func (w *streamWriter) finish() {}

func (w *streamWriter) end() error {
	w.head() // for a response without series
	return nil
}
