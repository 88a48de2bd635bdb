package keys_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys/keystest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/seriesapi"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

func open(t *testing.T, servers ...string) *keys.Store {
	t.Helper()
	s, err := keys.Open(t.Context(), keys.Config{Servers: servers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// suiteArchives returns paths of archives of PCP's test suite, which must be installed.
func suiteArchives(t *testing.T, names ...string) []string {
	t.Helper()
	var list []string
	for _, n := range names {
		path := filepath.Join(suite, n)
		if found, _ := filepath.Glob(path + ".meta*"); len(found) == 0 {
			oracle.Missing(t, "no archive "+path)
		}
		list = append(list, path)
	}
	return list
}

// TestRealReads has the real pmseries read keys that ours wrote, and those that it wrote itself.
func TestRealReads(t *testing.T) {
	oracle.Require(t)
	theirs, ours := keystest.Start(t), keystest.Start(t)
	conf := config(t)
	store := open(t, ours.Address)
	for _, path := range suiteArchives(t, "bozo-disk", "sample-labels") {
		if out := theirs.LoadC(t, conf, path); !strings.Contains(out, "processed ") {
			t.Fatal(out)
		}
		if _, err := store.Load(t.Context(), path, keys.LoadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ids, err := store.Select(t.Context(), series.Matcher{Field: series.MetricName, Value: "disk.dev.read"})
	if err != nil || len(ids) == 0 {
		t.Fatal(ids, err)
	}
	for _, args := range [][]string{
		{"disk.all.*"},
		{"-t", "disk.dev.read[samples:3]"},
		{"-t", "rate(disk.all.read[samples:3])"},
		{`{hostname ~~ "*"}`},
		{"-a", ids[0].String()},
		{"-d", ids[0].String()},
		{"-l"},
		{"-i"},
		{"-m"},
		{"-S"},
		{"-v", "hostname"},
	} {
		run := func(s *keystest.Server) []string {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, oracle.Path("pmseries"), append([]string{"-c", conf, "-p", s.Port}, args...)...).CombinedOutput()
			if err != nil {
				t.Errorf("%q: %v\n%s", args, err, out)
			}
			lines := strings.Split(string(out), "\n")
			if len(args) == 1 { // in the order of hash tables
				slices.Sort(lines)
			}
			return lines
		}
		want, got := run(theirs), run(ours)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: over its own keys -, over ours +:\n%s", args, d)
		}
		if len(want) < 2 {
			t.Errorf("%q prints nothing", args)
		}
	}
}

// A tester compares answers to requests over the keys with those over the archives.
type tester struct {
	*testing.T
	keys, archives   series.Store
	overKeys, overAr *seriesapi.Handler
}

// ask makes a request of a handler and decodes the answer.
func (t *tester) ask(h *seriesapi.Handler, command string, params url.Values) any {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/series/"+command+"?"+params.Encode(), nil)
	h.ServeHTTP(w, r)
	var v any
	d := json.NewDecoder(w.Body)
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s %v: %v", command, params, err)
	}
	return v
}

// same compares two answers. Numbers with a fraction have seven digits in the keys.
func (t *tester) same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		m, ok := b.(map[string]any)
		if !ok || len(a) != len(m) {
			return false
		}
		for k := range a {
			if !t.same(a[k], m[k]) {
				return false
			}
		}
		return true
	case []any:
		l, ok := b.([]any)
		return ok && slices.EqualFunc(a, l, t.same)
	case string:
		s, ok := b.(string)
		if !ok || a == s {
			return ok
		}
		x, err1 := strconv.ParseFloat(a, 64)
		y, err2 := strconv.ParseFloat(s, 64)
		return err1 == nil && err2 == nil && (math.Abs(x-y) <= 1e-5*math.Max(math.Abs(x), math.Abs(y)) || math.Abs(x-y) < 1e-9)
	}
	return a == b
}

// without removes the series and names that have no values from an answer of the archives: the keys do not know them.
func (t *tester) without(a any, unknown map[string]bool) any {
	list, ok := a.([]any)
	if !ok {
		return a
	}
	return slices.DeleteFunc(slices.Clone(list), func(e any) bool {
		if s, ok := e.(string); ok {
			return unknown[s]
		}
		m, ok := e.(map[string]any)
		if !ok {
			return false
		}
		s, _ := m["series"].(string)
		return unknown[s]
	})
}

// TestLikeArchives compares the answers to 500 requests, made at random, with those of the store of archives. If there is a real pmseries,
// it has loaded the archives.
func TestLikeArchives(t *testing.T) {
	ctx := t.Context()
	server := keystest.Start(t)
	paths := suiteArchives(t, "bozo-disk", "sample-labels", "pcp-mpstat")
	store := open(t, server.Address)
	_, err := exec.LookPath(oracle.Path("pmseries"))
	for _, path := range paths {
		if err == nil {
			server.LoadC(t, config(t), path)
		} else if _, err := store.Load(ctx, path, keys.LoadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ar, err := archives.Open(ctx, archives.Config{Dirs: paths, Interval: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer ar.Close()
	tt := &tester{T: t, keys: store, archives: ar}
	for _, s := range []struct {
		store series.Store
		to    **seriesapi.Handler
	}{{store, &tt.overKeys}, {ar, &tt.overAr}} {
		h, err := seriesapi.New(seriesapi.Config{Store: s.store, Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		*s.to = h
	}
	all := func(s series.Store) []sid.ID {
		ids, err := s.Select(ctx, series.Matcher{Field: series.MetricName, Match: func(string) bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	inKeys := all(store)
	known := map[sid.ID]bool{}
	for _, id := range inKeys {
		known[id] = true
	}
	unknown := map[string]bool{} // to the keys
	names := map[string]bool{}
	for _, id := range all(ar) {
		m, err := ar.Metric(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if known[id] {
			names[m.Name] = true
			continue
		}
		for sample, err := range ar.Values(ctx, []sid.ID{id}, series.Window{}) {
			if err != nil {
				t.Fatal(err)
			}
			if len(sample.Values) > 0 {
				t.Fatalf("%s %v has values, but it is not in the keys", m.Name, id)
			}
		}
		unknown[id.String()] = true
	}
	for _, id := range all(ar) {
		if m, err := ar.Metric(ctx, id); err == nil && !names[m.Name] {
			unknown[m.Name] = true
		}
	}
	t.Logf("%d series, and %d in the archives that have no values", len(inKeys), len(unknown))

	// Metrics whose instances come and go are left out: their last values are repeated in the keys.
	var stable []series.Metric
	for _, id := range inKeys {
		m, err := store.Metric(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		insts, err := store.Instances(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		had, err := ar.Instances(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		ok := len(had) == len(insts)
		for sample, err := range ar.Values(ctx, []sid.ID{id}, series.Window{}) {
			ok = ok && err == nil && (m.Desc.InDom == pcp.InDomNull || len(sample.Values) == len(insts))
		}
		if ok && m.Desc.Type <= pcp.TypeString {
			stable = append(stable, m)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	metric := func() series.Metric { return stable[rnd.IntN(len(stable))] }
	windows := []string{"", "[samples:1]", "[samples:3]", "[start:1]", "[interval:10]", "[samples:2,start:1]", "[finish:1489620700]"}
	functions := []string{"rate", "max", "min_sample", "sum", "avg_inst", "abs", "floor"}
	hosts, err := ar.Strings(ctx, series.LabelValue, "hostname")
	if err != nil {
		t.Fatal(err)
	}
	request := func() (string, url.Values) {
		m := metric()
		short := m.Name[:strings.LastIndexByte(m.Name, '.')+1]
		switch rnd.IntN(9) {
		case 0:
			return "query", url.Values{"expr": {m.Name + windows[rnd.IntN(len(windows))]}}
		case 1:
			return "query", url.Values{"expr": {m.Name + "{hostname == " + hosts[rnd.IntN(len(hosts))] + "}" + windows[rnd.IntN(len(windows))]}}
		case 2:
			return "query", url.Values{"expr": {short + "*" + windows[rnd.IntN(2)]}}
		case 3:
			return "query", url.Values{"expr": {functions[rnd.IntN(len(functions))] + "(" + m.Name + windows[1+rnd.IntN(len(windows)-1)] + ")"}}
		case 4:
			return "values", url.Values{"series": {m.ID.String() + "," + metric().ID.String()}, "samples": {"3"}}
		case 5:
			return "descs", url.Values{"series": {m.ID.String()}}
		case 6:
			if rnd.IntN(2) == 0 {
				return "metrics", url.Values{"match": {short + "*"}}
			}
			return "metrics", url.Values{"series": {m.ID.String()}}
		case 7:
			return "instances", url.Values{"series": {m.ID.String()}}
		default:
			// The keys have no labels that came after the values.
			if rnd.IntN(2) == 0 {
				return "labels", url.Values{"names": {"hostname"}}
			}
			return "sources", url.Values{"match": {"*"}}
		}
	}
	differ := 0
	for n := range 500 {
		command, params := request()
		want, got := tt.without(tt.ask(tt.overAr, command, params), unknown), tt.ask(tt.overKeys, command, params)
		if !tt.same(want, got) {
			if differ++; differ < 6 {
				t.Errorf("request %d, %s %v:\n%s", n, command, params, cmp.Diff(want, got))
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of 500 answers differ", differ)
	}
}

// TestErrors returns the errors of the interface.
func TestErrors(t *testing.T) {
	server := keystest.Start(t)
	ctx := t.Context()
	store := open(t, server.Address)
	unknown := sid.String("unknown")
	if _, err := store.Metric(ctx, unknown); err != series.ErrUnknown {
		t.Errorf("Metric: %v", err)
	}
	if _, err := store.Instance(ctx, unknown); err != series.ErrUnknown {
		t.Errorf("Instance: %v", err)
	}
	if _, err := store.Instances(ctx, unknown); err != series.ErrUnknown {
		t.Errorf("Instances: %v", err)
	}
	if _, err := store.Labels(ctx, unknown); err != series.ErrUnknown {
		t.Errorf("Labels: %v", err)
	}
	if _, err := store.Expr(ctx, unknown); err != series.ErrUnknown {
		t.Errorf("Expr: %v", err)
	}
	for range store.Values(ctx, []sid.ID{unknown}, series.Window{}) {
		t.Error("an unknown series has a value")
	}
	e := series.Expr{Query: "rate(a)", Desc: pcp.Desc{PMID: pcp.NewPMID(511, 0, 0), InDom: pcp.InDomNull, Type: pcp.TypeDouble, Sem: pcp.SemInstant}}
	if err := store.PutExpr(ctx, unknown, e); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Expr(ctx, unknown); err != nil || got != e {
		t.Errorf("Expr: %v, %v, want %v", got, err, e)
	}
	if got, err := server.Do(t, "HGET", "pcp:desc:series:"+unknown.String(), "pmid").ToString(); err != nil || got != "511.0.0" {
		t.Errorf("pmid of an expression: %q, %v", got, err)
	}
	for key, args := range map[string][]string{
		"of another kind": {"SET", "pcp:desc:series:" + unknown.String(), "x"},
		"of wrong fields": {"HSET", "pcp:desc:series:" + unknown.String(), "pmid", "x"},
	} {
		server.Do(t, "DEL", args[1])
		if err := server.Do(t, args...).Error(); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Metric(ctx, unknown); err == nil || !strings.Contains(err.Error(), args[1]) {
			t.Errorf("a key %s: %v, want an error that names it", key, err)
		}
	}
	if err := server.Do(t, "SET", "pcp:version:schema", "3").Error(); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Open(ctx, keys.Config{Servers: []string{server.Address}}); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("keys of another version: %v", err)
	}
	if _, err := keys.Open(ctx, keys.Config{Servers: []string{server.Address, fmt.Sprintf("127.0.0.1:%d", oracle.FreePort(t))}}); err == nil || !strings.Contains(err.Error(), "not a cluster") {
		t.Errorf("two servers: %v", err)
	}
	store.Close()
	if _, err := store.Metric(ctx, unknown); err != series.ErrClosed {
		t.Errorf("after Close: %v", err)
	}
}

// TestRefused reports commands that the server refuses, and which.
func TestRefused(t *testing.T) {
	server := keystest.Start(t, "--requirepass", "secret")
	if _, err := keys.Open(t.Context(), keys.Config{Servers: []string{server.Address}}); err == nil {
		t.Error("no password is accepted")
	}
	store, err := keys.Open(t.Context(), keys.Config{Servers: []string{server.Address}, Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	path := suiteArchives(t, "sample-labels")[0]
	n, err := store.Load(t.Context(), path, keys.LoadOptions{NoValues: true})
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
}
