package unitname

import "github.com/go-pcp/pcp"

// FromWord returns the units of a word, mostly in the plural, as in names of Prometheus
// and runtime/metrics.
func FromWord(word string) (u pcp.Units, ok bool) {
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
