package unitname

import (
	"math"
	"testing"

	"github.com/go-pcp/pcp"
)

func TestUCUM(t *testing.T) {
	for want, u := range map[string]pcp.Units{
		"1":        {},
		"KiBy.s-1": {DimSpace: 1, DimTime: -1, ScaleSpace: pcp.SpaceKByte, ScaleTime: pcp.TimeSec},
		"{count}":  {DimCount: 1},
		"ms":       {DimTime: 1, ScaleTime: pcp.TimeMsec},
	} {
		if got := UCUM(u); got != want {
			t.Errorf("UCUM(%v) = %q, want %q", u, got, want)
		}
	}
}

func TestFromUCUM(t *testing.T) {
	f := func(code, want string, factor float64, ok bool) {
		t.Helper()
		units, gotFactor, gotOK := FromUCUM(code)
		if units.String() != want || math.Abs(gotFactor-factor) > 1e-12 || gotOK != ok {
			t.Errorf("FromUCUM(%q) = %q, %v, %v, want %q, %v, %v", code, units, gotFactor, gotOK, want, factor, ok)
		}
	}
	f("By", "byte", 1, true)
	f("kBy/d", "byte / hour", 1000.0/24, true)
	f("%", "", 1, true)
	f("Hz", "/ sec", 1, true)
	f("By/Hz", "byte sec", 1, true)
	f("1/s", "/ sec", 1, true)
	f("KiBy.s-1", "Kbyte / sec", 1, true)
	f("kBy2", "byte^2", 1e6, true)
	f("10*3{x}.min-2", "count x 10^3 / min^2", 1, true)
	f("10*-2{x}", "count x 10^-2", 1, true)
	f("W.h", "power (W) hour", 1, true)
	f("By/mV", "byte / voltage (mV)", 1, true)
	f("[degF]-1", "/ temperature (F)", 1, true)
	for _, bad := range []string{
		"", "/", "/s", "s/s", "s.s", "W/V", "W2", "K8", "By.", ".By", "By/s/s", "s-", "10*3", "10*8{x}", "10*{x}", "10*3x}", "{", "x", "{a", "1-1-1",
	} {
		f(bad, "", 1, false)
	}
}

// TestRoundTrip takes all units of one dimension, and pairs of them, to codes and back.
func TestRoundTrip(t *testing.T) {
	var all []pcp.Units
	for _, power := range []int8{-7, -2, -1, 1, 2, 7} {
		for s := range uint8(pcp.SpaceYByte + 1) {
			all = append(all, pcp.Units{DimSpace: power, ScaleSpace: s})
		}
		for s := range uint8(pcp.TimeHour + 1) {
			all = append(all, pcp.Units{DimTime: power, ScaleTime: s})
		}
		for s := int8(-8); s < 8; s++ {
			all = append(all, pcp.Units{DimCount: power, ScaleCount: s})
		}
	}
	for _, scales := range [][2]pcp.Extra{{pcp.Celsius, pcp.Kelvin}, {pcp.Volt, pcp.Microvolt}, {pcp.Ampere, pcp.Microampere}, {pcp.Kilowatt, pcp.Microwatt}} {
		for e := scales[0]; e <= scales[1]; e++ {
			all = append(all, pcp.Units{Extra: e}, pcp.Units{Extra: e.Inverse()})
		}
	}
	f := func(u pcp.Units) {
		t.Helper()
		if back, factor, ok := FromUCUM(UCUM(u)); back != u || factor != 1 || !ok {
			t.Errorf("%v is %s, and that is %v, %g, %t", u, UCUM(u), back, factor, ok)
		}
	}
	for _, u := range all {
		f(u)
		for _, v := range all {
			if u.DimSpace*v.DimSpace|u.DimTime*v.DimTime|u.DimCount*v.DimCount != 0 || u.Extra != 0 && v.Extra != 0 {
				continue
			}
			f(pcp.Units{
				DimSpace: u.DimSpace + v.DimSpace, ScaleSpace: u.ScaleSpace + v.ScaleSpace,
				DimTime: u.DimTime + v.DimTime, ScaleTime: u.ScaleTime + v.ScaleTime,
				DimCount: u.DimCount + v.DimCount, ScaleCount: u.ScaleCount + v.ScaleCount,
				Extra: u.Extra + v.Extra,
			})
		}
	}
	f(pcp.Units{})
}

func FuzzFromUCUM(f *testing.F) {
	for _, s := range []string{"By/s", "10*3{x}.min-2", "[degF]", "mW.h/KiBy2", "1", "%/Hz", "10*-9{"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, code string) {
		u, factor, ok := FromUCUM(code)
		if !ok && (u != pcp.Units{} || factor != 1) {
			t.Errorf("FromUCUM(%q) = %v, %v, %v", code, u, factor, ok)
		}
		if back, _, again := FromUCUM(UCUM(u)); !again || back != u {
			t.Errorf("%q is %+v, written %s, and that is %+v, %t", code, u, UCUM(u), back, again)
		}
	})
}
