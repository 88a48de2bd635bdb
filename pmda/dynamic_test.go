package pmda_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

var (
	_ pmda.DynamicNamer = (*pmda.Table)(nil)
	_ pmda.Changer      = (*pmda.Table)(nil)
	_ pmda.Narrator     = (*pmda.Table)(nil)
)

// queues returns a table with the rows of some queues, which may change, and a
// row that stays.
type queues struct {
	*pmda.Table
	names []string // of all queues
	seen  int      // of them, those that are rows
	err   error
}

func newQueues(t testing.TB, names ...string) *queues {
	t.Helper()
	q := &queues{names: names}
	var err error
	q.Table, err = pmda.NewTable(pmda.Config{
		Name: "queues", Domain: domain, Dynamic: []string{"mail.queue"}, Update: q.update,
		Refresh: func(ctx context.Context, _ []pcp.PMID) error { return q.update(ctx) },
		Metrics: q.rows(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func (q *queues) rows() []pmda.Metric {
	number := func(n int) func(int32, int) (pcp.Value, error) {
		return func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(uint32(n)), nil }
	}
	list := []pmda.Metric{{Name: "mail.size", Type: pcp.TypeU32, Value: number(7)}}
	for i, name := range q.names {
		list = append(list, pmda.Metric{
			Name: "mail.queue." + name + ".length", Cluster: 1, Item: i, Type: pcp.TypeU32,
			OneLine: "messages in the queue " + name, Value: number(i),
		})
	}
	return list
}

func (q *queues) update(context.Context) error {
	if q.err != nil {
		return q.err
	}
	if len(q.names) == q.seen {
		return nil
	}
	q.seen = len(q.names)
	return q.SetMetrics(q.rows())
}

// TestDynamicTable has a collector learn of metrics that come and go.
func TestDynamicTable(t *testing.T) {
	q := newQueues(t)
	root := q.NameSpace()
	if id, err := root.Lookup("mail.size"); err != nil || id != pcp.NewPMID(domain, 0, 0) {
		t.Errorf("the name that stays is %v, %v", id, err)
	}
	if d, ok := root.DynamicRoot("mail.queue.x.length"); !ok || d != domain {
		t.Errorf("the root of the others is that of domain %d, %v", d, ok)
	}
	c := start(t, q)
	traverse := func(want ...string) {
		t.Helper()
		p, ok := c.ask(1, &wire.PMNSTraverse{Name: "mail"}).(*wire.PMNSNames)
		if !ok || !slices.Equal(p.Names, want) {
			t.Errorf("names are %+v, want %v", p, want)
		}
	}
	fetch := func(changed bool, want ...string) {
		t.Helper()
		list := []pcp.PMID{pcp.NewPMID(domain, 0, 0), pcp.NewPMID(domain, 1, 0), pcp.NewPMID(domain, 1, 1)}
		p, ok := c.ask(1, &wire.Fetch{PMIDs: list}).(*wire.Result)
		if !ok {
			t.Fatalf("a fetch is answered with %+v", p)
		}
		var got []string
		for _, vs := range p.Sets {
			if vs.Err != 0 {
				got = append(got, "none")
			}
			for _, v := range vs.Values {
				got = append(got, fmt.Sprint(v.As(pcp.TypeU32).Uint32()))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("values are %v, want %v", got, want)
		}
		if bit := p.Time.Sec&(1<<4) != 0; bit != changed {
			t.Errorf("the collector is told of changed names: %v, want %v", bit, changed)
		}
	}
	traverse("mail.size")
	fetch(false, "7", "none", "none")
	if p, ok := c.ask(1, &wire.PMNSChild{Name: "mail.queue", WithStatus: true}).(*wire.PMNSNames); !ok || len(p.Names) != 0 {
		t.Errorf("children of an empty subtree are %+v", p)
	}
	c.refused(1, &wire.PMNSChild{Name: "mail.other"}, pcp.ErrName)

	// Some come, and are found by name, by PMID, and by their texts.
	q.names = []string{"in", "out"}
	id := pcp.NewPMID(domain, 1, 1)
	if p, ok := c.ask(1, &wire.PMNSNames{Names: []string{"mail.queue.out.length"}}).(*wire.PMNSIDs); !ok || p.PMIDs[0] != id {
		t.Errorf("a new name is %+v", p)
	}
	if p, ok := c.ask(1, &wire.PMNSIDs{PMIDs: []pcp.PMID{id}}).(*wire.PMNSNames); !ok || p.Names[0] != "mail.queue.out.length" {
		t.Errorf("a new metric is %+v", p)
	}
	if p, ok := c.ask(1, &wire.TextReq{Ident: uint32(id), Kind: pcp.TextPMID | pcp.TextOneLine}).(*wire.Text); !ok || p.Text != "messages in the queue out" {
		t.Errorf("its text is %+v", p)
	}
	if p, ok := c.ask(1, &wire.PMNSChild{Name: "mail.queue", WithStatus: true}).(*wire.PMNSNames); !ok ||
		!slices.Equal(p.Names, []string{"in", "out"}) || !slices.Equal(p.Status, []int32{1, 1}) {
		t.Errorf("children are %+v", p)
	}
	traverse("mail.size", "mail.queue.in.length", "mail.queue.out.length")
	fetch(true, "7", "0", "1")
	fetch(false, "7", "0", "1")

	// One goes; the other becomes another metric.
	q.names = []string{"out"}
	fetch(true, "7", "0", "none")
	c.refused(1, &wire.DescReq{PMID: id}, pcp.ErrPMID)
	c.refused(1, &wire.PMNSIDs{PMIDs: []pcp.PMID{id}}, pcp.ErrPMID)
	c.refused(1, &wire.PMNSNames{Names: []string{"mail.queue.in.length"}}, pcp.ErrName)
	q.err = pcp.ErrAgain
	c.refused(1, &wire.PMNSNames{Names: []string{"mail.queue.out.length"}}, pcp.ErrAgain)
	c.refused(1, &wire.DescReq{PMID: pcp.NewPMID(domain, 0, 0)}, pcp.ErrAgain)
	c.refused(1, &wire.TextReq{Ident: uint32(id), Kind: pcp.TextPMID | pcp.TextOneLine}, pcp.ErrAgain)
	c.end("")
}

// TestDynamicWrong sets invalid rows: the old ones stay.
func TestDynamicWrong(t *testing.T) {
	q := newQueues(t, "in")
	rows := q.rows()
	for want, wrong := range map[string]pmda.Metric{
		"metric 2 mail.queue.in.length: ": {Name: "mail.queue.in.length", Cluster: 2, Type: pcp.TypeU32, Value: rows[0].Value},
		"400.1.0 is also":                 {Name: "mail.x", Cluster: 1, Type: pcp.TypeU32, Value: rows[0].Value},
		"nothing gives its value":         {Name: "mail.x", Cluster: 9, Type: pcp.TypeU32},
		"not a metric name":               {Name: "mail..x", Cluster: 9, Type: pcp.TypeU32, Value: rows[0].Value},
	} {
		err := q.SetMetrics(append(slices.Clone(rows), wrong))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "agent queues: ") {
			t.Errorf("rows that cannot be: %v, want %q", err, want)
		}
	}
	if names, _ := q.Changes(); names {
		t.Error("rows that were refused changed the names")
	}
	if err := q.SetMetrics(q.rows()); err != nil {
		t.Error(err)
	}
	if names, _ := q.Changes(); names {
		t.Error("the same rows again changed the names")
	}
	if _, err := pmda.NewTable(pmda.Config{Domain: 1, Dynamic: []string{"a b"}}); err == nil {
		t.Error("a root that is no name is taken")
	}
}

// TestDynamicRace changes rows while they are used: for the race detector.
func TestDynamicRace(t *testing.T) {
	q := newQueues(t, "in", "out")
	q.seen = 2
	var g sync.WaitGroup
	g.Go(func() {
		for range 100 {
			if err := q.SetMetrics(q.rows()); err != nil {
				t.Error(err)
			}
			q.Doing()
		}
	})
	req := pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids([2]int{0, 0}, [2]int{1, 1}), Result: new(pcp.Result)}
	for range 100 {
		req.Result.Reset()
		if err := q.Fetch(t.Context(), &req); err != nil || len(req.Result.Sets) != 2 || len(req.Result.Sets[1].Values) != 1 {
			t.Fatalf("%+v, %v", req.Result, err)
		}
		if names, err := q.Names(t.Context(), req.PMIDs[1]); err != nil || len(names) != 1 {
			t.Fatalf("%v, %v", names, err)
		}
	}
	g.Wait()
}

// manyRows are rows with the names of n metrics, four levels deep.
func manyRows(n int) []pmda.Metric {
	rows := make([]pmda.Metric, n)
	value := func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(1), nil }
	for i := range rows {
		rows[i] = pmda.Metric{Name: manyName(i), Cluster: i >> 10, Item: i & 1023, Type: pcp.TypeU32, Value: value, OneLine: "one of many"}
	}
	return rows
}

func manyName(i int) string { return fmt.Sprintf("many.group%d.sub%d.leaf%d", i%100, i/100%10, i) }

// TestDynamicMany looks 10,000 names up both ways, before and after a third of
// them is removed.
func TestDynamicMany(t *testing.T) {
	const n = 10000
	rows := manyRows(n)
	table, err := pmda.NewTable(pmda.Config{Name: "many", Domain: domain, Metrics: rows, Dynamic: []string{"many"}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(gone func(i int) bool) {
		t.Helper()
		left := 0
		for i := range n {
			id := pcp.NewPMID(domain, i>>10, i&1023)
			got, err := table.LookupName(t.Context(), manyName(i))
			names, err2 := table.Names(t.Context(), id)
			_, err3 := table.Desc(t.Context(), id)
			text, err4 := table.Text(t.Context(), uint32(id), pcp.TextPMID|pcp.TextOneLine)
			if gone(i) {
				if !errors.Is(err, pcp.ErrName) || !errors.Is(err2, pcp.ErrPMID) || !errors.Is(err3, pcp.ErrPMID) || !errors.Is(err4, pcp.ErrText) {
					t.Fatalf("%d is gone: %v, %v, %v, %v", i, err, err2, err3, err4)
				}
				continue
			}
			left++
			if err != nil || got != id || err2 != nil || !slices.Equal(names, []string{manyName(i)}) || err3 != nil || text != "one of many" {
				t.Fatalf("%d is %v (%v), %v (%v), %v, %q", i, got, err, names, err2, err3, text)
			}
		}
		leaves, err := table.Children(t.Context(), "", true)
		if err != nil || len(leaves) != left {
			t.Errorf("there are %d names, want %d: %v", len(leaves), left, err)
		}
	}
	check(func(int) bool { return false })
	var some []pmda.Metric
	for i, r := range rows {
		if i%3 != 0 {
			some = append(some, r)
		}
	}
	if err := table.SetMetrics(some); err != nil {
		t.Fatal(err)
	}
	check(func(i int) bool { return i%3 == 0 })
}

// TestTableNames has a table answer for names without any settings.
func TestTableNames(t *testing.T) {
	f := newFixture(t)
	got, err := f.Children(t.Context(), "fix", false)
	if err != nil || !slices.Contains(got, pmns.Child{Name: "limit", Leaf: true}) || !slices.Contains(got, pmns.Child{Name: "disk"}) {
		t.Errorf("children are %v, %v", got, err)
	}
}

// BenchmarkManyNames has 10,000 dynamic names.
func BenchmarkManyNames(b *testing.B) {
	const n = 10000
	rows := manyRows(n)
	table, err := pmda.NewTable(pmda.Config{Name: "many", Domain: domain, Metrics: rows, Dynamic: []string{"many"}})
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	next := func() int { i = (i + 7919) % n; return i }
	names := make([]string, n)
	for i := range names {
		names[i] = manyName(i)
	}
	b.Run("LookupName", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := table.LookupName(b.Context(), names[next()]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Names", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := table.Names(b.Context(), pcp.NewPMID(domain, next()>>10, i&1023)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Desc", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := table.Desc(b.Context(), pcp.NewPMID(domain, next()>>10, i&1023)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("SetMetrics", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := table.SetMetrics(rows); err != nil {
				b.Fatal(err)
			}
		}
	})
}
