package pmapi

import (
	"math"
	"testing"

	"github.com/go-pcp/pcp"
)

// TestScaledLimits converts the largest integers to units of the same size: they fit.
func TestScaledLimits(t *testing.T) {
	for _, c := range []struct {
		out  pcp.Type
		d    float64
		want uint64
		ok   bool
	}{
		{pcp.Type32, math.MaxInt32, math.MaxInt32, true},
		{pcp.Type32, math.MaxInt32 + 1, 0, false},
		{pcp.TypeU32, math.MaxUint32, math.MaxUint32, true},
		{pcp.TypeU32, math.MaxUint32 + 1, 0, false},
		{pcp.Type64, 1 << 63, math.MaxInt64, true},
		{pcp.TypeU64, 1 << 64, math.MaxUint64, true},
		{pcp.TypeU64, 1 << 65, 0, false},
	} {
		m := conversion{out: c.out}
		v, err := m.scaled(c.d)
		if (err == nil) != c.ok || c.ok && v.Bits() != c.want {
			t.Errorf("%v as %v = %#x, %v, want %#x", c.d, c.out, v.Bits(), err, c.want)
		}
	}
}

// TestScaledRates converts milliseconds to milliseconds each second: whole numbers stay so, as in C.
func TestScaledRates(t *testing.T) {
	desc := pcp.Desc{Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}}
	m, err := newConversion(desc, GroupMetric{Scale: "millisec / s", Type: pcp.TypeDouble})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		if v, err := m.scaled(float64(n)); err != nil || v.Double() != float64(n) {
			t.Errorf("%d ms a second = %v, %v", n, v.Double(), err)
		}
	}
}

// TestScaledDegrees converts degrees, which is not a multiplication, and other extra units.
func TestScaledDegrees(t *testing.T) {
	f := func(units pcp.Units, scale string, d, want float64) {
		t.Helper()
		m, err := newConversion(pcp.Desc{Type: pcp.TypeDouble, Sem: pcp.SemInstant, Units: units}, GroupMetric{Scale: scale, Type: pcp.TypeDouble})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if v, err := m.scaled(d); err != nil || v.Double() != want {
				t.Errorf("%g %v = %v %s (%v), want %v", d, units, v.Double(), scale, err, want)
			}
		}
	}
	f(pcp.Units{Extra: pcp.Celsius}, "temperature (F)", 100, 212)
	f(pcp.Units{Extra: pcp.Celsius}, "temperature (F)", -40, -40)
	f(pcp.Units{Extra: pcp.Celsius}, "temperature (K)", 1.5, 274.65)
	f(pcp.Units{Extra: pcp.Celsius}, "temperature (C)", 21.5, 21.5)
	f(pcp.Units{Extra: pcp.Fahrenheit}, "temperature (C)", 212, 100)
	f(pcp.Units{Extra: pcp.Milliwatt}, "power (W)", 1500, 1.5)
	f(pcp.Units{Extra: pcp.Kilowatt, DimTime: 1, ScaleTime: pcp.TimeHour}, "power (W) sec", 2, 7.2e6)
	for _, scale := range []string{"power (W)", "count", "temperature (C) sec"} {
		if _, err := newConversion(pcp.Desc{Units: pcp.Units{Extra: pcp.Celsius}}, GroupMetric{Scale: scale, Type: pcp.TypeDouble}); pcp.Code(err) != pcp.ErrConv {
			t.Errorf("degrees as %s: %v", scale, err)
		}
	}
}

// TestScaledRatesOfExtra converts rates of extra units. If their zeros differ, as those of degrees, that fails at once and not with the first value.
func TestScaledRatesOfExtra(t *testing.T) {
	f := func(units pcp.Units, scale string, d, want float64) {
		t.Helper()
		m, err := newConversion(pcp.Desc{Type: pcp.TypeDouble, Sem: pcp.SemCounter, Units: units}, GroupMetric{Scale: scale, Type: pcp.TypeDouble})
		if math.IsNaN(want) {
			if pcp.Code(err) != pcp.ErrConv {
				t.Errorf("%v as %q: %v", units, scale, err)
			}
			return
		}
		if err != nil {
			t.Errorf("%v as %q: %v", units, scale, err)
		} else if v, err := m.scaled(d); err != nil || math.Abs(v.Double()-want) > 1e-9*want {
			t.Errorf("%g %v = %v %s (%v), want %v", d, units, v.Double(), scale, err, want)
		}
	}
	timed := func(e pcp.Extra) pcp.Units { return pcp.Units{Extra: e, DimTime: 1, ScaleTime: pcp.TimeSec} }
	none := math.NaN()
	f(timed(pcp.Kilowatt), "power (W)", 2, 2000)
	f(timed(pcp.Celsius), "temperature (C)", 2, 2)
	f(timed(pcp.Celsius), "temperature (F)", 2, none)
	f(timed(pcp.Kelvin), "temperature (C)", 2, none)
	f(timed(pcp.Fahrenheit), "temperature (K)", 2, none)
	f(timed(pcp.Watt), "temperature (C)", 2, none)
	f(timed(0), "temperature (C)", 2, none)
	f(pcp.Units{Extra: pcp.Celsius}, "temperature (C) / sec", 2, 2)
	f(pcp.Units{Extra: pcp.Celsius}, "temperature (F) / sec", 2, none)
	f(pcp.Units{Extra: pcp.Milliwatt}, "power (W) / sec", 2000, 2)
}
