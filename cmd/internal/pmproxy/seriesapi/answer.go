package seriesapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/internal/ctext"
)

// chunk is the number of bytes buffered before they are sent.
const chunk = 32 << 10

// An answer is written as it is produced: a list, or an object. An answer that
// fits into one chunk is sent with its length, a longer one in pieces.
type answer struct {
	w         http.ResponseWriter
	buf       []byte
	sent      bool // part of the answer
	elements  int
	isObject  bool   // an object instead of a list
	none      string // the answer without elements; "" means success
	client    string
	hasClient bool
}

// started reports whether bytes were sent, so that the answer can no longer be replaced.
func (a *answer) started() bool { return a.sent }

// element begins an element.
func (a *answer) element() {
	if a.elements++; a.elements > 1 {
		a.buf = append(a.buf, ',')
		return
	}
	if a.hasClient {
		a.buf = rest.AppendString(append(a.buf, `{"client":`...), a.client)
		a.buf = append(a.buf, `,"result":`...)
	}
	if a.isObject {
		a.buf = append(a.buf, '{')
	} else {
		a.buf = append(a.buf, '[')
	}
}

func (a *answer) text(s string)   { a.buf = append(a.buf, s...) }
func (a *answer) quoted(s string) { a.buf = rest.AppendString(a.buf, s) }

// appendQuoted appends text as a JSON string, with a fast path for numbers.
func appendQuoted(b, text []byte) []byte {
	for _, c := range text {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return rest.AppendString(b, string(text))
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

// id writes an identifier in quotes.
func (a *answer) id(id sid.ID) {
	const hex = "0123456789abcdef"
	a.buf = append(a.buf, '"')
	for _, c := range id {
		a.buf = append(a.buf, hex[c>>4], hex[c&15])
	}
	a.buf = append(a.buf, '"')
}

// object writes an object of names and strings.
func (a *answer) object(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if i == 0 {
			a.text("{")
		} else {
			a.text(",")
		}
		a.quoted(pairs[i])
		a.text(":")
		a.quoted(pairs[i+1])
	}
	a.text("}")
}

// timestamp writes a time in milliseconds, with three digits of microseconds.
func (a *answer) timestamp(t pcp.Timestamp) {
	us := t.Nsec / 1000
	a.buf = strconv.AppendInt(a.buf, t.Sec*1000+int64(us/1000), 10)
	a.buf = append(a.buf, '.')
	a.buf = ctext.AppendDigits(a.buf, uint32(us%1000), 3)
}

// flush sends the buffer if it is large. The error is the context's.
func (a *answer) flush(ctx context.Context) error {
	if len(a.buf) < chunk {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !a.sent {
		a.sent = true
		a.w.Header()["Content-Type"] = []string{rest.TypeJSON}
	}
	_, err := a.w.Write(a.buf)
	a.buf = a.buf[:0]
	if err != nil {
		return context.Canceled // the client is gone
	}
	return nil
}

// end sends the remaining bytes.
func (a *answer) end() {
	kind := rest.TypeJSON
	switch {
	case a.elements == 0:
		kind = rest.TypeNone
		a.buf = a.buf[:0]
		client := rest.AppendString([]byte(`"client":`), a.client)
		switch {
		case a.none == "" && a.hasClient:
			a.buf = append(append(append(a.buf, '{'), client...), `,"success":true}`...)
		case a.none == "":
			a.text(`{"success":true}`)
		case a.hasClient:
			a.buf = append(append(append(a.buf, '{'), client...), `,"result":`...)
			a.text(a.none + "}")
		default:
			a.text(a.none)
		}
	default:
		if a.isObject {
			a.text("}")
		} else {
			a.text("]")
		}
		if a.hasClient {
			a.text("}")
		}
	}
	a.text("\r\n")
	if a.sent {
		a.w.Write(a.buf) // an error is the connection's, which net/http ends
		return
	}
	rest.Send(a.w, http.StatusOK, kind, a.buf)
}
