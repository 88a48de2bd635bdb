package remote

import (
	"encoding/binary"
	"math"
	"sync"
)

// A Version is a version of the protocol.
type Version int

// Versions of the protocol.
const (
	V1 Version = 1 // prometheus.WriteRequest
	V2 Version = 2 // io.prometheus.write.v2.Request
)

// Bits of special values: Stale marks the end of a series (value.StaleNaN), NaN is any other value that is not a
// number (value.NormalNaN).
const (
	Stale uint64 = 0x7ff0000000000002
	NaN   uint64 = 0x7ff8000000000001
)

// A Label is a name with its value.
type Label struct{ Name, Value string }

// A Sample is a value at a time in milliseconds since 1970.
type Sample struct {
	Time int64
	Bits uint64 // of the value, a float64
}

// Number returns the bits of a value for a Sample. It has no stale marker.
func Number(v float64) uint64 {
	if v != v {
		return NaN
	}
	return math.Float64bits(v)
}

// A Family describes a metric.
type Family struct {
	Name       string
	Counter    bool // otherwise a gauge
	Help, Unit string
}

// A Series is a series with samples.
type Series struct {
	Labels  []Label // sorted by name, no name twice, no empty value
	Family  *Family // nil: not described
	Samples []Sample
}

// Types of metrics, the same in both versions.
const (
	typeCounter = 1
	typeGauge   = 2
)

// Tags of fields: the number and the wire type.
const (
	varint = 0
	fixed8 = 1
	length = 2
)

func tag(field, kind int) byte { return byte(field<<3 | kind) }

// An Encoder makes requests. Its zero value is ready to use.
type Encoder struct {
	room
	told map[*Family]bool // families with metadata in a request of version 1.0
}

// A room is the memory for a request.
type room struct {
	refs    map[string]uint32 // of symbols
	symbols []byte
	series  []byte
	packed  []byte
	body    []byte

	compressed []byte
}

// rooms are shared by clients: a program may have thousands of them, of which few make requests at a time.
var rooms = sync.Pool{New: func() any { return new(room) }}

// Encode returns the bytes of a request, not compressed, valid until the next call.
func (e *Encoder) Encode(v Version, list []Series) []byte {
	if v == V1 {
		return e.encode1(list)
	}
	return e.encode2(list)
}

func (e *Encoder) encode2(list []Series) []byte {
	if e.refs == nil {
		e.refs = make(map[string]uint32)
	}
	clear(e.refs)
	e.symbols, e.series = e.symbols[:0], e.series[:0]
	e.ref("") // the first symbol
	for i := range list {
		s := &list[i]
		p := e.packed[:0]
		for _, l := range s.Labels {
			p = binary.AppendUvarint(p, uint64(e.ref(l.Name)))
			p = binary.AppendUvarint(p, uint64(e.ref(l.Value)))
		}
		e.packed = p
		var meta [2 + 2*binary.MaxVarintLen32 + 2]byte
		m := meta[:0]
		if f := s.Family; f != nil {
			m = append(m, tag(1, varint), typeOf(f))
			if f.Help != "" {
				m = binary.AppendUvarint(append(m, tag(3, varint)), uint64(e.ref(f.Help)))
			}
			if f.Unit != "" {
				m = binary.AppendUvarint(append(m, tag(4, varint)), uint64(e.ref(f.Unit)))
			}
		}
		size := samplesSize(s.Samples) + fieldSize(len(p))
		if len(m) > 0 {
			size += fieldSize(len(m))
		}
		b := binary.AppendUvarint(append(e.series, tag(5, length)), uint64(size))
		b = appendBytes(b, 1, p)
		b = appendSamples(b, s.Samples)
		if len(m) > 0 {
			b = appendBytes(b, 5, m)
		}
		e.series = b
	}
	e.body = append(append(e.body[:0], e.symbols...), e.series...)
	return e.body
}

// ref returns the number of a symbol.
func (e *Encoder) ref(s string) uint32 {
	if n, ok := e.refs[s]; ok {
		return n
	}
	n := uint32(len(e.refs))
	e.refs[s] = n
	e.symbols = appendString(e.symbols, 4, s)
	return n
}

func (e *Encoder) encode1(list []Series) []byte {
	if e.told == nil {
		e.told = make(map[*Family]bool)
	}
	b := e.body[:0]
	for i := range list {
		s := &list[i]
		size := samplesSize(s.Samples)
		for _, l := range s.Labels {
			size += fieldSize(fieldSize(len(l.Name)) + fieldSize(len(l.Value)))
		}
		b = binary.AppendUvarint(append(b, tag(1, length)), uint64(size))
		for _, l := range s.Labels {
			b = binary.AppendUvarint(append(b, tag(1, length)), uint64(fieldSize(len(l.Name))+fieldSize(len(l.Value))))
			b = appendString(b, 1, l.Name)
			b = appendString(b, 2, l.Value)
		}
		b = appendSamples(b, s.Samples)
	}
	for i := range list {
		f := list[i].Family
		if f == nil || e.told[f] {
			continue
		}
		e.told[f] = true
		m := append(e.packed[:0], tag(1, varint), typeOf(f))
		m = appendString(m, 2, f.Name)
		if f.Help != "" {
			m = appendString(m, 4, f.Help)
		}
		if f.Unit != "" {
			m = appendString(m, 5, f.Unit)
		}
		e.packed = m
		b = appendBytes(b, 3, m)
	}
	e.body = b
	return b
}

func typeOf(f *Family) byte {
	if f.Counter {
		return typeCounter
	}
	return typeGauge
}

// fieldSize is the size of a field of n bytes with its tag and length.
func fieldSize(n int) int { return 1 + uvarintSize(uint64(n)) + n }

func uvarintSize(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

func appendBytes(b []byte, field int, p []byte) []byte {
	return append(binary.AppendUvarint(append(b, tag(field, length)), uint64(len(p))), p...)
}

func appendString(b []byte, field int, s string) []byte {
	return append(binary.AppendUvarint(append(b, tag(field, length)), uint64(len(s))), s...)
}

// sampleSize is the size of a sample in its field.
func sampleSize(s *Sample) int { return 1 + 8 + 1 + uvarintSize(uint64(s.Time)) }

func samplesSize(list []Sample) int {
	size := 0
	for i := range list {
		size += 2 + sampleSize(&list[i]) // less than 128 bytes
	}
	return size
}

func appendSamples(b []byte, list []Sample) []byte {
	for i := range list {
		s := &list[i]
		b = append(b, tag(2, length), byte(sampleSize(s)), tag(1, fixed8))
		b = binary.LittleEndian.AppendUint64(b, s.Bits)
		b = binary.AppendUvarint(append(b, tag(2, varint)), uint64(s.Time))
	}
	return b
}
