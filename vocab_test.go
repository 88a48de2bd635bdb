package pcp

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

func TestPMID(t *testing.T) {
	id := NewPMID(29, 0, 36)
	if id != 0x07400024 || id.String() != "29.0.36" {
		t.Errorf("NewPMID(29, 0, 36) = %#x %v", uint32(id), id)
	}
	for _, f := range [][3]int{{0, 0, 0}, {MaxDomain, MaxCluster, MaxItem}, {1, 2, 3}, {MaxDomain, 0, 0}, {0, MaxCluster, 0}, {0, 0, MaxItem}} {
		id := NewPMID(f[0], f[1], f[2])
		if got := [3]int{id.Domain(), id.Cluster(), id.Item()}; got != f {
			t.Errorf("NewPMID(%v) holds %v", f, got)
		}
	}
	if NewPMID(512, 4096, 1024) != 0 {
		t.Error("fields spill over")
	}
	if id := DynamicRoot(60); !id.IsDynamicRoot() || id.IsDerived() || id.String() != "60.*.*" {
		t.Errorf("DynamicRoot(60) = %v", id)
	}
	if id := NewPMID(511, 0, 1); id.IsDynamicRoot() || !id.IsDerived() || id.String() != "511.0.1" {
		t.Errorf("derived %v", id)
	}
	if NewPMID(511, 2048, 1).IsDerived() {
		t.Error("a derived metric that was recorded is derived no more")
	}
	if PMIDNull.String() != "PM_ID_NULL" {
		t.Errorf("PMIDNull = %v", PMIDNull)
	}
}

func TestInDom(t *testing.T) {
	d := NewInDom(60, 3)
	if d != 0x0f000003 || d.String() != "60.3" || d.Domain() != 60 || d.Serial() != 3 {
		t.Errorf("NewInDom(60, 3) = %#x %v", uint32(d), d)
	}
	if d := NewInDom(MaxDomain, MaxSerial); d.Domain() != MaxDomain || d.Serial() != MaxSerial {
		t.Errorf("the largest: %v", d)
	}
	if InDomNull.String() != "PM_INDOM_NULL" {
		t.Error("InDomNull")
	}
	for _, c := range []struct {
		full, name string
		want       bool
	}{
		{"1 minute", "1 minute", true},
		{"1 minute", "1", true},
		{"1 minute", "1 ", false},
		{"1 minute", "1 min", false},
		{"15 minute", "1", false},
		{"a b c", "a b", false},
		{"a b c", "a", true},
		{"a", "a b", false},
		{" a", "", false},
		{"", "", true},
	} {
		if got := MatchInstance(c.full, c.name); got != c.want {
			t.Errorf("MatchInstance(%q, %q) = %v", c.full, c.name, got)
		}
	}
}

func TestUnits(t *testing.T) {
	f := func(u Units, pack uint32, want string) {
		t.Helper()
		if u.Pack() != pack || UnpackUnits(pack) != u {
			t.Errorf("%v packs to %#x and back to %+v, want %#x", u, u.Pack(), UnpackUnits(u.Pack()), pack)
		}
		if got := u.String(); got != want {
			t.Errorf("%#x = %q, want %q", pack, got, want)
		}
	}
	f(Units{}, 0, "")
	f(NewUnits(0, 1, 0, 0, TimeSec, 0), 0x01003000, "sec")
	f(NewUnits(1, 0, 0, SpaceByte, 0, 0), 0x10000000, "byte")
	f(NewUnits(1, -2, 0, SpaceMByte, TimeSec, 0), 0x1e023000, "Mbyte / sec^2")
	f(NewUnits(1, 0, 0, SpaceYByte, 0, 0), 0x10080000, "Ybyte")
	f(NewUnits(0, 1, -1, 0, TimeHour, 6), 0x01f05600, "hour / count x 10^6")
	f(NewUnits(0, 0, 1, 0, 0, -3), 0x00100d00, "count x 10^-3")
	f(NewUnits(0, 0, 0, 0, 0, 2), 0x00000200, "x 10^2")
	f(NewUnits(-8, 7, 0, 15, 15, 0), 0x870ff000, "time-15^7 / space-15^8")
}

func TestParseUnits(t *testing.T) {
	f := func(s string, want Units, mult float64) {
		t.Helper()
		u, m, err := ParseUnits(s)
		if err != nil || u != want || math.Abs(m-mult) > 1e-12*mult {
			t.Errorf("ParseUnits(%q) = %+v %g %v, want %+v %g", s, u, m, err, want, mult)
		}
	}
	f("", Units{}, 1)
	f("2 sec", NewUnits(0, 1, 0, 0, TimeSec, 0), 0.5)
	f("4 ms^2 / hour", NewUnits(0, 1, 0, 0, TimeSec, 0), 0.25*1e6*3600)
	f("Kbytes / second", NewUnits(1, -1, 0, SpaceKByte, TimeSec, 0), 1)
	f("10 kilobytes / 2.5e2 count x 10^3", NewUnits(1, 0, -1, SpaceKByte, 0, 3), 25)
	f("COUNT X 10^-8", NewUnits(0, 0, 1, 0, 0, -8), 1)
	f("hour / hour", Units{}, 1)
	f("hour / min", Units{}, 1.0/60)
	f("kbyte^2 / mbyte", NewUnits(1, 0, 0, SpaceByte, 0, 0), 1)
}

func TestProfile(t *testing.T) {
	one, two := NewInDom(60, 1), NewInDom(60, 2)
	var p Profile
	check := func(what string, want string) {
		t.Helper()
		got := ""
		for _, d := range []InDom{one, two} {
			for inst := range int32(4) {
				if p.Includes(d, inst) {
					got += fmt.Sprint(inst)
				}
				pd := p.InDom(d)
				if pd.Includes(inst) != p.Includes(d, inst) {
					t.Errorf("%s: InDom(%v) and Includes differ at %d", what, d, inst)
				}
			}
			got += " "
		}
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		if !p.Includes(InDomNull, InNull) {
			t.Errorf("%s: a metric with a single value is left out", what)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	// The answers of the real library to the same calls.
	check("new", "0123 0123 ")
	do(p.Del(one, 1))
	check("delete one of a domain not named before", " 0123 ")
	do(p.Add(one, 2, 0, 2))
	check("add two", "02 0123 ")
	do(p.Del(one, 0, 3))
	check("delete one", "2 0123 ")
	do(p.Add(one))
	check("add all", "0123 0123 ")
	do(p.Del(one, 3, 1))
	check("delete two", "02 0123 ")
	c := p.Clone()
	do(p.Add(one, 1))
	check("add one", "012 0123 ")
	if c.Includes(one, 1) {
		t.Error("the clone changed with the profile")
	}
	do(p.Del(InDomNull))
	check("nothing", "  ")
	do(p.Add(two, 3))
	check("one instance", " 3 ")
	do(p.Add(InDomNull))
	check("everything", "0123 0123 ")
	if !p.IsAll() || c.IsAll() || !(*Profile)(nil).IsAll() || !(*Profile)(nil).Includes(one, 1) {
		t.Error("IsAll")
	}
	if p.Add(InDomNull, 1) != ErrProfileSpec || p.Del(InDomNull, 1) != ErrProfileSpec {
		t.Error("instances of no domain")
	}
}

func TestResult(t *testing.T) {
	var r Result
	fill := func(sets, values int) {
		for s := range sets {
			r.AddSet(NewPMID(60, 0, s))
			for v := range values {
				r.Add(Int32Value(int32(s*1000 + v)).WithInst(int32(v)))
			}
		}
		r.AddError(PMIDNull, ErrPMID)
	}
	check := func(r *Result, sets, values int) {
		t.Helper()
		if len(r.Sets) != sets+1 || r.Sets[sets].Err != ErrPMID {
			t.Fatalf("%d sets, the last %+v", len(r.Sets), r.Sets[len(r.Sets)-1])
		}
		for s := range sets {
			vs := r.Sets[s]
			if vs.PMID != NewPMID(60, 0, s) || len(vs.Values) != values || vs.Err != 0 || values > 0 && vs.ValFmt != ValInSitu {
				t.Fatalf("set %d: %+v", s, vs)
			}
			for i, v := range vs.Values {
				if v.Int32() != int32(s*1000+i) || v.Inst != int32(i) {
					t.Fatalf("set %d, value %d: %v", s, i, v)
				}
			}
		}
	}
	for _, n := range [][2]int{{0, 0}, {1, 1}, {3, 100}, {100, 3}, {2, 1000}, {5, 0}} {
		r.Reset()
		fill(n[0], n[1])
		check(&r, n[0], n[1])
		c := r.Clone()
		r.Reset()
		fill(7, 7)
		check(c, n[0], n[1])
	}
	// Memory that grows, or goes to another set, in the middle of a set.
	r = Result{}
	r.AddSet(1)
	r.Add(Int32Value(1))
	r.Grow(1, 1000)
	r.Add(Int32Value(2))
	r.AddSet(2)
	r.Sets[1].Values = []Value{Int32Value(3)}
	r.Add(Int32Value(4))
	r.Add(StringValue("x"))
	if got := fmt.Sprint(r.Sets[0].Values, r.Sets[1].Values); got != `[1 2] [3 4 "x"]` {
		t.Errorf("after Grow: %s", got)
	}
	r.Reset()
	r.Grow(101, 300)
	if n := testing.AllocsPerRun(10, func() { r.Reset(); fill(100, 3) }); n != 0 {
		t.Errorf("filling a result again allocates %v times", n)
	}

	r.Reset()
	r.AddSet(1)
	for _, inst := range []int32{5, 1, 3} {
		r.Add(Int32Value(inst * 10).WithInst(inst))
	}
	r.SortInstances()
	var got []int32
	for _, v := range r.Sets[0].Values {
		got = append(got, v.Inst, v.Int32())
	}
	if !slices.Equal(got, []int32{1, 10, 3, 30, 5, 50}) {
		t.Errorf("SortInstances: %v", got)
	}
}

func TestTimestamp(t *testing.T) {
	a, b := Timestamp{10, 5e8}, Timestamp{11, 25e7}
	if a.Compare(b) != -1 || b.Compare(a) != 1 || a.Compare(a) != 0 || b.Sub(a) != 0.75 || a.Sub(b) != -0.75 {
		t.Error("Compare, Sub")
	}
	for _, d := range []time.Duration{0, 1, -1, 750 * time.Millisecond, -750 * time.Millisecond, 500 * time.Millisecond, -10500 * time.Millisecond, 1e18, -1e18} {
		if got, want := a.Add(d), TimestampOf(a.Time().Add(d)); got != want {
			t.Errorf("Add(%v) = %v, want %v", d, got, want)
		}
	}
	if (Timestamp{}).IsZero() != true || a.IsZero() {
		t.Error("IsZero")
	}
	zone := time.FixedZone("", -3600*5-1800)
	if got := string(Timestamp{1700000000, 123456789}.AppendStamp([]byte("at "), zone)); got != "at 16:43:20.123" {
		t.Errorf("AppendStamp = %q", got)
	}
	if got := string(Timestamp{1700000000, 1}.AppendHighResStamp(nil, time.UTC)); got != "22:13:20.000000001" {
		t.Errorf("AppendHighResStamp = %q", got)
	}
}

func TestTextKind(t *testing.T) {
	for k, want := range map[TextKind]string{
		TextOneLine | TextPMID: "oneline|pmid", TextHelp | TextInDom | TextDirect: "help|indom|direct", 0: "0", 32: "32", 33: "oneline|32",
	} {
		if got := k.String(); got != want {
			t.Errorf("TextKind(%d) = %q, want %q", int(k), got, want)
		}
	}
}

func TestValue(t *testing.T) {
	v := RawValue(TypeUnknown, math.MaxUint32).As(TypeU32)
	if v.Type() != TypeU32 || v.Uint32() != math.MaxUint32 || v.Inst != InNull {
		t.Errorf("As: %v %v", v.Type(), v)
	}
	if v := Int64Value(-1).As(TypeU64); v.Type() != Type64 || v.Int64() != -1 {
		t.Errorf("As of a value with a type: %v", v)
	}
	for _, c := range []struct {
		v    Value
		want string
	}{
		{Int32Value(-5), "-5"},
		{Uint32Value(math.MaxUint32), "4294967295"},
		{Int64Value(math.MinInt64), "-9223372036854775808"},
		{Uint64Value(math.MaxUint64), "18446744073709551615"},
		{FloatValue(1.5), "1.500000e+00"},
		{DoubleValue(-1e300), "-1.000000e+300"},
		{StringValue("a\x00b"), `"a"`},
		{BytesValue(TypeString, nil), "<null>"},
		{BytesValue(TypeAggregate, nil), "<null>"},
		{BytesValue(TypeAggregate, []byte("hello, world!")), "[type=AGGREGATE len=13] 68656c6c 6f2c2077 6f726c64 ..."},
	} {
		if got := c.v.String(); got != c.want {
			t.Errorf("%v: %q, want %q", c.v.Type(), got, c.want)
		}
	}
}

// TestAllocs checks that the functions that run for each value do not allocate.
func TestAllocs(t *testing.T) {
	buf := make([]byte, 0, 512)
	u := NewUnits(1, -1, 0, SpaceKByte, TimeSec, 0)
	values := []Value{Int32Value(-5), Uint64Value(1 << 60), FloatValue(1.25), DoubleValue(math.Pi), StringValue("a string of some length"), BytesValue(TypeAggregate, []byte("abcdefgh"))}
	desc := Desc{NewPMID(60, 0, 20), TypeU64, NewInDom(60, 1), SemCounter, u}
	f := func(name string, run func()) {
		t.Helper()
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	f("Value.Extract", func() {
		for _, v := range values {
			v.Extract(v.Type(), TypeDouble)
			v.Extract(v.Type(), TypeU32)
		}
	})
	f("ConvScale", func() { ConvScale(values[1], u, u) })
	f("Value.AppendText", func() {
		for _, v := range values {
			buf = v.AppendText(buf[:0])
		}
	})
	f("Value.AppendPrint", func() {
		for _, v := range values {
			buf = v.AppendPrint(buf[:0], v.Type(), 20, time.UTC)
			buf = v.AppendPrint(buf[:0], TypeUnknown, 20, time.UTC)
		}
	})
	f("appendNumber", func() { buf = appendNumber(buf[:0], -1234.5) })
	f("Units.AppendText", func() { buf = u.AppendText(buf[:0]) })
	f("PMID.AppendText", func() { buf = desc.PMID.AppendText(buf[:0]) })
	f("Timestamp.AppendStamp", func() { buf = Timestamp{1, 2}.AppendHighResStamp(buf[:0], time.UTC) })
	f("EventFlags.AppendText", func() { buf = EventFlags(31).AppendText(buf[:0]) })
	f("Code", func() { Code(ErrPMID) })
}

func BenchmarkExtract(b *testing.B) {
	b.ReportAllocs()
	v, sum := Uint64Value(123456789), 0.0
	for b.Loop() {
		d, _ := v.Extract(TypeU64, TypeDouble)
		sum += d.Double()
	}
}

func BenchmarkNumberStr(b *testing.B) {
	b.ReportAllocs()
	var room [16]byte
	for b.Loop() {
		appendNumber(room[:0], 123456.789)
	}
}

func BenchmarkPrintDouble(b *testing.B) {
	b.ReportAllocs()
	var room [64]byte
	v := DoubleValue(math.Pi)
	for b.Loop() {
		v.AppendPrint(room[:0], TypeDouble, 20, time.UTC)
	}
}

func BenchmarkPrintU64(b *testing.B) {
	b.ReportAllocs()
	var room [64]byte
	v := Uint64Value(1234567890123)
	for b.Loop() {
		v.AppendPrint(room[:0], TypeU64, 20, time.UTC)
	}
}

func BenchmarkParseUnits(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ParseUnits("Kbytes / second")
	}
}

func BenchmarkParseLabels(b *testing.B) {
	b.ReportAllocs()
	const json = `{"device_type":["numa_node","memory"],"indom_name":"per zone per numa_node","numa_node":0,"zone":"DMA"}`
	b.SetBytes(int64(len(json)))
	for b.Loop() {
		ParseLabels(json, LabelInstances)
	}
}

func BenchmarkMergeLabels(b *testing.B) {
	b.ReportAllocs()
	var sets []LabelSet
	for i, json := range []string{`{"domainname":"localdomain","hostname":"a","machineid":"0123456789abcdef"}`, `{"agent":"linux"}`, `{"indom_name":"per cpu","device_type":"cpu"}`, `{"cpu":1}`} {
		s, err := ParseLabels(json, 1<<i)
		if err != nil {
			b.Fatal(err)
		}
		sets = append(sets, s)
	}
	for b.Loop() {
		MergeLabels(sets, nil)
	}
}

func FuzzParseUnits(f *testing.F) {
	for _, s := range []string{"Kbytes / second", "10 kilobytes / 2.5e2 count x 10^3", "count x 10^-8", "time-7^3 / space-12", "-0x1p3 hour^-8", "sec^", "1e400 byte", "nan", "power (W)", "2 TEMPERATURE (c)byte / sec", "count / current (mA) sec^2", "voltage (scale-7)", "/ extra-16", "power (W) power (W)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, mult, err := ParseUnits(s)
		if err != nil {
			if Code(err) != ErrConv || u != (Units{}) || mult != 1 {
				t.Fatalf("%q: %+v, %g, %v", s, u, mult, err)
			}
			return
		}
		if UnpackUnits(u.Pack()) != u {
			t.Fatalf("%q: %+v does not fit", s, u)
		}
		if !u.HasDim() && u.ScaleCount != 0 {
			t.Fatalf("%q: a scale without a dimension in %+v", s, u)
		}
		back, mult, err := ParseUnits(u.String())
		if err != nil || mult != 1 || back.String() != u.String() {
			t.Fatalf("%q: %q becomes %q, %g, %v", s, u, back, mult, err)
		}
	})
}
