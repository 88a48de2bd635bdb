package prom

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// params are the parameters of a query.
func (q query) params() (path string, v url.Values) {
	v = url.Values{"query": {q.expr}}
	if q.step == 0 {
		v.Set("time", fmt.Sprint(q.start))
		return "query", v
	}
	v.Set("start", fmt.Sprint(q.start))
	v.Set("end", fmt.Sprint(q.end))
	v.Set("step", fmt.Sprint(q.step))
	return "query_range", v
}

// A result has the points of each series: times and values.
type result map[string][]point

type point struct {
	t, v float64
}

// evaluate returns the result of a query, or the kind of error.
func evaluate(t *testing.T, server string, q query) (result, string) {
	t.Helper()
	path, params := q.params()
	r := ask(t, server, path, params)
	if r.Status != "success" {
		return nil, r.ErrorType + ": " + r.Error
	}
	var data struct {
		Result []struct {
			Metric map[string]string
			Value  json.RawMessage
			Values []json.RawMessage
		}
	}
	if err := json.Unmarshal(r.Data, &data); err != nil {
		t.Fatalf("%s: %v\n%.300s", q.expr, err, r.Data)
	}
	res := make(result)
	for _, s := range data.Result {
		var words []string
		for _, name := range slices.Sorted(maps.Keys(s.Metric)) {
			words = append(words, name+"="+strconv.Quote(s.Metric[name]))
		}
		key := "{" + strings.Join(words, ",") + "}"
		if res[key] != nil {
			t.Errorf("%s: %s has %s twice", q.expr, server, key)
		}
		if s.Value != nil {
			s.Values = append(s.Values, s.Value)
		}
		for _, raw := range s.Values {
			var pair [2]any
			if err := json.Unmarshal(raw, &pair); err != nil {
				t.Fatal(err)
			}
			v, err := strconv.ParseFloat(pair[1].(string), 64)
			if err != nil {
				t.Fatal(err)
			}
			res[key] = append(res[key], point{pair[0].(float64), v})
		}
	}
	return res, ""
}

// rounding is the relative difference that two ways of adding floating-point numbers may make: version 3 of the engine compensates for
// rounding errors in sums, version 2 does not.
const rounding = 1e-12

// equal reports whether two numbers are the same, and whether they are within rounding.
func equal(a, b float64) (same, near bool) {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return true, true
	}
	return false, math.Abs(a-b) <= rounding*math.Max(math.Abs(a), math.Abs(b))
}

// difference describes how results differ, "" if they do not. rounded is the number of points that differ by rounding.
func difference(want, got result) (text string, points, rounded int) {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		w, g := want[key], got[key]
		if len(w) != len(g) {
			return fmt.Sprintf("%s: %d points, want %d\n%.300v\n%.300v", key, len(g), len(w), g, w), points, rounded
		}
		for i := range w {
			same, near := equal(w[i].v, g[i].v)
			if w[i].t != g[i].t || !near {
				return fmt.Sprintf("%s: %v at %v, want %v at %v", key, g[i].v, g[i].t, w[i].v, w[i].t), points, rounded
			}
			points++
			if !same {
				rounded++
			}
		}
	}
	for key := range got {
		if want[key] == nil {
			return "Prometheus does not have " + key, points, rounded
		}
	}
	return "", points, rounded
}

// TestRemoteRead has a Prometheus without data read our archives, and compares it with a Prometheus that stores them: the same engine must have the same results, bit
// by bit.
func TestRemoteRead(t *testing.T) {
	stored := startPrometheus(t, "global: {}\n")
	w := newWorld(t)
	w.pushTo(t, stored)
	reading := startPrometheus(t, fmt.Sprintf("remote_read: [{url: %q, read_recent: true}]\n", w.ours+"/api/v1/read"))
	random := &writer{r: rand.New(rand.NewPCG(longtest.Seed(t), 1))}
	points, bad := 0, 0
	n := longtest.N(100, 2000)
	for range n {
		q := random.query()
		want, wantErr := evaluate(t, stored, q)
		got, gotErr := evaluate(t, reading, q)
		d, p, rounded := difference(want, got)
		points += p
		if wantErr != gotErr || d != "" || rounded > 0 {
			if bad++; bad > 10 {
				t.Fatal("too many differences")
			}
			t.Errorf("%+v: %q, want %q; %d values rounded\n%s", q, gotErr, wantErr, rounded, d)
		}
	}
	t.Logf("%d expressions, %d points", n, points)
	if points < 20*n {
		t.Errorf("the expressions are poor")
	}
}

// TestSameQueries pushes archives into Debian's Prometheus, and has it and us evaluate the same random expressions. The samples are the same, and so
// must be the results.
func TestSameQueries(t *testing.T) {
	theirs := startPrometheus(t, "global: {}\n")
	w := newWorld(t)
	w.pushTo(t, theirs)
	random := &writer{r: rand.New(rand.NewPCG(longtest.Seed(t), 0))}
	var points, rounded, errors, empty, bad int
	n := longtest.N(300, 5000)
	for range n {
		q := random.query()
		want, wantErr := evaluate(t, theirs, q)
		got, gotErr := evaluate(t, w.ours, q)
		kind, _, _ := strings.Cut(wantErr, ":")
		if wantErr != "" {
			errors++
			if !strings.HasPrefix(gotErr, kind+": ") {
				t.Errorf("%+v:\n%s, want %s (%d series)", q, gotErr, wantErr, len(got))
			}
			continue
		}
		if gotErr != "" {
			t.Errorf("%+v: %s", q, gotErr)
			continue
		}
		if len(want) == 0 {
			empty++
		}
		d, p, r := difference(want, got)
		points, rounded = points+p, rounded+r
		if d != "" {
			if bad++; bad > 10 {
				t.Fatal("too many differences")
			}
			t.Errorf("%+v:\n%s", q, d)
		}
	}
	t.Logf("%d expressions: %d errors in both, %d empty; %d points, %d of these differ by rounding", n, errors, empty, points, rounded)
	if errors > n/5 || empty > n/2 || points < 20*n {
		t.Errorf("the expressions are poor")
	}

	// Labels and series.
	for _, c := range []struct {
		path string
		v    url.Values
	}{
		{"labels", url.Values{"match[]": {`{__name__=~"gen_.*"}`}}},
		{"labels", url.Values{"match[]": {"gen_temp", `gen_reads{instname="sda"}`}}},
		{"label/instname/values", nil},
		{"label/kind/values", url.Values{"match[]": {`gen_level{hostname="www1"}`}}},
		{"label/__name__/values", url.Values{"match[]": {`{zone="eu", __name__!="pcp_sent"}`}}},
		{"label/hostname/values", url.Values{"match[]": {"gen_odd", "gen_none"}}},
		{"series", url.Values{"match[]": {`{__name__=~"gen_.*"}`}}},
		{"series", url.Values{"match[]": {`gen_reads{kind="ssd"}`, `gen_latency_bucket{le!="1"}`}}},
	} {
		v := url.Values{"start": {fmt.Sprint(start.Unix())}, "end": {fmt.Sprint(start.Unix() + 3600)}}
		maps.Copy(v, c.v)
		list := func(server string) (list []any) {
			r := ask(t, server, c.path, v)
			if err := json.Unmarshal(r.Data, &list); err != nil {
				t.Fatalf("%s: %v %+v", server, err, r)
			}
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			return list
		}
		want, got := list(theirs), list(w.ours)
		if d := cmp.Diff(want, got); d != "" || len(want) == 0 {
			t.Errorf("%s %v: Prometheus -, ours +:\n%s", c.path, c.v, d)
		}
	}
}
