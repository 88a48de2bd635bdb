package bridge

import (
	"strings"

	"github.com/go-pcp/pcp"
)

// The most common units of metrics.
var (
	count   = pcp.Units{DimCount: 1}
	bytes   = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	seconds = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}
)

// Count returns the units of a plain count.
func Count() pcp.Units { return count }

// unitNamed returns the units of a word, mostly in the plural, as in names of Prometheus
// and runtime/metrics.
func unitNamed(word string) (u pcp.Units, ok bool) {
	switch word {
	case "bytes":
		return bytes, true
	case "kibibytes":
		return pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}, true
	case "mebibytes":
		return pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceMByte}, true
	case "gibibytes":
		return pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceGByte}, true
	case "nanoseconds":
		return pcp.Units{DimTime: 1, ScaleTime: pcp.TimeNsec}, true
	case "microseconds":
		return pcp.Units{DimTime: 1, ScaleTime: pcp.TimeUsec}, true
	case "milliseconds":
		return pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}, true
	case "seconds":
		return seconds, true
	case "minutes":
		return pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMin}, true
	case "hours":
		return pcp.Units{DimTime: 1, ScaleTime: pcp.TimeHour}, true
	case "celsius":
		return pcp.Units{Extra: pcp.Celsius}, true
	case "fahrenheit":
		return pcp.Units{Extra: pcp.Fahrenheit}, true
	case "kelvin":
		return pcp.Units{Extra: pcp.Kelvin}, true
	case "volts":
		return pcp.Units{Extra: pcp.Volt}, true
	case "millivolts":
		return pcp.Units{Extra: pcp.Millivolt}, true
	case "amperes":
		return pcp.Units{Extra: pcp.Ampere}, true
	case "milliamperes":
		return pcp.Units{Extra: pcp.Milliampere}, true
	case "watts":
		return pcp.Units{Extra: pcp.Watt}, true
	case "kilowatts":
		return pcp.Units{Extra: pcp.Kilowatt}, true
	case "milliwatts":
		return pcp.Units{Extra: pcp.Milliwatt}, true
	}
	return pcp.Units{}, false
}

// UnitsOfName returns the units in the suffix of a name, such as _seconds,
// _bytes_total or -seconds. Without such a suffix a counter is a count, and
// anything else has no units.
func UnitsOfName(name string, counter bool) pcp.Units {
	name = strings.TrimSuffix(name, "_total")
	i := strings.LastIndexAny(name, "_-:./")
	u, ok := unitNamed(name[i+1:])
	if ok && i >= 0 && strings.HasSuffix(name[:i], "_per") {
		return pcp.Units{} // a rate of unknown units
	}
	if !ok && counter {
		return count
	}
	return u
}

// UCUM returns the units of a code of the Unified Code for Units of Measure, which
// OpenTelemetry uses, and the factor that converts values to a scale of PCP. An
// annotation in braces is a count, and ok reports whether the code was understood.
func UCUM(code string) (u pcp.Units, factor float64, ok bool) {
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
