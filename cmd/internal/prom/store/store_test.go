package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

const minute = 60

// A fixture has series in memory.
type fixture struct {
	*seriestest.Store
	desc pcp.Desc
	id   sid.ID
	inst map[string]series.InstValue
}

func newFixture(name string, desc pcp.Desc) *fixture {
	f := &fixture{Store: seriestest.New(), desc: desc, inst: map[string]series.InstValue{}}
	f.id = f.AddMetric(name, desc, `{"hostname":"www","agent":"linux"}`, "/a/www", "www")
	return f
}

// at adds a sample: pairs of an instance and its value.
func (f *fixture) at(sec int64, pairs ...any) {
	var values []series.InstValue
	for i := 0; i < len(pairs); i += 2 {
		name := pairs[i].(string)
		in, ok := f.inst[name]
		if !ok {
			inst := int32(len(f.inst))
			in = series.InstValue{Instance: f.AddInstance(f.id, inst, name, fmt.Sprintf(`{"of":"%s"}`, name)), Value: pcp.RawValue(f.desc.Type, 0).WithInst(inst)}
			f.inst[name] = in
		}
		v := pcp.DoubleValue(float64(pairs[i+1].(int)))
		v.Inst = in.Value.Inst
		in.Value = v
		values = append(values, in)
	}
	f.Append(f.id, pcp.Timestamp{Sec: sec}, values...)
}

func gauge() pcp.Desc {
	return pcp.Desc{PMID: pcp.NewPMID(60, 1, 1), Type: pcp.TypeDouble, InDom: pcp.NewInDom(60, 1), Sem: pcp.SemInstant}
}

// query evaluates an expression and returns the result as Prometheus prints it.
func query(t *testing.T, s storage.Queryable, expr string, at int64) string {
	t.Helper()
	q, err := store.NewEngine(store.EngineConfig{}).NewInstantQuery(context.Background(), s, nil, expr, time.Unix(at, 0))
	if err != nil {
		return err.Error()
	}
	defer q.Close()
	return q.Exec(context.Background()).String()
}

func TestLabels(t *testing.T) {
	f := newFixture("disk.dev.read", gauge())
	f.at(1000, "sda", 3, "sdb", 4)
	s := store.New(f, store.Config{})
	for _, c := range []struct{ expr, want string }{
		{"disk_dev_read", `{__name__="disk_dev_read", agent="linux", hostname="www", instid="0", instname="sda", of="sda"} => 3 @[1060000]
{__name__="disk_dev_read", agent="linux", hostname="www", instid="1", instname="sdb", of="sdb"} => 4 @[1060000]`},
		{`{__name__=~"disk.*",of!="sda"}`, `{__name__="disk_dev_read", agent="linux", hostname="www", instid="1", instname="sdb", of="sdb"} => 4 @[1060000]`},
		{`disk_dev_read{instid="0"} * 2`, `{agent="linux", hostname="www", instid="0", instname="sda", of="sda"} => 6 @[1060000]`},
		{`disk_dev_read{instname=~"x.*"}`, ""},
		{`disk_dev_write`, ""},
		{`{hostname="www"}`, `2`},
	} {
		got := query(t, s, c.expr, 1060)
		if c.want == "2" {
			if n := strings.Count(got, "=>"); n != 2 {
				t.Errorf("%s: %s", c.expr, got)
			}
			continue
		}
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.expr, got, c.want)
		}
	}

	q, err := s.Querier(0, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	m := labels.MustNewMatcher(labels.MatchEqual, "instname", "sdb")
	check := func(got []string, err error, want string) {
		t.Helper()
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q, %v, want %s", got, err, want)
		}
	}
	names := func(ms ...*labels.Matcher) {
		t.Helper()
		got, _, err := q.LabelNames(ctx, nil, ms...)
		check(got, err, "__name__ agent hostname instid instname of")
	}
	names()
	names(m)
	value := func(label, want string, ms ...*labels.Matcher) {
		t.Helper()
		got, _, err := q.LabelValues(ctx, label, nil, ms...)
		check(got, err, want)
	}
	value("__name__", "disk_dev_read")
	value("__name__", "disk_dev_read", m)
	value("instname", "sda sdb")
	value("instid", "1", m)
	value("of", "sda sdb")
	value("hostname", "www")
	value("nothing", "")
	got, _, err := q.LabelValues(ctx, "of", &storage.LabelHints{Limit: 1})
	check(got, err, "sda")
}

// TestLabelWindows asks for labels and series of windows.
func TestLabelWindows(t *testing.T) {
	f := newFixture("disk.dev.read", gauge())
	f.at(1000, "sda", 3)
	f.at(1010, "sda", 3, "sdb", 4)
	f.at(1020, "sdb", 4)
	f.at(1030, "sdb", 4, "sdc", 5)
	d := gauge()
	d.PMID, d.InDom = d.PMID+1, pcp.InDomNull
	other := f.AddMetric("app.late", d, `{"hostname":"www","agent":"app"}`)
	f.Append(other, pcp.Timestamp{Sec: 1030}, series.InstValue{Value: pcp.DoubleValue(1).WithInst(pcp.InNull)})
	s := store.New(f, store.Config{})
	ctx := context.Background()
	check := func(start, end int64, names, metrics, insts, agents, list string) {
		t.Helper()
		q, err := s.Querier(start*1000, end*1000)
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		same := func(what string, got []string, err error, want string) {
			t.Helper()
			if have := strings.Join(got, " "); err != nil || have != want {
				t.Errorf("%s from %d to %d: %s, %v, want %s", what, start, end, have, err, want)
			}
		}
		got, _, err := q.LabelNames(ctx, nil)
		same("labels", got, err, names)
		for name, want := range map[string]string{"__name__": metrics, "instname": insts, "agent": agents} {
			got, _, err = q.LabelValues(ctx, name, nil)
			same(name, got, err, want)
			got, _, err = q.LabelValues(ctx, name, nil, labels.MustNewMatcher(labels.MatchRegexp, "__name__", ".+"))
			same(name+" with a matcher", got, err, want)
		}
		set := q.Select(ctx, true, &storage.SelectHints{Start: start * 1000, End: end * 1000, Func: "series"}, labels.MustNewMatcher(labels.MatchEqual, "hostname", "www"))
		got = nil
		for set.Next() {
			got = append(got, set.At().Labels().Get("__name__")+"/"+set.At().Labels().Get("instname"))
		}
		same("series", got, set.Err(), list)
	}
	const instances = "__name__ agent hostname instid instname of"
	check(900, 999, "", "", "", "", "")
	check(-5, -1, "", "", "", "", "")
	check(1000, 1005, instances, "disk_dev_read", "sda", "linux", "disk_dev_read/sda")
	check(1002, 1010, instances, "disk_dev_read", "sda sdb", "linux", "disk_dev_read/sda disk_dev_read/sdb")
	check(1021, 1029, instances, "disk_dev_read", "sdb", "linux", "disk_dev_read/sdb")
	check(1021, 2000, instances, "app_late disk_dev_read", "sdb sdc", "app linux", "app_late/ disk_dev_read/sdb disk_dev_read/sdc")
	check(1031, 2000, "", "", "", "", "")
	check(0, 1<<40, instances, "app_late disk_dev_read", "sda sdb sdc", "app linux", "app_late/ disk_dev_read/sda disk_dev_read/sdb disk_dev_read/sdc")
}

// TestStale checks when values end.
func TestStale(t *testing.T) {
	f := newFixture("a.b", gauge())
	f.at(1000, "x", 1, "y", 2)
	f.at(1010, "x", 1, "y", 2)
	f.at(1020, "x", 1) // y is gone
	f.at(1030, "x", 1)
	f.AppendSample(series.Sample{Series: f.id, Time: pcp.Timestamp{Sec: 1035}, Gap: true})
	f.at(1100, "x", 1, "y", 2)
	f.AppendSample(series.Sample{Series: f.id, Time: pcp.Timestamp{Sec: 1110}, Err: pcp.ErrAgain})
	f.at(1120, "x", 1, "y", 2)
	f.at(1130) // no instances
	f.at(1140, "x", 1)
	f.at(1150, "z", 3) // another one in place of all
	f.at(1160, "z", 3)
	s := store.New(f, store.Config{})
	for _, c := range []struct {
		at   int64
		want string
	}{
		{999, ""},
		{1000, "x y"},
		{1019, "x y"},
		{1020, "x"},
		{1034, "x"},
		{1035, ""},
		{1099, ""},
		{1100, "x y"},
		{1109, "x y"},
		{1110, ""},
		{1120, "x y"},
		{1130, ""},
		{1140, "x"},
		{1150, "z"},
		{1160, "z"},
		{1160 + 5*minute - 1, "z"},
		{1160 + 5*minute, ""},
	} {
		got := query(t, s, "a_b", c.at)
		var list []string
		for _, name := range []string{"x", "y", "z"} {
			if strings.Contains(got, `instname="`+name+`"`) {
				list = append(list, name)
			}
		}
		if have := strings.Join(list, " "); have != c.want {
			t.Errorf("at %d: %q, want %q (%s)", c.at, have, c.want, got)
		}
		// When a series ends does not depend on which others are selected.
		for _, match := range []string{`="x"`, `="y"`, `="z"`, `!="x"`, `!="y"`, `!="z"`} {
			equal, name := match[0] == '=', match[len(match)-2:len(match)-1]
			var want []string
			for _, have := range list {
				if (have == name) == equal {
					want = append(want, have)
				}
			}
			if got := query(t, s, "a_b{instname"+match+"}", c.at); strings.Count(got, "=>") != len(want) {
				t.Errorf("at %d: %s, want %q", c.at, got, want)
			}
		}
	}
}

// TestStaleSelection ends a selected series while another series begins that is not selected.
func TestStaleSelection(t *testing.T) {
	f := newFixture("a.b", gauge())
	f.at(1000, "x", 1, "y", 2)
	f.at(1010, "x", 1, "z", 3)
	s := store.New(f, store.Config{})
	if got := query(t, s, `count(a_b{instname=~"x|y"})`, 1010); got != "{} => 1 @[1010000]" {
		t.Errorf("after y is gone: %s", got)
	}
}

// TestIntervals records instances of a metric at different intervals.
func TestIntervals(t *testing.T) {
	f := newFixture("a.b", gauge())
	for sec := int64(1000); sec < 1100; sec++ {
		f.at(sec, "fast", int(sec))
		if sec%10 == 0 {
			f.AppendSample(series.Sample{Series: f.id, Time: pcp.Timestamp{Sec: sec, Nsec: 5e8}, Values: []series.InstValue{f.value("slow", 7)}})
		}
	}
	s := store.New(f, store.Config{})
	for sec := int64(1011); sec < 1100; sec++ {
		if got := query(t, s, "count(a_b)", sec); got != fmt.Sprintf("{} => 2 @[%d000]", sec) {
			t.Errorf("at %d: %s", sec, got)
		}
	}
}

// value returns a value of an instance, which is added if it is new.
func (f *fixture) value(name string, n int) series.InstValue {
	in, ok := f.inst[name]
	if !ok {
		in.Instance = f.AddInstance(f.id, int32(len(f.inst)), name, "")
		in.Value.Inst = int32(len(f.inst))
		f.inst[name] = in
	}
	v := pcp.DoubleValue(float64(n))
	v.Inst = in.Value.Inst
	in.Value = v
	return in
}

// TestTypes reads values of each type, as records have them.
func TestTypes(t *testing.T) {
	for _, c := range []struct {
		kind pcp.Type
		v    pcp.Value
		want string
	}{
		{pcp.Type32, pcp.RawValue(pcp.TypeUnknown, 0xfffffffe), "-2"},
		{pcp.TypeU32, pcp.RawValue(pcp.TypeUnknown, 0xfffffffe), "4294967294"},
		{pcp.TypeFloat, pcp.FloatValue(1.5), "1.5"},
		{pcp.Type64, pcp.Int64Value(-5), "-5"},
		{pcp.TypeU64, pcp.Uint64Value(1 << 63), "9223372036854776000"},
		{pcp.TypeDouble, pcp.DoubleValue(0.25), "0.25"},
	} {
		f := newFixture("a.t", pcp.Desc{PMID: pcp.NewPMID(60, 1, 1), Type: c.kind, InDom: pcp.InDomNull})
		f.Append(f.id, pcp.Timestamp{Sec: 1000}, series.InstValue{Value: c.v.WithInst(pcp.InNull)})
		if got, want := query(t, store.New(f, store.Config{}), "sum(a_t)", 1000), "{} => "+c.want+" @[1000000]"; got != want {
			t.Errorf("%v: %s, want %s", c.kind, got, want)
		}
	}
}

// TestCounters calculates rates over a reset.
func TestCounters(t *testing.T) {
	d := gauge()
	d.Sem, d.InDom = pcp.SemCounter, pcp.InDomNull
	f := newFixture("a.c", d)
	for i := range int64(7) {
		v := pcp.DoubleValue(float64(100 + 10*i))
		if i > 3 {
			v = pcp.DoubleValue(float64(10 * (i - 3)))
		}
		v.Inst = pcp.InNull
		f.Append(f.id, pcp.Timestamp{Sec: 1000 + 10*i}, series.InstValue{Value: v})
	}
	s := store.New(f, store.Config{})
	if got, want := query(t, s, "increase(a_c[60s])", 1060), `{agent="linux", hostname="www"} => 60 @[1060000]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := query(t, s, "resets(a_c[70s])", 1060), `{agent="linux", hostname="www"} => 1 @[1060000]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestHistogram reads a metric whose instances are the ranges of a histogram.
func TestHistogram(t *testing.T) {
	d := gauge()
	d.Sem = pcp.SemCounter
	f := newFixture("bcc.runq.latency", d)
	f.at(1000, "0-1", 0, "2-3", 0)
	f.at(1010, "0-1", 10, "2-3", 20, "4-7", 10)
	f.at(1020, "0-1", 20, "2-3", 40, "4-7", 30, "8-15", 10)
	f.AppendSample(series.Sample{Series: f.id, Time: pcp.Timestamp{Sec: 1025}, Gap: true})
	f.at(1030, "2-3", 5)
	other := newFixture("x", d)
	other.at(1000, "0-1", 3, "other", 4)
	s := store.New(f, store.Config{})
	check := func(expr string, at int64, want string) {
		t.Helper()
		if got, _, _ := strings.Cut(query(t, s, expr, at), " @["); got != want {
			t.Errorf("%s at %d: %s, want %s", expr, at, got, want)
		}
	}
	check(`bcc_runq_latency_bucket{le="3"}`, 1010, `{__name__="bcc_runq_latency_bucket", agent="linux", hostname="www", le="3"} => 30`)
	check(`bcc_runq_latency_bucket{le="+Inf"}`, 1020, `{__name__="bcc_runq_latency_bucket", agent="linux", hostname="www", le="+Inf"} => 100`)
	check("bcc_runq_latency_count", 1020, `{__name__="bcc_runq_latency_count", agent="linux", hostname="www"} => 100`)
	check("count(bcc_runq_latency_bucket)", 1010, "{} => 5")
	check("count(bcc_runq_latency)", 1010, "{} => 3")
	check("sum(histogram_quantile(0.5, bcc_runq_latency_bucket))", 1020, "{} => 2.5")
	check("round(sum(histogram_quantile(0.8, rate(bcc_runq_latency_bucket[30s]))), 0.001)", 1020, "{} => 5.667")
	check("bcc_runq_latency_count", 1026, "") // after a mark record
	check("sum(bcc_runq_latency_count)", 1030, "{} => 5")
	check(`count({__name__=~"bcc_.*"})`, 1020, "{} => 10")
	check("x_count", 1000, "")
	s = store.New(other, store.Config{})
	check("x_count", 1000, "")
	check("count(x)", 1000, "{} => 2")

	s = store.New(f, store.Config{})
	ctx := context.Background()
	for _, c := range []struct {
		start, end  int64
		names, list string
	}{
		{0, 1 << 40, "bcc_runq_latency bcc_runq_latency_bucket bcc_runq_latency_count", "+Inf 1 15 3 7"},
		{1000, 1005, "bcc_runq_latency bcc_runq_latency_bucket bcc_runq_latency_count", "+Inf 1 15 3 7"},
		{900, 950, "", ""},
	} {
		q, err := s.Querier(c.start*1000, c.end*1000)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := q.LabelValues(ctx, "__name__", nil)
		if have := strings.Join(got, " "); err != nil || have != c.names {
			t.Errorf("names from %d to %d: %s, %v, want %s", c.start, c.end, have, err, c.names)
		}
		got, _, err = q.LabelValues(ctx, "le", nil)
		if have := strings.Join(got, " "); err != nil || have != c.list {
			t.Errorf("bounds from %d to %d: %s, %v, want %s", c.start, c.end, have, err, c.list)
		}
		got, _, err = q.LabelNames(ctx, nil)
		if err != nil || strings.Contains(strings.Join(got, " ")+" ", "le ") != (c.list != "") {
			t.Errorf("labels from %d to %d: %v, %v", c.start, c.end, got, err)
		}
	}
	all, err := s.Metadata(ctx, "bcc_runq_latency_bucket")
	if m := all["bcc_runq_latency_bucket"]; err != nil || len(all) != 1 || len(m) != 1 || m[0].Type != "counter" {
		t.Errorf("metadata: %v, %v", all, err)
	}
}

// TestBucketMetric reads a metric whose instances have the label le, as programs publish histograms of Prometheus.
func TestBucketMetric(t *testing.T) {
	d := gauge()
	d.Sem = pcp.SemCounter
	f := newFixture("mmv.shop.took_seconds_bucket", d)
	for i, b := range []struct {
		le string
		n  float64
	}{{"0.1", 10}, {"0.5", 30}, {"+Inf", 40}} {
		id := f.AddInstance(f.id, int32(i), "le="+b.le, `{"le":"`+b.le+`"}`)
		f.inst[b.le] = series.InstValue{Instance: id, Value: pcp.DoubleValue(b.n).WithInst(int32(i))}
	}
	f.Append(f.id, pcp.Timestamp{Sec: 1000}, f.inst["0.1"], f.inst["0.5"], f.inst["+Inf"])
	s := store.New(f, store.Config{})
	const expr = "round(histogram_quantile(0.5, sum by (le) (mmv_shop_took_seconds_bucket)), 0.001)"
	if got, want := query(t, s, expr, 1000), "{} => 0.3 @[1000000]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestLimit loads too many samples.
func TestLimit(t *testing.T) {
	f := newFixture("a.b", gauge())
	for sec := range int64(100) {
		f.at(1000+sec, "x", 1, "y", 2)
	}
	const want = "expanding series: query processing would load too many samples into memory in query execution"
	if got := query(t, store.New(f, store.Config{MaxSamples: 199}), "sum_over_time(a_b[5m])", 1100); got != "Error executing query: "+want && got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := query(t, store.New(f, store.Config{MaxSamples: 200}), "count_over_time(a_b[5m])", 1100); strings.Count(got, "=> 100") != 2 {
		t.Errorf("%s", got)
	}
}

// TestSameName records two metrics with one name in Prometheus, and strings.
func TestSameName(t *testing.T) {
	d := gauge()
	d.InDom = pcp.InDomNull
	f := newFixture("a.b", d)
	add := func(id sid.ID, v pcp.Value) {
		v.Inst = pcp.InNull
		f.Append(id, pcp.Timestamp{Sec: 1000}, series.InstValue{Value: v})
	}
	add(f.id, pcp.DoubleValue(1))
	d.PMID++
	add(f.AddMetric("a_b", d, `{"hostname":"www","agent":"linux"}`), pcp.DoubleValue(2))
	d.PMID++
	d.Type = pcp.TypeString
	add(f.AddMetric("a.s", d, `{"hostname":"www","agent":"linux"}`), pcp.StringValue("x"))
	s := store.New(f, store.Config{})
	if got, want := query(t, s, `{__name__=~"a.*"}`, 1000), `{__name__="a_b", agent="linux", hostname="www"} => 1 @[1000000]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestMemory has more samples and series than a Memory keeps.
func TestMemory(t *testing.T) {
	m := store.NewMemory(store.MemoryConfig{Keep: 100 * time.Second, MaxSeries: 3, MaxSamples: 40})
	put := func(name, inst string, sec int64, v float64) error {
		return m.Append(labels.FromStrings("__name__", name, "instname", inst), sec*1000, v)
	}
	for i := range int64(10) {
		if err := errors.Join(put("a", "x", 1000+i*10, float64(i)), put("a", "y", 1000+i*10, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := put("b", "", 1090, 2); err != nil {
		t.Fatal(err)
	}
	if err := put("c", "", 1090, 2); err == nil || !strings.Contains(err.Error(), "there are 3 series") {
		t.Errorf("a fourth series: %v", err)
	}
	if err := put("b", "", 1090, 2); !errors.Is(err, storage.ErrDuplicateSampleForTimestamp) {
		t.Error(err)
	}
	if err := put("b", "", 1089, 2); !errors.Is(err, storage.ErrOutOfOrderSample) {
		t.Error(err)
	}
	check := func(expr string, at int64, want string) {
		t.Helper()
		if got := query(t, m, expr, at); got != want {
			t.Errorf("%s at %d: %s, want %s", expr, at, got, want)
		}
	}
	check(`sum(a)`, 1095, "{} => 10 @[1095000]")
	check(`rate(a{instname="x"}[60s])`, 1090, `{instname="x"} => 0.1 @[1090000]`)
	check(`count({__name__=~".+"})`, 1090, "{} => 3 @[1090000]")
	if err := put("b", "", 1095, store.Stale()); err != nil {
		t.Fatal(err)
	}
	check("b", 1094, `{__name__="b", instname=""} => 2 @[1094000]`)
	check("b", 1095, "")
	for i := range int64(100) { // the others are too old then
		if err := put("a", "x", 1100+i*10, float64(i)); err != nil {
			t.Fatal(err)
		}
	}
	check("count_over_time(a[1h])", 2090, `{instname="x"} => 12 @[2090000]`)
	if err := put("c", "", 2090, 2); err != nil {
		t.Error(err)
	}
	for i := range int64(100) { // too many in a second
		if err := m.Append(labels.FromStrings("__name__", "c"), 2090001+i, 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := query(t, m, "sum(count_over_time(c[1h])) < 41", 2091); got == "" {
		t.Errorf("more samples than allowed")
	}
	m = store.NewMemory(store.MemoryConfig{})
	if err := errors.Join(put("a", "x", 1, 1), put("c", "y", 1, 1)); err != nil {
		t.Fatal(err)
	}
	q, err := m.Querier(0, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := q.LabelNames(t.Context(), nil); err != nil || strings.Join(got, " ") != "__name__ instname" {
		t.Errorf("%q, %v", got, err)
	}
	if got, _, err := q.LabelValues(t.Context(), "__name__", nil); err != nil || strings.Join(got, " ") != "a c" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestEngineIsLazy pins that an engine that answers no query has no metrics of its own.
func TestEngineIsLazy(t *testing.T) {
	if n := testing.AllocsPerRun(10, func() { store.NewEngine(store.EngineConfig{}) }); n > 10 {
		t.Errorf("%v allocations", n)
	}
}
