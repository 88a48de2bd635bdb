package unitname

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
)

// The most common units of metrics.
var (
	bytes   = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	seconds = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}
)

// FromUCUM returns the units of a code of the Unified Code for Units of Measure, which
// OpenTelemetry uses, and the factor that converts values to a scale of PCP. An
// annotation in braces is a count, and ok reports whether the code was understood.
// It reads what UCUM writes.
func FromUCUM(code string) (u pcp.Units, factor float64, ok bool) {
	over, under, divided := strings.Cut(code, "/")
	factor = 1
	if !multiply(&u, &factor, over, 1) || divided && !multiply(&u, &factor, under, -1) {
		return pcp.Units{}, 1, false
	}
	return u, factor, true
}

// multiply multiplies u and factor by terms with points between them, or divides by them if sign is -1. It returns
// false if a term is unknown, or has a dimension that u has already, as in By/By.
func multiply(u *pcp.Units, factor *float64, terms string, sign int8) bool {
	for term := range strings.SplitSeq(terms, ".") {
		name, power := exponent(term)
		v, f, ok := ucum(name)
		if !ok || u.DimSpace*v.DimSpace != 0 || u.DimTime*v.DimTime != 0 || u.DimCount*v.DimCount != 0 || u.Extra != 0 && v.Extra != 0 {
			return false
		}
		power *= sign
		u.DimSpace += v.DimSpace * power
		u.DimTime += v.DimTime * power
		u.DimCount += v.DimCount * power
		u.ScaleSpace |= v.ScaleSpace // one of the two is 0
		u.ScaleTime |= v.ScaleTime
		u.ScaleCount |= v.ScaleCount
		switch {
		case v.Extra == 0:
		case power == 1:
			u.Extra = v.Extra
		case power == -1:
			u.Extra = v.Extra.Inverse()
		default:
			return false // PCP has no powers of these
		}
		*factor *= math.Pow(f, float64(power))
	}
	return true
}

// exponent splits a term into a unit and its power, -7 to 7: s-1, By2.
func exponent(term string) (name string, power int8) {
	n := len(term) - 1
	if n < 1 || term[n] < '1' || term[n] > '7' {
		return term, 1
	}
	power = int8(term[n] - '0')
	if term[n-1] == '-' {
		power, n = -power, n-1
	}
	return term[:n], power
}

func ucum(code string) (u pcp.Units, factor float64, ok bool) {
	factor, ok = 1, true
	switch code {
	case "By":
		u = bytes
	case "KiBy":
		u = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
	case "MiBy":
		u = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceMByte}
	case "GiBy":
		u = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceGByte}
	case "TiBy":
		u = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceTByte}
	case "PiBy":
		u = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpacePByte}
	case "EiBy":
		u = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceEByte}
	case "ZiBy":
		u = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceZByte}
	case "YiBy":
		u = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceYByte}
	case "kBy":
		u, factor = bytes, 1e3
	case "MBy":
		u, factor = bytes, 1e6
	case "GBy":
		u, factor = bytes, 1e9
	case "bit":
		u, factor = bytes, 1.0/8
	case "ns":
		u = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeNsec}
	case "us":
		u = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeUsec}
	case "ms":
		u = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	case "s":
		u = seconds
	case "min":
		u = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMin}
	case "h":
		u = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeHour}
	case "d":
		u, factor = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeHour}, 24
	case "Cel":
		u.Extra = pcp.Celsius
	case "[degF]":
		u.Extra = pcp.Fahrenheit
	case "K":
		u.Extra = pcp.Kelvin
	case "V":
		u.Extra = pcp.Volt
	case "mV":
		u.Extra = pcp.Millivolt
	case "uV":
		u.Extra = pcp.Microvolt
	case "A":
		u.Extra = pcp.Ampere
	case "mA":
		u.Extra = pcp.Milliampere
	case "uA":
		u.Extra = pcp.Microampere
	case "kW":
		u.Extra = pcp.Kilowatt
	case "W":
		u.Extra = pcp.Watt
	case "mW":
		u.Extra = pcp.Milliwatt
	case "uW":
		u.Extra = pcp.Microwatt
	case "Hz":
		u = pcp.Units{DimTime: -1, ScaleTime: pcp.TimeSec}
	case "1", "%":
	default:
		u, ok = annotation(code)
	}
	return u, factor, ok
}

// annotation returns the units of {request}, which is a count, and of 10*3{request}, thousands of them.
func annotation(code string) (u pcp.Units, ok bool) {
	u.DimCount = 1
	if power, found := strings.CutPrefix(code, "10*"); found {
		i := max(0, strings.IndexByte(power, '{'))
		n, err := strconv.ParseInt(power[:i], 10, 8)
		if err != nil || n < -8 || n > 7 {
			return pcp.Units{}, false
		}
		u.ScaleCount, code = int8(n), power[i:]
	}
	if !strings.HasPrefix(code, "{") || !strings.HasSuffix(code, "}") {
		return pcp.Units{}, false
	}
	return u, true
}

// UCUM returns units in the form of OpenTelemetry, the Unified Code for Units of Measure.
func UCUM(u pcp.Units) string {
	space := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"}
	times := []string{"ns", "us", "ms", "s", "min", "h"}
	var parts []string
	part := func(name string, dim int) {
		switch {
		case dim == 1:
			parts = append(parts, name)
		case dim != 0:
			parts = append(parts, name+strconv.Itoa(dim))
		}
	}
	if n := int(u.ScaleSpace); n < len(space) && n >= 0 {
		part(space[n]+"By", int(u.DimSpace))
	}
	if n := int(u.ScaleTime); n < len(times) && n >= 0 {
		part(times[n], int(u.DimTime))
	}
	count := "{count}"
	if u.ScaleCount != 0 {
		count = "10*" + strconv.Itoa(int(u.ScaleCount)) + count
	}
	part(count, int(u.DimCount))
	extra, power := u.Extra, 1
	if extra.Unit() < 0 {
		extra, power = extra.Inverse(), -1
	}
	if name := extraUCUM(extra); name != "" {
		part(name, power)
	}
	if len(parts) == 0 {
		return "1"
	}
	return strings.Join(parts, ".")
}

// extraUCUM returns the code of an extra unit, "" if there is none.
func extraUCUM(e pcp.Extra) string {
	switch e {
	case pcp.Celsius:
		return "Cel"
	case pcp.Fahrenheit:
		return "[degF]"
	case pcp.Kelvin:
		return "K"
	case pcp.Volt:
		return "V"
	case pcp.Millivolt:
		return "mV"
	case pcp.Microvolt:
		return "uV"
	case pcp.Ampere:
		return "A"
	case pcp.Milliampere:
		return "mA"
	case pcp.Microampere:
		return "uA"
	case pcp.Kilowatt:
		return "kW"
	case pcp.Watt:
		return "W"
	case pcp.Milliwatt:
		return "mW"
	case pcp.Microwatt:
		return "uW"
	}
	return ""
}
