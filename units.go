package pcp

// Units are the dimension and scale of a metric (pmUnits). Each dimension is a
// power, -8..7, of space, time and count; its scale is its unit.
type Units struct {
	DimSpace, DimTime, DimCount int8
	ScaleSpace                  uint8 // SpaceByte ...
	ScaleTime                   uint8 // TimeNsec ...
	ScaleCount                  int8  // power of ten
}

// Scales of space, powers of 1024 (PM_SPACE_*).
const (
	SpaceByte  = 0
	SpaceKByte = 1
	SpaceMByte = 2
	SpaceGByte = 3
	SpaceTByte = 4
	SpacePByte = 5
	SpaceEByte = 6
	SpaceZByte = 7
	SpaceYByte = 8
)

// Scales of time (PM_TIME_*).
const (
	TimeNsec = 0
	TimeUsec = 1
	TimeMsec = 2
	TimeSec  = 3
	TimeMin  = 4
	TimeHour = 5
)

// CountOne is the scale of a plain count (PM_COUNT_ONE).
const CountOne = 0

// NewUnits takes its arguments in the order of PMDA_PMUNITS: three dimensions,
// then three scales.
func NewUnits(dimSpace, dimTime, dimCount, scaleSpace, scaleTime, scaleCount int) Units {
	return Units{int8(dimSpace), int8(dimTime), int8(dimCount), uint8(scaleSpace), uint8(scaleTime), int8(scaleCount)}
}

// Pack returns u in the encoding of PDUs and archives: from the most significant
// bit, 4 bits for each of the six fields in order, then 8 of padding.
func (u Units) Pack() uint32 {
	return uint32(u.DimSpace)&15<<28 | uint32(u.DimTime)&15<<24 | uint32(u.DimCount)&15<<20 |
		uint32(u.ScaleSpace)&15<<16 | uint32(u.ScaleTime)&15<<12 | uint32(u.ScaleCount)&15<<8
}

// UnpackUnits is the inverse of Pack. The scales of space and time are
// unsigned, the rest signed.
func UnpackUnits(w uint32) Units {
	s := func(shift uint) int8 { return int8(w>>shift&15<<4) >> 4 }
	return Units{s(28), s(24), s(20), uint8(w >> 16 & 15), uint8(w >> 12 & 15), s(8)}
}
