package fleet

import (
	"encoding/base64"
	"math"
)

// levels is the number of values that a byte of a row distinguishes.
const levels = 255

// A Row is a series of values as bytes, one for each point: 0 if there is no value, and otherwise 1 for Low to 255 for High,
// so that the value of byte b is Low + (b-1)/254 × (High-Low).
type Row struct {
	Low, High float64
	Bytes     []byte
}

// NewRow returns the Row of values, among which NaN and infinite numbers count as missing. It reports whether there is any value.
func NewRow(values []float32) (Row, bool) {
	r := Row{Low: math.Inf(1), High: math.Inf(-1), Bytes: make([]byte, len(values))}
	for _, v := range values {
		if f := float64(v); usable(f) {
			r.Low, r.High = min(r.Low, f), max(r.High, f)
		}
	}
	if r.Low > r.High {
		r.Low, r.High = 0, 0
		return r, false
	}
	// Low and High are those that the client gets.
	r.Low, r.High = rounded(r.Low), rounded(r.High)
	for i, v := range values {
		f := float64(v)
		if !usable(f) {
			continue
		}
		b := 1.0
		if r.High > r.Low {
			b = 1 + math.Round((f-r.Low)/(r.High-r.Low)*(levels-1))
		}
		r.Bytes[i] = byte(min(levels, max(1, b)))
	}
	return r, true
}

// Value returns the value of point i, and whether there is one.
func (r *Row) Value(i int) (float64, bool) {
	b := r.Bytes[i]
	return r.Low + float64(b-1)/(levels-1)*(r.High-r.Low), b != 0
}

// text returns the bytes in base64.
func (r *Row) text() string { return base64.StdEncoding.EncodeToString(r.Bytes) }

func usable(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
