// Package figure writes numbers in the few columns that pcp-atop has for them: those that do not fit are
// rounded to a unit or an exponent.
//
//	figure.Value(b, 1234567, 6, 0)             // "1235e3"
//	figure.Memory(b, 3<<30, figure.Bytes, 0)   // "  3.0G"
package figure

import (
	"math"
	"strconv"

	"github.com/go-pcp/pcp/internal/ctext"
)

// Int appends n right-aligned, as printf(3) does with %*d.
func Int(b []byte, width int, n int64) []byte {
	start := len(b)
	b = strconv.AppendInt(b, n, 10)
	return ctext.AlignRight(b, start, width)
}

// Float appends f right-aligned, as printf(3) does with %*.*f.
func Float(b []byte, width, prec int, f float64) []byte {
	start := len(b)
	b = ctext.AppendFloat(b, f, 'f', prec)
	return ctext.AlignRight(b, start, width)
}

// Count converts f to an integer as amd64 does: a number out of range becomes the least
// one.
func Count(f float64) int64 {
	if f >= math.MinInt64 && f < math.MaxInt64 {
		return int64(f)
	}
	return math.MinInt64
}

// Value appends n, which is not negative, in width columns, with an exponent if it is longer. With seconds
// it is the average per second, and "/s" takes two of the columns.
func Value(b []byte, n int64, width int, seconds int) []byte {
	suffix := ""
	if seconds != 0 {
		n = (n + int64(seconds/2)) / int64(seconds)
		width -= 2
		suffix = "/s"
	}
	start := len(b)
	if n < 0 {
		b = append(b, '?')
		return append(ctext.AlignRight(b, start, width), suffix...)
	}
	limit := power(width) - 1
	if n < limit || width < 3 {
		if n >= limit {
			width = 0
		}
		return append(Int(b, width, n), suffix...)
	}
	width -= 2
	limit = power(width) - 1
	exp, rest := 0, int64(0)
	for n > limit {
		exp++
		n, rest = n/10, n%10
	}
	if rest >= 5 && n < limit {
		n++
	}
	b = append(Int(b, width, n), 'e')
	b = strconv.AppendInt(b, int64(exp), 10)
	return append(b, suffix...)
}

func power(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// Elapsed appends a number of seconds as 1d2h3m4s.
func Elapsed(b []byte, seconds int32) []byte {
	for _, u := range []struct {
		size, of int32
		name     byte
	}{{86400, math.MaxInt32, 'd'}, {3600, 86400, 'h'}, {60, 3600, 'm'}} {
		if seconds >= u.size {
			b = append(strconv.AppendInt(b, int64(seconds%u.of/u.size), 10), u.name)
		}
	}
	return append(strconv.AppendInt(b, int64(seconds%60), 10), 's')
}

// CPU appends a time in milliseconds in six columns: 12.34s, 12m34s, 12h34m or 12d34h.
func CPU(b []byte, ms int64) []byte {
	if ms < 100000 {
		b = append(Int(b, 2, ms/1000), '.')
		return append(two(b, ms%1000/10), 's')
	}
	n := (ms + 500) / 1000 // seconds
	if n < 6000 {
		b = append(Int(b, 2, n/60), 'm')
		return append(two(b, n%60), 's')
	}
	if n = (n + 30) / 60; n < 6000 {
		b = append(Int(b, 2, n/60), 'h')
		return append(two(b, n%60), 'm')
	}
	n = (n + 30) / 60
	b = append(Int(b, 2, n/24), 'd')
	return append(two(b, n%24), 'h')
}

// two appends n with two digits, as %02d does.
func two(b []byte, n int64) []byte {
	if n < 0 || n > 9 {
		return Int(b, 2, n)
	}
	return append(b, '0', byte('0'+n))
}

// Frequency appends a frequency in MHz in seven columns.
func Frequency(b []byte, mhz int64) []byte {
	if mhz < 1000 {
		return append(Int(b, 4, mhz), "MHz"...)
	}
	f, unit := float64(mhz)/1000, "GHz"
	if f >= 1000 {
		f, unit = f/1000, "THz"
	}
	switch {
	case f < 10:
		b = Float(b, 4, 2, f)
	case f < 100:
		b = Float(b, 4, 1, f)
	default:
		b = Float(b, 4, 0, f)
	}
	return append(b, unit...)
}

// A Unit is the smallest in which Memory writes.
type Unit int

// The units.
const (
	Bytes Unit = iota
	KiB
	KiBInt
	MiB
	MiBInt
	GiB
	GiBInt
	TiB
	TiBInt
	PiB
	PiBInt
)

// Memory appends a number of bytes in six columns, at least in the unit given. With seconds it is the
// average per second.
func Memory(b []byte, n int64, least Unit, seconds int) []byte {
	width, suffix := 5, ""
	size := n
	if n < 0 {
		size = -n * 10 // the sign needs a column too
	}
	unit := Bytes
	if seconds != 0 {
		n = int64(math.Round(float64(n) / float64(seconds)))
		size = int64(math.Round(float64(size) / float64(seconds)))
		width, suffix = 3, "/s"
		if size > 999 {
			for unit = KiB; unit < PiBInt && size > limit(unit); unit++ {
			}
		}
	} else if size > 999 {
		for unit = KiB; unit < PiB && size > 999*scale(unit); unit += 2 {
		}
	}
	unit = max(unit, least)
	switch {
	case unit == Bytes:
		b = append(Int(b, width, n), 'B')
	case unit%2 != 0:
		b = append(Float(b, width, 1, float64(n)/float64(scale(unit))), "KMGTP"[(unit-1)/2])
	default:
		b = append(Int(b, width, int64(math.Round(float64(n)/float64(scale(unit))))), "KMGTP"[(unit-1)/2])
	}
	return append(b, suffix...)
}

// scale returns the bytes of a unit.
func scale(u Unit) int64 { return 1 << (10 * ((u-1)/2 + 1)) }

// limit returns the highest number written in a unit where there is little room.
func limit(u Unit) int64 {
	if u%2 != 0 {
		return 9 * scale(u)
	}
	return 999 * scale(u)
}

// Limits are the uses from which on resources are critical, in per cent; SwapOuts is a number a second. Almost
// is the share of that use from which on a resource is almost critical. With 0 it never is.
type Limits struct {
	CPU, GPU, Memory, Swap, Disk, Net, SwapOuts, Almost int
}

// DefaultLimits are those without an atoprc.
var DefaultLimits = Limits{CPU: 90, GPU: 100, Memory: 90, Swap: 80, Disk: 70, Net: 90, SwapOuts: 10, Almost: 80}
