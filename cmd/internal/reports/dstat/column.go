package dstat

import (
	"math"

	"github.com/go-pcp/pcp"
)

// The ways to print a value (printtype in pcp-dstat(5)).
const (
	asBytes   = 'b' // or bits
	asDecimal = 'd'
	asFloat   = 'f'
	asPercent = 'p'
	asString  = 's'
	asTime    = 't' // minutes
)

// A look is the format of the values of a metric.
type look struct {
	units   pcp.Units
	print   byte // one of the ways above
	width   int
	step    float64 // colours change at its multiples, or if 0 with the unit of the figure
	stepped bool    // a step is set, which leaves no room for a unit
}

// A cell is a value to print, or none.
type cell struct {
	ok   bool
	num  float64
	text string // of a string, with num 0
	str  bool
}

// The letters of units: of multiples of 1000, of 1024, and of bits.
const (
	decimalUnits = " kMGTPEZY"
	binaryUnits  = "BkMGTPEZY"
	bitUnits     = "bkMGTPEZY"
)

// canonical returns a value in seconds or bytes if it is time or space.
func canonical(f float64, u pcp.Units) float64 {
	if u.DimTime != 0 {
		switch u.ScaleTime {
		case pcp.TimeNsec:
			f /= 1e9
		case pcp.TimeUsec:
			f /= 1e6
		case pcp.TimeMsec:
			f /= 1e3
		case pcp.TimeMin:
			f *= 60
		case pcp.TimeHour:
			f *= 3600
		}
	}
	if u.DimSpace != 0 {
		f *= math.Pow(1024, float64(u.ScaleSpace))
	}
	if u.DimCount != 0 && u.ScaleCount != 0 {
		f *= float64(u.ScaleCount) // as the C program does
	}
	return f
}

// appendCell appends a value in the width and the colours of its metric, or blanks if there is none.
func (r *report) appendCell(b []byte, c cell, l *look) []byte {
	s := r.shades()
	if c.ok {
		r.novalues = false
	}
	if !c.ok || c.str {
		b = append(b, s.text...)
		return appendLeft(b, cut(c.text, l.width), l.width)
	}
	f, base, units := c.num, 1000.0, decimalUnits
	if l.print != asString {
		f = canonical(f, l.units)
		if l.units.DimSpace != 0 {
			base, units = 1024, binaryUnits
		}
	}
	width, room := l.width, 0 // for the unit
	if !l.stepped && width >= len("1000") {
		width, room = width-1, 1
	}
	if math.IsNaN(f) || math.IsInf(f, 0) || f < 0 && (l.print == asBytes || l.print == asDecimal || l.print == asFloat) {
		b = append(b, r.theme.fail...)
		b = appendRight(b, "-", width)
		b = appendBlanks(b, room)
		return append(b, r.theme.ground...)
	}
	if r.bits && l.print == asBytes {
		f, base, units = f*8, 1000, bitUnits
	}

	text, color, c0 := "", s.text, -1
	switch {
	case l.print == asTime:
		text = fitTime(f, width)
	case l.print == asString:
		text, _ = fitFloat(f, width, base)
	case !r.integer && (r.float || l.print == asFloat):
		text, c0 = fitFloat(f, width, base)
	default:
		text, c0 = fitWhole(f, width, base)
	}
	switch {
	case text == "0":
		color = s.unit
	case l.print == asPercent && math.RoundToEven(f) >= 100:
		color = s.done
	case l.print != asString && l.stepped && l.step != 0:
		color = s.color(step(f, l.step))
	case c0 >= 0 && l.print != asPercent:
		color = s.color(c0)
	}
	b = append(b, color...)
	b = appendRight(b, text, width)
	switch {
	case room == 0:
	case c0 >= 0 && math.RoundToEven(f) != 0:
		b = append(b, s.unit...)
		b = append(b, units[min(c0, len(units)-1)])
	default:
		b = append(b, ' ')
	}
	return b
}

// step returns the number of steps that a value has passed.
func step(f, size float64) int {
	n := math.Trunc(f / size)
	if math.Abs(n) > 1<<52 || math.IsNaN(n) {
		return 0
	}
	return int(n)
}
