package columns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/go-pcp/pcp"
)

// Part of the file format; do not change.
const (
	maxChunk = 2048 // values of a chunk
	mini     = 128  // values with the same width
	maxScale = 12   // decimals

	layoutSame = 0
	layoutBits = 1
	layoutInts = 2
	layoutZstd = 3

	orderXor = 3
)

// errFormat is the error for bytes that a writer does not make.
var errFormat = errors.New("columns: invalid file")

func invalid(what string) error { return fmt.Errorf("%w: %s", errFormat, what) }

var powers = [maxScale + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12}

// coders are the compressor and the decompressor.
var coders = sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(32<<10))
	if err != nil {
		panic(err) // the options are constant
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(1<<20))
	if err != nil {
		panic(err)
	}
	return e, d
})

// A chunkWriter encodes chunks.
type chunkWriter struct {
	ints, res, best [maxChunk]int64
	vars, packed    []byte
}

// append appends a chunk of values: integers, or bits of a floating-point type.
func (w *chunkWriter) append(b []byte, values []int64, t pcp.Type) []byte {
	scale := byte(0)
	list := values
	if t == pcp.TypeFloat || t == pcp.TypeDouble {
		if s, ok := w.decimal(values, t); ok {
			scale, list = byte(s+1), w.ints[:len(values)]
		}
	}
	b = binary.AppendUvarint(b, uint64(len(values)))
	if scale == 0 && (t == pcp.TypeFloat || t == pcp.TypeDouble) {
		return w.xor(b, list)
	}
	order, size := 0, math.MaxInt
	for o := range 3 {
		n := min(o, len(list))
		r := residuals(w.res[:], list, o)
		if k := bitsSize(r); k+3*n < size {
			order, size = o, k+3*n
			copy(w.best[:], r)
		}
	}
	head := min(order, len(list))
	r := w.best[:len(list)-head]
	w.vars = w.vars[:0]
	for _, v := range heads(list, order) {
		w.vars = binary.AppendVarint(w.vars, v)
	}
	firsts := len(w.vars)
	same := true
	for _, v := range r {
		same = same && v == 0
	}
	if same {
		return finish(b, layoutSame|byte(order)<<4, scale, w.vars)
	}
	w.packed = append(w.packed[:0], w.vars...)
	w.packed = appendBits(w.packed, r)
	for _, v := range r {
		w.vars = binary.AppendVarint(w.vars, v)
	}
	layout, body := byte(layoutBits), w.packed
	if len(w.vars) < len(body) {
		layout, body = layoutInts, w.vars
	}
	if len(values) >= mini {
		e, _ := coders()
		z := e.EncodeAll(w.vars[firsts:], append(make([]byte, 0, len(w.vars)), w.vars[:firsts]...))
		if len(z)*20 < len(body)*19 {
			layout, body = layoutZstd, z
		}
	}
	return finish(b, layout|byte(order)<<4, scale, body)
}

// xor appends a chunk of bits of floating-point numbers that are not decimals.
func (w *chunkWriter) xor(b []byte, list []int64) []byte {
	w.vars = binary.AppendVarint(w.vars[:0], list[0])
	firsts := len(w.vars)
	same := true
	for i := 1; i < len(list); i++ {
		x := uint64(list[i] ^ list[i-1])
		same = same && x == 0
		w.vars = binary.AppendUvarint(w.vars, bits.Reverse64(x))
	}
	if same {
		return finish(b, layoutSame|orderXor<<4, 0, w.vars[:firsts])
	}
	if len(list) >= mini {
		e, _ := coders()
		z := e.EncodeAll(w.vars[firsts:], append(make([]byte, 0, len(w.vars)), w.vars[:firsts]...))
		if len(z)*20 < len(w.vars)*19 {
			return finish(b, layoutZstd|orderXor<<4, 0, z)
		}
	}
	return finish(b, layoutInts|orderXor<<4, 0, w.vars)
}

func finish(b []byte, coding, scale byte, body []byte) []byte {
	b = append(b, coding, scale)
	b = binary.AppendUvarint(b, uint64(len(body)))
	return append(b, body...)
}

// decimal finds the smallest number of decimals with which all values are exact, and computes the integers.
func (w *chunkWriter) decimal(values []int64, t pcp.Type) (scale int, ok bool) {
	for i := 0; i < len(values); {
		f := asFloat(values[i], t)
		scaled := math.Round(f * powers[scale])
		if math.Abs(scaled) < 1<<53 && fromDecimal(int64(scaled), scale, t) == values[i] {
			w.ints[i] = int64(scaled)
			i++
			continue
		}
		if scale++; scale > maxScale || math.IsNaN(f) || math.IsInf(f, 0) {
			return 0, false
		}
		i = 0
	}
	return scale, true
}

// asFloat returns the number of bits.
func asFloat(v int64, t pcp.Type) float64 {
	if t == pcp.TypeFloat {
		return float64(math.Float32frombits(uint32(v)))
	}
	return math.Float64frombits(uint64(v))
}

// fromDecimal returns the bits of a decimal number.
func fromDecimal(n int64, scale int, t pcp.Type) int64 {
	f := float64(n) / powers[scale]
	if t == pcp.TypeFloat {
		return int64(math.Float32bits(float32(f)))
	}
	return int64(math.Float64bits(f))
}

// residuals returns the values of an order after the first ones.
func residuals(to, list []int64, order int) []int64 {
	to = to[:max(0, len(list)-order)]
	switch order {
	case 0:
		copy(to, list)
	case 1:
		for i := range to {
			to[i] = list[i+1] - list[i]
		}
	case 2:
		for i := range to {
			to[i] = (list[i+2] - list[i+1]) - (list[i+1] - list[i])
		}
	}
	return to
}

// heads returns the first values of an order.
func heads(list []int64, order int) []int64 {
	switch n := min(order, len(list)); n {
	case 0:
		return nil
	case 1:
		return []int64{list[0]}
	default:
		return []int64{list[0], list[1] - list[0]}
	}
}

// bounds returns the smallest of some values, and the bits of their distances to it.
func bounds(r []int64) (low int64, width int) {
	low, high := r[0], r[0]
	for _, v := range r {
		low, high = min(low, v), max(high, v)
	}
	if width = bits.Len64(uint64(high) - uint64(low)); width > 56 {
		width = 64
	}
	return low, width
}

func bitsSize(r []int64) (n int) {
	for len(r) > 0 {
		part := r[:min(mini, len(r))]
		low, width := bounds(part)
		n += (bits.Len64(uint64(low)<<1^uint64(low>>63))+6)/7 + 1 + (width*len(part)+7)/8
		r = r[len(part):]
	}
	return n
}

func appendBits(b []byte, r []int64) []byte {
	for len(r) > 0 {
		part := r[:min(mini, len(r))]
		low, width := bounds(part)
		b = binary.AppendVarint(b, low)
		b = append(b, byte(width))
		if width == 64 {
			for _, v := range part {
				b = binary.LittleEndian.AppendUint64(b, uint64(v)-uint64(low))
			}
		} else {
			acc, n := uint64(0), 0
			for _, v := range part {
				acc |= (uint64(v) - uint64(low)) << n
				for n += width; n >= 8; n -= 8 {
					b = append(b, byte(acc))
					acc >>= 8
				}
			}
			if n > 0 {
				b = append(b, byte(acc))
			}
		}
		r = r[len(part):]
	}
	return b
}

// A chunk is a chunk that is not decoded.
type chunk struct {
	n             int
	layout, order byte
	scale         int
	body          []byte
}

// nextChunk splits off the first chunk.
func nextChunk(b []byte) (c chunk, rest []byte, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n == 0 || n > maxChunk || len(b)-k < 2 {
		return c, nil, invalid("head of a chunk")
	}
	coding := b[k]
	c = chunk{n: int(n), layout: coding & 15, order: coding >> 4, scale: int(b[k+1]) - 1}
	b = b[k+2:]
	size, k := binary.Uvarint(b)
	if k <= 0 || size > uint64(len(b)-k) || c.scale > maxScale || c.layout > layoutZstd || c.order > orderXor ||
		c.order == orderXor && (c.layout == layoutBits || c.scale >= 0) {
		return c, nil, invalid("head of a chunk")
	}
	c.body = b[k : k+int(size)]
	return c, b[k+int(size):], nil
}

// A chunkReader decodes chunks.
type chunkReader struct{ plain []byte }

// decode decodes a chunk. The result has the memory of to, which has room for maxChunk values.
func (d *chunkReader) decode(to []int64, c chunk, t pcp.Type) ([]int64, error) {
	to = to[:c.n]
	b := c.body
	firsts := min(int(c.order), c.n)
	if c.order == orderXor {
		firsts = 1
	}
	var head [2]int64
	for i := range firsts {
		v, k := binary.Varint(b)
		if k <= 0 {
			return nil, invalid("first values of a chunk")
		}
		head[i], b = v, b[k:]
	}
	r := to[firsts:]
	if c.layout == layoutZstd {
		if d.plain == nil {
			d.plain = make([]byte, 0, maxChunk*binary.MaxVarintLen64)
		}
		_, z := coders()
		plain, err := z.DecodeAll(b, d.plain[:0])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errFormat, err)
		}
		b = plain
	}
	switch c.layout {
	case layoutSame:
		clear(r)
	case layoutBits:
		for len(r) > 0 {
			part := r[:min(mini, len(r))]
			k, err := readBits(part, b)
			if err != nil {
				return nil, err
			}
			b, r = b[k:], r[len(part):]
		}
	default:
		off := 0
		for i := range r {
			var u uint64
			if off < len(b) && b[off] < 0x80 {
				u = uint64(b[off])
				off++
			} else {
				v, k := binary.Uvarint(b[min(off, len(b)):])
				if k <= 0 {
					return nil, invalid("values of a chunk")
				}
				u = v
				off += k
			}
			if c.order == orderXor {
				r[i] = int64(bits.Reverse64(u))
			} else {
				r[i] = int64(u>>1) ^ -int64(u&1)
			}
		}
		b = b[off:]
	}
	if len(b) != 0 {
		return nil, invalid("more values than the chunk has")
	}
	switch c.order {
	case 1:
		sum := head[0]
		to[0] = sum
		for i := 1; i < len(to); i++ {
			sum += to[i]
			to[i] = sum
		}
	case 2:
		sum, step := head[0], head[1]
		to[0] = sum
		if c.n > 1 {
			sum += step
			to[1] = sum
		}
		for i := 2; i < len(to); i++ {
			step += to[i]
			sum += step
			to[i] = sum
		}
	case orderXor:
		v := head[0]
		to[0] = v
		for i := 1; i < len(to); i++ {
			v ^= to[i]
			to[i] = v
		}
	}
	switch {
	case c.scale < 0:
	case t == pcp.TypeDouble:
		p := powers[c.scale]
		for i, v := range to {
			to[i] = int64(math.Float64bits(float64(v) / p))
		}
	case t == pcp.TypeFloat:
		p := powers[c.scale]
		for i, v := range to {
			to[i] = int64(math.Float32bits(float32(float64(v) / p)))
		}
	default:
		return nil, invalid("decimals of integers")
	}
	return to, nil
}

// readBits reads values of the same width, and returns the length of their bytes.
func readBits(r []int64, b []byte) (int, error) {
	low, k := binary.Varint(b)
	if k <= 0 || k == len(b) {
		return 0, invalid("bits of a chunk")
	}
	width := int(b[k])
	k++
	size := (width*len(r) + 7) / 8
	if width > 56 && width != 64 || size > len(b)-k {
		return 0, invalid("bits of a chunk")
	}
	p := b[k : k+size]
	if width == 64 {
		for i := range r {
			r[i] = low + int64(binary.LittleEndian.Uint64(p[8*i:]))
		}
		return k + size, nil
	}
	mask := uint64(1)<<width - 1
	at := 0
	for i := range r {
		off := at >> 3
		var u uint64
		if off+8 <= len(p) {
			u = binary.LittleEndian.Uint64(p[off:])
		} else {
			for j := off; j < len(p); j++ {
				u |= uint64(p[j]) << (8 * (j - off))
			}
		}
		r[i] = low + int64(u>>(at&7)&mask)
		at += width
	}
	return k + size, nil
}
