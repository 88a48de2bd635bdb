package store_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// A house is an agent with rooms that come and go. It counts fetches.
type house struct {
	*pmda.Table
	rooms   *pmda.InDom
	fetches atomic.Int32
	asked   atomic.Int32 // metrics of the last fetch
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{rooms: &pmda.InDom{Serial: 1}}
	h.set("kitchen", "hall")
	waits := &pmda.InDom{Serial: 2, Instances: []pcp.Instance{{Inst: 0, Name: "0-1"}, {Inst: 1, Name: "2-3"}, {Inst: 2, Name: "4-7"}, {Inst: 3, Name: "8-15"}}}
	value := func(inst int32, _ int) (pcp.Value, error) { return pcp.DoubleValue(float64(20 + inst)), nil }
	wait := func(inst int32, _ int) (pcp.Value, error) { return pcp.Uint64Value([]uint64{2, 0, 5, 1}[inst]), nil }
	table, err := pmda.NewTable(pmda.Config{Name: "house", Domain: 400, Metrics: []pmda.Metric{
		{Name: "house.temperature", Type: pcp.TypeDouble, Sem: pcp.SemInstant, InDom: h.rooms, OneLine: "degrees Celsius", Value: value},
		{Name: "house.humidity", Item: 1, Type: pcp.TypeDouble, Sem: pcp.SemInstant, InDom: h.rooms, Value: value},
		{Name: "house.doors", Item: 2, Type: pcp.TypeU32, Sem: pcp.SemCounter, Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(3), nil }},
		{Name: "house.wait", Item: 4, Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: waits, OneLine: "waiting time", Value: wait},
		{Name: "house.taken", Item: 5, Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: waits, Value: wait},
		{Name: "house.taken_count", Item: 6, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(9), nil }},
		{Name: "house.owner", Item: 3, Type: pcp.TypeString, Sem: pcp.SemDiscrete, Value: func(int32, int) (pcp.Value, error) { return pcp.StringValue("me"), nil }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.Table = table
	return h
}

// set sets the rooms.
func (h *house) set(rooms ...string) {
	all := map[string]int32{"kitchen": 0, "hall": 1, "attic": 2}
	h.rooms.Instances = nil
	for _, name := range rooms {
		h.rooms.Instances = append(h.rooms.Instances, pcp.Instance{Inst: all[name], Name: name})
	}
}

// Fetch implements [pmda.Agent].
func (h *house) Fetch(ctx context.Context, req *pmda.FetchRequest) error {
	h.fetches.Add(1)
	h.asked.Store(int32(len(req.PMIDs)))
	return h.Table.Fetch(ctx, req)
}

// live returns a Live of the house.
func (h *house) live(t *testing.T, now func() time.Time) *store.Live {
	t.Helper()
	l := store.NewLive(store.LiveConfig{Now: now, Open: func(context.Context) (*pmapi.Context, error) {
		return pmapi.OpenLocal(pmapi.LocalAgent{Name: "house", Domain: 400, Agent: h})
	}})
	t.Cleanup(func() { l.Close() })
	return l
}

// rooms returns the rooms of a result.
func rooms(text string) string {
	var list []string
	for _, name := range []string{"kitchen", "hall", "attic"} {
		if strings.Contains(text, `instname="`+name+`"`) {
			list = append(list, name)
		}
	}
	return strings.Join(list, " ")
}

// TestLive reads current values, with one fetch for a query of several selectors.
func TestLive(t *testing.T) {
	h := newHouse(t)
	l := h.live(t, nil)
	f := func(expr, want string, fetches, asked int32) {
		t.Helper()
		before := h.fetches.Load()
		got := query(t, l, expr, time.Now().Unix()+1)
		got, _, _ = strings.Cut(got, " @[")
		if got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
		if n := h.fetches.Load() - before; n != fetches || n > 0 && h.asked.Load() != asked {
			t.Errorf("%s: %d fetches, of %d metrics, want %d and %d", expr, n, h.asked.Load(), fetches, asked)
		}
	}
	f("sum(house_temperature)", "{} => 41", 1, 1)
	f(`sum(house_temperature{instname="hall"})`, "{} => 21", 1, 1)
	f("sum(house_temperature) + sum(house_humidity) - sum(house_doors)", "{} => 79", 1, 3)
	f(`sum(house_temperature) + sum(house_temperature{instname="hall"}) + sum({__name__=~"house_te.*"})`, "{} => 103", 1, 1)
	f(`count({__name__=~"house_[^tw].+|house_temp.*"})`, "{} => 5", 1, 3)
	f("sum(house_temperature offset 1h)", "", 0, 0)
	f("sum(house_temperature) + sum(house_temperature offset 1h)", "", 1, 1)
	f("house_owner", "", 0, 0)

	q, err := l.Querier(time.Now().UnixMilli(), time.Now().UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	got, _, err := q.LabelValues(context.Background(), "__name__", nil, labels.MustNewMatcher(labels.MatchRegexp, "__name__", "house.*"))
	if have := strings.Join(got, " "); err != nil || have != "house_doors house_humidity house_taken house_taken_count house_temperature house_wait house_wait_bucket house_wait_count" {
		t.Errorf("names: %s, %v", have, err)
	}
	all, err := l.Metadata(context.Background(), "house_temperature")
	if m := all["house_temperature"]; err != nil || len(all) != 1 || len(m) != 1 || m[0].Type != "gauge" || m[0].Help != "degrees Celsius" {
		t.Errorf("metadata: %v, %v", all, err)
	}
}

// TestLiveHistogram reads a metric whose instances are ranges.
func TestLiveHistogram(t *testing.T) {
	h := newHouse(t)
	l := h.live(t, nil)
	f := func(expr, want string) {
		t.Helper()
		got, _, _ := strings.Cut(query(t, l, expr, time.Now().Unix()+1), " @[")
		if got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
	f("sum(house_wait)", "{} => 8")
	f(`sum by (le) (house_wait_bucket{le="+Inf"})`, `{le="+Inf"} => 8`)
	f(`sum(house_wait_bucket{le="3"})`, "{} => 2")
	f(`sum(house_wait_bucket{le="7"})`, "{} => 7")
	f("sum(house_wait_count)", "{} => 8")
	f("sum(histogram_quantile(0.5, house_wait_bucket))", "{} => 4.6")
	f("count(house_taken_bucket)", "")
	f("sum(house_taken_count)", "{} => 9")
	f("count(house_temperature_bucket)", "")
	f(`count({__name__=~"house_wait.*"})`, "{} => 10")
	now := time.Now().UnixMilli()
	q, err := l.Querier(now, now+1000)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := q.LabelValues(context.Background(), "le", nil)
	if have := strings.Join(got, " "); err != nil || have != "+Inf 1 15 3 7" {
		t.Errorf("bounds: %s, %v", have, err)
	}
	all, err := l.Metadata(context.Background(), "house_wait_bucket")
	if m := all["house_wait_bucket"]; err != nil || len(all) != 1 || len(m) != 1 || m[0].Type != "counter" || m[0].Help != "waiting time" {
		t.Errorf("metadata: %v, %v", all, err)
	}
}

// TestLiveSets uses the sets of a querier in another order than they were made, and one of them not at all.
func TestLiveSets(t *testing.T) {
	h := newHouse(t)
	now := time.Now().UnixMilli()
	q, err := h.live(t, nil).Querier(now-1000, now+1000)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	var sets []storage.SeriesSet
	for _, name := range []string{"house_temperature", "house_humidity", "house_doors"} {
		sets = append(sets, q.Select(context.Background(), true, nil, labels.MustNewMatcher(labels.MatchEqual, "__name__", name)))
	}
	count := func(set storage.SeriesSet, want int) {
		t.Helper()
		n := 0
		for set.Next() {
			n++
		}
		if n != want || set.Err() != nil {
			t.Errorf("%d series, %v, want %d", n, set.Err(), want)
		}
	}
	count(sets[2], 1)
	count(sets[0], 2)
	if n := h.fetches.Load(); n != 1 {
		t.Errorf("%d fetches", n)
	}
	count(q.Select(context.Background(), true, nil, labels.MustNewMatcher(labels.MatchEqual, "__name__", "house_doors")), 1)
	if n := h.fetches.Load(); n != 2 {
		t.Errorf("%d fetches after another selector", n)
	}
}

// TestLiveInstances has instances come and go: a series ends with its instance.
func TestLiveInstances(t *testing.T) {
	h := newHouse(t)
	l := h.live(t, nil)
	f := func(want string) {
		t.Helper()
		if got := query(t, l, "house_temperature", time.Now().Unix()+1); rooms(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f("kitchen hall")
	h.set("kitchen")
	f("kitchen")
	h.set("kitchen", "attic")
	f("kitchen attic")
	h.set()
	f("")
	h.set("hall")
	f("hall")
}

// TestLiveTimes asks for other times than now: current values are part of queries that end now, or at most five seconds ago.
func TestLiveTimes(t *testing.T) {
	h := newHouse(t)
	now := time.Now()
	l := h.live(t, func() time.Time { return now })
	f := func(expr string, at time.Duration, want string) {
		t.Helper()
		got := query(t, l, expr, now.Add(at).Unix())
		if got, _, _ = strings.Cut(got, " @["); got != want {
			t.Errorf("%s %v from now: %s, want %s", expr, at, got, want)
		}
	}
	f("sum(house_temperature)", -7*time.Second, "")
	f("sum(house_temperature)", -3*time.Second, "{} => 41")
	f("sum(house_temperature)", time.Second, "{} => 41")
	f("sum(house_temperature)", 4*time.Minute, "{} => 41")
	f("sum(house_temperature)", 6*time.Minute, "") // the value of now is too old then
	f("sum(count_over_time(house_temperature[1m]))", time.Second, "{} => 2")
	f("sum(house_temperature @ 1000)", time.Second, "")
	q, err := l.Querier(0, now.Add(-time.Minute).UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := q.LabelValues(context.Background(), "instname", nil); err != nil || len(got) > 0 {
		t.Errorf("labels of the past: %v, %v", got, err)
	}
}

// TestBoth joins archives and current values.
func TestBoth(t *testing.T) {
	h := newHouse(t)
	now := time.Now()
	l := h.live(t, func() time.Time { return now })
	rec := seriestest.New()
	d := pcp.Desc{PMID: pcp.NewPMID(400, 0, 0), Type: pcp.TypeDouble, InDom: pcp.NewInDom(400, 0), Sem: pcp.SemInstant}
	id := rec.AddMetric("house.temperature", d, `{"hostname":"www"}`)
	old := rec.AddInstance(id, 2, "attic", "")
	rec.Append(id, pcp.Timestamp{Sec: now.Unix() - 120}, series.InstValue{Instance: old, Value: pcp.DoubleValue(5).WithInst(2)})
	both := store.Both(store.New(rec, store.Config{}), l)
	f := func(at time.Duration, want string) {
		t.Helper()
		if got := query(t, both, "house_temperature", now.Add(at).Unix()); rooms(got) != want {
			t.Errorf("%v from now: %s, want %s", at, got, want)
		}
	}
	f(time.Second, "kitchen hall attic")
	f(-time.Minute, "attic")
	f(4*time.Minute, "kitchen hall") // the recorded value is too old
	f(-3*time.Minute, "")
	before := h.fetches.Load()
	if got := query(t, both, "sum(house_temperature) + sum(house_humidity)", now.Unix()+1); !strings.HasPrefix(got, "{} => 87 ") {
		t.Errorf("two selectors: %s", got)
	}
	if n := h.fetches.Load() - before; n != 1 {
		t.Errorf("%d fetches for two selectors", n)
	}
}

// TestLiveIntrinsic checks that series have no optional labels, which archives lack: the notes of an agent, and the user of a local context.
func TestLiveIntrinsic(t *testing.T) {
	doors := &pmda.InDom{Serial: 1, Instances: []pcp.Instance{{Inst: 0, Name: "front"}, {Inst: 1, Name: "back"}}}
	doors.InstanceLabels = func(inst int32, _ int) string { return []string{`{"to":"street"}`, `{"to":"garden"}`}[inst] }
	doors.InstanceNotes = func(int32, int) string { return `{"paint":"white"}` }
	table, err := pmda.NewTable(pmda.Config{Name: "shed", Domain: 401, Metrics: []pmda.Metric{{
		Name: "shed.opened", Type: pcp.TypeU32, Sem: pcp.SemCounter, InDom: doors, Labels: `{"lock":"new"}`, Notes: `{"key":"lost"}`,
		Value: func(inst int32, _ int) (pcp.Value, error) { return pcp.Uint32Value(uint32(7 + inst)), nil },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	l := store.NewLive(store.LiveConfig{Open: func(context.Context) (*pmapi.Context, error) {
		return pmapi.OpenLocal(pmapi.LocalAgent{Name: "shed", Domain: 401, Agent: table})
	}})
	defer l.Close()
	got, _, _ := strings.Cut(query(t, l, `max without (agent, hostname, domainname, machineid) (shed_opened{to="garden"})`, time.Now().Unix()+1), " @[")
	if want := `{instid="1", instname="back", lock="new", to="garden"} => 8`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A collector runs on a socket, until stop is called.
func collector(t *testing.T, socket string, h *house) (stop func()) {
	t.Helper()
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{{Name: "house", Domain: 400, Agent: h}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// TestLiveLost ends the collector: queries fail, those of archives too have a warning, until it is back.
func TestLiveLost(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	stop := collector(t, socket, newHouse(t))
	l := store.NewLive(store.LiveConfig{Open: func(ctx context.Context) (*pmapi.Context, error) { return pmapi.Dial(ctx, "unix:"+socket) }})
	defer l.Close()
	both := store.Both(store.New(seriestest.New(), store.Config{}), l)
	eval := func(s storage.Queryable) (string, int, error) {
		t.Helper()
		q, err := store.NewEngine(store.EngineConfig{}).NewInstantQuery(context.Background(), s, nil, "sum(house_temperature)", time.Now().Add(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		res := q.Exec(context.Background())
		if res.Err != nil {
			return "", len(res.Warnings), res.Err
		}
		text, _, _ := strings.Cut(res.String(), " @[")
		return text, len(res.Warnings), nil
	}
	check := func(want string) {
		t.Helper()
		for _, s := range []storage.Queryable{l, both} {
			if got, warnings, err := eval(s); got != want || warnings != 0 || err != nil {
				t.Errorf("%s, %d warnings, %v, want %s", got, warnings, err, want)
			}
		}
	}
	check("{} => 41")
	stop()
	for range 2 { // the connection breaks, and there is none
		if got, _, err := eval(l); err == nil {
			t.Errorf("without a collector: %s", got)
		}
		if got, warnings, err := eval(both); got != "" || warnings != 1 || err != nil {
			t.Errorf("archives without a collector: %s, %d warnings, %v", got, warnings, err)
		}
	}
	h := newHouse(t)
	h.set("kitchen")
	collector(t, socket, h)
	check("{} => 20")
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	q, err := l.Querier(0, time.Now().UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := q.LabelNames(canceled, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	check("{} => 20")
}
