package derive

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

// text formats a set: "0:5 1:7", an error, or "" for no values.
func text(vs pcp.ValueSet) string {
	if vs.Err < 0 {
		return vs.Err.Error()
	}
	var parts []string
	for _, v := range vs.Values {
		part, ok := v.Text()
		switch {
		case v.Type() == pcp.TypeFloat || v.Type() == pcp.TypeDouble:
			part = fmt.Sprint(v.Double())
		case !ok:
			part = v.String()
		}
		if v.Inst != pcp.InNull {
			part = fmt.Sprint(v.Inst) + ":" + part
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

func u32s(ns ...uint32) (vs []pcp.Value) {
	for _, n := range ns {
		vs = append(vs, pcp.RawValue(pcp.TypeUnknown, uint64(n)))
	}
	return vs
}

func u64s(ns ...uint64) (vs []pcp.Value) {
	for _, n := range ns {
		vs = append(vs, pcp.Uint64Value(n))
	}
	return vs
}

func TestValues(t *testing.T) {
	src := newFake()
	one := sample{sec: 100, sets: map[string][]pcp.Value{
		"disk.reads": u64s(10, 20, 30), "disk.writes": u64s(1, 2, 3), "disk.kb": u32s(4, 5, 6),
		"disk.bytes": u64s(1024, 2048, 4096), "disk.busy": u32s(1000, 2000, math.MaxUint32),
		"disk.model": {pcp.StringValue("A"), pcp.StringValue("B"), pcp.StringValue("C")},
		"disk.temp":  {pcp.FloatValue(0), pcp.FloatValue(1.5), pcp.FloatValue(-2)},
		"ncpu":       u32s(4), "cpu.user": u32s(7, 8),
		"mem.used": u64s(3), "mem.free": {pcp.Int64Value(2048)},
		"i32": {pcp.RawValue(pcp.TypeUnknown, uint64(0xffffffff))}, "u32": u32s(5), "i64": {pcp.Int64Value(-7)},
		"u64": u64s(1 << 40), "float": {pcp.FloatValue(0.5)}, "double": {pcp.DoubleValue(2.25)},
		"text": {pcp.StringValue("hello")},
	}}
	two := sample{sec: 110, sets: map[string][]pcp.Value{
		"disk.reads": u64s(15, 20, 10), "disk.writes": u64s(2, 2, 4), "disk.kb": u32s(4, 7, 3),
		"disk.bytes": u64s(1024, 4096, 8192), "disk.busy": u32s(6000, 2000, 9),
		"u32": u32s(9), "i32": u32s(1),
	}}
	f := func(expr string, want ...string) {
		t.Helper()
		b, d, err := bind(t, src, expr)
		if d.PMID == pcp.PMIDNull {
			t.Errorf("%s is not bound: %v", expr, err)
			return
		}
		for i, s := range []sample{one, two}[:len(want)] {
			vs := src.fetch(t, b, s)
			if got := text(vs); got != want[i] {
				t.Errorf("%s, sample %d: %q, want %q", expr, i+1, got, want[i])
			}
			for _, v := range vs.Values {
				if v.Type() != d.Type {
					t.Errorf("%s: value of type %v, descriptor %v", expr, v.Type(), d.Type)
				}
			}
		}
	}
	f("disk.reads", "0:10 1:20 2:30")
	f("text", "hello")
	f("disk.model[sdb]", "1:B")
	f("disk.model[nosuch]", "")
	f("u32[sda]", "")
	f("(disk.reads + disk.writes)[nvme0n1]", "2:33")
	f("disk.reads + disk.writes", "0:11 1:22 2:33")
	f("disk.bytes + disk.kb", "0:5 1:7 2:10")
	f("disk.kb + disk.bytes", "0:5 1:7 2:10")
	f("mem.used - mem.free", "1")
	f("disk.reads * ncpu", "0:40 1:80 2:120")
	f("ncpu * disk.reads", "0:40 1:80 2:120")
	f("i32 + i64", "-8")
	f("u32 - 6", "4294967295")
	f("u32 - 6 + u64", "1103806595071")
	f("-u32", "-5")
	f("-i64", "7")
	f("-float", "-0.5")
	f("i32 < u32", "0") // as unsigned
	f("i32 < i64", "0")
	f("i64 < i32", "1")
	f("float <= double && double > 2.0", "1")
	f("float >= double || i32 == 4294967295", "1")
	f("float != 0.5", "0")
	f("!float", "0")
	f("!(u32 == 6)", "1")
	f("u32 / 0", "+Inf")
	f("(u32 - 5) / 0", "0")
	f("1 / 8", "0.125")
	f("0.1 + .2", "0.30000000000000004")
	f("4294967295", "4294967295")
	f("mkconst(7, type=64)", "7")
	f("mkconst(7, meta=disk.writes)", "0:7 1:7 2:7")
	f("delta(disk.reads)", "", "0:5 1:0 2:-20")
	f("delta(disk.kb)", "", "0:0 1:2 2:-3")
	f("delta(i32)", "", "2")
	f("delta(disk.reads - disk.writes)", "", "0:4 1:0 2:-21")
	f("rate(disk.reads)", "", "0:0.5 1:0 2:1.8446744073709553e+18")
	f("rate(disk.busy)", "", "0:0.5 1:0 2:0.001")
	f("rate(mkconst(3, type=double))", "", "0")
	f("instant(disk.reads) - 1", "0:9 1:19 2:29")
	f("delta(disk.bytes) / delta(disk.reads)", "", "0:0 1:+Inf 2:-204.8")
	f("delta(disk.reads) == 0 ? mkconst(0, type=double, semantics=instant) : delta(disk.writes) / delta(disk.reads)", "", "0:0.2 1:0 2:-0.05")
	f("avg(disk.reads)", "20")
	f("sum(disk.reads)", "60")
	f("max(disk.temp)", "1.5")
	f("min(disk.temp)", "-2")
	f("count(disk.model)", "3")
	f("scalar(disk.reads)", "10")
	f("scalar(disk.reads[sdb]) * u64", "21990232555520")
	f("matchinst(/^sd/, disk.reads)", "0:10 1:20")
	f("matchinst(!/^sd|x$/, disk.reads)", "2:30")
	f("matchinst(/disk/, disk.reads)", "")
	f("disk.writes + matchinst(/^n/, disk.reads)", "2:33")
	f("matchinst(/^n/, disk.reads) + disk.writes", "2:33")
	f(`rescale(mem.free, "kbyte")`, "2")
	f("defined(ncpu) + defined(nosuch)", "1")
	f("disk.temp ? disk.reads : disk.writes", "0:1 1:20 2:30")
	f("u32 ? disk.reads : disk.writes", "0:10 1:20 2:30")
	f("disk.temp ? mkconst(9, type=u64, semantics=counter, units=count) : disk.writes", "0:1 1:9 2:9")
	f("disk.temp > 0 ? disk.temp : novalue()", "1:1.5")
	f("defined(nosuch) ? nosuch : novalue()", "")
	f("anon(PM_TYPE_32)", "")
}

func TestInstancesComeAndGo(t *testing.T) {
	src := newFake()
	b, _, _ := bind(t, src, "delta(disk.reads)")
	id, _ := b.Lookup("x")
	round := func(insts []int32, values []uint64) string {
		t.Helper()
		ids, err := b.Operands(t.Context(), []pcp.PMID{id})
		if err != nil {
			t.Fatal(err)
		}
		var res pcp.Result
		res.AddSet(ids[0])
		res.AddSet(ids[1])
		for i, inst := range insts {
			res.Add(pcp.Uint64Value(values[i]).WithInst(inst))
		}
		b.Evaluate(t.Context(), &res, 1)
		return text(res.Sets[0])
	}
	for i, step := range []struct {
		insts  []int32
		values []uint64
		want   string
	}{
		{[]int32{0, 1, 2}, []uint64{1, 2, 3}, ""},
		{[]int32{0, 2}, []uint64{2, 6}, "0:1 2:3"},
		{[]int32{2, 1, 0}, []uint64{7, 9, 4}, "2:1 0:2"},
		{nil, nil, ""},
		{[]int32{0}, []uint64{5}, ""},
		{[]int32{0}, []uint64{9}, "0:4"},
	} {
		if got := round(step.insts, step.values); got != step.want {
			t.Errorf("sample %d: %q, want %q", i+1, got, step.want)
		}
	}
}

func TestErrorsOfOperands(t *testing.T) {
	src := newFake()
	good := map[string][]pcp.Value{"u32": u32s(1), "u64": u64s(5)}
	bad := map[string]pcp.Error{"u32": pcp.ErrAppVersion}
	f := func(expr string, want ...string) {
		t.Helper()
		b, _, _ := bind(t, src, expr)
		for i, s := range []sample{{sec: 1, sets: good}, {sec: 2, errs: bad}, {sec: 3, sets: good}, {sec: 4, sets: good}} {
			if got := text(src.fetch(t, b, s)); got != want[i] {
				t.Errorf("%s, sample %d: %q, want %q", expr, i+1, got, want[i])
			}
		}
	}
	msg := pcp.ErrAppVersion.Error()
	f("u32", "1", msg, "1", "1")
	f("u32 + 1", "2", msg, "2", "2")
	f("count(u32)", "1", "0", "1", "1")
	f("count(u32) + 1", "2", "1", "2", "2")
	f("delta(u32)", "", msg, msg, "0") // as in C, the error appears twice
	f("sum(u32)", "1", msg, "1", "1")

	// An operand that is not in the result, and a metric that is not bound.
	b, _, _ := bind(t, src, "u32 + 1")
	id, _ := b.Lookup("x")
	if _, err := b.Operands(t.Context(), []pcp.PMID{id}); err != nil {
		t.Fatal(err)
	}
	res := pcp.Result{Sets: []pcp.ValueSet{{PMID: id}}}
	b.Evaluate(t.Context(), &res, 1)
	if res.Sets[0].Err != pcp.ErrPMID {
		t.Errorf("without the operand: %v", res.Sets[0])
	}
}

// steady is a binding of n metrics with two operands each, and its result.
func steady(tb testing.TB, n int) (b *Binding, ids []pcp.PMID, res *pcp.Result, fill func()) {
	tb.Helper()
	src := newFake()
	var set Set
	for i := range n {
		expr := "rate(disk.reads) + rate(disk.writes)"
		if i%2 == 1 {
			expr = "delta(disk.reads) == 0 ? mkconst(0, type=double, semantics=instant) : delta(disk.writes) / delta(disk.reads)"
		}
		if err := set.Add(fmt.Sprintf("d%d", i), expr); err != nil {
			tb.Fatal(err)
		}
		ids = append(ids, pmidOf(i))
	}
	b = set.Bind(src, func(err error) { tb.Error(err) })
	wanted, err := b.Operands(tb.Context(), ids)
	if err != nil {
		tb.Fatal(err)
	}
	res = new(pcp.Result)
	tick := uint64(0)
	fill = func() {
		tick++
		res.Reset()
		res.Time = pcp.Timestamp{Sec: int64(tick)}
		for _, id := range wanted {
			res.AddSet(id)
			if id.IsDerived() {
				continue
			}
			for inst := range int32(3) {
				res.Add(pcp.Uint64Value(tick * uint64(inst+1)).WithInst(inst))
			}
		}
	}
	return b, ids, res, fill
}

func TestNoAllocation(t *testing.T) {
	b, ids, res, fill := steady(t, 20)
	round := func() {
		if _, err := b.Operands(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		fill()
		b.Evaluate(t.Context(), res, len(ids))
	}
	round()
	round()
	if got := text(res.Sets[0]); got != "0:2 1:4 2:6" {
		t.Errorf("rate of two disks: %s", got)
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations a fetch, want none", n)
	}
}

func BenchmarkEvaluate100(b *testing.B) {
	binding, ids, res, fill := steady(b, 100)
	b.ReportAllocs()
	for b.Loop() {
		fill()
		binding.Evaluate(b.Context(), res, len(ids))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/metric")
}
