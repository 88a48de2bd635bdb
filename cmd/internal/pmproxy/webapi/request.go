package webapi

import (
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

// A request is a client's request, and the response written so far.
type request struct {
	http       *http.Request
	peer       rest.Peer
	params     rest.Params
	context    string // as in the client's request
	hasContext bool
	old        bool   // older URLs with an underscore
	client     string // JSON of the parameter client, or ""
	body       []byte // of a POST to store or derive
	making     bool   // the request is for /pmapi/context
	json       bool   // respond with JSON in place of text

	wc     *webContext
	out    []byte // the response
	shared []byte // the response, if not in out: shared with other requests
}

// A failure is an error with a response status.
type failure struct {
	status int
	msg    string
}

func (f *failure) Error() string { return f.msg }

// fail returns an error for a response with status 400.
func fail(msg string) error { return &failure{http.StatusBadRequest, msg} }

// errText returns C's text for the status of an error.
func errText(err error) string { return pcp.Code(err).Error() }

// status returns the response status and message for an error.
func status(err error) (int, string) {
	var f *failure
	if errors.As(err, &f) {
		return f.status, f.msg
	}
	var lost *reconnectError
	if errors.As(err, &lost) {
		return http.StatusBadRequest, lost.Error()
	}
	return http.StatusBadRequest, errText(err)
}

// buffers pools memory for responses.
type buffers struct{ pool sync.Pool }

// maxPooled is the largest size of a buffer that is kept.
const maxPooled = 1 << 20

func (p *buffers) get() *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, 4096)
	return &b
}

func (p *buffers) put(b *[]byte, used []byte) {
	if cap(used) <= maxPooled {
		*b = used[:0]
		p.pool.Put(b)
	}
}

// begin starts a response with the common members.
func (r *request) begin() error {
	if err := r.wc.register(); err != nil {
		return err
	}
	r.out = append(r.out, `{"context":`...)
	r.out = append(r.out, r.wc.text...)
	if r.client != "" {
		r.out = append(r.out, `,"client":`...)
		r.out = append(r.out, r.client...)
	}
	return nil
}

// success is the response without data.
func (r *request) success() error {
	if err := r.wc.register(); err != nil {
		return err
	}
	r.out = append(r.out, `{"context":`...)
	r.out = append(r.out, r.wc.text...)
	r.out = append(r.out, ",\"success\":true}\r\n"...)
	return nil
}

// appendFailure appends the response for an error.
func (r *request) appendFailure(b []byte, msg string) []byte {
	b = append(b, '{')
	if r.wc != nil && r.wc.register() == nil {
		b = append(b, `"context":`...)
		b = append(b, r.wc.text...)
		b = append(b, ',')
	} else if r.hasContext && !r.making {
		b = append(b, `"context":`...)
		b = appendNumberOrString(b, r.context)
		b = append(b, ',')
	}
	b = append(b, `"message":`...)
	b = rest.AppendString(b, msg)
	return append(b, ",\"success\":false}\r\n"...)
}

// appendNumberOrString appends a text unchanged if it is a JSON number, otherwise as a string.
func appendNumberOrString(b []byte, s string) []byte {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && strconv.FormatInt(n, 10) == s {
		return append(b, s...)
	}
	return rest.AppendString(b, s)
}
