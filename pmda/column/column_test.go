package column

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

var (
	_ pmda.Agent      = (*Agent)(nil)
	_ pmda.Refresher  = (*Agent)(nil)
	_ pmda.NameSpacer = (*Agent)(nil)
	_ pmda.Texter     = (*Agent)(nil)
	_ pmda.Labeler    = (*Agent)(nil)
)

const domain = 400

func id(cluster, item int) pcp.PMID { return pcp.NewPMID(domain, cluster, item) }

// A fake is a source whose values are its number times 100 and the count of readings,
// for instances 2 and 1.
type fake struct {
	*Source
	reads int
	err   error
}

func newFake(n int, scope Scope) (*fake, Family) {
	metrics := []Metric{
		{Name: fmt.Sprintf("fake%d.one", n), Cluster: n, Item: 0, Type: pcp.TypeU32, Sem: pcp.SemInstant, Help: "One", Labels: `{"a":"b"}`},
		{Name: fmt.Sprintf("fake%d.each", n), Cluster: n, Item: 1, Type: pcp.TypeU64, Sem: pcp.SemInstant, From: 1, Key: "each", Help: "Each", Long: "Each of the\nthings"},
		{Name: fmt.Sprintf("fake%d.text", n), Cluster: n, Item: 2, Type: pcp.TypeString, Sem: pcp.SemDiscrete, From: 1, Key: "text"},
	}
	indom := &InDom{
		Serial: n, Help: "Things", Labels: `{"c":"d"}`,
		InstanceLabels: func(inst int32, name string) map[string]any { return map[string]any{"name": name, "inst": inst} },
	}
	b := NewBlocks(metrics, Layout{Cols: 1}, Layout{InDom: indom, Lists: true, Keys: []string{"hidden"}})
	f := new(fake)
	f.Source = &Source{Name: fmt.Sprint("fake", n), Blocks: b, Scope: scope, Read: func() error {
		f.reads++
		if f.err != nil {
			return f.err
		}
		b[0].Set(0, 0, uint64(f.reads))
		b[1].Clear()
		for _, inst := range []int32{2, 1} {
			row := b[1].AddNamed(inst, fmt.Sprintf("thing %d", inst))
			b[1].Set(row, b[1].Column("each"), uint64(100*n)+uint64(inst))
			b[1].SetText(row, b[1].Column("text"), fmt.Sprintf("text %d", inst))
		}
		return nil
	}}
	return f, Family{Name: fmt.Sprint("family", n), Metrics: metrics, Sources: []*Source{f.Source}}
}

func fetch(t testing.TB, a *Agent, client *pmda.Client, over *Agent, ids ...pcp.PMID) string {
	t.Helper()
	res := new(pcp.Result)
	if err := a.FetchOver(&pmda.FetchRequest{Client: client, PMIDs: ids, Result: res}, over); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, vs := range res.Sets {
		if vs.Err != 0 {
			out = append(out, vs.Err.Error())
		}
		for _, v := range vs.Values {
			out = append(out, v.String())
		}
	}
	return strings.Join(out, " ")
}

// TestManySources has more sources than a word has bits, and checks that a fetch
// reads only those it needs, with their dependencies.
func TestManySources(t *testing.T) {
	const n = 130
	var fakes []*fake
	var families []Family
	for i := range n {
		f, family := newFake(i, 0)
		if i%10 == 9 {
			f.After = []*Source{fakes[i-1].Source}
		}
		fakes, families = append(fakes, f), append(families, family)
	}
	a, err := New(Config{Name: "many", Domain: domain}, families...)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Refresh(t.Context(), []pcp.PMID{id(129, 0), id(129, 1), id(70, 1), id(500, 0)}); err != nil {
		t.Fatal(err)
	}
	if got := fetch(t, a, nil, nil, id(70, 1), id(129, 0), id(3, 1)); got != "7001 7002 1 301 302" {
		t.Errorf("values %s", got)
	}
	for i, f := range fakes {
		want := 0
		if slices.Contains([]int{3, 70, 128, 129}, i) {
			want = 1
		}
		if f.reads != want {
			t.Errorf("source %d was read %d times, want %d", i, f.reads, want)
		}
	}
	if s := a.SourceOf(id(70, 1)); s != fakes[70].Source || a.SourceOf(id(70, 9)) != nil {
		t.Errorf("the source of %v is %v", id(70, 1), s)
	}
	if got := fetch(t, a, nil, nil, id(0, 9), pcp.NewPMID(1, 0, 0)); strings.Count(got, pcp.ErrPMID.Error()) != 2 {
		t.Errorf("unknown metrics: %s", got)
	}
}

func TestFailingSource(t *testing.T) {
	f, family := newFake(1, 0)
	var log strings.Builder
	a, err := New(Config{Name: "failing", Domain: domain, Log: slog.New(slog.NewTextHandler(&log, nil))}, family)
	if err != nil {
		t.Fatal(err)
	}
	want := func(values string, lines int) {
		t.Helper()
		if err := a.Refresh(t.Context(), []pcp.PMID{id(1, 1)}); err != nil {
			t.Fatal(err)
		}
		if got := fetch(t, a, nil, nil, id(1, 1), id(1, 2)); got != values {
			t.Errorf("values %s, want %s", got, values)
		}
		if n := strings.Count(log.String(), "cannot read"); n != lines {
			t.Errorf("%d lines in the log, want %d: %s", n, lines, &log)
		}
	}
	all := `101 102 "text 1" "text 2"`
	want(all, 0)
	f.err = fs.ErrNotExist
	want("", 0)
	f.err = errors.New("the disk is on fire")
	want("", 1)
	want("", 1)
	f.err = nil
	want(all, 1)
	f.err = errors.New("again")
	want("", 2)
}

func TestRestricted(t *testing.T) {
	f, family := newFake(1, 0)
	f.Restricted = true
	root := new(pmda.Client)
	a, err := New(Config{Name: "restricted", Domain: domain, Trusts: func(c *pmda.Client) bool { return c == root }}, family)
	if err != nil {
		t.Fatal(err)
	}
	indom := pcp.NewInDom(domain, 1)
	for _, c := range []struct {
		client *pmda.Client
		values string
		insts  int
		reads  int
	}{{nil, "", 0, 0}, {new(pmda.Client), "", 0, 0}, {root, "101 102", 2, 2}} {
		if err := a.Refresh(t.Context(), []pcp.PMID{id(1, 1)}); err != nil {
			t.Fatal(err)
		}
		if got := fetch(t, a, c.client, nil, id(1, 1)); got != c.values {
			t.Errorf("values %q, want %q", got, c.values)
		}
		ctx := pmda.WithClient(t.Context(), c.client)
		if insts, err := a.Instances(ctx, indom); err != nil || len(insts) != c.insts {
			t.Errorf("instances %v, %v", insts, err)
		}
		if sets, err := a.Labels(ctx, uint32(indom), pcp.LabelInstances); err != nil || len(sets) != c.insts {
			t.Errorf("labels %v, %v", sets, err)
		}
		if c.reads == 0 && f.reads != 0 {
			t.Errorf("it was read for somebody who is not trusted")
		}
	}
}

func TestTwin(t *testing.T) {
	make := func() []Family {
		var families []Family
		for i := range 3 {
			_, family := newFake(i, Scope(i))
			families = append(families, family)
		}
		families[2].Sources[0].After = families[1].Sources
		return families
	}
	a, err := New(Config{Name: "outside", Domain: domain}, make()...)
	if err != nil {
		t.Fatal(err)
	}
	in, err := a.Twin(make()...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Twin(make()[:2]...); err == nil {
		t.Error("a twin with other families")
	}
	ids := []pcp.PMID{id(0, 0), id(1, 0), id(2, 0)}
	want := in.Scoped(ids[2:])
	if want[0] || !want[1] || !want[2] || !in.Has(want, 1) || !in.Has(want, 2) || in.Has(want, 3) || want.Empty() {
		t.Errorf("scoped sources are %v", want)
	}
	for range 5 {
		in.ReadScope(want, 1)
	}
	in.ReadScope(want, 2)
	if got := fetch(t, a, nil, in, ids...); got != "1 5 1" {
		t.Errorf("values %s", got)
	}
	if n := a.Sources()[1]; fetch(t, a, nil, nil, id(1, 0)) != "1" {
		t.Errorf("%s was read outside", n.Name)
	}
	in.ClearScope(want, 1)
	if got := fetch(t, a, nil, in, ids...); got != "1 1" {
		t.Errorf("values %s after they are cleared", got)
	}
	scoped, plain := pcp.NewInDom(domain, 1), pcp.NewInDom(domain, 0)
	if insts, err := a.InstancesOver(t.Context(), scoped, in); err != nil || len(insts) != 0 {
		t.Errorf("instances inside %v, %v", insts, err)
	}
	if insts, err := a.InstancesOver(t.Context(), plain, in); err != nil || len(insts) != 2 || insts[0].Name != "thing 1" {
		t.Errorf("instances %v, %v", insts, err)
	}
	if !a.ScopedInDom(plain).Empty() || a.ScopedInDom(scoped).Empty() || !a.ScopedInDom(pcp.NewInDom(domain, 9)).Empty() {
		t.Error("domains of a scope")
	}
}

func TestMetadata(t *testing.T) {
	_, one := newFake(1, 0)
	_, two := newFake(2, 0)
	a, err := New(Config{Name: "meta", Domain: domain, Order: []string{"fake2.text", "none", "fake1"}}, one, two)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	desc, err := a.Desc(ctx, id(2, 1))
	if want := (pcp.Desc{PMID: id(2, 1), Type: pcp.TypeU64, InDom: pcp.NewInDom(domain, 2), Sem: pcp.SemInstant}); err != nil || desc != want {
		t.Errorf("descriptor %+v, %v, want %+v", desc, err, want)
	}
	if desc, err := a.Desc(ctx, id(2, 0)); err != nil || desc.InDom != pcp.InDomNull {
		t.Errorf("descriptor %+v, %v", desc, err)
	}
	if _, err := a.Desc(ctx, id(2, 7)); !errors.Is(err, pcp.ErrPMID) {
		t.Error(err)
	}
	var names []string
	for name := range a.NameSpace().All() {
		names = append(names, name)
	}
	if got := strings.Join(names, " "); got != "fake2.text fake2.one fake2.each fake1.one fake1.each fake1.text" {
		t.Errorf("names %s", got)
	}
	indom := uint32(pcp.NewInDom(domain, 1))
	text := func(ident uint32, kind pcp.TextKind, want string, wantErr error) {
		t.Helper()
		if got, err := a.Text(ctx, ident, kind); got != want || !errors.Is(err, wantErr) {
			t.Errorf("text %q, %v; want %q, %v", got, err, want, wantErr)
		}
	}
	const oneLine, long = pcp.TextOneLine, pcp.TextHelp
	text(uint32(id(1, 0)), pcp.TextPMID|oneLine, "One", nil)
	text(uint32(id(1, 0)), pcp.TextPMID|long, "One", nil)
	text(uint32(id(1, 1)), pcp.TextPMID|oneLine, "Each", nil)
	text(uint32(id(1, 1)), pcp.TextPMID|long, "Each of the\nthings", nil)
	text(uint32(id(1, 2)), pcp.TextPMID|oneLine, "", pcp.ErrText)
	text(uint32(id(1, 9)), pcp.TextPMID|long, "", pcp.ErrText)
	text(indom, pcp.TextInDom|oneLine, "Things", nil)
	text(indom+7, pcp.TextInDom|oneLine, "", pcp.ErrText)
	labels := func(ident uint32, kind pcp.LabelFlags, want ...string) {
		t.Helper()
		sets, err := a.Labels(ctx, ident, kind)
		var got []string
		for _, s := range sets {
			got = append(got, fmt.Sprint(s.Inst, " ", s.JSON))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("labels %q, %v, want %q", got, err, want)
		}
	}
	labels(domain, pcp.LabelDomain, `-1 {"agent":"meta"}`)
	labels(indom, pcp.LabelInDom, `-1 {"c":"d"}`)
	labels(indom+9, pcp.LabelInDom)
	labels(uint32(id(1, 0)), pcp.LabelItem, `-1 {"a":"b"}`)
	labels(uint32(id(1, 1)), pcp.LabelItem)
	labels(indom, pcp.LabelInstances, `1 {"inst":1,"name":"thing 1"}`, `2 {"inst":2,"name":"thing 2"}`)
	labels(indom+9, pcp.LabelInstances)
}

// TestWrongTables checks that the error names the row that is wrong.
func TestWrongTables(t *testing.T) {
	read := func() error { return nil }
	f := func(want string, metrics []Metric, blocks []*Block, sources ...*Source) {
		t.Helper()
		if len(sources) == 0 {
			sources = []*Source{{Name: "source", Blocks: blocks, Read: read}}
		}
		_, err := New(Config{Name: "wrong", Domain: domain}, Family{Name: "family", Metrics: metrics, Sources: sources})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	one := func(m ...Metric) []Metric {
		for i := range m {
			m[i].Name = fmt.Sprint("wrong.", i)
		}
		return m
	}
	m := one(Metric{Col: 1})
	f("metric wrong.0 (0.0): column 1 of 1", m, NewBlocks(m, Layout{Cols: 1}))
	m = one(Metric{From: 1})
	f("no source fills block 1", m, NewBlocks(m, Layout{Cols: 1}))
	m = one(Metric{Cluster: 1, Item: 2}, Metric{Cluster: 1, Item: 2})
	f("metric wrong.1 (1.2): wrong.0 has the same PMID", m, NewBlocks(m, Layout{Cols: 1}))
	m = one(Metric{Item: 1024})
	f(pcp.ErrPMID.Error(), m, NewBlocks(m, Layout{Cols: 1}))
	m = one(Metric{Cluster: 4096})
	f(pcp.ErrPMID.Error(), m, NewBlocks(m, Layout{Cols: 1}))
	many := make([]Metric, maxMetrics+1)
	for i := range many {
		many[i] = Metric{Cluster: i / (maxItem + 1), Item: i % (maxItem + 1)}
	}
	f("more than 32767 metrics", many, NewBlocks(many, Layout{Cols: 1}))
	m = one(Metric{})
	f("no block lists instance domain 4", m, NewBlocks(m, Layout{Cols: 1, InDom: &InDom{Serial: 4}}))
	f("there are two instance domains 4", m, NewBlocks(m, Layout{Cols: 1, Lists: true, InDom: &InDom{Serial: 4}}, Layout{Lists: true, InDom: &InDom{Serial: 4}}))
	b := NewBlocks(m, Layout{Cols: 1})
	f("nothing reads it", m, b, &Source{Name: "source", Blocks: b})
	late := &Source{Name: "late", Read: read}
	f("source early: late, which it builds on, does not come before it", m, b, &Source{Name: "early", Blocks: b, Read: read, After: []*Source{late}}, late)
	b = NewBlocks(m, Layout{Cols: 1})
	f("a block is also filled by first", m, b, &Source{Name: "first", Blocks: b, Read: read}, &Source{Name: "second", Blocks: b, Read: read})
	defer func() {
		if recover() == nil {
			t.Error("a column that is in no table")
		}
	}()
	b[0].Column("none")
}

func TestBlock(t *testing.T) {
	b := NewBlocks(nil, Layout{Cols: 2, InDom: &InDom{}})[0]
	for _, inst := range []int32{7, 3, 5} {
		row := b.Add(inst)
		b.Set(row, 0, uint64(inst))
		if inst != 5 {
			b.SetString(row, 1, []byte{'a' + byte(inst)})
		}
	}
	b.Sort()
	if !slices.Equal(b.Insts(), []int32{3, 5, 7}) || !b.Has(5) || b.Has(4) {
		t.Errorf("instances %v", b.Insts())
	}
	for row, want := range []uint64{3, 5, 7} {
		if v, ok := b.Get(row, 0); !ok || v != want {
			t.Errorf("row %d: %d, %v", row, v, ok)
		}
	}
	if _, ok := b.Get(1, 1); ok {
		t.Error("a string that was not set")
	}
	if s := b.value(1, pcp.TypeString); string(s.Bytes()) != "d" {
		t.Errorf("string %q", s.Bytes())
	}
	if v := NewBlocks(nil, Layout{Cols: 1})[0]; v.Row(0)[0].OK {
		t.Error("a new block has a value")
	} else if v.Set(0, 0, 1<<32|7); v.value(0, pcp.TypeU32).Uint32() != 7 {
		t.Errorf("it does not wrap: %v", v.value(0, pcp.TypeU32))
	}
}

// TestColumnErrors has a column whose answer is an error until the block is cleared.
func TestColumnErrors(t *testing.T) {
	m := []Metric{{Name: "a.b", Type: pcp.TypeU32}, {Name: "a.c", Item: 1, Col: 1, Type: pcp.TypeU32}, {Name: "a.d", Item: 2, Err: pcp.ErrAppVersion}}
	b := NewBlocks(m, Layout{Cols: 2})
	a, err := New(Config{Name: "errors", Domain: domain}, Family{Metrics: m, Sources: []*Source{{Blocks: b, Read: func() error { return nil }}}})
	if err != nil {
		t.Fatal(err)
	}
	b[0].Set(0, 0, 1)
	b[0].SetError(1, pcp.ErrValue)
	ids := []pcp.PMID{id(0, 0), id(0, 1), id(0, 2)}
	if got, want := fetch(t, a, nil, nil, ids...), "1 "+pcp.ErrValue.Error()+" "+pcp.ErrAppVersion.Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	b[0].Clear()
	if got := fetch(t, a, nil, nil, ids...); got != pcp.ErrAppVersion.Error() {
		t.Error(got)
	}
}

func TestNames(t *testing.T) {
	var n, inside Names
	pass := func(n *Names, names ...string) (ids []int32) {
		n.Begin()
		for _, name := range names {
			id, kept := n.ID([]byte(name))
			if kept != name {
				t.Errorf("%s became %s", name, kept)
			}
			if n.First(id) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	want := func(got []int32, want ...int32) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("numbers %v, want %v", got, want)
		}
	}
	want(pass(&n, "a", "b", "a"), 0, 1)
	want(pass(&n, "c", "a"), 2, 0)
	shared := new(Numbers)
	n.Share(shared)
	inside.Share(shared)
	want(pass(&inside, "d", "b"), 3, 1)
	want(pass(&n, "d", "c", "e"), 3, 2, 4)
	if n.Len() != 5 || n.Name(3) != "d" {
		t.Errorf("%d names, of which 3 is %s", n.Len(), n.Name(3))
	}
}

// TestSteadyState pins that a sample of known instances allocates nothing.
func TestSteadyState(t *testing.T) {
	file := NewFile("testdata/none")
	if _, err := file.Read(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	a, ids := wide(t, 100)
	req := &pmda.FetchRequest{PMIDs: ids, Result: new(pcp.Result)}
	sample := func() {
		req.Result.Reset()
		if err := errors.Join(a.Refresh(t.Context(), ids), a.Fetch(context.Background(), req)); err != nil {
			t.Fatal(err)
		}
	}
	sample()
	if n := testing.AllocsPerRun(100, sample); n > 0 {
		t.Errorf("%v allocations in a sample", n)
	}
}

// TestLongStrings pins that a block does not keep the long strings that its rows had.
func TestLongStrings(t *testing.T) {
	b := NewBlocks([]Metric{{Name: "a", Type: pcp.TypeString}}, Layout{Cols: 1, InDom: &InDom{}})[0]
	row := b.Add(1)
	for i := range 3 {
		for _, text := range []string{"short", strings.Repeat("x", maxKnownLength+i+1)} {
			b.SetString(row, 0, []byte(text))
			if got := string(b.String(row, 0)); got != text {
				t.Errorf("%q was set, and is %q", text, got)
			}
		}
	}
	if len(b.known) != 1 {
		t.Errorf("%d strings are remembered, want 1", len(b.known))
	}
	text := []byte(strings.Repeat("y", 2*maxKnownLength))
	b.SetString(row, 0, text)
	if n := testing.AllocsPerRun(10, func() { b.SetString(row, 0, text) }); n > 0 {
		t.Errorf("%v allocations for a string that is there", n)
	}
}

// wide returns an agent with as many rows, in each a number and a string.
func wide(t testing.TB, rows int) (*Agent, []pcp.PMID) {
	m := []Metric{{Name: "a.n", Type: pcp.TypeU64}, {Name: "a.s", Item: 1, Col: 1, Type: pcp.TypeString}}
	b := NewBlocks(m, Layout{Cols: 2, InDom: &InDom{}, Lists: true})
	names, texts := new(Names), make([][]byte, rows)
	for i := range texts {
		texts[i] = fmt.Appendf(nil, "row %d", rows-i)
	}
	a, err := New(Config{Name: "wide", Domain: domain}, Family{Metrics: m, Sources: []*Source{{Blocks: b, Read: func() error {
		b[0].Clear()
		names.Begin()
		for i, text := range texts {
			row := b[0].AddNamed(names.ID(text))
			b[0].Set(row, 0, uint64(i))
			b[0].SetString(row, 1, text)
		}
		return nil
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	return a, []pcp.PMID{id(0, 0), id(0, 1)}
}

func BenchmarkSample(b *testing.B) {
	a, ids := wide(b, 100)
	req := &pmda.FetchRequest{PMIDs: ids, Result: new(pcp.Result)}
	b.ReportAllocs()
	for b.Loop() {
		req.Result.Reset()
		if err := a.Refresh(b.Context(), ids); err != nil {
			b.Fatal(err)
		}
		if err := a.Fetch(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

// TestRows checks that a source with a row for each instance fills those that are wanted,
// once after each reading.
func TestRows(t *testing.T) {
	things := []int32{1, 2, 3}
	indom := &InDom{Serial: 1}
	listed := []Metric{{Name: "rows.number", Type: pcp.TypeU32, Sem: pcp.SemInstant}}
	list := NewBlocks(listed, Layout{Cols: 1, InDom: indom, Lists: true})
	lister := &Source{Name: "list", Blocks: list, Read: func() error {
		list[0].Clear()
		for _, inst := range things {
			list[0].Set(list[0].AddNamed(inst, fmt.Sprint("thing ", inst)), 0, uint64(inst))
		}
		return nil
	}}
	each := []Metric{
		{Name: "rows.value", Item: 1, Type: pcp.TypeU32, Sem: pcp.SemInstant},
		{Name: "rows.text", Item: 2, Type: pcp.TypeString, Sem: pcp.SemInstant, From: 1},
	}
	b := NewBlocks(each, Layout{Cols: 1, InDom: indom}, Layout{Cols: 1, InDom: indom})
	var filled []int32
	rows := &Source{Name: "rows", Blocks: b, After: []*Source{lister}}
	rows.Row = func(row int) {
		inst := b[0].Insts()[row]
		filled = append(filled, inst)
		if inst != 2 { // which has nothing
			b[0].Set(row, 0, uint64(10*inst))
			b[1].SetText(row, 0, fmt.Sprint("text ", inst))
		}
	}
	a, err := New(Config{Name: "rows", Domain: domain},
		Family{Name: "list", Metrics: listed, Sources: []*Source{lister}}, Family{Name: "rows", Metrics: each, Sources: []*Source{rows}})
	if err != nil {
		t.Fatal(err)
	}
	want := func(values string, rows ...int32) {
		t.Helper()
		if got := fetch(t, a, nil, nil, id(0, 1), id(0, 2)); got != values {
			t.Errorf("values %s, want %s", got, values)
		}
		if !slices.Equal(filled, rows) {
			t.Errorf("rows %v were filled, want %v", filled, rows)
		}
		filled = nil
	}
	refresh := func() {
		if err := a.Refresh(t.Context(), []pcp.PMID{id(0, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	refresh()
	profile := &pcp.Profile{State: pcp.ProfileExclude}
	if err := profile.Add(pcp.NewInDom(domain, 1), 3); err != nil {
		t.Fatal(err)
	}
	res := new(pcp.Result)
	if err := a.Fetch(t.Context(), &pmda.FetchRequest{PMIDs: []pcp.PMID{id(0, 1)}, Profile: profile, Result: res}); err != nil || len(res.Sets[0].Values) != 1 {
		t.Errorf("%v, %v", res.Sets, err)
	}
	want(`10 30 "text 1" "text 3"`, 3, 1, 2)
	things = []int32{2, 3, 5, 7}
	refresh()
	want(`30 50 70 "text 3" "text 5" "text 7"`, 2, 3, 5, 7)
	want(`30 50 70 "text 3" "text 5" "text 7"`)
	b[0].SetError(0, pcp.ErrPermission)
	want(pcp.ErrPermission.Error() + ` "text 3" "text 5" "text 7"`)
	refresh()
	want(`30 50 70 "text 3" "text 5" "text 7"`, 2, 3, 5, 7)
	things = nil
	refresh()
	want("")
}
