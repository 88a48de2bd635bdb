package bridge

import (
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/unitname"
)

// Count returns the units of a plain count.
func Count() pcp.Units { return pcp.Units{DimCount: 1} }

// UnitsOfName returns the units in the suffix of a name, such as _seconds,
// _bytes_total or -seconds. Without such a suffix a counter is a count, and
// anything else has no units.
func UnitsOfName(name string, counter bool) pcp.Units {
	name = strings.TrimSuffix(name, "_total")
	i := strings.LastIndexAny(name, "_-:./")
	u, ok := unitname.FromWord(name[i+1:])
	if ok && i >= 0 && strings.HasSuffix(name[:i], "_per") {
		return pcp.Units{} // a rate of unknown units
	}
	if !ok && counter {
		return Count()
	}
	return u
}

// UCUM returns the units of a code of the Unified Code for Units of Measure, which
// OpenTelemetry uses, and the factor that converts values to a scale of PCP. An
// annotation in braces is a count, and ok reports whether the code was understood.
func UCUM(code string) (u pcp.Units, factor float64, ok bool) { return unitname.FromUCUM(code) }
