package pcp

import (
	"strconv"

	"github.com/go-pcp/pcp/internal/ctext"
)

const hexDigits = "0123456789abcdef"

func appendHex(b, data []byte) []byte {
	for _, c := range data {
		b = append(b, hexDigits[c>>4], hexDigits[c&15])
	}
	return b
}

// NumberStr prints f in 7 characters with a scale: "  1.23K", " inf?  "
// (pmNumberStr(3)).
func NumberStr(f float64) string {
	var room [8]byte
	return string(appendNumber(room[:0], f))
}

// appendNumber appends the text of NumberStr.
func appendNumber(b []byte, f float64) []byte {
	// The limits between adjacent scales, such that the number rounds into six
	// characters. A sign leaves room for one digit less.
	limits, infinite := &numberLimits, " inf?  "
	a := f
	if f < 0 {
		limits, infinite, a = &negativeLimits, "-inf?  ", -f
	}
	scaled, suffix := 0.0, byte(' ')
	switch {
	case a >= limits[4]:
		return append(b, infinite...)
	case a >= limits[3]:
		scaled, suffix = f/1e12, 'T'
	case a >= limits[2]:
		scaled, suffix = f/1e9, 'G'
	case a >= limits[1]:
		scaled, suffix = f/1e6, 'M'
	case a >= limits[0]:
		scaled, suffix = f/1e3, 'K'
	case a >= 0.005:
		scaled = f
	}
	start := len(b)
	b = ctext.AlignRight(strconv.AppendFloat(b, scaled, 'f', 2, 64), start, 6)
	return append(b, suffix)
}

// The magnitudes from which K, M, G, T and infinity apply.
var (
	numberLimits   = [5]float64{999.995, 999995, 999995e3, 999995e6, 999995e9}
	negativeLimits = [5]float64{99.995, 99995, 99995e3, 99995e6, 99995e9}
)
