package opentelemetry

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/agent/pushed"
)

// kind is the kind of a metric in OTLP, which is the number of its field.
type kind int

const (
	kindGauge       kind = 5
	kindSum         kind = 7
	kindHistogram   kind = 9
	kindExponential kind = 10
	kindSummary     kind = 11
)

// Temporalities.
const (
	temporalityDelta      = 1
	temporalityCumulative = 2
)

// flagNoValue is the flag of a data point whose series has ended.
const flagNoValue = 1

// A metric is one of OTLP. Its points are still encoded.
type metric struct {
	name, description, unit string
	kind                    kind
	temporality             int
	monotonic               bool
	points                  [][]byte
}

// A point is a data point of any kind.
type point struct {
	attributes []pushed.Label
	time       uint64
	flags      uint64

	isInt  bool // of gauges and sums
	isSet  bool
	number uint64 // an int64 or a float64

	count          uint64
	sum, min, max  float64
	hasSum         bool
	hasMin, hasMax bool
	bounds         []float64
	counts         []uint64
	scale          int32
	zero           uint64
	zeroThreshold  float64
	offset         [2]int32 // of the positive and the negative buckets
	buckets        [2][]uint64
	quantiles      [][2]float64 // quantile and value
}

// A resource is what a sender is, and its metrics are still encoded.
type resource struct {
	attributes []pushed.Label
	scopes     [][]byte
}

// A format is one of the two encodings of OTLP.
type format interface {
	request(b []byte) (resources [][]byte, err error)
	resource(b []byte) (resource, error)
	scope(b []byte) (name string, metrics [][]byte, err error)
	metric(b []byte) (metric, error)
	point(k kind, b []byte, p *point) error
}

// Limits of the decoder.
const (
	maxDepth   = 8   // of the value of an attribute
	maxBuckets = 512 // of a histogram
	maxLabels  = 128 // of a series or a resource
)

func errMany(what string, limit int) error { return fmt.Errorf("more than %d %s", limit, what) }

// protobuf is the encoding by protocol buffers.
type protobuf struct{}

func (protobuf) request(b []byte) (list [][]byte, err error) {
	m := message{b: b}
	for m.next() {
		if m.is(1, wireBytes) {
			list = append(list, m.data)
		}
	}
	return list, m.err
}

func (protobuf) resource(b []byte) (r resource, err error) {
	m := message{b: b}
	for m.next() {
		switch {
		case m.is(1, wireBytes):
			in := message{b: m.data}
			for in.next() {
				if in.is(1, wireBytes) {
					if r.attributes, err = appendAttribute(r.attributes, in.data); err != nil {
						return r, err
					}
				}
			}
			if in.err != nil {
				return r, in.err
			}
		case m.is(2, wireBytes):
			r.scopes = append(r.scopes, m.data)
		}
	}
	return r, m.err
}

func (protobuf) scope(b []byte) (name string, list [][]byte, err error) {
	m := message{b: b}
	for m.next() {
		switch {
		case m.is(1, wireBytes):
			in := message{b: m.data}
			for in.next() {
				if in.is(1, wireBytes) {
					name = string(in.data)
				}
			}
			if in.err != nil {
				return "", nil, in.err
			}
		case m.is(2, wireBytes):
			list = append(list, m.data)
		}
	}
	return name, list, m.err
}

func (protobuf) metric(b []byte) (x metric, err error) {
	m := message{b: b}
	for m.next() {
		switch {
		case m.is(1, wireBytes):
			x.name = string(m.data)
		case m.is(2, wireBytes):
			x.description = string(m.data)
		case m.is(3, wireBytes):
			x.unit = string(m.data)
		case m.field >= int(kindGauge) && m.field <= int(kindSummary):
			if !m.is(m.field, wireBytes) {
				break
			}
			x.kind, x.points = kind(m.field), nil
			in := message{b: m.data}
			for in.next() {
				switch {
				case in.is(1, wireBytes):
					x.points = append(x.points, in.data)
				case in.is(2, wireVarint):
					x.temporality = int(int32(in.bits))
				case in.is(3, wireVarint):
					x.monotonic = in.bits != 0
				}
			}
			if in.err != nil {
				return x, in.err
			}
		}
	}
	return x, m.err
}

// attributesField has the number of the field of attributes in the points of each kind.
func attributesField(k kind) int {
	switch k {
	case kindHistogram:
		return 9
	case kindExponential:
		return 1
	}
	return 7
}

func (protobuf) point(k kind, b []byte, p *point) (err error) {
	m := message{b: b}
	for m.next() {
		if m.err != nil {
			break
		}
		if m.is(attributesField(k), wireBytes) {
			if p.attributes, err = appendAttribute(p.attributes, m.data); err != nil {
				return err
			}
			continue
		}
		if m.is(3, wire64) {
			p.time = m.bits
			continue
		}
		switch k {
		case kindGauge, kindSum:
			switch {
			case m.is(4, wire64):
				p.number, p.isInt, p.isSet = m.bits, false, true
			case m.is(6, wire64):
				p.number, p.isInt, p.isSet = m.bits, true, true
			case m.is(8, wireVarint):
				p.flags = m.bits
			}
		case kindHistogram:
			switch {
			case p.common(&m), m.is(10, wireVarint):
				if m.field == 10 {
					p.flags = m.bits
				}
			case m.field == 6:
				p.counts = m.fixed(p.counts)
			case m.field == 7:
				for _, bits := range m.fixed(nil) {
					p.bounds = append(p.bounds, math.Float64frombits(bits))
				}
			case m.is(11, wire64):
				p.min, p.hasMin = m.double(), true
			case m.is(12, wire64):
				p.max, p.hasMax = m.double(), true
			}
		case kindExponential:
			switch {
			case p.common(&m):
			case m.is(6, wireVarint):
				p.scale = m.sint32()
			case m.is(7, wire64):
				p.zero = m.bits
			case m.field == 8 || m.field == 9:
				if !m.is(m.field, wireBytes) {
					break
				}
				in, side := message{b: m.data}, m.field-8
				for in.next() {
					switch {
					case in.is(1, wireVarint):
						p.offset[side] = in.sint32()
					case in.field == 2:
						p.buckets[side] = in.varints(p.buckets[side])
					}
				}
				if in.err != nil {
					return in.err
				}
			case m.is(10, wireVarint):
				p.flags = m.bits
			case m.is(12, wire64):
				p.min, p.hasMin = m.double(), true
			case m.is(13, wire64):
				p.max, p.hasMax = m.double(), true
			case m.is(14, wire64):
				p.zeroThreshold = m.double()
			}
		case kindSummary:
			switch {
			case p.common(&m):
			case m.is(6, wireBytes):
				in, q := message{b: m.data}, [2]float64{}
				for in.next() {
					switch {
					case in.is(1, wire64):
						q[0] = in.double()
					case in.is(2, wire64):
						q[1] = in.double()
					}
				}
				if in.err != nil {
					return in.err
				}
				p.quantiles = append(p.quantiles, q)
			case m.is(8, wireVarint):
				p.flags = m.bits
			}
		}
	}
	return m.err
}

// common reads the count and the sum, which have the same fields in three kinds of points.
func (p *point) common(m *message) bool {
	switch {
	case m.is(4, wire64):
		p.count = m.bits
	case m.is(5, wire64):
		p.sum, p.hasSum = m.double(), true
	default:
		return false
	}
	return true
}

// appendAttribute appends a message KeyValue.
func appendAttribute(list []pushed.Label, b []byte) ([]pushed.Label, error) {
	if len(list) >= maxLabels {
		return list, errMany("attributes", maxLabels)
	}
	var l pushed.Label
	m := message{b: b}
	for m.next() {
		switch {
		case m.is(1, wireBytes):
			l.Name = string(m.data)
		case m.is(2, wireBytes):
			text, err := anyValue(nil, m.data, 0)
			if err != nil {
				return list, err
			}
			l.Value = string(text)
		}
	}
	return append(list, l), m.err
}

// anyValue appends a message AnyValue as text: the elements of a list with commas between them.
func anyValue(text, b []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errMany("levels of values", maxDepth)
	}
	m := message{b: b}
	for m.next() {
		switch {
		case m.is(1, wireBytes):
			text = append(text, m.data...)
		case m.is(2, wireVarint):
			text = strconv.AppendBool(text, m.bits != 0)
		case m.is(3, wireVarint):
			text = strconv.AppendInt(text, int64(m.bits), 10)
		case m.is(4, wire64):
			text = strconv.AppendFloat(text, m.double(), 'g', -1, 64)
		case m.is(5, wireBytes), m.field == 6 && m.err == nil && m.is(6, wireBytes):
			in, pairs, first := message{b: m.data}, m.field == 6, true
			for in.next() {
				if !in.is(1, wireBytes) {
					continue
				}
				if !first {
					text = append(text, ',')
				}
				first = false
				var err error
				if !pairs {
					text, err = anyValue(text, in.data, depth+1)
				} else {
					kv := message{b: in.data}
					for kv.next() && err == nil {
						switch {
						case kv.is(1, wireBytes):
							text = append(append(text, kv.data...), '=')
						case kv.is(2, wireBytes):
							text, err = anyValue(text, kv.data, depth+1)
						}
					}
					if err == nil {
						err = kv.err
					}
				}
				if err != nil {
					return nil, err
				}
			}
			if in.err != nil {
				return nil, in.err
			}
		case m.is(7, wireBytes):
			text = fmt.Appendf(text, "%x", m.data)
		}
	}
	return text, m.err
}

// jsonFormat is the encoding by JSON.
type jsonFormat struct{}

func raw(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

func (jsonFormat) request(b []byte) ([][]byte, error) {
	var x struct {
		ResourceMetrics []json.RawMessage
	}
	err := json.Unmarshal(b, &x)
	return raw(x.ResourceMetrics), err
}

func (jsonFormat) resource(b []byte) (resource, error) {
	var x struct {
		Resource     struct{ Attributes []json.RawMessage }
		ScopeMetrics []json.RawMessage
	}
	if err := json.Unmarshal(b, &x); err != nil {
		return resource{}, err
	}
	list, err := jsonAttributes(x.Resource.Attributes)
	return resource{list, raw(x.ScopeMetrics)}, err
}

func (jsonFormat) scope(b []byte) (string, [][]byte, error) {
	var x struct {
		Scope   struct{ Name string }
		Metrics []json.RawMessage
	}
	err := json.Unmarshal(b, &x)
	return x.Scope.Name, raw(x.Metrics), err
}

func (jsonFormat) metric(b []byte) (metric, error) {
	type data struct {
		DataPoints             []json.RawMessage
		AggregationTemporality int
		IsMonotonic            bool
	}
	var x struct {
		Name, Description, Unit                              string
		Gauge, Sum, Histogram, ExponentialHistogram, Summary *data
	}
	if err := json.Unmarshal(b, &x); err != nil {
		return metric{}, err
	}
	m := metric{name: x.Name, description: x.Description, unit: x.Unit}
	for _, of := range []struct {
		kind kind
		*data
	}{
		{kindGauge, x.Gauge},
		{kindSum, x.Sum},
		{kindHistogram, x.Histogram},
		{kindExponential, x.ExponentialHistogram},
		{kindSummary, x.Summary},
	} {
		if of.data != nil {
			m.kind, m.temporality, m.monotonic, m.points = of.kind, of.AggregationTemporality, of.IsMonotonic, raw(of.DataPoints)
		}
	}
	return m, nil
}

// unsigned and signed are integers of 64 bits, which JSON has as strings or as numbers.
type (
	unsigned uint64
	signed   int64
)

func unquote(b []byte) string { return strings.Trim(string(b), `"`) }

func (n *unsigned) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	v, err := strconv.ParseUint(unquote(b), 10, 64)
	*n = unsigned(v)
	return err
}

func (n *signed) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	v, err := strconv.ParseInt(unquote(b), 10, 64)
	*n = signed(v)
	return err
}

// float is a number, or the name of a special one.
type float float64

func (f *float) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	v, err := strconv.ParseFloat(unquote(b), 64)
	*f = float(v)
	return err
}

func (jsonFormat) point(_ kind, b []byte, p *point) error {
	type buckets struct {
		Offset       int32
		BucketCounts []unsigned
	}
	var x struct {
		Attributes         []json.RawMessage
		TimeUnixNano       unsigned
		Flags              uint32
		AsInt              *signed
		AsDouble           *float
		Count, ZeroCount   unsigned
		Sum, Min, Max      *float
		BucketCounts       []unsigned
		ExplicitBounds     []float
		Scale              int32
		ZeroThreshold      float
		Positive, Negative buckets
		QuantileValues     []struct{ Quantile, Value float }
	}
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	var err error
	if p.attributes, err = jsonAttributes(x.Attributes); err != nil {
		return err
	}
	p.time, p.flags = uint64(x.TimeUnixNano), uint64(x.Flags)
	switch {
	case x.AsInt != nil:
		p.number, p.isInt, p.isSet = uint64(*x.AsInt), true, true
	case x.AsDouble != nil:
		p.number, p.isSet = math.Float64bits(float64(*x.AsDouble)), true
	}
	p.count, p.zero, p.scale, p.zeroThreshold = uint64(x.Count), uint64(x.ZeroCount), x.Scale, float64(x.ZeroThreshold)
	for _, of := range []struct {
		from *float
		to   *float64
		has  *bool
	}{{x.Sum, &p.sum, &p.hasSum}, {x.Min, &p.min, &p.hasMin}, {x.Max, &p.max, &p.hasMax}} {
		if of.from != nil {
			*of.to, *of.has = float64(*of.from), true
		}
	}
	for _, n := range x.BucketCounts {
		p.counts = append(p.counts, uint64(n))
	}
	for _, f := range x.ExplicitBounds {
		p.bounds = append(p.bounds, float64(f))
	}
	for i, side := range []buckets{x.Positive, x.Negative} {
		p.offset[i] = side.Offset
		for _, n := range side.BucketCounts {
			p.buckets[i] = append(p.buckets[i], uint64(n))
		}
	}
	for _, q := range x.QuantileValues {
		p.quantiles = append(p.quantiles, [2]float64{float64(q.Quantile), float64(q.Value)})
	}
	return nil
}

func jsonAttributes(list []json.RawMessage) (out []pushed.Label, err error) {
	if len(list) > maxLabels {
		return nil, errMany("attributes", maxLabels)
	}
	for _, b := range list {
		var x struct {
			Key   string
			Value json.RawMessage
		}
		if err := json.Unmarshal(b, &x); err != nil {
			return nil, err
		}
		text, err := jsonAny(nil, x.Value, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, pushed.Label{Name: x.Key, Value: string(text)})
	}
	return out, nil
}

// jsonAny is anyValue for JSON.
func jsonAny(text, b []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errMany("levels of values", maxDepth)
	}
	if len(b) == 0 {
		return text, nil
	}
	var x struct {
		StringValue *string
		BoolValue   *bool
		IntValue    *signed
		DoubleValue *float
		BytesValue  []byte
		ArrayValue  struct{ Values []json.RawMessage }
		KvlistValue struct {
			Values []struct {
				Key   string
				Value json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(b, &x); err != nil {
		return nil, err
	}
	switch {
	case x.StringValue != nil:
		text = append(text, *x.StringValue...)
	case x.BoolValue != nil:
		text = strconv.AppendBool(text, *x.BoolValue)
	case x.IntValue != nil:
		text = strconv.AppendInt(text, int64(*x.IntValue), 10)
	case x.DoubleValue != nil:
		text = strconv.AppendFloat(text, float64(*x.DoubleValue), 'g', -1, 64)
	case x.BytesValue != nil:
		text = fmt.Appendf(text, "%x", x.BytesValue)
	}
	var err error
	for i, v := range x.ArrayValue.Values {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = jsonAny(text, v, depth+1); err != nil {
			return nil, err
		}
	}
	for i, kv := range x.KvlistValue.Values {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, kv.Key...), '=')
		if text, err = jsonAny(text, kv.Value, depth+1); err != nil {
			return nil, err
		}
	}
	return text, nil
}
