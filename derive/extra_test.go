package derive

import (
	"testing"

	"github.com/go-pcp/pcp"
)

// TestExtraUnits checks the rules for units of temperature, voltage, current and power, and values in them.
func TestExtraUnits(t *testing.T) {
	src := newFake()
	for i, m := range []struct {
		name  string
		sem   pcp.Sem
		units pcp.Units
	}{
		{"celsius", pcp.SemInstant, pcp.Units{Extra: pcp.Celsius}},
		{"kelvin", pcp.SemInstant, pcp.Units{Extra: pcp.Kelvin}},
		{"watts", pcp.SemInstant, pcp.Units{Extra: pcp.Watt}},
		{"milliwatts", pcp.SemInstant, pcp.Units{Extra: pcp.Milliwatt}},
		{"energy", pcp.SemCounter, pcp.Units{DimTime: 1, ScaleTime: pcp.TimeHour, Extra: pcp.Watt}},
	} {
		src.descs[m.name] = pcp.Desc{PMID: pcp.NewPMID(60, 1, i), Type: pcp.TypeDouble, InDom: pcp.InDomNull, Sem: m.sem, Units: m.units}
	}
	values := func(celsius, energy float64, sec int64) sample {
		v := func(f float64) []pcp.Value { return []pcp.Value{pcp.DoubleValue(f).WithInst(pcp.InNull)} }
		return sample{sec: sec, sets: map[string][]pcp.Value{
			"celsius": v(celsius), "kelvin": v(300), "watts": v(20), "milliwatts": v(500), "energy": v(energy),
			"mem.used": {pcp.Uint64Value(60).WithInst(pcp.InNull)},
		}}
	}
	f := func(expr, units string, want ...string) {
		t.Helper()
		b, d, err := bind(t, src, expr)
		if err != nil || d.Units.String() != units {
			t.Errorf("%s has the units %q (%v), want %q", expr, d.Units, err, units)
			return
		}
		for i, s := range []sample{values(100, 1000, 100), values(-40, 1001, 110)}[:len(want)] {
			if got := text(src.fetch(t, b, s)); got != want[i] {
				t.Errorf("%s, sample %d: %q, want %q", expr, i+1, got, want[i])
			}
		}
	}
	f("celsius", "temperature (C)", "100", "-40")
	f("celsius - celsius", "temperature (C)", "0")
	f("celsius * 2", "temperature (C)", "200")
	f("2 * celsius", "temperature (C)", "200")
	f("celsius / 4", "temperature (C)", "25")
	f("-celsius", "temperature (C)", "-100", "40")
	f("delta(celsius)", "temperature (C)", "", "-140")
	f("celsius > celsius * 0.5", "", "1", "0")
	f("watts * mem.used", "power (W) Kbyte", "1200")
	f("mem.used * watts", "power (W) Kbyte", "1200")
	f("mem.used / watts", "Kbyte / power (W)", "3")
	f("1 / watts", "/ power (W)", "0.05")
	f("watts / watts", "", "1")
	f("rate(energy)", "power (W)", "", "360")
	f(`rescale(celsius, "temperature (F)")`, "temperature (F)", "212", "-40")
	f(`rescale(celsius, "temperature (K)")`, "temperature (K)", "373.15", "233.14999999999998")
	f(`rescale(milliwatts, "power (kW)")`, "power (kW)", "0.0005")
	f(`rescale(energy, "power (mW) sec")`, "power (mW) sec", "3.6e+09")
	f(`rescale(kelvin, "temperature (C)") > celsius`, "", "0", "1")
	f(`rescale(milliwatts, "power (W)") + watts`, "power (W)", "20.5")
	f(`mkconst(3, type=float, semantics=instant, units="voltage (uV)")`, "voltage (uV)", "3")

	fails := func(expr, want string) {
		t.Helper()
		_, _, err := bind(t, src, expr)
		if want = "Semantic error: derived metric x: " + want; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", expr, err, want)
		}
	}
	fails("celsius + double", "celsius + double: Dimensions are not the same")
	fails("celsius + watts", "celsius + watts: Dimensions are not the same")
	fails("celsius < double", "celsius < double: Dimensions are not the same")
	fails("celsius + kelvin", "celsius + kelvin: Operands have incompatible extra units or scale")
	fails("watts > milliwatts", "watts > milliwatts: Operands have incompatible extra units or scale")
	fails("watts / milliwatts", "watts / milliwatts: Different extra units not allowed for both operands of /")
	fails("watts / celsius", "watts / celsius: Different extra units not allowed for both operands of /")
	fails("watts * watts", "watts * watts: Extra units not allowed for both operands of *")
	fails("celsius && watts", "celsius && watts: Dimensions are not the same")
	fails("double ? watts : milliwatts", "watts : milliwatts: Different units or scale (extra) for ternary operands")
	fails(`rescale(celsius, "power (W)")`, "celsius RESCALE power (W): Incompatible dimensions")
	fails(`rescale(celsius, "count")`, "celsius RESCALE count: Incompatible dimensions")
}
