package rules_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/storage"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/cmd/internal/prom/rules"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// A host has series in memory. Its metrics have the given instances, or none.
type host struct {
	*seriestest.Store
	ids   map[string]sid.ID
	insts map[string]map[string]series.InstValue
}

func newHost() *host {
	return &host{seriestest.New(), map[string]sid.ID{}, map[string]map[string]series.InstValue{}}
}

// metric adds a metric. Its samples are of the kind double.
func (h *host) metric(name string, sem pcp.Sem, insts ...string) {
	n := len(h.ids) + 1
	d := pcp.Desc{PMID: pcp.NewPMID(60, 1, n), Type: pcp.TypeDouble, InDom: pcp.InDomNull, Sem: sem}
	if len(insts) > 0 {
		d.InDom = pcp.NewInDom(60, n)
	}
	id := h.AddMetric(name, d, `{"hostname":"www"}`, "/a/www", "www")
	h.ids[name], h.insts[name] = id, map[string]series.InstValue{}
	for i, inst := range insts {
		h.insts[name][inst] = series.InstValue{Instance: h.AddInstance(id, int32(i), inst, "{}"), Value: pcp.DoubleValue(0).WithInst(int32(i))}
	}
}

// add adds a sample of a metric: the values by their instances, "" for none.
func (h *host) add(name string, sec int64, values map[string]float64) {
	var list []series.InstValue
	for _, inst := range slices.Sorted(func(yield func(string) bool) {
		for inst := range values {
			if !yield(inst) {
				return
			}
		}
	}) {
		v := pcp.DoubleValue(values[inst])
		in, ok := h.insts[name][inst]
		if v.Inst = pcp.InNull; ok {
			v.Inst = in.Value.Inst
		}
		in.Value = v
		list = append(list, in)
	}
	h.Append(h.ids[name], pcp.Timestamp{Sec: sec}, list...)
}

func (h *host) data() storage.Queryable { return store.New(h, store.Config{}) }

func parse(t testing.TB, text string) *rules.File {
	t.Helper()
	f, err := rules.Parse("test.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// text returns alerts as a line each.
func text(list []rules.Alert) string {
	var b strings.Builder
	for _, a := range list {
		fmt.Fprintf(&b, "%s %s %s %g active %d", a.State, a.Labels, a.Annotations, a.Value, a.ActiveAt.Unix())
		if a.State == rules.Firing {
			fmt.Fprintf(&b, " fired %d", a.FiredAt.Unix())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func seconds(n int64) time.Time { return time.Unix(n, 0) }

// query evaluates an expression over the series of an engine.
func query(t *testing.T, q storage.Queryable, expr string, at int64) string {
	t.Helper()
	x, err := store.NewEngine(store.EngineConfig{}).NewInstantQuery(context.Background(), q, nil, expr, seconds(at))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	return x.Exec(context.Background()).String()
}

// TestAlert follows an alert from pending to firing, through keep_firing_for, to its end.
func TestAlert(t *testing.T) {
	h := newHost()
	h.metric("a.load", pcp.SemInstant, "one", "two")
	for i := range int64(11) {
		one := 0.0
		if i >= 1 && i <= 5 {
			one = 9 + float64(i)
		}
		h.add("a.load", i*60, map[string]float64{"one": one, "two": 1})
	}
	var got strings.Builder
	e := rules.New(rules.Config{Data: h.data(), Observe: func(ev rules.Evaluation) {
		if ev.Err != nil {
			t.Error(ev.Err)
		}
		fmt.Fprintf(&got, "%d:\n%s", ev.Time.Unix(), text(ev.Alerts))
	}})
	e.Load([]*rules.File{parse(t, `
groups:
- name: g
  labels: {team: web, severity: info}
  rules:
  - record: load:double
    expr: a_load * 2
    labels: {kind: double}
  - alert: High
    expr: load:double > 10
    for: 2m
    keep_firing_for: 2m
    labels: {severity: page}
    annotations:
      summary: '{{ $labels.instname }} has {{ $value | printf "%.1f" }}, {{ humanize 12345.0 }}, {{ .Labels.nothing }}'
`)})
	if err := e.Walk(t.Context(), seconds(0), seconds(600)); err != nil {
		t.Fatal(err)
	}
	line := func(state string, i int64, rest string) string {
		value := (9 + i) * 2
		return fmt.Sprintf(`%s {alertname="High", hostname="www", instid="0", instname="one", kind="double", severity="page", team="web"} {summary="one has %d.0, 12.35k, "} %d active 60%s`,
			state, value, value, rest) + "\n"
	}
	want := "0:\n60:\n" + line("pending", 1, "") + "120:\n" + line("pending", 2, "") + "180:\n" + line("firing", 3, " fired 180") + "240:\n" +
		line("firing", 4, " fired 180") + "300:\n" + line("firing", 5, " fired 180") + "360:\n" + line("firing", 5, " fired 180") + "420:\n" +
		line("firing", 5, " fired 180") + "480:\n540:\n600:\n"
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
	if got, want := query(t, e.Recorded(), `load:double{instname="two"}`, 600), `{__name__="load:double", hostname="www", instid="1", instname="two", kind="double", severity="info", team="web"} => 2 @[600000]`; got != want {
		t.Errorf("recorded %s, want %s", got, want)
	}
	for at, want := range map[int64]string{60: "pending", 180: "firing", 300: "firing", 420: "firing", 480: ""} {
		got := query(t, e.Recorded(), `ALERTS{alertname="High"}`, at)
		if strings.Contains(got, "alertstate") != (want != "") || !strings.Contains(got, want) || strings.Count(got, "=>") > 1 {
			t.Errorf("ALERTS at %d: %s, want %q", at, got, want)
		}
	}
	if got := query(t, e.Recorded(), `ALERTS_FOR_STATE`, 300); !strings.Contains(got, "=> 60 @") {
		t.Errorf("ALERTS_FOR_STATE: %s", got)
	}
}

// TestErrors has rules that cannot be evaluated.
func TestErrors(t *testing.T) {
	h := newHost()
	h.metric("a.load", pcp.SemInstant, "one", "two")
	h.metric("a.few", pcp.SemInstant)
	for i := range int64(5) {
		h.add("a.load", i*60, map[string]float64{"one": 1, "two": 1})
		h.add("a.few", i*60, map[string]float64{"": float64(i)})
	}
	failing := storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) {
		if maxt == 180_000 {
			return nil, errors.New("the collector does not answer")
		}
		return h.data().Querier(mint, maxt)
	})
	e := rules.New(rules.Config{Data: failing})
	e.Load([]*rules.File{parse(t, `
groups:
- name: g
  limit: 1
  rules:
  - {alert: Few, expr: a_few >= 1}
  - {alert: Many, expr: a_load}
  - {record: many, expr: a_load}
- name: h
  rules:
  - {record: same, expr: a_load, labels: {instname: "", instid: ""}}
  - {alert: Same, expr: a_load, labels: {instname: "", instid: ""}}
  - {alert: Text, expr: a_few, annotations: {a: '{{ query "a_few" | first | value }} {{ first (query "none") }}'}}
  - {record: text, expr: '"a"'}
`)})
	if err := e.Walk(t.Context(), seconds(0), seconds(120)); err != nil {
		t.Fatal(err)
	}
	state := func() map[string]rules.RuleState {
		all := map[string]rules.RuleState{}
		for _, g := range e.Groups() {
			for _, r := range g.Rules {
				all[r.Name] = r
			}
		}
		return all
	}
	s := state()
	for name, want := range map[string]string{
		"Few": "", "Many": "exceeded limit of 1 with 2 alerts", "many": "exceeded limit of 1 with 2 series",
		"same": "vector contains metrics with the same labelset after applying rule labels",
		"Same": "vector contains metrics with the same labelset after applying alert labels", "text": "rule result is not a vector or scalar",
	} {
		got, health := "", "ok"
		if s[name].Err != nil {
			got, health = s[name].Err.Error(), "err"
		}
		if got != want || s[name].Health != health {
			t.Errorf("%s: %q, %s, want %q", name, got, s[name].Health, want)
		}
	}
	if s["Many"].State != rules.Inactive || s["Few"].State != rules.Firing {
		t.Errorf("%+v", s)
	}
	if a := s["Text"].Alerts; len(a) != 1 || !strings.Contains(a[0].Annotations.Get("a"), "<error expanding template: error executing template __alert_Text:") {
		t.Errorf("%+v", a)
	}
	// Alerts stay as they are while values are missing for another reason than the end of the series.
	if err := e.Walk(t.Context(), seconds(180), seconds(180)); err != nil {
		t.Fatal(err)
	}
	if s := state()["Few"]; s.State != rules.Firing || s.Health != "err" || s.Err == nil || !s.Evaluated.Equal(seconds(180)) {
		t.Errorf("%+v", s)
	}
}

// TestLoad loads other rules.
func TestLoad(t *testing.T) {
	h := newHost()
	h.metric("a.load", pcp.SemInstant)
	for i := range int64(10) {
		h.add("a.load", i*60, map[string]float64{"": 1})
	}
	seen := map[string]string{}
	now := seconds(0)
	e := rules.New(rules.Config{Data: h.data(), Now: func() time.Time { return now }, Observe: func(ev rules.Evaluation) { seen[ev.Rule] = text(ev.Alerts) }})
	const head = "groups:\n- name: g\n  rules:\n"
	a, b := "  - {alert: A, expr: a_load, for: 3m}\n", "  - {alert: A, expr: a_load > 0, for: 3m}\n"
	other := "  - {alert: B, expr: a_load}\n  - {record: c, expr: a_load}\n"
	e.Load([]*rules.File{parse(t, head+a+other)})
	walk := func(from, to int64) {
		t.Helper()
		clear(seen)
		if err := e.Walk(t.Context(), seconds(from), seconds(to)); err != nil {
			t.Fatal(err)
		}
		now = seconds(to)
	}
	walk(0, 120)
	if len(seen) != 2 || !strings.HasPrefix(seen["A"], "pending") {
		t.Errorf("%q", seen)
	}
	e.Load([]*rules.File{parse(t, head+b)})
	if got := query(t, e.Recorded(), "c", 120); !strings.Contains(got, "=> 1") {
		t.Errorf("c is %q", got)
	}
	walk(180, 180)
	if len(seen) != 1 || !strings.HasPrefix(seen["A"], "firing") {
		t.Errorf("%q", seen)
	}
	for _, expr := range []string{"c", `ALERTS{alertname="B"}`} {
		if got := query(t, e.Recorded(), expr, 180); got != "" {
			t.Errorf("%s is %q", expr, got)
		}
	}
	// Rules of one name have different names for receivers.
	e.Load([]*rules.File{parse(t, head+a+b)})
	if got, want := e.AlertingRules(), []string{"A (g, rule 1)", "A (g, rule 2)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	walk(240, 240)
	if !strings.HasPrefix(seen["A (g, rule 1)"], "firing") || !strings.HasPrefix(seen["A (g, rule 2)"], "pending") {
		t.Errorf("%q", seen)
	}
	e.Load(nil)
	if got := query(t, e.Recorded(), "ALERTS", 240); strings.Contains(got, "firing") && strings.Contains(got, "@[241000]") || len(e.Groups()) != 0 {
		t.Errorf("%q", got)
	}
}

// TestRun evaluates groups in time, and others after Load.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		var times []string
		e := rules.New(rules.Config{Data: h.data(), Interval: 30 * time.Second, Observe: func(ev rules.Evaluation) {
			times = append(times, fmt.Sprintf("%s %s", ev.Rule, ev.Time.UTC().Format("05")))
		}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- e.Run(ctx) }()
		e.Load([]*rules.File{parse(t, "groups:\n- name: g\n  interval: 20s\n  rules:\n  - {alert: A, expr: vector(1)}\n- name: h\n  rules:\n  - {alert: B, expr: vector(1)}\n")})
		time.Sleep(61 * time.Second)
		e.Load([]*rules.File{parse(t, "groups:\n- name: g\n  rules:\n  - {alert: A, expr: vector(1)}\n")})
		time.Sleep(30 * time.Second)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		slices.Sort(times)
		if got, want := strings.Join(times, ", "), "A 00, A 20, A 30, A 40, B 00, B 30"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// TestMistakes reads files with mistakes.
func TestMistakes(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		_, err := rules.Parse("f.yml", []byte(text))
		got := "nil"
		if err != nil {
			got = err.Error()
		}
		if got != strings.Join(want, "\n") {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, strings.Join(want, "\n"))
		}
	}
	f("", "nil")
	f("groups:\n", "nil")
	f("groups:\n- name: g\n  rules:\n  - alert: A\n    expr: 1 +\n", `f.yml:5: group "g", rule 1, "A": could not parse expression: 1:4: parse error: unexpected end of input`)
	f("groups:\n- name: g\n  rules:\n  - alert: A\n    expresion: 1\n", `f.yml:5: field expresion not found in type rulefmt.Rule`)
	f("groups:\n- name: g\n  rules:\n  - alert: A\n    expr: 1\n    annotations: {a: '{{ nothing }}'}\n",
		`f.yml:4: group "g", rule 1, "A": annotation "a": template: __alert_A:1: function "nothing" not defined`)
	f("groups:\n- name: g\n  rules:\n  - record: a\n    expr: 1\n    for: 1m\n  - alert: B\n",
		`f.yml:4: group "g", rule 1, "a": invalid field 'for' in recording rule`, `f.yml:7: group "g", rule 2, "B": field 'expr' must be set in rule`)
	f("groups:\n- name: g\n- name: g\n", `f.yml: groupname: "g" is repeated in the same file`)
	f("groups:\n- name: g\n\trules: x\n", `f.yml:2: found a tab character that violates indentation`)
	f("groups:\n- name: g\n  interval: x\n", `f.yml: not a valid duration string: "x"`)
	f("groups:\n- name: g\n  limit: -1\n", `f.yml: group "g": the limit -1 is not possible`)
	f("groups:\n- name: g\n  rules:\n  - alert: A\n    expr: 1\n    annotations: {a: '{{ template \"b\" . }}{{ define \"b\" }}{{ end }}'}\n", "nil")
	deep := strings.Repeat("(", 600) + "1" + strings.Repeat(")", 600)
	f("groups:\n- name: g\n  rules:\n  - alert: A\n    expr: "+deep+"\n",
		`f.yml:5: group "g", rule 1, "A": could not parse expression: the expression has more than 500 operators and parentheses`)
}

// TestIs distinguishes files of Prometheus and of pmie.
func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"groups:\n": true, "# a\n\n---\ngroups :\n": true, `{"groups": []}`: true, "'groups': []": true, "delta = 1 min;\n": false, "": false,
		"groups = 1 > 0 -> print \"x\";\n": false, "// groups:\n": false, "\ufeffgroups:\n- name: a": true,
	} {
		if rules.Is([]byte(text)) != want {
			t.Errorf("Is(%q) = %v", text, !want)
		}
	}
}

// FuzzParse reads files. Those that are accepted are evaluated.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yml")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		"groups: [null]", "groups: null", "groups: [{name: a, rules: [null]}]", "groups: [{name: a, rules: [{alert: b, expr: 1}]}]\n---\ngroups: []\n",
		"groups: &a [*a]", "groups: &a\n- name: x\n  rules: &b\n  - &c {alert: A, expr: '1'}\n  - *c\n", "<<: {groups: []}", "groups:\n- <<: {name: a}\n  rules: []",
		"groups: [{name: a, rules: [{record: 'a{b=\"c\"}', expr: 1}]}]", "groups: [{name: a, interval: 0s, rules: [{alert: b, expr: 'vector(1)', labels: {a: '{{ range $i, $x := query \"vector(1)\" }}{{ . }}{{ end }}'}}]}]",
	} {
		f.Add([]byte(text))
	}
	h := newHost()
	h.metric("a.load", pcp.SemInstant)
	h.add("a.load", 60, map[string]float64{"": 1})
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := rules.Parse("f", text)
		if err != nil {
			if err.Error() == "" {
				t.Error("an empty error")
			}
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		e := rules.New(rules.Config{Data: h.data(), Query: store.EngineConfig{MaxSamples: 1000}})
		e.Load([]*rules.File{file})
		e.Walk(ctx, seconds(60), seconds(60))
		for _, g := range e.Groups() {
			if g.Interval <= 0 {
				t.Errorf("an interval of %v", g.Interval)
			}
		}
	})
}

// TestDocs checks the file in docs/alerts.md.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n    groups:\n")
	if !ok {
		t.Fatal("docs/alerts.md has no file of rules")
	}
	var b strings.Builder
	b.WriteString("groups:\n")
	for line := range strings.Lines(rest) {
		line, indented := strings.CutPrefix(line, "    ")
		if !indented {
			break
		}
		b.WriteString(line)
	}
	f := parse(t, b.String())
	if f.Groups() != 1 || f.Rules() < 5 {
		t.Errorf("%d rules in %d groups", f.Rules(), f.Groups())
	}
}

// TestRestore continues after a restart.
func TestRestore(t *testing.T) {
	h := newHost()
	h.metric("a.load", pcp.SemInstant, "one", "two")
	for i := range int64(60) {
		if i >= 5 && i < 8 { // the restart
			continue
		}
		h.add("a.load", i*60, map[string]float64{"one": 1, "two": 1})
	}
	now := seconds(240)
	file := parse(t, "groups:\n- name: g\n  rules:\n  - {alert: A, expr: 'a_load', for: 10m, labels: {s: x}}\n  - {alert: A, expr: 'rate(a_load[150s]) == 0', for: 10m, labels: {s: y}}\n  - {alert: B, expr: a_load, for: 1m}\n")
	start := func() *rules.Engine {
		e := rules.New(rules.Config{Data: h.data(), Now: func() time.Time { return now }})
		e.Load([]*rules.File{file})
		return e
	}
	e := start()
	if err := e.Walk(t.Context(), seconds(0), now); err != nil {
		t.Fatal(err)
	}
	saved, err := e.Save()
	if err != nil {
		t.Fatal(err)
	}
	now = seconds(480)
	e = start()
	if err := e.Restore(saved); err != nil {
		t.Fatal(err)
	}
	check := func(at int64, want string) {
		t.Helper()
		if err := e.Walk(t.Context(), seconds(at), seconds(at)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range e.Groups()[0].Rules {
			since := int64(0)
			for _, a := range r.Alerts {
				since = a.ActiveAt.Unix()
			}
			got = append(got, fmt.Sprintf("%s %d since %d", r.State, len(r.Alerts), since))
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
	check(480, "pending 2 since 0, pending 2 since 60, firing 2 since 0")
	check(540, "pending 2 since 0, pending 2 since 60, firing 2 since 0")
	check(600, "firing 2 since 0, pending 2 since 60, firing 2 since 0")
	check(660, "firing 2 since 0, firing 2 since 60, firing 2 since 0")
	// An alert whose condition is no longer true ends when the grace is over.
	e = start()
	if err := e.Restore([]byte(strings.ReplaceAll(string(saved), `"instname":"one"`, `"instname":"gone"`))); err != nil {
		t.Fatal(err)
	}
	check(480, "pending 3 since 0, pending 2 since 60, firing 3 since 0")
	check(780, "firing 2 since 0, firing 2 since 60, firing 2 since 0")
	now = seconds(240 + 3601) // too old
	e = start()
	if err := e.Restore(saved); err != nil {
		t.Fatal(err)
	}
	for _, r := range e.Groups()[0].Rules {
		if len(r.Alerts) != 0 {
			t.Errorf("old alerts %+v", r)
		}
	}
	for _, text := range []string{"", "{}", `{"version":2}`, `{"version":1,"time":"1970-01-01T01:00:00Z","alerts":[{"state":"x"}]}`} {
		if err := e.Restore([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// FuzzRestore restores damaged alerts.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"version":1,"time":"2020-01-01T00:00:00Z","alerts":[{"file":"test.yml","group":"g","rule":"A","labels":{"alertname":"A"},"state":"firing","activeAt":"2020-01-01T00:00:00Z"}]}`))
	f.Add([]byte(`{"version":1,"time":"2020-01-01T00:00:00Z","alerts":[{}]}`))
	now := time.Date(2020, 1, 1, 0, 0, 1, 0, time.UTC)
	file, err := rules.Parse("test.yml", []byte("groups:\n- name: g\n  rules:\n  - {alert: A, expr: vector(1)}\n"))
	if err != nil {
		f.Fatal(err)
	}
	h := newHost()
	f.Fuzz(func(t *testing.T, text []byte) {
		e := rules.New(rules.Config{Data: h.data(), Now: func() time.Time { return now }})
		e.Load([]*rules.File{file})
		if e.Restore(text) != nil {
			return
		}
		if err := e.Walk(t.Context(), now, now); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Save(); err != nil {
			t.Fatal(err)
		}
	})
}
