package api

import (
	"errors"
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"google.golang.org/protobuf/encoding/protowire"
)

// Types of responses, in the order of the protocol.
const (
	readSamples = 0
	readChunks  = 1
)

// A readRequest is a message ReadRequest:
//
//	queries 1*{start 1:ms, end 2:ms, matchers 3*{type 1, name 2, value 3}, hints 4{func 2, start 3:ms, end 4:ms, …}}
//	accepted types 2*
type readRequest struct {
	queries  []readQuery
	streamed bool // the response is of type STREAMED_XOR_CHUNKS, otherwise SAMPLES
}

type readQuery struct {
	start, end int64 // in milliseconds
	matchers   []*labels.Matcher
	hints      *storage.SelectHints // nil for none
}

// A field is a field of a message.
type field struct {
	num protowire.Number
	typ protowire.Type
	n   uint64 // of type VarintType
	b   []byte // of type BytesType
}

// wrong returns an error if the field has another type.
func (f *field) wrong(want protowire.Type) error {
	if f.typ != want {
		return fmt.Errorf("field %d has wire type %d, want %d", f.num, f.typ, want)
	}
	return nil
}

// integer sets n to the value of the field.
func (f *field) integer(n *int64) error {
	*n = int64(f.n)
	return f.wrong(protowire.VarintType)
}

// text sets s to the value of the field.
func (f *field) text(s *string) error {
	*s = string(f.b)
	return f.wrong(protowire.BytesType)
}

// fields calls do for each field of a message.
func fields(b []byte, do func(f *field) error) error {
	size := len(b)
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("offset %d: %w", size-len(b), protowire.ParseError(n))
		}
		at := size - len(b)
		b = b[n:]
		f := field{num: num, typ: typ}
		switch typ {
		case protowire.VarintType:
			f.n, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			f.b, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return fmt.Errorf("offset %d: %w", at, protowire.ParseError(n))
		}
		if err := do(&f); err != nil {
			return fmt.Errorf("offset %d: %w", at, err)
		}
		b = b[n:]
	}
	return nil
}

// decodeRead decodes a request.
func decodeRead(b []byte) (*readRequest, error) {
	req := &readRequest{}
	accepted, chosen := 0, false
	accept := func(kind uint64) {
		accepted++
		if !chosen && kind <= readChunks {
			chosen, req.streamed = true, kind == readChunks
		}
	}
	err := fields(b, func(f *field) error {
		switch {
		case f.num == 1:
			if len(req.queries) == MaxReadQueries {
				return fmt.Errorf("there are more than %d queries", MaxReadQueries)
			}
			req.queries = append(req.queries, readQuery{})
			return errors.Join(f.wrong(protowire.BytesType), req.queries[len(req.queries)-1].decode(f.b))
		case f.num == 2 && f.typ == protowire.VarintType:
			accept(f.n)
		case f.num == 2:
			for p := f.b; len(p) > 0; {
				kind, n := protowire.ConsumeVarint(p)
				if n < 0 {
					return protowire.ParseError(n)
				}
				accept(kind)
				p = p[n:]
			}
			return f.wrong(protowire.BytesType)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if accepted > 0 && !chosen {
		return nil, errors.New("server does not support any of the requested response types; it supports SAMPLES and STREAMED_XOR_CHUNKS")
	}
	return req, nil
}

func (q *readQuery) decode(b []byte) error {
	return fields(b, func(f *field) error {
		switch f.num {
		case 1:
			return f.integer(&q.start)
		case 2:
			return f.integer(&q.end)
		case 3:
			if len(q.matchers) == MaxMatchers {
				return fmt.Errorf("the query has more than %d matchers", MaxMatchers)
			}
			m, err := decodeMatcher(f.b)
			q.matchers = append(q.matchers, m)
			return errors.Join(f.wrong(protowire.BytesType), err)
		case 4:
			if q.hints == nil {
				q.hints = &storage.SelectHints{}
			}
			return errors.Join(f.wrong(protowire.BytesType), decodeHints(q.hints, f.b))
		}
		return nil
	})
}

// matchTypes are the types of matchers in the order of the protocol.
var matchTypes = [...]labels.MatchType{labels.MatchEqual, labels.MatchNotEqual, labels.MatchRegexp, labels.MatchNotRegexp}

func decodeMatcher(b []byte) (*labels.Matcher, error) {
	var kind int64
	var name, value string
	err := fields(b, func(f *field) error {
		switch f.num {
		case 1:
			return f.integer(&kind)
		case 2:
			return f.text(&name)
		case 3:
			return f.text(&value)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case kind < 0 || kind >= int64(len(matchTypes)):
		return nil, errors.New("invalid matcher type")
	case len(value) > MaxExpr:
		return nil, fmt.Errorf("the matcher has %d bytes, more than %d", len(value), MaxExpr)
	}
	if kind >= 2 {
		if err := checkRegexp(value); err != nil {
			return nil, err
		}
	}
	return labels.NewMatcher(matchTypes[kind], name, value)
}

// decodeHints decodes the hints that the store uses.
func decodeHints(h *storage.SelectHints, b []byte) error {
	return fields(b, func(f *field) error {
		switch f.num {
		case 2:
			return f.text(&h.Func)
		case 3:
			return f.integer(&h.Start)
		case 4:
			return f.integer(&h.End)
		}
		return nil
	})
}

func appendInt(b []byte, num protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
}

func appendDouble(b []byte, num protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, num, protowire.Fixed64Type), math.Float64bits(v))
}

func appendBytes(b []byte, num protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}

// appendLabels appends the fields 1 of labels. It uses and returns memory for one of them.
func appendLabels(b, one []byte, l labels.Labels) (all, buf []byte) {
	l.Range(func(l labels.Label) {
		one = protowire.AppendString(protowire.AppendTag(one[:0], 1, protowire.BytesType), l.Name)
		one = protowire.AppendString(protowire.AppendTag(one, 2, protowire.BytesType), l.Value)
		b = appendBytes(b, 1, one)
	})
	return b, one
}
