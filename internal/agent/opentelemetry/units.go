package opentelemetry

import (
	"strings"

	"github.com/go-pcp/pcp"
)

// unitsOf returns the units for those of OpenTelemetry, which are in UCUM; ok is false if PCP does not have them.
// Values are never converted.
func unitsOf(unit string) (u pcp.Units, ok bool) {
	over, under, divided := strings.Cut(unit, "/")
	if !addUnit(&u, over, 1) || divided && !addUnit(&u, under, -1) {
		return pcp.Units{}, false
	}
	return u, true
}

// addUnit multiplies u by a unit to a power.
func addUnit(u *pcp.Units, unit string, power int8) bool {
	switch unit {
	case "", "1", "%":
		return true
	case "By", "KiBy", "MiBy", "GiBy", "TiBy", "PiBy", "EiBy":
		if u.DimSpace != 0 {
			return false
		}
		u.DimSpace, u.ScaleSpace = power, uint8(strings.Index("_KMGTPE", unit[:1]))
		if unit == "By" {
			u.ScaleSpace = pcp.SpaceByte
		}
		return true
	case "ns", "us", "ms", "s", "min", "h":
		if u.DimTime != 0 {
			return false
		}
		scales := map[string]uint8{"ns": pcp.TimeNsec, "us": pcp.TimeUsec, "ms": pcp.TimeMsec, "s": pcp.TimeSec, "min": pcp.TimeMin, "h": pcp.TimeHour}
		u.DimTime, u.ScaleTime = power, scales[unit]
		return true
	case "Hz":
		if u.DimTime != 0 {
			return false
		}
		u.DimTime, u.ScaleTime = -power, pcp.TimeSec
		return true
	}
	if extra, ok := extraUnits[unit]; ok {
		if u.Extra != 0 {
			return false
		}
		if u.Extra = extra; power < 0 {
			u.Extra = extra.Inverse()
		}
		return true
	}
	if strings.HasPrefix(unit, "{") && strings.HasSuffix(unit, "}") && u.DimCount == 0 {
		u.DimCount = power
		return true
	}
	return false
}

var extraUnits = map[string]pcp.Extra{
	"Cel": pcp.Celsius, "[degF]": pcp.Fahrenheit, "K": pcp.Kelvin,
	"V": pcp.Volt, "mV": pcp.Millivolt, "uV": pcp.Microvolt,
	"A": pcp.Ampere, "mA": pcp.Milliampere, "uA": pcp.Microampere,
	"kW": pcp.Kilowatt, "W": pcp.Watt, "mW": pcp.Milliwatt, "uW": pcp.Microwatt,
}
