package webapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

// A follower keeps the values of a stream of changes, as the page does.
type follower struct {
	often, rare []string
	values      map[string]json.RawMessage
}

// changes are the members of an event with changes.
type changes struct {
	Metrics        *struct{ Often, Rare []string }
	Rare           bool
	Add, Set, Gone map[string]json.RawMessage
	Values         map[string]json.RawMessage
}

func decode[T any](t testing.TB, b []byte) (v T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return v
}

// take returns the values of an event by their metrics.
func (w *follower) take(t testing.TB, data []byte) map[string]json.RawMessage {
	t.Helper()
	e := decode[changes](t, data)
	if e.Metrics != nil {
		w.often, w.rare, w.values = e.Metrics.Often, e.Metrics.Rare, maps.Clone(e.Values)
		return e.Values
	}
	all := slices.Concat(w.often, w.rare)
	for kind, part := range map[string]map[string]json.RawMessage{"add": e.Add, "set": e.Set, "gone": e.Gone} {
		for index, change := range part {
			n, err := strconv.Atoi(index)
			if err != nil || n < 0 || n >= len(all) || n >= len(w.often) && !e.Rare {
				t.Fatalf("the number %q of %v", index, all)
			}
			w.values[all[n]] = apply(t, kind, w.values[all[n]], change)
		}
	}
	now := map[string]json.RawMessage{}
	for i, name := range all {
		if v, ok := w.values[name]; ok && (i < len(w.often) || e.Rare) {
			now[name] = v
		}
	}
	return now
}

// apply changes the JSON of a metric; its instances are sorted.
func apply(t testing.TB, kind string, old, change json.RawMessage) json.RawMessage {
	t.Helper()
	sum := func(a, b any) any {
		x, err := strconv.ParseInt(fmt.Sprint(a), 10, 64)
		y, err2 := strconv.ParseInt(fmt.Sprint(b), 10, 64)
		if err != nil || err2 != nil {
			t.Fatalf("%v is added to %v", b, a)
		}
		return json.Number(strconv.FormatInt(x+y, 10))
	}
	if change[0] != '[' {
		if kind == "set" {
			return change
		}
		b, _ := json.Marshal(sum(decode[any](t, old), decode[any](t, change)))
		return b
	}
	m := byInstance(t, old)
	list := decode[[]any](t, change)
	for i := 0; i < len(list); i++ {
		inst := fmt.Sprint(list[i])
		if kind == "gone" {
			delete(m, inst)
			continue
		}
		i++
		if kind == "add" {
			m[inst] = sum(m[inst], list[i])
		} else {
			m[inst] = list[i]
		}
	}
	var out []any
	for _, inst := range slices.Sorted(maps.Keys(m)) {
		out = append(out, json.Number(inst), m[inst])
	}
	b, _ := json.Marshal(out)
	return b
}

func byInstance(t testing.TB, b json.RawMessage) map[string]any {
	t.Helper()
	list := decode[[]any](t, b)
	m := map[string]any{}
	for i := 0; i+1 < len(list); i += 2 {
		m[fmt.Sprint(list[i])] = list[i+1]
	}
	return m
}

// sameValues reports whether two values are the same, of instances in any order.
func sameValues(t testing.TB, a, b json.RawMessage) bool {
	t.Helper()
	if len(a) == 0 || len(b) == 0 || a[0] != '[' || b[0] != '[' {
		return string(a) == string(b)
	}
	return maps.Equal(byInstance(t, a), byInstance(t, b))
}

// TestChanges follows samples in which values, instances and metrics come, change and end.
func TestChanges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	l := &listener{names: []string{"float", "large", "list", "maybe", "small", "text"}, rare: []string{"names", "slow"}, changes: true, key: "k"}
	var w follower
	short := 0
	gone := map[int]bool{}
	for i := range 200 {
		f := &fetched{values: map[string][]byte{}, time: []byte(fmt.Sprint(i, ".5"))}
		set := func(name, value string) { f.values[name] = []byte(value) }
		set("large", fmt.Sprint(uint64(1)<<63+random.Uint64N(1e9)))
		set("small", fmt.Sprint(random.IntN(3)))
		set("text", string(rest.AppendString(nil, fmt.Sprintf(`a,"]%d`, random.IntN(3)))))
		set("float", fmt.Sprint(float64(random.IntN(4))/8))
		set("slow", fmt.Sprint(i))
		if random.IntN(20) > 0 {
			set("maybe", "7")
		}
		var list, names []string
		for inst := range 12 {
			if random.IntN(10) == 0 {
				gone[inst] = !gone[inst]
			}
			if gone[inst] {
				continue
			}
			list = append(list, fmt.Sprintf("%d,%d", inst, -5+random.IntN(10)))
			names = append(names, fmt.Sprintf("%d,%s", inst, rest.AppendString(nil, fmt.Sprintf("[%d,", random.IntN(2)))))
		}
		if random.IntN(5) == 0 {
			slices.Reverse(list)
		}
		set("list", "["+strings.Join(list, ",")+"]")
		set("names", "["+strings.Join(names, ",")+"]")
		o := &order{listener: l, rare: i%7 == 0}
		m := (&hub{}).message(f, o, map[sharedKey]message{})
		data := []byte(strings.TrimPrefix(strings.TrimSuffix(string(m), "\n\n"), "data: "))
		if !strings.Contains(string(data), `"values"`) {
			short++
		}
		got := w.take(t, data)
		want := 0
		for _, name := range o.names() {
			if f.values[name] == nil {
				continue
			}
			want++
			if !sameValues(t, got[name], f.values[name]) {
				t.Fatalf("sample %d, %s: %s, want %s; %s", i, name, got[name], f.values[name], data)
			}
		}
		if len(got) != want {
			t.Fatalf("sample %d has %d metrics, want %d; %s", i, len(got), want, data)
		}
	}
	if short < 150 {
		t.Errorf("%d of 200 events are short", short)
	}
}

// TestStreamChanges compares a stream of changes with one of all values.
func TestStreamChanges(t *testing.T) {
	c := startCollector(t)
	srv := streamServer(t, serve(t, Config{Host: c.spec()}), trusted)
	const query = "interval=0.25&names=sample.long.one,odd.quotes,no.such&largest=sample.bin&top=2&rare=sample.long.ten"
	all, s := subscribe(t, srv, query), subscribe(t, srv, query+"&changes=true")
	var w follower
	size := 0
	for i := range 3 {
		want, end := all.next()
		if end != "" {
			t.Fatal(end)
		}
		for s.lines.Scan() && !strings.HasPrefix(s.lines.Text(), "data: ") {
		}
		data := strings.TrimPrefix(s.lines.Text(), "data: ")
		got := w.take(t, []byte(data))
		for name, v := range want.Values {
			if !sameValues(t, got[name], v) {
				t.Errorf("sample %d, %s: %s, want %s; %s", i, name, got[name], v, data)
			}
		}
		if i == 0 {
			size = len(data)
		} else if strings.Contains(data, "odd.quotes") || 3*len(data) > size || len(got) != len(want.Values) {
			t.Errorf("sample %d has %d metrics of %d: %s", i, len(got), len(want.Values), data)
		}
	}
	// Clients with the same changes share an event; another that comes later gets everything first.
	later := subscribe(t, srv, query+"&changes=true")
	if e, end := later.next(); end != "" || len(e.Values) != 4 || len(e.Instances) == 0 {
		t.Errorf("the first event has %v; %s", e, end)
	}
}
