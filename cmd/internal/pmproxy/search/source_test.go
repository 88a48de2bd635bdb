package search

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
)

// local returns a context for an agent of two metrics, one of which has
// instances.
func local(t *testing.T) *pmapi.Context {
	t.Helper()
	in := &pmda.InDom{
		Serial: 1, OneLine: "some parts", Help: "parts of something",
		Instances: []pcp.Instance{{Inst: 0, Name: "left"}, {Inst: 1, Name: "right side"}},
	}
	zero := func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(0), nil }
	a, err := pmda.NewTable(pmda.Config{Name: "helpful", Domain: 400, Metrics: []pmda.Metric{
		{Name: "helpful.whole", Item: 0, Type: pcp.TypeU32, Sem: pcp.SemInstant, OneLine: "all of it", Value: zero},
		{Name: "helpful.part", Item: 1, Type: pcp.TypeU32, Sem: pcp.SemCounter, InDom: in, OneLine: "a part of it", Help: "It has a text.", Value: zero},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "helpful", Domain: 400, Agent: a})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestCollector reads the documents of an agent.
func TestCollector(t *testing.T) {
	dials := 0
	s := &Collector{Spec: "somewhere", Dial: func(context.Context, string) (*pmapi.Context, error) {
		dials++
		return local(t), nil
	}}
	if changed, err := s.Changed(t.Context()); !changed || err != nil {
		t.Errorf("before the first time: %v, %v", changed, err)
	}
	want := []Document{
		{Metric, "helpful.whole", "none", "all of it", "all of it"}, // a missing line is replaced by the text,
		{Metric, "helpful.part", "400.1", "a part of it", "It has a text."},
		{InDom, "400.1", "400.1", "some parts", "parts of something"},
		{Instance, "left", "400.1", "", ""},
		{Instance, "right side", "400.1", "", ""},
	}
	find := func(docs []Document) {
		t.Helper()
		var got []Document
		for _, d := range docs {
			if strings.HasPrefix(d.Name, "helpful.") || d.InDom == "400.1" {
				got = append(got, d)
			}
		}
		byName := func(a, b Document) int { return strings.Compare(a.Name, b.Name) }
		slices.SortFunc(got, byName)
		sorted := slices.Clone(want)
		slices.SortFunc(sorted, byName)
		if !slices.Equal(got, sorted) {
			t.Errorf("%+v, want %+v", got, sorted)
		}
	}
	for range 2 {
		docs, err := s.Documents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		find(docs)
	}
	if changed, err := s.Changed(t.Context()); changed || err != nil {
		t.Errorf("nothing has changed: %v, %v", changed, err)
	}
	if dials != 1 {
		t.Errorf("%d connections", dials)
	}
	s.Close()
	want = slices.DeleteFunc(want, func(d Document) bool { return d.Type == Instance })
	s.Exclude = []pcp.InDom{pcp.NewInDom(400, 1)}
	docs, err := s.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	find(docs)
	s.Close()
	gone := &Collector{Spec: "x", Dial: func(context.Context, string) (*pmapi.Context, error) { return nil, pcp.ErrNotConn }}
	if _, err := gone.Documents(t.Context()); !errors.Is(err, pcp.ErrNotConn) {
		t.Errorf("%v", err)
	}
	if _, err := Archive("/there/is/none").Documents(t.Context()); err == nil {
		t.Error("an archive that does not exist has documents")
	}
}

// TestQA runs the queries of PCP's own tests (1871 and 1872) on the same
// archive, and expects the results of RediSearch.
func TestQA(t *testing.T) {
	oracle.Require(t)
	const archive = "/var/lib/pcp/testsuite/archives/sample-labels"
	if _, err := os.Stat(archive + ".meta"); err != nil {
		oracle.Missing(t, err.Error())
	}
	x := NewIndex(Limits{})
	docs, err := Archive(archive).Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x.Replace("it", docs)
	for _, c := range []struct {
		r    Request
		want string
	}{
		{Request{Query: "99"}, "29.3"},
		{Request{Query: "random"}, "29.3 sample.mirage"},
		{Request{Query: "interesting"}, "sample.mirage"},
		{Request{Query: "result"}, "sample.rapid"},
		{Request{Query: "bazinga"}, ""},
		// RediSearch does not end a word at the end of a line, and misses sample.mirage.
		{Request{Query: "domain"}, "29.1 29.3 sample.mirage"},
		{Request{Query: "sample"}, "sample.mirage sample.colour sample.rapid 29.1 29.3"},
		{Request{Query: "counter"}, "sample.colour sample.mirage sample.rapid"},
		{Request{Query: "99", Fields: FieldName}, ""},
		{Request{Query: "99", Fields: FieldHelp}, "29.3"},
		{Request{Query: "random", Types: []Type{Metric}}, "sample.mirage"},
		{Request{Query: "random", Types: []Type{InDom}}, "29.3"},
		{Request{Query: "random", Types: []Type{Instance}}, ""},
	} {
		if got := names(t, x, c.r); !sameSet(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.r, got, c.want)
		}
	}
	for q, want := range map[string]string{
		"sam": "sample.mirage sample.rapid sample.colour", "sample.r": "sample.mirage sample.rapid sample.colour", "blue": "blue", "xxx": "",
	} {
		res, err := x.Suggest(t.Context(), Request{Query: q})
		if err != nil || !sameSet(list(res), want) {
			t.Errorf("%q suggests %q, want %q", q, list(res), want)
		}
	}
	res, err := x.InDomains(Request{Query: "29.3"})
	if err != nil || list(res) != "29.3 m-00 m-01 m-04 sample.mirage" {
		t.Errorf("%q, %v", list(res), err)
	}
}

// TestFeed feeds an index from an agent in this process, whose source fails at
// first and has something new later.
func TestFeed(t *testing.T) {
	fails := errors.New("not yet")
	s := &scripted{fail: fails}
	x := NewIndex(Limits{})
	reports := make(chan error, 100)
	fed := make(chan int, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Feed(ctx, x, FeedConfig{
			Poll: time.Millisecond, Refresh: time.Hour,
			Report: func(_ string, err error) { reports <- err },
			Fed:    func(_ string, n int) { fed <- n },
		}, s)
	}()
	if err := <-reports; !errors.Is(err, fails) {
		t.Errorf("%v", err)
	}
	if n := <-fed; n != 1 {
		t.Errorf("%d documents", n)
	}
	s.changed.Store(true)
	if n := <-fed; n != 2 {
		t.Errorf("%d documents after a change", n)
	}
	cancel()
	<-done
	if got := names(t, x, Request{Query: "a"}); got != "" { // a is a common word
		t.Errorf("%q", got)
	}
	if got := names(t, x, Request{Query: "metric"}); got != "metric.n1 metric.n2" {
		t.Errorf("%q", got)
	}
	last := error(fails)
	for len(reports) > 0 {
		last = <-reports
	}
	if last != nil || !s.closed {
		t.Errorf("last report %v, closed: %v", last, s.closed)
	}
}

// A scripted is a source that fails once.
type scripted struct {
	fail    error
	n       int
	changed atomic.Bool
	closed  bool
}

func (s *scripted) Name() string { return "scripted" }
func (s *scripted) Close() error { s.closed = true; return nil }

func (s *scripted) Documents(context.Context) ([]Document, error) {
	if err := s.fail; err != nil {
		s.fail = nil
		return nil, err
	}
	s.n++
	return []Document{{Metric, "metric.n1", "none", "", ""}, {Metric, "metric.n2", "none", "", ""}}[:s.n], nil
}

func (s *scripted) Changed(context.Context) (bool, error) { return s.changed.Swap(false), nil }
