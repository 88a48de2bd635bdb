package otlp

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/internal/unitname"
)

// scopeName is the name of the instrumentation scope, that of pcp2opentelemetry.
const scopeName = "performance-co-pilot"

// Wire types of fields.
const (
	varint  = 0
	fixed64 = 1
	length  = 2
)

// Fields of the messages of opentelemetry.proto.collector.metrics.v1 and opentelemetry.proto.metrics.v1.
const (
	requestResourceMetrics = 1

	resourceMetricsResource = 1
	resourceMetricsScopes   = 2

	resourceAttributes = 1

	scopeMetricsScope   = 1
	scopeMetricsMetrics = 2

	scopeFieldName    = 1
	scopeFieldVersion = 2

	metricName        = 1
	metricDescription = 2
	metricUnit        = 3
	metricGauge       = 5
	metricSum         = 7

	dataPoints     = 1 // of a gauge and of a sum
	sumTemporality = 2
	sumMonotonic   = 3

	pointStart      = 2
	pointTime       = 3
	pointDouble     = 4
	pointInt        = 6
	pointAttributes = 7
	pointFlags      = 8

	keyValueKey   = 1
	keyValueValue = 2

	anyString = 1
	anyBool   = 2
	anyInt    = 3
	anyDouble = 4
)

const (
	cumulative      = 2 // AGGREGATION_TEMPORALITY_CUMULATIVE
	noRecordedValue = 1 // FLAG_NO_RECORDED_VALUE_MASK
)

func appendTag(b []byte, field, kind int) []byte { return append(b, byte(field<<3|kind)) }

func appendBytes(b []byte, field int, p []byte) []byte {
	b = binary.AppendUvarint(appendTag(b, field, length), uint64(len(p)))
	return append(b, p...)
}

func appendString(b []byte, field int, s string) []byte {
	b = binary.AppendUvarint(appendTag(b, field, length), uint64(len(s)))
	return append(b, s...)
}

// appendAttribute appends an attribute as a field of the message around it. The text of a label is JSON: numbers and booleans keep their types.
func appendAttribute(b []byte, field int, key, value string) []byte {
	var v []byte
	switch {
	case value == "true":
		v = append(appendTag(v, anyBool, varint), 1)
	case value == "false":
		v = append(appendTag(v, anyBool, varint), 0)
	default:
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			v = binary.AppendUvarint(appendTag(v, anyInt, varint), uint64(n))
		} else if f, err := strconv.ParseFloat(value, 64); err == nil && !strings.ContainsAny(value, "xX_nN") {
			v = binary.LittleEndian.AppendUint64(appendTag(v, anyDouble, fixed64), math.Float64bits(f))
		} else {
			v = appendString(v, anyString, names.Pair{Value: value}.Text())
		}
	}
	kv := appendString(nil, keyValueKey, strings.ToValidUTF8(key, "\ufffd"))
	kv = appendBytes(kv, keyValueValue, v)
	return appendBytes(b, field, kv)
}

// appendAttributes appends labels.
func appendAttributes(b []byte, field int, list []names.Pair) []byte {
	for _, l := range list {
		b = appendAttribute(b, field, l.Name, l.Value)
	}
	return b
}

// A point is a data point.
type point struct {
	attributes  []byte // encoded
	start, time uint64 // nanoseconds since 1970; start 0 is not sent
	value       pcp.Value
	none        bool // the series has no value at this time
}

func (p *point) append(b []byte) []byte {
	if p.start != 0 {
		b = binary.LittleEndian.AppendUint64(appendTag(b, pointStart, fixed64), p.start)
	}
	b = binary.LittleEndian.AppendUint64(appendTag(b, pointTime, fixed64), p.time)
	if p.none {
		return append(append(b, p.attributes...), pointFlags<<3|varint, noRecordedValue)
	}
	n, ok := integer(p.value)
	if ok {
		b = binary.LittleEndian.AppendUint64(appendTag(b, pointInt, fixed64), uint64(n))
	} else {
		f, _ := p.value.Float64()
		b = binary.LittleEndian.AppendUint64(appendTag(b, pointDouble, fixed64), math.Float64bits(f))
	}
	return append(b, p.attributes...)
}

// integer returns a value that the signed integer of a point can have.
func integer(v pcp.Value) (int64, bool) {
	switch v.Type() {
	case pcp.Type32, pcp.Type64:
		return v.Int64(), true
	case pcp.TypeU32, pcp.TypeU64:
		n := v.Uint64()
		return int64(n), n <= math.MaxInt64
	}
	return 0, false
}

// head returns the first fields of a metric.
func head(name, help string, d *pcp.Desc) []byte {
	b := appendString(nil, metricName, name)
	if help != "" {
		b = appendString(b, metricDescription, strings.ToValidUTF8(help, "\ufffd"))
	}
	return appendString(b, metricUnit, unitname.UCUM(d.Units))
}

// A request is an ExportMetricsServiceRequest that is being made. Its zero value is empty.
type request struct {
	resources []*resourcePart
	points    int
	size      int // of the points, about that of the request
	scratch   []byte
}

// A resourcePart is the metrics of a resource in a request.
type resourcePart struct {
	of      *resource
	metrics []*metricPart
}

// A metricPart is the data points of a metric of a resource in a request.
type metricPart struct {
	of     *metric
	points []byte
}

// add adds a data point.
func (r *request) add(res *resource, m *metric, p *point) {
	if res.in != r {
		res.in, res.part = r, &resourcePart{of: res}
		clear(res.metrics)
		r.resources = append(r.resources, res.part)
		r.size += len(res.attributes)
	}
	part := res.metrics[m]
	if part == nil {
		part = &metricPart{of: m}
		res.metrics[m] = part
		res.part.metrics = append(res.part.metrics, part)
		r.size += len(m.head)
	}
	r.scratch = p.append(r.scratch[:0])
	part.points = appendBytes(part.points, dataPoints, r.scratch)
	r.points++
	r.size += len(r.scratch)
}

// bytes returns the message. The version is that of the program.
func (r *request) bytes(version string) []byte {
	scope := appendString(nil, scopeFieldName, scopeName)
	scope = appendString(scope, scopeFieldVersion, version)
	b := make([]byte, 0, r.size+r.size/8)
	var all, of, list, m []byte
	for _, res := range r.resources {
		list = appendBytes(list[:0], scopeMetricsScope, scope)
		for _, part := range res.metrics {
			of = append(of[:0], part.points...)
			kind := metricGauge
			if part.of.counter {
				kind = metricSum
				of = append(of, sumTemporality<<3|varint, cumulative, sumMonotonic<<3|varint, 1)
			}
			m = appendBytes(append(m[:0], part.of.head...), kind, of)
			list = appendBytes(list, scopeMetricsMetrics, m)
		}
		all = appendBytes(all[:0], resourceMetricsResource, res.of.attributes)
		all = appendBytes(all, resourceMetricsScopes, list)
		b = appendBytes(b, requestResourceMetrics, all)
	}
	return b
}
