package derive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
)

func TestDescriptors(t *testing.T) {
	src := newFake()
	f := func(expr string, typ pcp.Type, indom pcp.InDom, sem pcp.Sem, units string) {
		t.Helper()
		_, d, err := bind(t, src, expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			return
		}
		got := fmt.Sprintln(d.PMID, d.Type, d.InDom, d.Sem, d.Units)
		want := fmt.Sprintln(pmidOf(0), typ, indom, sem, units)
		if got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
	const null = pcp.InDomNull
	f("disk.reads", pcp.TypeU64, disks, pcp.SemCounter, "count")
	f("disk.reads + disk.writes", pcp.TypeU64, disks, pcp.SemCounter, "count")
	f("disk.bytes + disk.kb", pcp.TypeDouble, disks, pcp.SemCounter, "Kbyte")
	f("disk.kb - disk.bytes", pcp.TypeDouble, disks, pcp.SemCounter, "Kbyte")
	f("mem.used - mem.free", pcp.TypeDouble, null, pcp.SemInstant, "Kbyte")
	f("delta(disk.kb)", pcp.Type64, disks, pcp.SemInstant, "Kbyte")
	f("delta(disk.reads)", pcp.TypeDouble, disks, pcp.SemInstant, "count")
	f("rate(disk.reads)", pcp.TypeDouble, disks, pcp.SemInstant, "count / sec")
	f("rate(disk.busy)", pcp.TypeDouble, disks, pcp.SemInstant, "")
	f("instant(disk.reads)", pcp.TypeU64, disks, pcp.SemInstant, "count")
	f("instant(ncpu)", pcp.TypeU32, null, pcp.SemDiscrete, "")
	f("disk.reads * 2", pcp.TypeU64, disks, pcp.SemCounter, "count")
	f("2 * disk.reads", pcp.TypeU64, disks, pcp.SemCounter, "count")
	f("delta(disk.bytes) / delta(disk.reads)", pcp.TypeDouble, disks, pcp.SemInstant, "byte / count")
	f("delta(disk.bytes) / delta(disk.busy)", pcp.TypeDouble, disks, pcp.SemInstant, "byte / millisec")
	f("disk.reads > 5", pcp.TypeU32, disks, pcp.SemCounter, "")
	f("i32 + u32", pcp.TypeU32, null, pcp.SemInstant, "")
	f("i32 + i64", pcp.Type64, null, pcp.SemInstant, "")
	f("float * u64", pcp.TypeFloat, null, pcp.SemInstant, "")
	f("i32 / i32", pcp.TypeDouble, null, pcp.SemInstant, "")
	f("1 + 2", pcp.TypeU32, null, pcp.SemDiscrete, "")
	f("1.5", pcp.TypeDouble, null, pcp.SemDiscrete, "")
	f("ncpu + 1", pcp.TypeU32, null, pcp.SemDiscrete, "")
	f("-ncpu", pcp.Type32, null, pcp.SemInstant, "")
	f("-u64", pcp.Type64, null, pcp.SemInstant, "")
	f("!(i32 > 3)", pcp.TypeU32, null, pcp.SemInstant, "")
	f("avg(disk.reads)", pcp.TypeFloat, null, pcp.SemInstant, "count")
	f("sum(disk.reads)", pcp.TypeU64, null, pcp.SemCounter, "count")
	f("max(disk.reads)", pcp.TypeU64, null, pcp.SemInstant, "count")
	f("count(disk.model)", pcp.TypeU32, null, pcp.SemInstant, "count")
	f("scalar(disk.model[sda])", pcp.TypeString, null, pcp.SemDiscrete, "")
	f("matchinst(/^sd/, disk.reads)", pcp.TypeU64, disks, pcp.SemCounter, "count")
	f(`rescale(mem.used, "mbyte")`, pcp.TypeU64, null, pcp.SemInstant, "Mbyte")
	f(`mkconst(3, type=float, semantics=instant, units="millisec")`, pcp.TypeFloat, null, pcp.SemInstant, "millisec")
	f(`mkconst(3, meta=disk.reads, type=double)`, pcp.TypeDouble, disks, pcp.SemCounter, "count")
	f("defined(nosuch)", pcp.TypeU32, null, pcp.SemDiscrete, "")
	f("i32 ? disk.reads : disk.writes", pcp.TypeU64, disks, pcp.SemCounter, "count")
	f("defined(nosuch) ? nosuch : u64", pcp.TypeU64, null, pcp.SemInstant, "")
	f("defined(u32) ? u64 : novalue()", pcp.TypeU64, null, pcp.SemInstant, "")
	f("i32 ? novalue() : disk.reads", pcp.TypeU64, disks, pcp.SemCounter, "count")
	f("delta(disk.reads + disk.writes)", pcp.TypeDouble, disks, pcp.SemInstant, "count")
	f("anon(PM_TYPE_FLOAT)", pcp.TypeFloat, null, pcp.SemDiscrete, "")
}

func TestSemanticErrors(t *testing.T) {
	src := newFake()
	f := func(expr, want string) {
		t.Helper()
		b, d, err := bind(t, src, expr)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if want != "" {
			want = "Semantic error: derived metric x: " + want
		}
		if got != want || d.PMID != pcp.PMIDNull {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
		if err := b.BindNames(t.Context(), func(string) bool { return true }); err != nil {
			t.Error(err)
		}
		b.Names(func(name string) bool { t.Errorf("%s: there is %s", expr, name); return true })
	}
	f("disk.reads * disk.writes", "disk.reads * disk.writes: Illegal operator for counters")
	f("disk.reads + 3", "disk.reads + 3: Illegal operator for counter and non-counter")
	f("3 / disk.reads", "3 / disk.reads: Illegal operator for non-counter and counter")
	f("mem.used + (u64 * 3)", "mem.used + <expr>: Dimensions are not the same")
	f("mem.used && i32", "mem.used && i32: Dimensions are not the same")
	f("mem.used < double", "mem.used < double: Dimensions are not the same")
	f("disk.reads * mem.used", "disk.reads * mem.used: Non-counter and not dimensionless for right operand")
	f("mem.used * disk.reads", "mem.used * disk.reads: Non-counter and not dimensionless for left operand")
	f("text + 1", "text + 1: Non-arithmetic type for left operand")
	f("1 + text", "1 + text: Non-arithmetic type for right operand")
	f("delta(disk.reads) + delta(cpu.user)", "<expr> + <expr>: Dimensions are not the same")
	f("rate(disk.busy) + rate(cpu.user)", "<expr> + <expr>: Operands should have the same instance domain")
	f("rate(text)", "RATE(text): Non-arithmetic operand for function")
	f("-text", "- text: Non-arithmetic operand for unary negation")
	f("rate(instant(disk.busy) * cpu.user)", "<expr> * cpu.user: Non-counter and not dimensionless for left operand")
	f(`rescale(text, "sec")`, "text RESCALE sec: Non-arithmetic operand for function")
	f(`rescale(mem.used, "sec")`, "mem.used RESCALE sec: Incompatible dimensions")
	f("text ? 1 : 2", "text ? 1 : 2: Non-arithmetic operand for ternary guard")
	f("disk.temp ? 1 : 2", "disk.temp ? 1 : 2: Non-scalar ternary guard with scalar expressions")
	f("1 ? i32 : u32", "i32 : u32: Different types for ternary operands")
	f("1 ? ncpu : u32", "ncpu : u32: Different semantics for ternary operands")
	f("1 ? disk.kb : cpu.user", "disk.kb : cpu.user: Different instance domains for ternary operands")
	f("1 ? mem.used : u64", "mem.used : u64: Different units or scale (space) for ternary operands")
	f("x + 1", "operand x: Illegal nested derived metric")
	// A metric that the source lacks is not reported.
	f("nosuch", "")
	f("1 + nosuch * text", "")
	f("i32 ? nosuch : 3", "")
	f("defined(i32) ? nosuch : 3", "")
}

func TestBindAtOnce(t *testing.T) {
	src := newFake()
	var set Set
	ids := make([]pcp.PMID, 1000)
	for i := range ids {
		if err := set.Add(fmt.Sprintf("d%d", i), fmt.Sprintf("u32 + u64 * %d", i)); err != nil {
			t.Fatal(err)
		}
		ids[i] = pmidOf(i)
	}
	b := set.Bind(src, func(err error) { t.Error(err) })
	if _, ok := b.Lookup("d7"); !ok || src.asked != 0 {
		t.Errorf("before binding the source was asked %d times", src.asked)
	}
	descs := make([]pcp.Desc, len(ids))
	if err := b.Descs(t.Context(), ids, descs); err != nil || src.asked != 1 {
		t.Errorf("binding: %v, asked %d times", err, src.asked)
	}
	for i, d := range descs {
		if d.PMID != ids[i] {
			t.Fatalf("descriptor %d is of %v", i, d.PMID)
		}
	}
	if last := pmidOf(maxDefinitions - 1); last != pcp.NewPMID(511, 2047, 1023) || indexOf(last) != maxDefinitions-1 {
		t.Errorf("the last PMID is %v", last)
	}
}

func TestReplaced(t *testing.T) {
	var set Set
	if err := set.Add("u64", "u32"); err != nil {
		t.Fatal(err)
	}
	b := set.Bind(newFake(), func(err error) { t.Error(err) })
	if err := b.BindNames(t.Context(), func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	b.Names(func(name string) bool { t.Errorf("%s hides a metric of the source", name); return true })
}

func TestOwn(t *testing.T) {
	src, ctx := newFake(), t.Context()
	var set Set
	if err := set.Add("x", "u32"); err != nil {
		t.Fatal(err)
	}
	b := set.Bind(src, nil)
	if err := b.Add(ctx, "y", "u32 +"); err == nil || !errors.Is(err, pcp.ErrBadDerive) {
		t.Errorf("Add of nonsense: %v", err)
	}
	var why *SemanticError
	if err := b.Add(ctx, "y", "text + 1"); !errors.As(err, &why) {
		t.Errorf("Add of a sum of text: %v", err)
	}
	if err := b.Add(ctx, "y", "nosuch"); !errors.Is(err, pcp.ErrBadDerive) {
		t.Errorf("Add of an unknown metric: %v", err)
	}
	if err := b.Add(ctx, "x", "u64"); err != nil {
		t.Fatal(err)
	}
	if err := b.Add(ctx, "x", "u64"); err == nil {
		t.Error("x can be added twice")
	}
	if err := b.AddText("x", pcp.TextOneLine, "text"); err != nil {
		t.Error(err)
	}
	id, ok := b.Lookup("x")
	if want := pcp.PMID(1<<31) | pcp.NewPMID(511, 2047, 1023); !ok || id != want {
		t.Errorf("x is %v, want %v", id, want)
	}
	if text, err := b.Text(id, pcp.TextHelp); text != "text" || err != nil {
		t.Errorf("Text = %q, %v", text, err)
	}
	var names []string
	b.Names(func(name string) bool { names = append(names, name); return true })
	if diff := cmp.Diff([]string{"x"}, names); diff != "" {
		t.Error(diff)
	}
	if _, ok := b.Name(pmidOf(0)); ok {
		t.Error("the definition of the set is not hidden")
	}
	b.setLimit(1)
	if err := b.Add(ctx, "z", "u64"); err == nil {
		t.Error("the limit does not hold")
	}
	b.Reset()
	if id, _ := b.Lookup("x"); id != pmidOf(0) {
		t.Errorf("after Reset x is %v", id)
	}
	if err := set.Add("late", "u64"); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.Lookup("late"); !ok {
		t.Error("what the set gets later is not there")
	}
}

type failing struct{ *fake }

func (failing) LookupNames(context.Context, []string, []pcp.PMID) error { return pcp.ErrTimeout }

func TestSourceFails(t *testing.T) {
	var set Set
	if err := set.Add("x", "u32"); err != nil {
		t.Fatal(err)
	}
	b := set.Bind(failing{newFake()}, nil)
	if _, err := b.Operands(t.Context(), []pcp.PMID{pmidOf(0)}); !errors.Is(err, pcp.ErrTimeout) {
		t.Errorf("Operands: %v", err)
	}
	b.source = newFake()
	if ids, err := b.Operands(t.Context(), []pcp.PMID{pmidOf(0)}); err != nil || len(ids) != 2 {
		t.Errorf("Operands when the source is back: %v, %v", ids, err)
	}
}

func BenchmarkParse(b *testing.B) {
	const expr = `(delta(disk.dev.read) + delta(disk.dev.write)) == 0 ? ` +
		`mkconst(0, type="double", semantics="instant", units="kbyte / count") : ` +
		`rescale(delta(disk.dev.read_bytes) + delta(disk.dev.write_bytes), "kbyte") / (delta(disk.dev.read) + delta(disk.dev.write))`
	b.ReportAllocs()
	b.SetBytes(int64(len(expr)))
	for b.Loop() {
		if _, err := parse(expr); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBind1000(b *testing.B) {
	src := newFake()
	var set Set
	for i := range 1000 {
		if err := set.Add(fmt.Sprintf("d%d", i), fmt.Sprintf("delta(disk.reads) == 0 ? mkconst(0, type=double, semantics=instant, units=\"millisec / count\") : delta(disk.busy) / delta(disk.reads) + %d * 0", i)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		binding := set.Bind(src, nil)
		if err := binding.BindNames(b.Context(), func(string) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
}

// TestVersion7 binds definitions that lack operands: version 7 of the C library reports them and leaves out their names.
func TestVersion7(t *testing.T) {
	for _, report := range []bool{false, true} {
		set := Set{Version7: report}
		for name, expr := range map[string]string{
			"a.lost": "2 * no.such + nor.this", "a.found": "i32 + 1", "a.either": "defined(no.such) ? no.such : u64", "a.like": "mkconst(1, meta=no.such)",
		} {
			if err := set.Add(name, expr); err != nil {
				t.Fatal(err)
			}
		}
		if err := set.LoadBuiltin(); err != nil { // its operands are missing, which is not reported
			t.Fatal(err)
		}
		var got []string
		b := set.Bind(newFake(), func(err error) { got = append(got, err.Error()) })
		if err := b.BindNames(t.Context(), func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		want := []string{
			"Semantic error: derived metric a.like: operand no.such: Unknown operand metric",
			"Semantic error: derived metric a.lost: operand no.such: Unknown operand metric",
		}
		if !report {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Version7 = %t: %s", report, diff)
		}
		if err := b.Add(t.Context(), "own", "no.such + 1"); err == nil || !strings.HasSuffix(err.Error(), "^\nUnknown operand metric") {
			t.Errorf("a definition of the binding: %v", err)
		}
	}
}

// TestCounterBack computes the rate of a counter that goes back: version 7 of the C library has no value for it.
func TestCounterBack(t *testing.T) {
	for _, seven := range []bool{false, true} {
		src := newFake()
		set := Set{Version7: seven}
		if err := set.Add("x", "rate(disk.reads)"); err != nil {
			t.Fatal(err)
		}
		b := set.Bind(src, nil)
		counters := func(list ...uint64) map[string][]pcp.Value {
			var values []pcp.Value
			for _, n := range list {
				values = append(values, pcp.Uint64Value(n))
			}
			return map[string][]pcp.Value{"disk.reads": values}
		}
		src.fetch(t, b, sample{sec: 10, sets: counters(100, 100)})
		vs := src.fetch(t, b, sample{sec: 20, sets: counters(50, 200)})
		if want := map[bool]int{false: 2, true: 1}[seven]; len(vs.Values) != want || vs.Values[want-1].Float() != 10 || vs.Values[want-1].Inst != 1 {
			t.Errorf("version 7 %t: %v", seven, vs.Values)
		}
	}
}
