package webapi

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
)

// TestStreamLargest sends the two largest of nine instances, their names only, and the sum of the others.
func TestStreamLargest(t *testing.T) {
	c := startCollector(t)
	srv := streamServer(t, serve(t, Config{Host: c.spec()}), trusted)
	s := subscribe(t, srv, "interval=0.25&names=sample.long.one&largest=sample.bin,sample.colour,sample.string.hullo&top=2&rare=sample.bin")
	if e, end := s.next(); end != "" || string(e.Values["sample.bin"]) == "[800,800,900,900]" {
		t.Errorf("a rare metric is not whole: %s; %s", e.Values["sample.bin"], end)
	}
	s = subscribe(t, srv, "interval=0.25&names=sample.long.one&largest=sample.bin,sample.string.hullo&top=2")
	e, end := s.next()
	if got := string(e.Values["sample.bin"]); end != "" || got != "[800,800,900,900]" || string(e.Values["sample.long.one"]) != "1" || string(e.Values["sample.string.hullo"]) != `"hullo world!"` {
		t.Fatalf("%s in %v; %s", got, e, end)
	}
	if e.Others["sample.bin"] != [2]float64{7, 2800} {
		t.Errorf("the others are %v", e.Others)
	}
	if got := e.Instances["29.2"]; len(got) != 3 || got["800"] != "bin-800" || got["900"] != "bin-900" {
		t.Errorf("the instances are %v", e.Instances)
	}
	if e, end := s.next(); end != "" || len(e.Instances) > 0 || len(e.Values) != 3 {
		t.Errorf("the second sample has %v; %s", e, end)
	}
}

// TestFetchTop fetches the two largest of nine instances, and the number of the others.
func TestFetchTop(t *testing.T) {
	c := startCollector(t)
	h := serve(t, Config{Host: c.spec()})
	f := func(query string, status int, want string) {
		t.Helper()
		if w := do(h, trusted, "GET", "/pmapi/fetch?"+query, ""); w.Code != status || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %d with %s", query, w.Code, w.Body, status, want)
		}
	}
	const two = `"instances":[{"instance":800,"value":800},{"instance":900,"value":900}],"others":7}`
	f("names=sample.bin,sample.long.one&top=2", 200, two)
	f("names=sample.bin,sample.long.one&top=2", 200, `"instances":[{"instance":null,"value":1}]}`)
	f("names=sample.bin&top=9", 200, `{"instance":900,"value":900}]}]}`)
	f("names=sample.bin", 200, `{"instance":100,"value":100}`)
	f("name=sample.bin&top=2", 200, two)
	f("names=sample.bin&top=0", 400, "top: want a number from 1 to 1000")
	f("names=sample.bin&top=1001", 400, "top: want a number from 1 to 1000")
}

// TestStreamInstance sends one instance of each domain.
func TestStreamInstance(t *testing.T) {
	c := startCollector(t)
	srv := streamServer(t, serve(t, Config{Host: c.spec()}), trusted)
	one := subscribe(t, srv, "interval=0.25&names=sample.bin,sample.long.one&instance=300")
	all := subscribe(t, srv, "interval=0.25&names=sample.bin")
	for range 3 {
		e, end := one.next()
		if got := string(e.Values["sample.bin"]); end != "" || got != "[300,300]" || string(e.Values["sample.long.one"]) != "1" || len(e.Instances) > 0 {
			t.Fatalf("%s in %v; %s", got, e, end)
		}
		if e, end = all.next(); end != "" || len(e.Values["sample.bin"]) < 50 {
			t.Fatalf("all are %s; %s", e.Values["sample.bin"], end)
		}
	}
}

// TestRanking chooses the instances of a counter by their rates.
func TestRanking(t *testing.T) {
	m := &metric{desc: pcp.Desc{Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: 1}}
	r := &ranking{top: 2, keep: 10 * time.Second, metrics: map[string]*ranked{}}
	at := pcp.Timestamp{Sec: 1000}
	totals := []uint64{1 << 62, 1 << 61, 5, 4, 3, 2, 1, 0}
	next := func(by ...uint64) *choice {
		var vs pcp.ValueSet
		for i, n := range by {
			totals[i] += n
			vs.Values = append(vs.Values, pcp.Uint64Value(totals[i]).WithInst(int32(i)))
		}
		at.Sec += 2
		got, _ := r.rank([]string{"x"}, func(string) (*metric, *pcp.ValueSet) { return m, &vs }, at)
		return got["x"]
	}
	want := func(what string, c *choice, insts []int32, rest int, sum float64, before string) {
		t.Helper()
		if !slices.Equal(c.insts, insts) || c.rest != rest || math.Abs(c.sum-sum) > 1e-9 || string(c.before) != before {
			t.Errorf("%s: %v, %d others of %v, before them %s; want %v, %d of %v, %s", what, c.insts, c.rest, c.sum, c.before, insts, rest, sum, before)
		}
	}
	want("without rates", next(0, 0, 0, 0, 0, 0, 0, 0), nil, 0, 0, "")
	want("the largest totals grow least", next(2, 2, 20, 40, 8, 8, 8, 8), []int32{2, 3}, 6, 18, "[2,5,3,4]")
	want("another one grows, and those before stay", next(2, 2, 2, 4, 2, 2, 2, 90), []int32{2, 3, 7}, 5, 5, "[7,8]")
	for range 6 {
		next(0, 0, 0, 0, 0, 8, 8, 0)
	}
	want("after a while they do not", next(0, 0, 0, 0, 2, 8, 8, 0), []int32{5, 6}, 6, 1, "")
	totals[5] = 0
	want("one was reset", next(0, 0, 0, 0, 2, 0, 8, 2), []int32{4, 5, 6}, 5, 1, fmt.Sprintf("[4,%d]", totals[4]-2))
	want("few", next(1, 1), []int32{0, 1}, 0, 0, fmt.Sprintf("[0,%d,1,%d]", totals[0]-1, totals[1]-1))
	if len(r.metrics["x"].chosen) > topReserve*r.top {
		t.Errorf("%d are chosen", len(r.metrics["x"].chosen))
	}
}

// TestRankingTogether sends the largest instances of one metric with the values of another one of the same domain.
func TestRankingTogether(t *testing.T) {
	m := &metric{desc: pcp.Desc{Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: 1}}
	other := &metric{desc: pcp.Desc{Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: 2}}
	r := &ranking{top: 1, metrics: map[string]*ranked{}}
	set := func(values ...uint32) *pcp.ValueSet {
		var vs pcp.ValueSet
		for i, v := range values {
			vs.Values = append(vs.Values, pcp.Uint32Value(v).WithInst(int32(i)))
		}
		return &vs
	}
	a, b, c := set(1, 2, 3, 4), set(9, 8, 7, 6), set(5, 6, 7)
	got, _ := r.rank([]string{"a", "b", "c"}, func(name string) (*metric, *pcp.ValueSet) {
		switch name {
		case "a":
			return m, a
		case "b":
			return m, b
		}
		return other, c
	}, pcp.Timestamp{Sec: 1000})
	for name, want := range map[string]string{"a": "[0,1,3,4] 2 5", "b": "[0,9,3,6] 2 15", "c": "[2,7] 2 11"} {
		if s := fmt.Sprint(string(got[name].values), got[name].rest, " ", got[name].sum); strings.Join(strings.Fields(s), "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s: %s, want %s", name, s, want)
		}
	}
}
