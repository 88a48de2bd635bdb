package unitname

import (
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
)

// The most common units of metrics.
var (
	count   = pcp.Units{DimCount: 1}
	bytes   = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	seconds = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}
)

// FromUCUM returns the units of a code of the Unified Code for Units of Measure, which
// OpenTelemetry uses, and the factor that converts values to a scale of PCP. An
// annotation in braces is a count, and ok reports whether the code was understood.
func FromUCUM(code string) (u pcp.Units, factor float64, ok bool) {
	over, under, rate := strings.Cut(code, "/")
	u, factor, ok = ucum(over)
	if !rate || !ok {
		return u, factor, ok
	}
	d, f, ok := ucum(under)
	// A unit divided by itself, as in By/By, has no dimension.
	if !ok || u.DimSpace*d.DimSpace != 0 || u.DimTime*d.DimTime != 0 || u.DimCount*d.DimCount != 0 || u.Extra != 0 && d.Extra != 0 {
		return pcp.Units{}, 1, false
	}
	u.DimSpace -= d.DimSpace
	u.DimTime -= d.DimTime
	u.DimCount -= d.DimCount
	u.ScaleSpace |= d.ScaleSpace // one of the two is 0
	u.ScaleTime |= d.ScaleTime
	if d.Extra != 0 {
		u.Extra = d.Extra.Inverse()
	}
	return u, factor / f, true
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
	case "1":
	default:
		ok = false
		if strings.HasPrefix(code, "{") && strings.HasSuffix(code, "}") {
			u, ok = count, true
		}
	}
	return u, factor, ok
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
