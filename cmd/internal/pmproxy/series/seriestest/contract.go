package seriestest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// Archives are archives of two hosts whose contents are known: "www" and "db".
type Archives struct {
	Bases []string // in the order of hosts
	Start time.Time
	ids   map[string]sid.ID // by host and name of the metric, and by host and instance

	// Repeats is set for a store that repeats the last values of instances that are gone, and EarlyLabels for a store that has
	// only the labels that were known before the first values.
	Repeats, EarlyLabels bool
}

// Records is the number of records of each archive, Step the time between two.
const (
	Records = 120
	Step    = 10 * time.Second
)

// WriteArchives writes the archives to a directory. Their first records have the given time.
func WriteArchives(t testing.TB, dir string, start time.Time) *Archives {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	set := &Archives{Start: start, ids: map[string]sid.ID{}}
	for _, host := range []string{"www", "db"} {
		base := filepath.Join(dir, host)
		set.Bases = append(set.Bases, base)
		im, err := importer.Start(base, importer.Options{Host: host, TimeZone: "UTC"})
		must(err)
		loads, disks := im.NewInDom(), im.NewInDom()
		load, err := im.NewMetric("c.load", importer.Spec{Type: pcp.TypeFloat, Sem: pcp.SemInstant, InDom: loads})
		must(err)
		reads, err := im.NewMetric("c.disk.reads", importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: disks, Units: pcp.NewUnits(0, 0, 1, 0, 0, 0)})
		must(err)
		ncpu, err := im.NewMetric("c.ncpu", importer.Spec{Type: pcp.TypeU32, Sem: pcp.SemDiscrete})
		must(err)
		temp, err := im.NewMetric("c.temp", importer.Spec{Type: pcp.TypeDouble, Sem: pcp.SemInstant})
		must(err)
		low, err := im.NewMetric("c.low", importer.Spec{Type: pcp.Type64, Sem: pcp.SemInstant, Units: pcp.NewUnits(1, -1, 0, pcp.SpaceKByte, pcp.TimeSec, 0)})
		must(err)
		name, err := im.NewMetric("c.name", importer.Spec{Type: pcp.TypeString, Sem: pcp.SemDiscrete})
		must(err)
		label := func(flags pcp.LabelFlags, ident uint32, inst int32, name, value string) {
			t.Helper()
			must(im.PutLabel(flags, ident, inst, name, value))
		}
		label(pcp.LabelContext, uint32(pcp.PMIDNull), pcp.InNull, "hostname", `"`+host+`"`)
		label(pcp.LabelContext|pcp.LabelOptional, uint32(pcp.PMIDNull), pcp.InNull, "rack", `true`)
		label(pcp.LabelDomain, importer.Domain, pcp.InNull, "agent", `"import"`)
		for n := range Records {
			for i, span := range []string{"1 minute", "5 minute"} {
				h, err := load.Instance(span)
				must(err)
				must(h.PutAtom(pcp.FloatValue(Load(n, i))))
			}
			for i, disk := range []string{"sda", "sdb"} {
				if i == 1 && !HasSDB(n) {
					continue
				}
				h, err := reads.Instance(disk)
				must(err)
				must(h.PutUint(Reads(n, i)))
			}
			must(ncpu.PutUint(uint64(len(host))))
			must(temp.PutDouble(float64(n) / 4))
			must(low.PutInt(int64(-1000 * n)))
			must(name.PutString(fmt.Sprint("r", n)))
			must(im.Write(start.Add(time.Duration(n) * Step)))
			if n == 0 {
				label(pcp.LabelInstances, uint32(disks), 0, "device", `"first"`)
			}
		}
		must(im.End())
	}
	return set
}

// Load is the value of c.load of an instance in a record, and Reads that of c.disk.reads.
func Load(record, inst int) float32 { return float32(record)/2 + float32(inst) }

// Reads is the value of c.disk.reads of an instance in a record.
func Reads(record, inst int) uint64 { return uint64(record)*1000 + uint64(inst) }

// HasSDB reports whether a record has values of the disk sdb.
func HasSDB(record int) bool { return record >= 30 && record < 90 }

// At returns the time of a record.
func (a *Archives) At(record int) pcp.Timestamp {
	return pcp.TimestampOf(a.Start.Add(time.Duration(record) * Step))
}

// Contract checks that a store answers as all must for these archives. It may have other series too. Without strings, it is a store that has only
// numbers.
func (a *Archives) Contract(t *testing.T, s series.Store, strings bool) {
	t.Helper()
	ctx := t.Context()
	a.find(t, ctx, s, strings)
	a.describe(t, ctx, s)
	a.values(t, ctx, s)
	a.within(t, ctx, s)
	a.fail(t, s)
}

// one returns the series of a metric of a host.
func one(t *testing.T, ctx context.Context, s series.Store, host, name string) sid.ID {
	t.Helper()
	list, err := s.Select(ctx, series.Matcher{Field: series.MetricName, Value: name})
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := s.Select(ctx, series.Matcher{Field: series.ContextName, Value: host})
	if err != nil {
		t.Fatal(err)
	}
	list = slices.DeleteFunc(list, func(id sid.ID) bool { return !slices.Contains(hosts, id) })
	if len(list) != 1 {
		t.Fatalf("%d series %s of host %s", len(list), name, host)
	}
	return list[0]
}

// identifier returns the identifier that a metric of the archives has.
func identifier(host, name string, d pcp.Desc) sid.ID {
	return sid.Metric(name, `{"agent":"import","hostname":"`+host+`"}`, d)
}

func (a *Archives) find(t *testing.T, ctx context.Context, s series.Store, withStrings bool) {
	t.Helper()
	all := []string{"c.disk.reads", "c.load", "c.low", "c.name", "c.ncpu", "c.temp"}
	if !withStrings {
		all = slices.DeleteFunc(all, func(name string) bool { return name == "c.name" })
	}
	named := func(m series.Matcher, want ...string) {
		t.Helper()
		ids, err := s.Select(ctx, m)
		if err != nil {
			t.Errorf("Select(%+v): %v", m, err)
			return
		}
		if !slices.IsSortedFunc(ids, sid.ID.Compare) {
			t.Errorf("Select(%+v) is not sorted", m)
		}
		got := []string{}
		for _, id := range ids {
			one, err := s.Metric(ctx, id)
			if err != nil {
				t.Error(err)
			}
			if strings.HasPrefix(one.Name, "c.") {
				got = append(got, one.Name)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("Select(%+v) = %q, want %q", m, got, want)
		}
	}
	prefix := func(p string) func(string) bool { return func(v string) bool { return strings.HasPrefix(v, p) } }
	twice := func(list ...string) (both []string) {
		for _, name := range list {
			both = append(both, name, name)
		}
		return both
	}
	named(series.Matcher{Field: series.MetricName, Value: "c.load"}, "c.load", "c.load")
	named(series.Matcher{Field: series.MetricName, Value: "c.loa"})
	named(series.Matcher{Field: series.MetricName, Value: "c_load"})
	named(series.Matcher{Field: series.MetricName, Match: prefix("c.l")}, "c.load", "c.load", "c.low", "c.low")
	named(series.Matcher{Field: series.MetricName, Match: func(string) bool { return false }})
	named(series.Matcher{Field: series.ContextName, Value: "www"}, all...)
	named(series.Matcher{Field: series.ContextName, Value: "nobody"})
	named(series.Matcher{Field: series.InstanceName, Value: "sdb"}, "c.disk.reads", "c.disk.reads")
	named(series.Matcher{Field: series.InstanceName, Match: prefix("5")}, "c.load", "c.load")
	named(series.Matcher{Field: series.InstanceName, Value: ""})
	named(series.Matcher{Field: series.LabelName, Value: "agent"}, twice(all...)...)
	if !a.EarlyLabels {
		named(series.Matcher{Field: series.LabelName, Value: "device"}, "c.disk.reads", "c.disk.reads")
		named(series.Matcher{Field: series.LabelValue, Label: "device", Value: `"first"`}, "c.disk.reads", "c.disk.reads")
	}
	named(series.Matcher{Field: series.LabelName, Value: "instname"})
	named(series.Matcher{Field: series.LabelValue, Label: "hostname", Value: `"db"`}, all...)
	named(series.Matcher{Field: series.LabelValue, Label: "hostname", Value: `db`})
	named(series.Matcher{Field: series.LabelValue, Label: "rack", Value: `true`}, twice(all...)...)
	named(series.Matcher{Field: series.LabelValue, Label: "rack", Match: func(v string) bool { return v == "true" }}, twice(all...)...)

	contains := func(field series.Field, label string, want ...string) {
		t.Helper()
		list, err := s.Strings(ctx, field, label)
		if err != nil || !slices.IsSorted(list) {
			t.Errorf("Strings(%d, %q) = %q, %v", field, label, list, err)
		}
		for _, w := range want {
			if !slices.Contains(list, w) {
				t.Errorf("Strings(%d, %q) = %q, without %q", field, label, list, w)
			}
		}
		if len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Errorf("Strings(%d, %q) has duplicates: %q", field, label, list)
		}
	}
	contains(series.MetricName, "", all...)
	contains(series.InstanceName, "", "1 minute", "5 minute", "sda", "sdb")
	contains(series.ContextName, "", "db", "www")
	contains(series.LabelName, "", "agent", "hostname", "rack")
	contains(series.LabelValue, "hostname", `"db"`, `"www"`)
	contains(series.LabelValue, "rack", `true`)
	if !a.EarlyLabels {
		contains(series.LabelName, "", "device")
		contains(series.LabelValue, "device", `"first"`)
	}
	if list, err := s.Strings(ctx, series.LabelName, ""); slices.Contains(list, "instname") {
		t.Errorf("labels %q, %v", list, err)
	}
}

func (a *Archives) describe(t *testing.T, ctx context.Context, s series.Store) {
	t.Helper()
	for _, host := range []string{"www", "db"} {
		for name, want := range map[string]pcp.Desc{
			"c.load":       {Type: pcp.TypeFloat, Sem: pcp.SemInstant},
			"c.disk.reads": {Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.NewUnits(0, 0, 1, 0, 0, 0)},
			"c.ncpu":       {Type: pcp.TypeU32, Sem: pcp.SemDiscrete, InDom: pcp.InDomNull},
			"c.low":        {Type: pcp.Type64, Sem: pcp.SemInstant, InDom: pcp.InDomNull, Units: pcp.NewUnits(1, -1, 0, pcp.SpaceKByte, pcp.TimeSec, 0)},
		} {
			id := one(t, ctx, s, host, name)
			if want := identifier(host, name, want); id != want {
				t.Errorf("%s of %s is %v, want %v", name, host, id, want)
			}
			m, err := s.Metric(ctx, id)
			if err != nil {
				t.Error(err)
				continue
			}
			got := m.Desc
			if got.PMID.Domain() != importer.Domain || (got.InDom == pcp.InDomNull) != (want.InDom == pcp.InDomNull) {
				t.Errorf("%s: %+v", name, got)
			}
			got.PMID, got.InDom, want.InDom = 0, 0, 0
			if got != want || m.ID != id || m.Name != name || m.Source != sid.Source(`{"hostname":"`+host+`"}`) {
				t.Errorf("Metric(%s) = %+v", name, m)
			}
			labels, err := s.Labels(ctx, id)
			text := fmt.Sprint(labels)
			if err != nil || len(labels) != 3 || !strings.Contains(text, `{agent "import"`) || !strings.Contains(text, `{hostname "`+host+`"`) || !strings.Contains(text, "{rack true") {
				t.Errorf("Labels(%s) = %v, %v", name, labels, err)
			}
			for _, l := range labels {
				if l.Flags&pcp.LabelOptional != 0 != (l.Name == "rack") || (l.Flags.Level() == pcp.LabelDomain) != (l.Name == "agent") {
					t.Errorf("label %+v", l)
				}
			}
		}
		disk := one(t, ctx, s, host, "c.disk.reads")
		insts, err := s.Instances(ctx, disk)
		if err != nil || len(insts) != 2 || insts[0].Name != "sda" || insts[1].Name != "sdb" || insts[0].Inst >= insts[1].Inst {
			t.Fatalf("Instances = %+v, %v", insts, err)
		}
		for i, in := range insts {
			if want := sid.Instance(in.Name, `{"agent":"import","hostname":"`+host+`"}`); in.ID != want || in.Source != sid.Source(`{"hostname":"`+host+`"}`) {
				t.Errorf("instance %+v, want %v", in, want)
			}
			if got, err := s.Instance(ctx, in.ID); err != nil || got != in {
				t.Errorf("Instance(%s) = %+v, %v", in.Name, got, err)
			}
			labels, err := s.Labels(ctx, in.ID)
			own := i == 0 && !a.EarlyLabels
			if err != nil || len(labels) != map[bool]int{false: 3, true: 4}[own] || strings.Contains(fmt.Sprint(labels), `{device "first"`) != own {
				t.Errorf("Labels(%s) = %v, %v", in.Name, labels, err)
			}
		}
		if insts, err := s.Instances(ctx, one(t, ctx, s, host, "c.ncpu")); err != nil || len(insts) != 0 {
			t.Errorf("instances of a single value: %v, %v", insts, err)
		}
		contexts, err := s.ContextNames(ctx, sid.Source(`{"hostname":"`+host+`"}`))
		if err != nil || !slices.Contains(contexts, host) {
			t.Errorf("ContextNames = %q, %v", contexts, err)
		}
		sources, err := s.Sources(ctx)
		if err != nil || !slices.Contains(sources, sid.Source(`{"hostname":"`+host+`"}`)) || !slices.IsSortedFunc(sources, sid.ID.Compare) {
			t.Errorf("Sources = %v, %v", sources, err)
		}
	}
}

func (a *Archives) values(t *testing.T, ctx context.Context, s series.Store) {
	t.Helper()
	check := func(name string, w series.Window, want ...int) {
		t.Helper()
		id := one(t, ctx, s, "www", name)
		m, err := s.Metric(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for sample, err := range s.Values(ctx, []sid.ID{sid.String("unknown"), id}, w) {
			if err != nil {
				t.Errorf("Values(%s, %+v): %v", name, w, err)
				return
			}
			if n >= len(want) {
				t.Errorf("Values(%s, %+v): more than %d samples: %v", name, w, len(want), sample.Time)
				return
			}
			record := want[n]
			if sample.Series != id || sample.Time.Compare(a.At(record)) != 0 || sample.Err != 0 || sample.Gap || sample.Block != nil {
				t.Errorf("Values(%s, %+v): sample %d at %v, want that at %v", name, w, n, sample.Time, a.At(record))
				return
			}
			if got, want := texts(sample, m.Desc.Type), a.expected(name, record); !slices.Equal(got, want) {
				t.Errorf("Values(%s): record %d: %q, want %q", name, record, got, want)
				return
			}
			n++
		}
		if n != len(want) {
			t.Errorf("Values(%s, %+v): %d samples, want %d", name, w, n, len(want))
		}
	}
	every := func(from, to, step int) (list []int) {
		for ; from <= to; from += step {
			list = append(list, from)
		}
		return list
	}
	for _, name := range []string{"c.load", "c.disk.reads", "c.ncpu", "c.low", "c.temp"} {
		check(name, series.Window{}, every(0, Records-1, 1)...)
		check(name, series.Window{Start: a.At(20), End: a.At(29)}, every(20, 29, 1)...)
		check(name, series.Window{Start: a.At(20).Add(time.Millisecond), End: a.At(29).Add(-time.Millisecond)}, every(21, 28, 1)...)
		check(name, series.Window{Start: a.At(85), Count: 12}, every(85, 96, 1)...)
		check(name, series.Window{Start: a.At(10), End: a.At(70), Interval: 6 * Step}, every(10, 70, 6)...)
		check(name, series.Window{Start: a.At(10), Interval: 6 * Step, Count: 3}, 10, 16, 22)
		check(name, series.Window{End: a.At(2)}, 0, 1, 2)
		check(name, series.Window{Newest: true, Count: 3}, Records-1, Records-2, Records-3)
		check(name, series.Window{Newest: true, Count: 2 * Records}, func() []int { l := every(0, Records-1, 1); slices.Reverse(l); return l }()...)
		check(name, series.Window{Start: a.At(Records)})
		check(name, series.Window{End: a.At(-1)})
		check(name, series.Window{Start: a.At(30), End: a.At(20)})
	}
	id := one(t, ctx, s, "db", "c.disk.reads")
	n := 0
	for sample, err := range s.Sweep(ctx, []sid.ID{id}, a.At(88), a.At(91)) {
		if err != nil {
			t.Fatal(err)
		}
		if sample.Gap {
			continue
		}
		take := func(sample *series.Sample) {
			if got, want := texts(sample, pcp.TypeU64), a.expected("c.disk.reads", 88+n); !slices.Equal(got, want) || sample.Time.Compare(a.At(88+n)) != 0 {
				t.Errorf("Sweep: sample %d at %v: %q, want %q", n, sample.Time, got, want)
			}
			n++
		}
		if sample.Block == nil {
			take(sample)
			continue
		}
		sample.Block.Samples(id, func(s *series.Sample, err error) bool { take(s); return err == nil })
	}
	if n != 4 {
		t.Errorf("Sweep: %d samples", n)
	}
}

// texts returns the values of a sample.
func texts(s *series.Sample, of pcp.Type) (list []string) {
	for _, v := range s.Values {
		list = append(list, string(series.AppendValue(nil, v.Value, of)))
	}
	return list
}

// expected returns the values of a metric in a record.
func (a *Archives) expected(name string, record int) (list []string) {
	add := func(v pcp.Value) { list = append(list, string(series.AppendValue(nil, v, v.Type()))) }
	switch name {
	case "c.load":
		add(pcp.FloatValue(Load(record, 0)))
		add(pcp.FloatValue(Load(record, 1)))
	case "c.disk.reads":
		add(pcp.Uint64Value(Reads(record, 0)))
		last := record
		for a.Repeats && last > 0 && !HasSDB(last) {
			last--
		}
		if HasSDB(last) {
			add(pcp.Uint64Value(Reads(last, 1)))
		}
	case "c.ncpu":
		add(pcp.Uint32Value(3))
	case "c.low":
		add(pcp.Int64Value(int64(-1000 * record)))
	case "c.temp":
		add(pcp.DoubleValue(float64(record) / 4))
	}
	return list
}

func (a *Archives) within(t *testing.T, ctx context.Context, s series.Store) {
	t.Helper()
	disk, ncpu := one(t, ctx, s, "www", "c.disk.reads"), one(t, ctx, s, "www", "c.ncpu")
	insts, err := s.Instances(ctx, disk)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Within(ctx, []sid.ID{disk, sid.String("unknown"), ncpu}, a.At(40), a.At(50), true)
	if err != nil || len(list) != 2 || list[0].Series != disk || list[1].Series != ncpu || !reflect.DeepEqual(list[0].Instances, insts) || list[1].Instances != nil {
		t.Errorf("Within = %+v, %v, want the instances %+v", list, err, insts)
	}
	list, err = s.Within(ctx, []sid.ID{disk, ncpu}, a.At(Records+1000), pcp.Timestamp{}, true)
	if err != nil || len(list) != 0 {
		t.Errorf("Within later times = %+v, %v", list, err)
	}
}

func (a *Archives) fail(t *testing.T, s series.Store) {
	t.Helper()
	ctx := t.Context()
	no := sid.String("there is none")
	check := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	_, err := s.Metric(ctx, no)
	check("Metric", err, series.ErrUnknown)
	_, err = s.Instances(ctx, no)
	check("Instances", err, series.ErrUnknown)
	_, err = s.Instance(ctx, no)
	check("Instance", err, series.ErrUnknown)
	_, err = s.Labels(ctx, no)
	check("Labels", err, series.ErrUnknown)
	_, err = s.ContextNames(ctx, no)
	check("ContextNames", err, series.ErrUnknown)
	_, err = s.Expr(ctx, no)
	check("Expr", err, series.ErrUnknown)
	e := series.Expr{Query: "rate(c.load)", Desc: pcp.Desc{Type: pcp.TypeDouble}}
	check("PutExpr", s.PutExpr(ctx, sid.String("e"), e), nil)
	if got, err := s.Expr(ctx, sid.String("e")); err != nil || got != e {
		t.Errorf("Expr = %+v, %v", got, err)
	}
	check("GC", s.GC(ctx), nil)

	id := one(t, ctx, s, "www", "c.load")
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err = s.Select(over, series.Matcher{Field: series.MetricName, Value: "c.load"})
	check("Select", err, context.Canceled)
	for _, err := range s.Values(over, []sid.ID{id}, series.Window{}) {
		check("Values", err, context.Canceled)
		break
	}
	check("Close", s.Close(), nil)
	_, err = s.Metric(ctx, id)
	check("Metric of a closed store", err, series.ErrClosed)
	_, err = s.Select(ctx, series.Matcher{Field: series.MetricName, Value: "c.load"})
	check("Select of a closed store", err, series.ErrClosed)
	for _, err := range s.Values(ctx, []sid.ID{id}, series.Window{}) {
		check("Values of a closed store", err, series.ErrClosed)
	}
}
