package rest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
)

// MaxQuery is the maximum length of a request's parameters, in bytes of the
// URL.
const MaxQuery = 8000

// ErrQuery is the error of malformed parameters.
var ErrQuery = errors.New("bad parameters")

// Params are the parameters of a request, in the order of the request.
type Params struct {
	list []param
}

type param struct{ name, value string }

// ParseParams parses the parameters of a URL, after the question mark, or of a
// form in the body. As in forms of browsers, a plus sign is a space; a byte 0
// ends a name or a value. A name without an equals sign has the empty value,
// and a value without a name is ignored. The caller limits the length:
// [MaxQuery] for a URL.
//
// It returns ErrQuery for a percent sign without two hexadecimal digits.
func ParseParams(query string) (Params, error) {
	var p Params
	for query != "" {
		var one string
		one, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(one, "=")
		if name == "" {
			continue
		}
		name, err := Unescape(name)
		if err != nil {
			return Params{}, err
		}
		value, err = Unescape(value)
		if err != nil {
			return Params{}, err
		}
		p.list = append(p.list, param{name, value})
	}
	return p, nil
}

// Get returns the value of the first parameter with a name, and reports whether
// there is one.
func (p Params) Get(name string) (value string, ok bool) {
	for _, q := range p.list {
		if q.name == name {
			return q.value, true
		}
	}
	return "", false
}

// Value returns the value of the first parameter with a name, or "".
func (p Params) Value(name string) string {
	v, _ := p.Get(name)
	return v
}

// Len returns the number of parameters, repeated ones included.
func (p Params) Len() int { return len(p.list) }

// Join returns the parameters of p followed by those of q.
func (p Params) Join(q Params) Params {
	return Params{append(p.list[:len(p.list):len(p.list)], q.list...)}
}

// Unescape replaces %XX with the byte of that value, and + with a space. An escaped byte 0 ends
// the text. It returns ErrQuery for an escape without two hexadecimal digits.
func Unescape(s string) (string, error) {
	i := strings.IndexAny(s, "%+")
	if i < 0 {
		return s, nil
	}
	b := append(make([]byte, 0, len(s)), s[:i]...)
	for ; i < len(s); i++ {
		c := s[i]
		if c == '+' {
			c = ' '
		} else if c == '%' {
			if i+2 >= len(s) || !ctext.IsHexDigit(s[i+1]) || !ctext.IsHexDigit(s[i+2]) {
				return "", fmt.Errorf("%w: %q is no escape", ErrQuery, s[i:min(i+3, len(s))])
			}
			high, _ := ctext.HexDigit(s[i+1])
			low, _ := ctext.HexDigit(s[i+2])
			c = high<<4 | low
			i += 2
			if c == 0 {
				break
			}
		}
		b = append(b, c)
	}
	return string(b), nil
}
