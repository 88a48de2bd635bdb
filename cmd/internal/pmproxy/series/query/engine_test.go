package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// A testStore has the series of one host: a load, a counter, two counters of
// disks, and a string.
type testStore struct {
	*seriestest.Store
	names map[sid.ID]string // of series and instances, short
}

func newTestStore(t *testing.T) (*testStore, *Engine) {
	t.Helper()
	s := &testStore{seriestest.New(), map[sid.ID]string{}}
	count := pcp.Units{DimCount: 1}
	kbyte := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
	disks := pcp.NewInDom(60, 1)
	metric := func(host, name string, labels string, d pcp.Desc) sid.ID {
		id := s.AddMetric(name, d, labels, "/archives/"+host, host)
		s.names[id] = name
		return id
	}
	inst := func(id sid.ID, n int32, name string) sid.ID {
		i := s.AddInstance(id, n, name, "")
		s.names[i] = name
		return i
	}
	for h, host := range []string{"a", "b"} {
		labels := fmt.Sprintf(`{"hostname":%q,"rank":%d,"live":true}`, host, h+1)
		f := int64(h + 1)
		load := metric(host, "load", labels, pcp.Desc{PMID: pcp.NewPMID(60, 2, 0), Type: pcp.TypeFloat, InDom: pcp.NewInDom(60, 2), Sem: pcp.SemInstant})
		one, five := inst(load, 1, "1 minute"), inst(load, 5, "5 minute")
		calls := metric(host, "calls", labels, pcp.Desc{PMID: 2, Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter, Units: count})
		read := metric(host, "disk.read", labels, pcp.Desc{PMID: 3, Type: pcp.TypeU32, InDom: disks, Sem: pcp.SemCounter, Units: kbyte})
		write := metric(host, "disk.write", labels, pcp.Desc{PMID: 4, Type: pcp.TypeU32, InDom: disks, Sem: pcp.SemCounter, Units: kbyte})
		sda, sdb := inst(read, 0, "sda"), inst(read, 1, "sdb")
		inst(write, 0, "sda")
		inst(write, 1, "sdb")
		heat := metric(host, "heat", labels, pcp.Desc{PMID: 5, Type: pcp.TypeDouble, InDom: pcp.InDomNull, Sem: pcp.SemInstant})
		mem := metric(host, "mem", labels, pcp.Desc{PMID: 6, Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete, Units: pcp.Units{DimSpace: 1}})
		free := metric(host, "free", labels, pcp.Desc{PMID: 7, Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemInstant, Units: kbyte})
		text := metric(host, "text", labels, pcp.Desc{PMID: 8, Type: pcp.TypeString, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete})
		for n := int64(0); n < 4; n++ {
			at := pcp.Timestamp{Sec: 1000 + 10*n}
			s.Append(load, at, series.InstValue{Instance: one, Value: pcp.FloatValue(float32(f) * float32(n%3))},
				series.InstValue{Instance: five, Value: pcp.FloatValue(float32(n) - 1.5)})
			s.Append(calls, at, series.InstValue{Value: pcp.Uint64Value(uint64(f * 100 * n * n))})
			disk := func(id sid.ID, k uint32) {
				v := []series.InstValue{{Instance: sda, Value: pcp.Uint32Value(k * uint32(n*10))}}
				if n > 0 { // comes later
					v = append(v, series.InstValue{Instance: sdb, Value: pcp.Uint32Value(k * uint32(n))})
				}
				s.Append(id, at, v...)
			}
			disk(read, uint32(f))
			disk(write, 2*uint32(f))
			s.Append(heat, at, series.InstValue{Value: pcp.DoubleValue(float64(n) - 1.5)})
			s.Append(mem, at, series.InstValue{Value: pcp.Uint64Value(2048)})
			s.Append(free, at, series.InstValue{Value: pcp.Uint64Value(uint64(3 - n))})
			s.Append(text, at, series.InstValue{Value: pcp.StringValue("x\"y")})
		}
	}
	return s, &Engine{Store: s, Now: func() time.Time { return testNow }, Zone: time.UTC}
}

// answer formats the answer to a query: names of series, or seconds, instances
// and values.
func (s *testStore) answer(e *Engine, text string) string {
	ctx := context.Background()
	r, err := e.Query(ctx, text, false)
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	var list []string
	for _, id := range r.Series {
		name, err := e.Name(ctx, id)
		if err != nil {
			return err.Error()
		}
		d, err := e.Describe(ctx, id)
		if err != nil {
			return err.Error()
		}
		list = append(list, fmt.Sprintf("%s (%s %s %s) ", name, strings.ToLower(d.Type.String()), d.Sem, unitsText(d.Units)))
	}
	slices.Sort(list)
	b.WriteString(strings.Join(list, ""))
	for v, err := range r.Values() {
		if err != nil {
			return "error: " + err.Error()
		}
		inst := s.names[v.Instance]
		if v.Instance.IsZero() {
			inst = "-"
		}
		fmt.Fprintf(&b, "%d %s %s; ", v.Time.Sec-1000, inst, v.Text)
	}
	return strings.TrimSpace(b.String())
}

// TestQueries answers queries over a store in memory.
func TestQueries(t *testing.T) {
	s, e := newTestStore(t)
	for _, c := range []struct{ query, want string }{
		{`load{hostname=="a"}`, "load (float instant none)"},
		{`{hostname=="a", metric.name=="load" || m.x==calls}`, "calls (u64 counter count) load (float instant none)"},
		{`disk.*{rank==1}`, "disk.read (u32 counter Kbyte) disk.write (u32 counter Kbyte)"},
		{`nothing`, ""},
		{`load{rank==5}`, ""},
		{`load{live==true}[samples:1]`, "30 1 minute 0.000000e+00; 30 5 minute 1.500000e+00; 30 1 minute 0.000000e+00; 30 5 minute 1.500000e+00;"},
		{`load{live=="true"}`, ""},
		{`calls{rank<2}[samples:2]`, "30 calls 900; 20 calls 400;"},
		{`calls{rank<=1.5}[samples:1]`, "30 calls 900;"},
		{`calls{rank>1, hostname!="a"}[samples:1]`, "30 calls 1800;"},
		{`calls{rank>=2}[samples:1]`, "30 calls 1800;"},
		{`calls{hostname=~"^[a]$"}[samples:1]`, "30 calls 900;"},
		{`calls{hostname!~"^[a]$"}[samples:1]`, "30 calls 1800;"},
		{`calls{hostname:"[!a]"}[samples:1]`, "30 calls 1800;"},
		{`disk.read{instance.name=="sda", label.hostname=="a"}`, "disk.read (u32 counter Kbyte)"},
		{`load{source.path~~"/arch*/b"}[count:1]`, "30 1 minute 0.000000e+00; 30 5 minute 1.500000e+00;"},
		{`load{hostname=~"("}`, `error: invalid regular expression "("`},
		{`load{i.name<3}`, `error: "i.name" is compared with a number, and only labels are numbers`},
		{`text{rank==1}[samples:1]`, `30 text "x\u0022y";`},
		{`calls{rank==1}[start:1010,finish:1020]`, "10 calls 100; 20 calls 400;"},
		{`calls{rank==1}[start:1000,interval:20]`, "0 calls 0; 20 calls 400; 30 calls 900;"},
		{`calls{rank==1}[interval:20,samples:1]`, "0 calls 0;"},
		{`calls{rank==1}[samples:2,offset:1]`, "20 calls 400; 10 calls 100;"},
		{`calls{rank==1}[start:1000,interval:20,align:10]`, "10 calls 100; 30 calls 900;"},
		{`{hostname=="a",metric.name=="calls"}[samples:1]`, "30 calls 900;"},

		{`rate(calls{rank==1}[start:1000])`, "10 calls 10.000000; 20 calls 30.000000; 30 calls 50.000000;"},
		{`rate(calls{rank==1}[samples:3])`, "20 calls 50.000000; 10 calls 30.000000;"},
		{`rate(disk.read{rank==1}[start:1000])`, "10 sda 1.000000; 20 sda 1.000000; 20 sdb 0.100000; 30 sda 1.000000; 30 sdb 0.100000;"},
		{`rate(calls{rank==1}[start:1000,interval:20])`, "20 calls 20.000000; 30 calls 50.000000;"},
		{`rate(calls)`, "rate(calls) (double instant count / sec)"},
		{`rate(load)`, "error: Can't rate convert 'load', counter semantics required"},
		{`rate(text)`, "error: Can't rate convert 'text', counter semantics required"},
		{`max(load{rank==2}[start:1000])`, "20 1 minute 4.000000e+00; 30 5 minute 1.500000e+00;"},
		{`min_inst(load{rank==2}[start:1000])`, "0 1 minute 0.000000e+00; 0 5 minute -1.500000e+00;"},
		{`max_sample(load{rank==2}[samples:2])`, "30 5 minute 1.500000e+00; 20 1 minute 4.000000e+00;"},
		{`min_sample(load{rank==2}[samples:2])`, "30 1 minute 0.000000e+00; 20 5 minute 5.000000e-01;"},
		{`sum(disk.read{rank==1}[start:1000])`, "0 sda 6.000000e+01; 10 sdb 6.000000e+00;"},
		{`sum_sample(load{rank==2}[samples:2])`, "30 - 1.500000e+00; 20 - 4.500000e+00;"},
		{`avg_inst(calls{rank==1}[start:1000])`, "0 calls 3.500000e+02;"},
		{`avg_sample(load{rank==2}[samples:1])`, "30 - 7.500000e-01;"},
		{`stdev_inst(calls{rank==1}[samples:2])`, "30 calls 2.500000e+02;"},
		{`stdev_sample(load{rank==2}[samples:1])`, "30 - 7.500000e-01;"},
		{`topk_inst(heat{rank==1}[start:1000], 2)`, "30 heat 1.500000e+00; 20 heat 5.000000e-01;"},
		{`topk_inst(load{rank==1}[start:1000], 1)`, "20 1 minute 2.000000e+00; 30 5 minute 1.500000e+00;"},
		{`topk_sample(load{rank==1}[samples:1], 5)`, "30 5 minute 1.500000e+00; 30 1 minute 0.000000e+00;"},
		{`max_sample(topk_sample(load{rank==1}[samples:1], 0))`, ""},
		{`nth_percentile_inst(heat{rank==1}[start:1000], 50)`, "20 heat 5.000000e-01;"},
		{`nth_percentile_inst(heat{rank==1}[start:1000], 0)`, "0 heat -1.500000e+00;"},
		{`nth_percentile_inst(heat{rank==1}[start:1000], 100)`, "30 heat 1.500000e+00;"},
		{`nth_percentile_sample(load{rank==1}[samples:1], 10)`, "30 1 minute 0.000000e+00;"},
		{`abs(heat{rank==1}[start:1000,finish:1010])`, "0 heat 1.500000e+00; 10 heat 5.000000e-01;"},
		{`floor(heat{rank==1}[start:1000,finish:1010])`, "0 heat -2.000000e+00; 10 heat -1.000000e+00;"},
		{`round(heat{rank==1}[start:1000,finish:1010])`, "0 heat -2.000000e+00; 10 heat -1.000000e+00;"},
		{`abs(calls{rank==1}[samples:1])`, "30 calls 900;"},
		{`sqrt(calls{rank==1}[samples:1])`, "30 calls 3.000000e+01;"},
		{`sqrt(heat{rank==1}[samples:1])`, "30 heat 1.224745e+00;"},
		{`log(calls{rank==1}[samples:1])`, "30 calls 6.802395e+00;"},
		{`log(calls{rank==1}[samples:1], 30)`, "30 calls 2.000000e+00;"},
		{`log(calls{rank==1}[start:1000,samples:1])`, "0 calls -inf;"},
		{`abs(text)`, "error: Series values' Type extract fail, unsupported type"},
		{`max(text)`, "error: Series values' Type extract fail, unsupported type"},
		{`rescale(free{rank==1}[start:1000,samples:1], "byte")`, "0 free 3.072000e+03;"},
		{`rescale(mem, "Kbyte")`, "rescale(mem,\"Kbyte\") (double discrete Kbyte)"},
		{`rescale(mem, "count")`, ""},

		{`disk.read{rank==1}[samples:1] + disk.write{rank==1}[samples:1]`, "30 sda 90; 30 sdb 9;"},
		{`disk.read + disk.write`, "disk.read+disk.write (u32 counter Kbyte)"},
		{`disk.write - disk.read`, "disk.write-disk.read (u32 counter Kbyte)"},
		{`calls{hostname=="a"}[samples:1] + calls{hostname=="b"}[samples:1]`, "30 calls 2700;"},
		{`disk.read{hostname=="a"}[samples:1] + disk.read{hostname=="b"}[samples:1]`, "30 sda 90; 30 sdb 9;"},
		{`free{rank==1}[start:1000,samples:1] + mem{rank==1}[start:1000,samples:1]`, "0 free 5.000000e+00;"},
		{`mem * free`, "mem*free (double instant Kbyte^2)"},
		{`free{rank==1}[samples:1] - free{rank==1}[samples:1]`, "30 free 0;"},
		{`free{rank==1}[samples:1] / free{rank==1}[samples:1]`, "30 free -nan;"},
		{`free{rank==1}[start:1000,samples:1] / free{rank==1}[start:1000,samples:1]`, "0 free 1.000000e+00;"},
		{`free / free`, "free/free (double instant none)"},
		{`mem - mem`, "mem-mem (u64 discrete byte)"},
		{`2 * calls{rank==1}[samples:1]`, "30 calls 1.800000e+03;"},
		{`rate(2 * calls)`, "rate(2*calls) (double instant count / sec)"},
		{`heat{rank==1}[samples:1] * 2.5`, "30 heat 3.750000e+00;"},
		{`calls * calls`, "error: Both operands have the semantics of counter, only addition or subtraction is allowed."},
		{`calls + heat`, "error: Dimensions of two operands mismatch"},
		{`calls - free`, "error: Dimensions of two operands mismatch"},
		{`calls + load`, "error: Operands should have the same instance domain for all of the binary operators."},
		{`free / calls`, "error: Left operand is not a counter and the right one is, only multiplication is allowed."},
		{`text * text`, "error: Series values' Type extract fail, unsupported type"},
		{`calls{rank==1} + calls`, `calls{rank=="1"}+calls (u64 counter count)`},
		{`calls + calls{rank==1}`, `error: The operands of "+" are series of several hosts, and there is none for series`},
		{`disk.*{rank==1} + disk.*{rank==1}`, `error: The operands of "+" are several series of one host`},
		{`calls[samples:1] + nothing[samples:1]`, ""},
		{`calls{rank==1}[samples:1] + calls{rank==1}[samples:2]`, "error: Number of samples of two metrics are not identical"},
		{`sum(calls[samples:2])`, "30 calls 2.600000e+03; 30 calls 1.300000e+03;"},
		{`max(disk.*{rank==1}[samples:1])`, "30 sda 60; 30 sdb 6; 30 sda 30; 30 sdb 3;"},
		{`max(disk.*)`, "max(disk.read) (u32 counter Kbyte) max(disk.write) (u32 counter Kbyte)"},
		{`max(disk.*{rank==1})`, `max(disk.read{rank=="1"}) (u32 counter Kbyte) max(disk.write{rank=="1"}) (u32 counter Kbyte)`},
	} {
		got := s.answer(e, c.query)
		if c.query == `rescale(mem, "count")` {
			c.want = "error: Dimensions of units mismatch, for series " + mustFind(t, e, "mem")[0].String() + " the units is byte"
		}
		if got != c.want && !(strings.HasPrefix(c.want, "error: ") && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s:\n  %s\nwant\n  %s", c.query, got, c.want)
		}
	}
}

func mustFind(t *testing.T, e *Engine, text string) []sid.ID {
	t.Helper()
	r, err := e.Query(context.Background(), text, false)
	if err != nil {
		t.Fatal(err)
	}
	return r.Series
}

// TestSpelling checks that descriptors of expressions are formatted as in C.
func TestSpelling(t *testing.T) {
	_, e := newTestStore(t)
	for _, c := range []struct{ query, want string }{
		{`load{rank==1}`, "float none"},
		{`load{rank==1} + load{rank==1}`, "FLOAT "},
		{`calls{rank==1} - calls{rank==1}`, "U64 count"},
		{`floor(load{rank==1})`, "float none"},
		{`rate(heat{rank==1} + heat{rank==1})`, "error"},
		{`rate(calls{rank==1})`, "double count / sec"},
		{`sum(load{rank==1})`, "double none"},
		{`sqrt(load{rank==1})`, "DOUBLE none"},
		{`log(load{rank==1} * load{rank==1})`, "DOUBLE "},
		{`avg_inst(load{rank==1} / load{rank==1})`, "double "},
		{`2 * calls{rank==1}`, "double count"},
		{`rescale(mem{rank==1}, "Kbyte")`, "double Kbyte"},
	} {
		r, err := e.Query(context.Background(), c.query, true)
		if err != nil {
			if c.want != "error" {
				t.Errorf("%s: %v", c.query, err)
			}
			continue
		}
		d, err := e.Describe(context.Background(), r.Series[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := d.TypeText() + " " + d.UnitsText(); got != c.want {
			t.Errorf("%s: %q, want %q", c.query, got, c.want)
		}
	}
}

// TestExpressions reads series of expressions by their identifiers.
func TestExpressions(t *testing.T) {
	ctx := context.Background()
	s, e := newTestStore(t)
	for _, c := range []struct{ query, window, want string }{
		{`rate(calls{hostname=="a"})`, "[samples:2]", "10 10.000000; "},
		{`rate(calls{hostname=="a"})`, "[start:1000,finish:1020]", "10 10.000000; 20 30.000000; "},
		{`2 * calls{rank==1}`, "[samples:1]", "0 0.000000e+00; "},
		{`calls{live==true, rank==2} - calls{rank=~"2"}`, "[samples:1]", "0 0; "},
		{`max(disk.r*{rank==1})`, "[samples:1]", "0 0; "},
		{`disk.w*{rank==1} - disk.r*{rank==1}`, "[samples:1]", "0 0; "},
		{`free{rank==1} - 2 * fr*{rank==1}`, "[start:1000,samples:1]", "0 -3.000000e+00; "},
		{`calls{rank==1}`, "", "30 900; "},
		{`sum_sample(load{rank==1})`, "", "30 1.500000e+00; "},
	} {
		ids := mustFind(t, e, c.query)
		if len(ids) != 1 {
			t.Errorf("%s: %d series", c.query, len(ids))
			continue
		}
		var w Window
		if c.window != "" {
			var err error
			if w, err = ParseWindow(c.window, testNow, nil); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		for v, err := range e.Values(ctx, ids, w) {
			if err != nil {
				t.Fatal(c.query, err)
			}
			if v.Series != ids[0] {
				t.Errorf("%s: a value of series %s", c.query, v.Series)
			}
			got += fmt.Sprintf("%d %s; ", v.Time.Sec-1000, v.Text)
		}
		if got != c.want {
			t.Errorf("%s%s: %s, want %s", c.query, c.window, got, c.want)
		}
	}
	id := mustFind(t, e, `rate(disk.read{rank==1})`)[0]
	list, err := e.Instances(ctx, id)
	if err != nil || len(list) != 2 || list[0].Name != "sda" || list[1].Name != "sdb" {
		t.Errorf("instances %v, %v", list, err)
	}
	d, err := e.Describe(ctx, id)
	if err != nil || d.PMID != pcp.NewPMID(511, 0, 0) || !d.Source.IsZero() || d.InDom != pcp.NewInDom(60, 1) {
		t.Errorf("%+v, %v", d, err)
	}
	for range e.Values(ctx, []sid.ID{{1}}, Window{}) {
		t.Error("an unknown series has a value")
	}
	if _, err := e.Describe(ctx, sid.ID{1}); !errors.Is(err, series.ErrUnknown) {
		t.Error(err)
	}
	if _, err := e.Name(ctx, sid.ID{1}); !errors.Is(err, series.ErrUnknown) {
		t.Error(err)
	}
	e.MaxValues = 5
	if _, err := e.Query(ctx, "max(load[start:1000])", false); !errors.Is(err, series.ErrTooMany) {
		t.Error(err)
	}
	if _, err := e.Query(ctx, "rate(load)", false); !errors.Is(err, ErrOperand) {
		t.Error(err)
	}
	s.Close()
	for _, q := range []string{"load", "load[samples:1]", "rate(calls)", "load{a==1} * 2"} {
		if _, err := e.Query(ctx, q, false); !errors.Is(err, series.ErrClosed) {
			t.Errorf("%s: %v", q, err)
		}
	}
}

// TestIdentifiers compares with identifiers that PCP 6.0.3 computed for expressions.
func TestIdentifiers(t *testing.T) {
	for _, c := range []struct{ query, metric, want string }{
		{"disk.dev.read_bytes + disk.dev.write_bytes", "disk.dev.read_bytes disk.dev.write_bytes", "ee29cd596c5290fc261e8bc0427c3f4e0a03311f"},
		{"avg(disk.dev.read)", "disk.dev.read", "e1385cdbfb6a5c203f62562dcb1656a8b43976d6"},
		{"kernel.all.load/kernel.all.load", "kernel.all.load", "1ee758374700e12e2747713ba5dd7da389bfab7e"},
		{"rate(disk.dev.read_bytes)", "disk.dev.read_bytes", "a140f32fd9798a5ef218b39409d065ade14c6280"},
		{"rate(kernel.all.cpu.user[samples:3])", "kernel.all.cpu.user", "d04ad56302b054aa9984f7d21f92c721a6a1da2f"},
		{"max(kernel.all.load[samples:3])", "kernel.all.load", "b74fbecb3ffba6bbfd4b29f2c66fe7995f99958b"},
		{"kernel.all.cpu.user{hostname == \"bozo-laptop\"}[samples:2] + kernel.all.cpu.sys{hostname == \"bozo-laptop\"}[samples:2]", "kernel.all.cpu.user kernel.all.cpu.sys", "23e75997ada80036ee069bb4e8eee40574a7ef89"},
		{"sum_sample(kernel.all.load)", "kernel.all.load", "45710cbbadf0dda9db9bc2b0efdc6d35efcd2485"},
		{"topk_inst(kernel.all.load,2)", "kernel.all.load", "c5e68c96fb37b5a409375e7627fe41c7c80b2562"},
		{"topk_sample(kernel.all.load,2)", "kernel.all.load", "57010050bec94363ee03927348b16c406e2e2eb8"},
		{"nth_percentile_inst(kernel.all.load, 50)", "kernel.all.load", "57232c981e86045137a6e460cf8358d7bfa9c910"},
		{"log(disk.dev.read)", "disk.dev.read", "ea887d92b2f117db64ddb24b164ac6034195726f"},
		{`rescale(disk.dev.read_bytes, "Mbyte")`, "disk.dev.read_bytes", "dbb62c540c2e78c4bbbc7c323fa4c29dfae425e9"},
		{"3 * disk.dev.read", "disk.dev.read", "b4449554cb0fdcb15a4f975d567c18c729e28390"},
		{"stdev_inst(kernel.all.load)", "kernel.all.load", "bdb503f3d93a8af54adf9e33131152ab61358d5e"},
	} {
		q, err := Parse(c.query, testNow, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		if got := exprID(q.Expr, strings.Fields(c.metric)).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
		}
	}
}

// TestGlob compares patterns and texts.
func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"*", "", true},
		{"a*c", "abbc", true},
		{"a*c", "abbcd", false},
		{"*a*b*", "xaxbx", true},
		{"?", "", false},
		{"a?c", "abc", true},
		{"[a-c]x", "bx", true},
		{"[!a-c]x", "bx", false},
		{"[]]", "]", true},
		{"[a", "[a", true},
		{`\*`, "*", true},
		{`\*`, "a", false},
		{`a\`, `a\`, false},
		{"a/*", "a/b/c", true},
		{"*a*a*a*a*a*a*a*a*b", strings.Repeat("a", 5000), false},
	} {
		if got := Glob(c.pattern, c.text); got != c.want {
			t.Errorf("%q, %q: %v", c.pattern, c.text, got)
		}
	}
}

// FuzzQuery answers any query.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{
		"load", "rate(calls[samples:3])", `disk.*{hostname=="a"}[samples:2]`, "free / free", "mem * mem", "2 * 3 * calls",
		"topk_sample(load[start:1000],1)", "nth_percentile_inst(max_sample(load[samples:3]),100)", "disk.read[samples:1] + disk.write[samples:1]",
		`rescale(rate(disk.read[samples:2]), "mbyte/min")`, "log(heat[interval:20,align:7], 0)", `rate(rate(calls))`,
	} {
		f.Add(s)
	}
	_, e := newTestStore(&testing.T{})
	f.Fuzz(func(t *testing.T, text string) {
		r, err := e.Query(context.Background(), text, false)
		if err != nil {
			return
		}
		for _, err := range r.Values() {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range r.Series {
			for v, err := range e.Values(context.Background(), []sid.ID{id}, Window{Given: true}) {
				if err != nil && !errors.Is(err, ErrOperand) {
					t.Fatalf("%s: %v", text, err)
				}
				if err == nil && v.Series != id {
					t.Fatalf("%s: a value of another series", text)
				}
			}
		}
	})
}
