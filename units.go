package pcp

// Units are the dimension and scale of a metric (pmUnits). Each dimension is a
// power, -8..7, of space, time and count; its scale is its unit. Since PCP 7.2
// a metric may also have one extra unit.
type Units struct {
	DimSpace, DimTime, DimCount int8
	ScaleSpace                  uint8 // SpaceByte ...
	ScaleTime                   uint8 // TimeNsec ...
	ScaleCount                  int8  // power of ten
	Extra                       Extra // 0, Celsius ...
}

// An Extra is a unit of temperature, voltage, current or power with its scale,
// in the encoding of PDUs and archives: the upper 5 bits are the unit, signed,
// the lower 3 the scale within it (pmUnits.extraUnit and extraScale of PCP 7.2,
// whose releases before had padding here). The negative of a unit is its
// inverse: a value divided by it. Numbers without a name are kept as they are.
type Extra uint8

// Extra units, with the names that pmapi.h of PCP 7.2 has for unit and scale.
const (
	Celsius     Extra = 1<<3 | 1 // PM_UNIT_TEMPERATURE, PM_TEMPERATURE_C: degrees Celsius
	Fahrenheit  Extra = 1<<3 | 2 // PM_UNIT_TEMPERATURE, PM_TEMPERATURE_F: degrees Fahrenheit
	Kelvin      Extra = 1<<3 | 3 // PM_UNIT_TEMPERATURE, PM_TEMPERATURE_K: kelvins
	Volt        Extra = 2<<3 | 1 // PM_UNIT_VOLTAGE, PM_VOLTAGE_V: volts
	Millivolt   Extra = 2<<3 | 2 // PM_UNIT_VOLTAGE, PM_VOLTAGE_mV: thousandths of a volt
	Microvolt   Extra = 2<<3 | 3 // PM_UNIT_VOLTAGE, PM_VOLTAGE_uV: millionths of a volt
	Ampere      Extra = 3<<3 | 1 // PM_UNIT_CURRENT, PM_CURRENT_A: amperes
	Milliampere Extra = 3<<3 | 2 // PM_UNIT_CURRENT, PM_CURRENT_mA: thousandths of an ampere
	Microampere Extra = 3<<3 | 3 // PM_UNIT_CURRENT, PM_CURRENT_uA: millionths of an ampere
	Kilowatt    Extra = 4<<3 | 1 // PM_UNIT_POWER, PM_POWER_kW: thousands of watts
	Watt        Extra = 4<<3 | 2 // PM_UNIT_POWER, PM_POWER_W: watts
	Milliwatt   Extra = 4<<3 | 3 // PM_UNIT_POWER, PM_POWER_mW: thousandths of a watt
	Microwatt   Extra = 4<<3 | 4 // PM_UNIT_POWER, PM_POWER_uW: millionths of a watt
)

// Unit returns the number of the unit without its scale: 1 for temperature, 2
// for voltage, 3 for current, 4 for power (PM_UNIT_TEMPERATURE ...), negative
// if values are divided by it, and 0 if there is none.
func (e Extra) Unit() int { return int(int8(e) >> 3) }

// Inverse returns the unit that is one over e, in the same scale.
func (e Extra) Inverse() Extra { return -(e &^ 7) | e&7 }

// scale returns PM_TEMPERATURE_C, ...
func (e Extra) scale() int { return int(e & 7) }

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
	return Units{int8(dimSpace), int8(dimTime), int8(dimCount), uint8(scaleSpace), uint8(scaleTime), int8(scaleCount), 0}
}

// Pack returns u in the encoding of PDUs and archives: from the most significant
// bit, 4 bits for each of the six numbers in order, then 8 for the extra unit.
func (u Units) Pack() uint32 {
	return uint32(u.DimSpace)&15<<28 | uint32(u.DimTime)&15<<24 | uint32(u.DimCount)&15<<20 |
		uint32(u.ScaleSpace)&15<<16 | uint32(u.ScaleTime)&15<<12 | uint32(u.ScaleCount)&15<<8 | uint32(u.Extra)
}

// UnpackUnits is the inverse of Pack. The scales of space and time are
// unsigned, the rest signed.
func UnpackUnits(w uint32) Units {
	s := func(shift uint) int8 { return int8(w>>shift&15<<4) >> 4 }
	return Units{s(28), s(24), s(20), uint8(w >> 16 & 15), uint8(w >> 12 & 15), s(8), Extra(w)}
}
