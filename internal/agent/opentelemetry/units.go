package opentelemetry

import (
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/unitname"
)

// unitsOf returns the units for those of OpenTelemetry, which are in UCUM; ok is false if PCP does not have them.
// Values are never converted.
func unitsOf(unit string) (u pcp.Units, ok bool) {
	if unit == "" {
		return u, true
	}
	if strings.HasPrefix(unit, "/") {
		unit = "1" + unit
	}
	u, factor, ok := unitname.FromUCUM(unit)
	if !ok || factor != 1 {
		return pcp.Units{}, false
	}
	return u, true
}
