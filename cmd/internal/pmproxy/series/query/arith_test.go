package query

import (
	"testing"

	"github.com/go-pcp/pcp"
)

// TestExtraUnits checks the operators and rescale for units of temperature, voltage, current and power.
func TestExtraUnits(t *testing.T) {
	series := func(u pcp.Units, text string) *made {
		return &made{names: []string{"a"}, desc: pcp.Desc{Type: pcp.TypeDouble, Sem: pcp.SemInstant, Units: u}, samples: [][]cell{{{text: text}}}}
	}
	degrees, watts, milliwatts := pcp.Units{Extra: pcp.Celsius}, pcp.Units{Extra: pcp.Watt}, pcp.Units{Extra: pcp.Milliwatt}
	bytes := pcp.Units{DimSpace: 1}
	f := func(left pcp.Units, op Op, right pcp.Units, units, value string) {
		t.Helper()
		s := series(left, "60")
		if err := s.binary(op, series(right, "20")); err != nil || s.desc.Units.String() != units || s.samples[0][0].text != value {
			t.Errorf("%q %s %q is %s %q, %v, want %s %q", left, op, right, s.samples[0][0].text, s.desc.Units, err, value, units)
		}
	}
	f(degrees, OpAdd, degrees, "temperature (C)", "8.000000e+01")
	f(watts, OpSub, watts, "power (W)", "4.000000e+01")
	f(watts, OpMul, bytes, "power (W) byte", "1.200000e+03")
	f(bytes, OpMul, watts, "power (W) byte", "1.200000e+03")
	f(bytes, OpDiv, watts, "byte / power (W)", "3.000000e+00")
	f(watts, OpDiv, watts, "", "3.000000e+00")
	for _, op := range []Op{OpAdd, OpSub, OpMul, OpDiv} {
		for _, right := range []pcp.Units{degrees, milliwatts} {
			if err := series(watts, "60").binary(op, series(right, "20")); err == nil {
				t.Errorf("%q %s %q has a result", watts, op, right)
			}
		}
	}

	s := series(degrees, "100")
	if err := s.rescale(pcp.Units{Extra: pcp.Fahrenheit}); err != nil || s.samples[0][0].text != "2.120000e+02" || s.desc.Units.Extra != pcp.Fahrenheit {
		t.Errorf("100 degrees are %s %q, %v", s.samples[0][0].text, s.desc.Units, err)
	}
	if err := series(degrees, "100").rescale(watts); err == nil {
		t.Error("degrees became watts")
	}
}
