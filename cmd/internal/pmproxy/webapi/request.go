package webapi

import (
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

// A request is what a client asks for, and the answer as far as it is written.
type request struct {
	http       *http.Request
	peer       rest.Peer
	params     rest.Params
	context    string // as the client wrote it
	hasContext bool
	old        bool   // an older form of URL, with an underscore
	client     string // JSON of the parameter client, "" without one
	body       []byte // of a POST of store or derive
	making     bool   // the request is for /pmapi/context
	json       bool   // the answer is JSON where it could be text

	wc     *webContext
	out    []byte // the answer
	shared []byte // the answer, if it is not in out: others have it too
}

// A failure is an error with the status of its answer.
type failure struct {
	status int
	msg    string
}

func (f *failure) Error() string { return f.msg }

// fail returns an error that is answered with status 400.
func fail(msg string) error { return &failure{http.StatusBadRequest, msg} }

// errText returns the text that C has for the status of an error.
func errText(err error) string { return pcp.Code(err).Error() }

// status returns the status and the message of an answer for an error.
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

// buffers has memory for answers.
type buffers struct{ pool sync.Pool }

// maxPooled is how large a buffer is kept.
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

// begin starts an answer with the members that all have.
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

// success is the answer of requests that only say that they worked.
func (r *request) success() error {
	if err := r.wc.register(); err != nil {
		return err
	}
	r.out = append(r.out, `{"context":`...)
	r.out = append(r.out, r.wc.text...)
	r.out = append(r.out, ",\"success\":true}\r\n"...)
	return nil
}

// appendFailure appends the answer for an error.
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

// appendNumberOrString appends a text as it is if it is a number of JSON, or else as a string.
func appendNumberOrString(b []byte, s string) []byte {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && strconv.FormatInt(n, 10) == s {
		return append(b, s...)
	}
	return rest.AppendString(b, s)
}
