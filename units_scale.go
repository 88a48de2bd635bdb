package pcp

import "math"

// ConvScale converts the number v from the units from to the units to
// (pmConvScale(3)): 1024 bytes are 1 Kbyte. If the dimensions differ, the
// error is ErrConv; if a scale does not exist, it is ErrUnit. Units without a
// dimension are taken for a count. Integers are rounded to the nearest, and
// wrap around if they do not fit, as C's do.
//
// Extra units are converted after the others, and then fractions of integers
// are cut, as in PCP 7.2. An inverse extra unit has no conversions, except to
// itself: the error is ErrUnit.
func ConvScale(v Value, from, to Units) (Value, error) {
	from, to = from.orCount(), to.orCount()
	if from.DimSpace != to.DimSpace || from.DimTime != to.DimTime || from.DimCount != to.DimCount || from.Extra.Unit() != to.Extra.Unit() {
		return v, ErrConv
	}
	r := ratio{mult: 1, div: 1}
	if from.DimSpace != 0 {
		d, m, ok := spaceRatio(from.ScaleSpace, to.ScaleSpace)
		if !ok {
			return v, ErrUnit
		}
		r.apply(from.DimSpace, d, m)
	}
	if from.DimTime != 0 {
		d, m, ok := timeRatio(from.ScaleTime, to.ScaleTime)
		if !ok {
			return v, ErrUnit
		}
		r.apply(from.DimTime, d, m)
	}
	dim := from.DimCount
	if dim == 0 && from.DimSpace == 0 && from.DimTime == 0 {
		dim = 1 // C has the scale of count without its dimension for extra units too
	}
	if dim != 0 {
		d, m := countRatio(from.ScaleCount, to.ScaleCount)
		r.apply(dim, d, m)
	}
	if r.div == 0 {
		// High powers overflowed. C divides by it and dies.
		return v, ErrConv
	}
	if r.mult%r.div == 0 {
		r.mult, r.div = r.mult/r.div, 1
	}
	switch v.typ {
	case Type32, TypeUnknown:
		v.bits = uint64(uint32((int64(v.Int32())*r.mult + r.div/2) / r.div))
	case TypeU32:
		v.bits = uint64(uint32((int64(v.Uint32())*r.mult + r.div/2) / r.div))
	case Type64:
		v.bits = uint64((v.Int64()*r.mult + r.div/2) / r.div)
	case TypeU64:
		v.bits = (v.bits*uint64(r.mult) + uint64(r.div/2)) / uint64(r.div)
	case TypeFloat:
		v.bits = uint64(math.Float32bits(v.Float() * (float32(r.mult) / float32(r.div))))
	case TypeDouble:
		v.bits = math.Float64bits(v.Double() * (float64(r.mult) / float64(r.div)))
	default:
		return v, ErrConv
	}
	if from.Extra == to.Extra || from.Extra.Unit() == 0 {
		return v, nil
	}
	l, ok := extraLinear(from.Extra, to.Extra)
	if !ok {
		return v, ErrUnit
	}
	switch v.typ {
	case Type32, TypeUnknown:
		v.bits = uint64(uint32(cutInt(l.of(float64(v.Int32())))))
	case TypeU32:
		v.bits = uint64(uint32(cutInt(l.of(float64(v.Uint32())))))
	case Type64:
		v.bits = uint64(cutInt(l.of(float64(v.Int64()))))
	case TypeU64:
		if f := l.of(float64(v.bits)); f >= 1<<63 && f < 1<<64 {
			v.bits = uint64(f)
		} else {
			v.bits = uint64(cutInt(f))
		}
	case TypeFloat:
		v.bits = uint64(math.Float32bits(float32(l.of(float64(v.Float())))))
	case TypeDouble:
		v.bits = math.Float64bits(l.of(v.Double()))
	}
	return v, nil
}

// cutInt cuts the fraction of f. Numbers that do not fit become the smallest,
// as processors do it for C.
func cutInt(f float64) int64 {
	if f >= -1<<63 && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}

// A linear converts numbers between scales of an extra unit: it adds before,
// multiplies by mult/div, and adds after. C uses these steps; others would
// round differently.
type linear struct{ before, mult, div, after float64 }

func (l linear) of(f float64) float64 { return l.after + l.mult*(f+l.before)/l.div }

// Zero degrees Celsius in the other scales of temperature.
const freezingK, freezingF = 273.15, 32

// extraLinear returns the conversion between two scales of one extra unit, if
// both exist.
func extraLinear(from, to Extra) (linear, bool) {
	switch [2]Extra{from, to} {
	case [2]Extra{Celsius, Fahrenheit}:
		return linear{0, 18, 10, freezingF}, true
	case [2]Extra{Celsius, Kelvin}:
		return linear{0, 1, 1, freezingK}, true
	case [2]Extra{Fahrenheit, Celsius}:
		return linear{-freezingF, 10, 18, 0}, true
	case [2]Extra{Fahrenheit, Kelvin}:
		return linear{-freezingF, 10, 18, freezingK}, true
	case [2]Extra{Kelvin, Celsius}:
		return linear{-freezingK, 1, 1, 0}, true
	case [2]Extra{Kelvin, Fahrenheit}:
		return linear{-freezingK, 18, 10, freezingF}, true
	}
	m, ok := extraMicros(from)
	d, also := extraMicros(to)
	if m > d {
		return linear{0, m / d, 1, 0}, ok && also
	}
	return linear{0, 1, d / m, 0}, ok && also
}

// extraMicros returns how many millionths of volts, amperes or watts e is.
func extraMicros(e Extra) (float64, bool) {
	switch e {
	case Kilowatt:
		return 1e9, true
	case Volt, Ampere, Watt:
		return 1e6, true
	case Millivolt, Milliampere, Milliwatt:
		return 1e3, true
	case Microvolt, Microampere, Microwatt:
		return 1, true
	}
	return 1, false
}

// HasDim reports whether u has a dimension at all, or an extra unit.
func (u Units) HasDim() bool {
	return u.DimSpace != 0 || u.DimTime != 0 || u.DimCount != 0 || u.Extra.Unit() != 0
}

func (u Units) orCount() Units {
	if !u.HasDim() {
		u.DimCount = 1
	}
	return u
}

// A ratio is a factor and a divisor of a number.
type ratio struct{ mult, div int64 }

// apply multiplies the ratio for a dimension whose scales differ by m/d.
func (r *ratio) apply(dim int8, d, m int64) {
	if dim < 0 {
		dim, d, m = -dim, m, d
	}
	for range dim {
		r.div *= d
		r.mult *= m
	}
}

// spaceRatio returns m and d such that a size in scale from is m/d in scale to.
func spaceRatio(from, to uint8) (d, m int64, ok bool) {
	if from > SpaceEByte || to > SpaceEByte {
		return 0, 0, false
	}
	d, m = 1, 1
	// Convert by way of megabytes, to overflow where C does.
	toMega := func(scale uint8, d, m *int64) {
		if scale < SpaceMByte {
			*d <<= 10 * (SpaceMByte - scale)
		} else {
			*m <<= 10 * (scale - SpaceMByte)
		}
	}
	toMega(from, &d, &m)
	toMega(to, &m, &d)
	return d, m, true
}

// timeRatio is spaceRatio for time, by way of seconds.
func timeRatio(from, to uint8) (d, m int64, ok bool) {
	scales := [...]struct{ d, m int64 }{
		TimeNsec: {1e9, 1}, TimeUsec: {1e6, 1}, TimeMsec: {1e3, 1},
		TimeSec: {1, 1}, TimeMin: {1, 60}, TimeHour: {1, 3600},
	}
	if int(from) >= len(scales) || int(to) >= len(scales) {
		return 0, 0, false
	}
	return scales[from].d * scales[to].m, scales[from].m * scales[to].d, true
}

// countRatio is spaceRatio for powers of ten.
func countRatio(from, to int8) (d, m int64) {
	d, m = 1, 1
	for ; from < 0; from++ {
		d *= 10
	}
	for ; from > 0; from-- {
		m *= 10
	}
	for ; to < 0; to++ {
		m *= 10
	}
	for ; to > 0; to-- {
		d *= 10
	}
	return d, m
}
