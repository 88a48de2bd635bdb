package pcp

import (
	"errors"
	"math"
	"math/big"
	"testing"
)

func TestExtraUnits(t *testing.T) {
	f := func(u Units, pack uint32, text string) {
		t.Helper()
		if u.Pack() != pack || UnpackUnits(pack) != u || u.String() != text {
			t.Errorf("%+v packs to %#x and prints as %q, want %#x, %q", u, u.Pack(), u, pack, text)
		}
		back, mult, err := ParseUnits(text)
		if back != u || mult != 1 || err != nil {
			t.Errorf("ParseUnits(%q) = %+v, %g, %v, want %+v", text, back, mult, err, u)
		}
	}
	for _, x := range []struct {
		extra Extra
		pack  uint32
		text  string
	}{
		{Celsius, 0x09, "temperature (C)"},
		{Fahrenheit, 0x0a, "temperature (F)"},
		{Kelvin, 0x0b, "temperature (K)"},
		{Volt, 0x11, "voltage (V)"},
		{Millivolt, 0x12, "voltage (mV)"},
		{Microvolt, 0x13, "voltage (uV)"},
		{Ampere, 0x19, "current (A)"},
		{Milliampere, 0x1a, "current (mA)"},
		{Microampere, 0x1b, "current (uA)"},
		{Kilowatt, 0x21, "power (kW)"},
		{Watt, 0x22, "power (W)"},
		{Milliwatt, 0x23, "power (mW)"},
		{Microwatt, 0x24, "power (uW)"},
	} {
		f(Units{Extra: x.extra}, x.pack, x.text)
		f(Units{DimTime: 1, ScaleTime: TimeHour, Extra: x.extra}, 0x01005000|x.pack, x.text+" hour")
		f(Units{DimCount: 1, DimTime: -1, ScaleTime: TimeSec, Extra: x.extra}, 0x0f103000|x.pack, x.text+" count / sec")
		under := Units{DimSpace: 1, DimTime: -2, ScaleTime: TimeSec, Extra: x.extra.Inverse()}
		f(under, 0x1e003000|(256-x.pack&^7)|x.pack&7, "byte / "+x.text+" sec^2")
	}
	f(Units{Extra: 4<<3 | 5}, 0x25, "power (scale-5)")
	f(Units{Extra: 7 << 3}, 0x38, "extra-7")
	f(Units{Extra: 256 - 16<<3}, 0x80, "/ extra-16")
	for _, x := range []struct {
		e, inverse Extra
		unit       int
	}{
		{0, 0, 0},
		{5, 5, 0},
		{Kelvin, 0xfb, 1},
		{Volt, 0xf1, 2},
		{Microampere, 0xeb, 3},
		{Microwatt, 0xe4, 4},
		{15<<3 | 7, 0x8f, 15},
		{0x80, 0x80, -16},
	} {
		if got := x.e.Inverse(); got != x.inverse || got.Inverse() != x.e || x.e.Unit() != x.unit || x.unit != -16 && got.Unit() != -x.unit {
			t.Errorf("%#x has the unit %d and the inverse %#x, want %d, %#x", uint8(x.e), x.e.Unit(), uint8(got), x.unit, uint8(x.inverse))
		}
	}
	// A scale without a unit is kept, and means nothing.
	if u := UnpackUnits(7); u.Pack() != 7 || u.String() != "" || u.HasDim() {
		t.Errorf("%+v is %q", u, u)
	}
	if u := (Units{Extra: 7<<3 | 3}); u.String() != "extra-7" || !u.HasDim() {
		t.Errorf("%+v is %q", u, u)
	}
}

// TestExtraUnitsRandom takes all numbers, with and without a name, through the
// word of descriptors and through text.
func TestExtraUnitsRandom(t *testing.T) {
	r := newRand(t)
	for range 10000 {
		w := r.Uint32()
		u := UnpackUnits(w)
		if u.Pack() != w {
			t.Fatalf("%#x becomes %#x", w, u.Pack())
		}
		if !u.HasDim() {
			continue
		}
		back, mult, err := ParseUnits(u.String())
		if err != nil || mult != 1 || back.String() != u.String() || back.Extra.Unit() != u.Extra.Unit() {
			t.Fatalf("%#x: %q becomes %+v, %g, %v", w, u, back, mult, err)
		}
		if n := u.Extra.Unit(); n >= -4 && n <= 4 && n != 0 && back.Extra != u.Extra {
			t.Fatalf("%#x: %q has the extra unit %#x, want %#x", w, u, back.Extra, u.Extra)
		}
	}
}

func TestParseExtraUnits(t *testing.T) {
	f := func(s string, want Units, mult float64) {
		t.Helper()
		u, m, err := ParseUnits(s)
		if err != nil || u != want || m != mult {
			t.Errorf("ParseUnits(%q) = %+v %g %v, want %+v %g", s, u, m, err, want, mult)
		}
	}
	f("POWER (MW)", Units{Extra: Milliwatt}, 1)
	f("Temperature (c)  ", Units{Extra: Celsius}, 1)
	f("4 voltage (V)", Units{Extra: Volt}, 0.25)
	f("voltage (V)4", Units{Extra: Volt}, 0.25)
	f("sec power (kW)byte", Units{DimSpace: 1, DimTime: 1, ScaleTime: TimeSec, Extra: Kilowatt}, 1)
	f("power (W)/hour", Units{DimTime: -1, ScaleTime: TimeHour, Extra: Watt}, 1)
	f("/current (A)", Units{Extra: Ampere.Inverse()}, 1)

	fails := func(s, reason string) {
		t.Helper()
		u, m, err := ParseUnits(s)
		e, ok := errors.AsType[*UnitsError](err)
		if !ok || e.Reason != reason || u != (Units{}) || m != 1 {
			t.Errorf("ParseUnits(%q) = %+v %g %v, want %q", s, u, m, err, reason)
		}
	}
	const unknown = "unrecognized or duplicate base unit"
	for _, s := range []string{
		"power", "power(W)", "power  (W)", "power ( W)", "power (W", "power (V)", "power ()", "W", "celsius",
		"power (W)^2", "power (W) nonsense", "power (scale-8)", "extra-", "extra-4", "extra-17", "extra-7x", "power (", "power (W)) sec",
	} {
		fails(s, unknown)
	}
	fails("power (W) power (W)", "multiple extra units not allowed")
	fails("sec power (W) voltage (V)", "multiple extra units not allowed")
	fails("power (W) / power (mW)", "extra units cannot appear in both dividend and divisor")
	fails("sec / power (W)power (mW)", "multiple extra units not allowed")
}

// TestConvExtra compares conversions with those of exact fractions.
func TestConvExtra(t *testing.T) {
	type scale struct {
		unit            int
		extra           Extra
		num, den        int64 // of a degree or watt in kelvins or kilowatts ...
		zeroNum, zeroDe int64 // where its zero is
	}
	scales := []scale{
		{1, Celsius, 1, 1, 27315, 100},
		{1, Fahrenheit, 5, 9, 45967 * 5, 900},
		{1, Kelvin, 1, 1, 0, 1},
		{2, Volt, 1, 1, 0, 1},
		{2, Millivolt, 1, 1000, 0, 1},
		{2, Microvolt, 1, 1000000, 0, 1},
		{3, Ampere, 1, 1, 0, 1},
		{3, Milliampere, 1, 1000, 0, 1},
		{3, Microampere, 1, 1000000, 0, 1},
		{4, Kilowatt, 1, 1, 0, 1},
		{4, Watt, 1, 1000, 0, 1},
		{4, Milliwatt, 1, 1000000, 0, 1},
		{4, Microwatt, 1, 1000000000, 0, 1},
	}
	for _, from := range scales {
		for _, to := range scales {
			for _, n := range []float64{0, 1, -40, 37, 100, 273.15, 451, 1e6, 123456.75} {
				got, err := ConvScale(DoubleValue(n), Units{Extra: from.extra}, Units{Extra: to.extra})
				if from.unit != to.unit {
					if Code(err) != ErrConv {
						t.Errorf("%v to %v: %v", Units{Extra: from.extra}, Units{Extra: to.extra}, err)
					}
					continue
				}
				exact := new(big.Rat).SetFloat64(n)
				exact.Mul(exact, big.NewRat(from.num, from.den))
				exact.Add(exact, big.NewRat(from.zeroNum, from.zeroDe))
				exact.Sub(exact, big.NewRat(to.zeroNum, to.zeroDe))
				exact.Quo(exact, big.NewRat(to.num, to.den))
				want, _ := exact.Float64()
				if err != nil || math.Abs(got.Double()-want) > 1e-9*max(1, math.Abs(want)) {
					t.Errorf("%g %v is %g %v (%v), want %g", n, Units{Extra: from.extra}, got.Double(), Units{Extra: to.extra}, err, want)
				}
			}
		}
	}
}

func TestConvExtraTypes(t *testing.T) {
	f := func(v Value, from, to Units, want Value) {
		t.Helper()
		got, err := ConvScale(v, from, to)
		if err != nil || got.Bits() != want.Bits() || got.Type() != want.Type() {
			t.Errorf("%v %v becomes %v (%v), want %v", v.Bits(), from, got.Bits(), err, want.Bits())
		}
	}
	x := func(e Extra) Units { return Units{Extra: e} }
	// Fractions are cut, towards zero.
	f(Int32Value(1999), x(Millivolt), x(Volt), Int32Value(1))
	f(Int32Value(-1999), x(Millivolt), x(Volt), Int32Value(-1))
	f(Uint32Value(21), x(Celsius), x(Fahrenheit), Uint32Value(69))
	f(Uint32Value(0), x(Kelvin), x(Celsius), Uint32Value(1<<32-273))
	f(Int32Value(3), x(Kilowatt), x(Microwatt), Int32Value(0x7fffffff&(3000000000-1<<31)-1<<31))
	f(Int64Value(-40), x(Fahrenheit), x(Celsius), Int64Value(-40))
	f(Uint64Value(12), x(Kilowatt), x(Microwatt), Uint64Value(12e9))
	f(Uint64Value(12e18), x(Watt), x(Kilowatt), Uint64Value(12e15))
	f(Uint64Value(1e16), x(Watt), x(Milliwatt), Uint64Value(1e19))
	f(FloatValue(100), x(Celsius), x(Fahrenheit), FloatValue(212))
	f(DoubleValue(-273.15), x(Celsius), x(Kelvin), DoubleValue(0))
	// The other dimensions are converted as well.
	f(DoubleValue(5), Units{DimTime: 1, ScaleTime: TimeHour, Extra: Kilowatt}, Units{DimTime: 1, ScaleTime: TimeSec, Extra: Watt}, DoubleValue(5*3600*1000))
	f(Int64Value(5), Units{Extra: Volt, ScaleCount: 3}, x(Millivolt), Int64Value(5000000))
	// Unknown units convert to themselves.
	f(Int32Value(5), x(7<<3|3), x(7<<3|3), Int32Value(5))
	f(Int32Value(5), x(3), x(0), Int32Value(5))

	fails := func(v Value, from, to Units, code Error) {
		t.Helper()
		if got, err := ConvScale(v, from, to); Code(err) != code {
			t.Errorf("%v to %v: %v, %v, want %v", from, to, got, err, code)
		}
	}
	fails(Int32Value(5), x(Watt), Units{}, ErrConv)
	fails(Int32Value(5), Units{DimCount: 1}, x(Watt), ErrConv)
	fails(Int32Value(5), x(Watt), Units{DimTime: 1, Extra: Watt}, ErrConv)
	fails(Int32Value(5), x(7<<3|3), x(7<<3|4), ErrUnit)
	fails(Int32Value(5), x(Watt), x(4<<3|7), ErrUnit)
	fails(Int32Value(5), x(256-4<<3|1), x(256-4<<3|2), ErrUnit)
	fails(StringValue("5"), x(Watt), x(Watt), ErrConv)
}
