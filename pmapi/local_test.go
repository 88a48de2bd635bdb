package pmapi_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A toy is an agent with a table, dynamic names below toyN.dyn, and more that
// the tests look at. Its fields belong to the goroutine that asks it, except
// those below mu.
type toy struct {
	*pmda.Table
	domain int
	tree   *pmns.Tree
	level  int32

	mu     sync.Mutex
	seen   map[int]map[wire.AttrKey]string // attributes by client
	gone   []int
	within int  // calls under way
	both   bool // two at a time

	block chan struct{} // a fetch of hang waits for it
	stuck chan struct{} // and reports it
}

func newToy(t *testing.T, name string, domain int) *toy {
	t.Helper()
	a := &toy{
		domain: domain, level: 1, tree: pmns.New(), seen: make(map[int]map[wire.AttrKey]string),
		block: make(chan struct{}), stuck: make(chan struct{}, 1),
	}
	colours := &pmda.InDom{
		Serial: 1, Instances: []pcp.Instance{{Inst: 1, Name: "red one"}, {Inst: 2, Name: "green"}},
		OneLine: "colours", Labels: `{"paint":true}`,
		InstanceLabels: func(inst int32, _ int) string { return `{"n":` + string(rune('0'+inst)) + `}` },
	}
	metrics := []pmda.Metric{
		{
			Name: name + ".level", Item: 0, Type: pcp.Type32, Sem: pcp.SemInstant, OneLine: "a level", Labels: `{"of":"water"}`,
			Value: func(int32, int) (pcp.Value, error) { return pcp.Int32Value(a.level), nil },
			Store: func(_ *pmda.Client, _ int32, _ int, v pcp.Value) error { a.level = v.Int32(); return nil },
		},
		{
			Name: name + ".colour", Item: 1, Type: pcp.TypeString, InDom: colours, Sem: pcp.SemInstant, OneLine: "c", Help: "longer\ntext",
			Value: func(inst int32, _ int) (pcp.Value, error) { return pcp.StringValue(name + string(rune('0'+inst))), nil },
		},
		{
			Name: name + ".panic", Item: 2, Type: pcp.Type32, Sem: pcp.SemInstant,
			Value: func(int32, int) (pcp.Value, error) { panic("oh no") },
		},
		{
			Name: name + ".hang", Item: 3, Type: pcp.Type32, Sem: pcp.SemInstant,
			Value: func(int32, int) (pcp.Value, error) {
				a.stuck <- struct{}{}
				<-a.block
				return pcp.Int32Value(7), nil
			},
		},
		{
			Item: 6, Type: pcp.Type32, Sem: pcp.SemInstant,
			Value: func(int32, int) (pcp.Value, error) { runtime.Goexit(); return pcp.Value{}, nil },
		},
		{Item: 4, Type: pcp.Type32, Sem: pcp.SemInstant, // dyn.a
			Value: func(int32, int) (pcp.Value, error) { return pcp.Int32Value(4), nil }},
	}
	var err error
	if a.Table, err = pmda.NewTable(pmda.Config{Name: name, Domain: domain, Metrics: metrics, InDoms: []*pmda.InDom{colours}}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.tree.Merge(a.Table.NameSpace()), a.tree.Add(name+".dyn", pcp.DynamicRoot(domain))); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *toy) local() pmapi.LocalAgent {
	return pmapi.LocalAgent{Name: a.Name(), Domain: a.domain, Agent: a}
}

func (a *toy) id(item int) pcp.PMID { return pcp.NewPMID(a.domain, 0, item) }

func (a *toy) NameSpace() *pmns.Tree { return a.tree }

func (a *toy) LookupName(_ context.Context, name string) (pcp.PMID, error) {
	switch name {
	case a.Name() + ".dyn.a":
		return a.id(4), nil
	case a.Name() + ".dyn.in.b":
		return a.id(5), nil
	}
	return pcp.PMIDNull, pcp.ErrName
}

func (a *toy) Names(_ context.Context, id pcp.PMID) ([]string, error) {
	if id == a.id(4) {
		return []string{a.Name() + ".dyn.a"}, nil
	}
	return nil, pcp.ErrPMID
}

func (a *toy) Children(_ context.Context, name string, _ bool) ([]pmns.Child, error) {
	switch name {
	case a.Name() + ".dyn":
		return []pmns.Child{{Name: "a", Leaf: true}, {Name: "in"}}, nil
	case a.Name() + ".dyn.in":
		return []pmns.Child{{Name: "b", Leaf: true}}, nil
	}
	return nil, pcp.ErrName
}

func (a *toy) Attribute(_ context.Context, client *pmda.Client, key wire.AttrKey, value string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen[client.ID] == nil {
		a.seen[client.ID] = make(map[wire.AttrKey]string)
	}
	a.seen[client.ID][key] = value
	return nil
}

func (a *toy) EndContext(client *pmda.Client) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = append(a.gone, client.ID)
}

func (a *toy) Fetch(ctx context.Context, req *pmda.FetchRequest) error {
	a.mu.Lock()
	a.within++
	a.both = a.both || a.within > 1
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.within--
		a.mu.Unlock()
	}()
	return a.Table.Fetch(ctx, req)
}

func openLocal(t *testing.T, agents ...pmapi.LocalAgent) *pmapi.Context {
	t.Helper()
	c, err := pmapi.OpenLocal(agents...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestLocalNames(t *testing.T) {
	ctx := t.Context()
	one, two := newToy(t, "one", 101), newToy(t, "two", 102)
	c := openLocal(t, one.local(), two.local())
	if c.Kind() != pmapi.SourceLocal || c.PMNSLocation() != pmapi.PMNSLocal {
		t.Errorf("kind %v, location %v", c.Kind(), c.PMNSLocation())
	}
	traverse := func(name string, wantErr error, want ...string) {
		t.Helper()
		got, err := pmapi.LeavesOf(ctx, c, name)
		if !errors.Is(err, wantErr) || !slices.Equal(got, want) {
			t.Errorf("Traverse(%q) = %q, %v, want %q, %v", name, got, err, want, wantErr)
		}
	}
	lookup := func(name string, wantErr error, want pcp.PMID) {
		t.Helper()
		ids, err := c.LookupName(ctx, name)
		if !errors.Is(err, wantErr) || ids[0] != want {
			t.Errorf("LookupName(%q) = %v, %v, want %v, %v", name, ids, err, want, wantErr)
		}
	}
	names := func(id pcp.PMID, wantErr error, want string) {
		t.Helper()
		if got, err := c.NameID(ctx, id); !errors.Is(err, wantErr) || got != want {
			t.Errorf("NameID(%v) = %q, %v, want %q, %v", id, got, err, want, wantErr)
		}
	}
	traverse("one", nil, "one.level", "one.colour", "one.panic", "one.hang", "one.dyn.a", "one.dyn.in.b")
	traverse("one.dyn", nil, "one.dyn.a", "one.dyn.in.b")
	traverse("two.dyn.in", nil, "two.dyn.in.b")
	traverse("nosuch", pcp.ErrName)
	traverse("two.dyn.nosuch", pcp.ErrName)
	lookup("one.level", nil, one.id(0))
	lookup("two.dyn.in.b", nil, two.id(5))
	lookup("two.dyn.x", pcp.ErrName, pcp.PMIDNull)
	lookup("two", pcp.ErrNonLeaf, pcp.PMIDNull)
	lookup("two.dyn", nil, pcp.DynamicRoot(102)) // to the C library it is a leaf
	names(one.id(0), nil, "one.level")
	names(one.id(4), nil, "one.dyn.a")
	names(one.id(5), pcp.ErrPMID, "")
	names(pcp.NewPMID(103, 0, 0), pcp.ErrNoAgent, "")
	children, err := c.Children(ctx, "one.dyn")
	if want := []pmns.Child{{Name: "a", Leaf: true}, {Name: "in"}}; err != nil || !slices.Equal(children, want) {
		t.Errorf("children %v, %v", children, err)
	}
	if ids, err := c.LookupName(ctx, "one.level", "nosuch", "two.dyn.a"); !errors.Is(err, pcp.ErrName) ||
		!slices.Equal(ids, []pcp.PMID{one.id(0), pcp.PMIDNull, two.id(4)}) {
		t.Errorf("three names: %v, %v", ids, err)
	}

	// Another name space has its own names, of present and missing agents.
	tree, err := pmns.Parse(strings.NewReader("root {\n a 101:0:0\n d 102:*:*\n gone 103:*:*\n z 102:0:0\n}\n"), "test", true)
	if err != nil {
		t.Fatal(err)
	}
	two.tree = tree // is of no interest any more
	c.UseNameSpace(tree)
	lookup("a", nil, one.id(0))
	lookup("one.level", pcp.ErrName, pcp.PMIDNull)
	lookup("gone.x", pcp.ErrNoAgent, pcp.PMIDNull)
	traverse("a", nil, "a")
	traverse("", nil, "a", "event.flags", "event.missed") // two knows no names below d, which ends it
	traverse("gone", pcp.ErrNoAgent)
	names(two.id(0), nil, "z")
}

func TestLocalValues(t *testing.T) {
	ctx := t.Context()
	one, two := newToy(t, "one", 101), newToy(t, "two", 102)
	c := openLocal(t, one.local(), two.local())
	show := func(res *pcp.Result) (list []string) {
		for _, vs := range res.Sets {
			s := vs.PMID.String()
			if vs.Err != 0 {
				s += " error " + vs.Err.Error()
			}
			for _, v := range vs.Values {
				s += " " + string(v.AppendText(nil))
			}
			list = append(list, s)
		}
		return list
	}
	fetch := func(ids []pcp.PMID, want ...string) {
		t.Helper()
		res, err := c.Fetch(ctx, ids)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, show(res)); d != "" {
			t.Errorf("values (-want +got):\n%s", d)
		}
		if res.Time.IsZero() {
			t.Error("no time")
		}
	}
	fetch([]pcp.PMID{one.id(0)}, "101.0.0 1")
	fetch([]pcp.PMID{two.id(1), one.id(0), pcp.NewPMID(103, 0, 0), two.id(0), two.id(9), one.id(1)},
		`102.0.1 "two1" "two2"`, "101.0.0 1", "103.0.0 error No PMCD agent for domain of request", "102.0.0 1",
		"102.0.9 error Unknown or illegal metric identifier", `101.0.1 "one1" "one2"`)

	// The profile is the context's; a duplicate starts with a copy.
	if err := errors.Join(c.DelProfile(pcp.InDomNull), c.AddProfile(pcp.NewInDom(101, 1), 2)); err != nil {
		t.Fatal(err)
	}
	dup, err := c.Dup(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer dup.Close()
	if err := c.AddProfile(pcp.InDomNull); err != nil {
		t.Fatal(err)
	}
	fetch([]pcp.PMID{one.id(1)}, `101.0.1 "one1" "one2"`)
	res, err := dup.Fetch(ctx, []pcp.PMID{one.id(1), two.id(1)})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{`101.0.1 "one2"`, "102.0.1"}, show(res)); d != "" {
		t.Errorf("values of the duplicate (-want +got):\n%s", d)
	}

	// Fetched values do not change.
	kept, err := c.Fetch(ctx, []pcp.PMID{one.id(0)})
	if err != nil {
		t.Fatal(err)
	}
	set := new(pcp.Result)
	for _, a := range []*toy{one, two} {
		set.AddSet(a.id(0))
		set.Add(pcp.Int32Value(5))
	}
	if err := c.Store(ctx, set); err != nil {
		t.Fatal(err)
	}
	fetch([]pcp.PMID{one.id(0), two.id(0)}, "101.0.0 5", "102.0.0 5")
	if d := cmp.Diff([]string{"101.0.0 1"}, show(kept)); d != "" {
		t.Errorf("values kept (-want +got):\n%s", d)
	}
	for id, want := range map[pcp.PMID]error{one.id(1): pcp.ErrPermission, pcp.NewPMID(103, 0, 0): pcp.ErrNoAgent} {
		bad := new(pcp.Result)
		bad.AddSet(id)
		bad.Add(pcp.StringValue("x"))
		if err := c.Store(ctx, bad); !errors.Is(err, want) {
			t.Errorf("storing %v: %v, want %v", id, err, want)
		}
	}
	var into pcp.Result
	for _, ids := range [][]pcp.PMID{{one.id(0)}, {two.id(1), one.id(1)}, {one.id(1)}, {one.id(0), two.id(0)}} {
		want, err := c.Fetch(ctx, ids)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.FetchInto(ctx, ids, &into); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(show(want), show(&into)); d != "" {
			t.Errorf("FetchInto (-Fetch +got):\n%s", d)
		}
	}
}

func TestLocalMetadata(t *testing.T) {
	ctx := t.Context()
	one := newToy(t, "one", 101)
	c := openLocal(t, one.local())
	colours := pcp.NewInDom(101, 1)
	if d, err := c.LookupDesc(ctx, one.id(1)); err != nil || d.InDom != colours || d.Type != pcp.TypeString {
		t.Errorf("descriptor %v, %v", d, err)
	}
	if _, err := c.LookupDesc(ctx, pcp.NewPMID(103, 0, 0)); !errors.Is(err, pcp.ErrNoAgent) {
		t.Errorf("descriptor of no agent: %v", err)
	}
	if list, err := c.GetInDom(ctx, colours); err != nil || len(list) != 2 || list[1].Name != "green" {
		t.Errorf("instances %v, %v", list, err)
	}
	if inst, err := c.LookupInDom(ctx, colours, "red"); err != nil || inst != 1 {
		t.Errorf("red is %d, %v", inst, err)
	}
	if name, err := c.NameInDom(ctx, colours, 1); err != nil || name != "red one" {
		t.Errorf("1 is %q, %v", name, err)
	}
	if _, err := c.NameInDom(ctx, colours, 3); !errors.Is(err, pcp.ErrInst) {
		t.Errorf("3: %v", err)
	}
	if s, err := c.LookupText(ctx, one.id(0), pcp.TextHelp); err != nil || s != "a level" {
		t.Errorf("help %q, %v", s, err)
	}
	for _, id := range []pcp.PMID{one.id(1023), pcp.NewPMID(one.domain, 4095, 1)} {
		if s, err := c.LookupText(ctx, id, pcp.TextHelp); !errors.Is(err, pcp.ErrText) {
			t.Errorf("LookupText of the unknown metric %v: %q, %v, want %v", id, s, err, pcp.ErrText)
		}
	}
	if s, err := c.LookupText(ctx, one.id(1), pcp.TextHelp); err != nil || s != "longer\ntext" {
		t.Errorf("help %q, %v", s, err)
	}
	if s, err := c.LookupInDomText(ctx, colours, pcp.TextOneLine); err != nil || s != "colours" {
		t.Errorf("line %q, %v", s, err)
	}
	sets, err := c.LookupLabels(ctx, one.id(1))
	if err != nil {
		t.Fatal(err)
	}
	merged, err := pcp.MergeLabels(sets, nil)
	if err != nil || !strings.Contains(merged.JSON, `"agent":"one"`) || !strings.Contains(merged.JSON, `"paint":true`) ||
		!strings.Contains(merged.JSON, `"hostname":`) || !strings.Contains(merged.JSON, `"userid":`) {
		t.Errorf("labels %s, %v", merged.JSON, err)
	}
	if err := c.AddProfile(colours, 2); err != nil {
		t.Fatal(err)
	}
	sets, err = c.Labels(ctx, pcp.LabelInstances, uint32(colours))
	if err != nil || len(sets) != 1 || sets[0].JSON != `{"n":2}` {
		t.Errorf("labels of instances %v, %v", sets, err)
	}
	if name, err := c.HostName(ctx); err != nil || name == "" {
		t.Errorf("host %q, %v", name, err)
	}
	t.Setenv("TZ", "EST5EDT")
	if tz, err := c.TimeZone(ctx); err != nil || tz == "" {
		t.Errorf("time zone %q, %v", tz, err)
	}
	if a, ok := c.Archive(); ok {
		t.Errorf("a local context is one on archives: %v", a)
	}
	if err := c.Reconnect(ctx); err != nil {
		t.Errorf("Reconnect: %v", err)
	}
}

func TestLocalClients(t *testing.T) {
	ctx := t.Context()
	one := newToy(t, "one", 101)
	first, err := pmapi.OpenLocalOptions(pmapi.LocalOptions{Container: "box"}, one.local())
	if err != nil {
		t.Fatal(err)
	}
	second, err := first.Dup(ctx)
	if err != nil {
		t.Fatal(err)
	}
	unused, err := first.Dup(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	for _, c := range []*pmapi.Context{first, second} {
		both.Go(func() {
			for range 100 {
				if _, err := c.Fetch(ctx, []pcp.PMID{one.id(0), one.id(1)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	if one.both {
		t.Error("the agent got two calls at a time")
	}
	if ids := slices.Sorted(maps.Keys(one.seen)); !slices.Equal(ids, []int{0, 1}) {
		t.Errorf("clients %v", ids)
	}
	for id, attrs := range one.seen {
		if attrs[wire.AttrContainer] != "box" || attrs[wire.AttrUserID] == "" || attrs[wire.AttrProcessID] == "" {
			t.Errorf("client %d: %v", id, attrs)
		}
	}
	for _, c := range []*pmapi.Context{second, first, unused} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); !errors.Is(err, pcp.ErrNoContext) {
			t.Errorf("second Close: %v", err)
		}
		if _, err := c.Fetch(ctx, []pcp.PMID{one.id(0)}); !errors.Is(err, pcp.ErrNoContext) {
			t.Errorf("Fetch after Close: %v", err)
		}
		if _, err := c.LookupName(ctx, "one.level"); !errors.Is(err, pcp.ErrNoContext) {
			t.Errorf("LookupName after Close: %v", err)
		}
		if _, err := c.Dup(ctx); !errors.Is(err, pcp.ErrNoContext) {
			t.Errorf("Dup after Close: %v", err)
		}
	}
	if !slices.Equal(one.gone, []int{1, 0}) { // the third the agent has never seen
		t.Errorf("clients gone: %v", one.gone)
	}
}

func TestLocalFaults(t *testing.T) {
	ctx := t.Context()
	one, two := newToy(t, "one", 101), newToy(t, "two", 102)
	var log bytes.Buffer
	c, err := pmapi.OpenLocalOptions(pmapi.LocalOptions{Log: slog.New(slog.NewTextHandler(&log, nil))}, one.local(), two.local())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// A panic costs the metrics of its agent.
	res, err := c.Fetch(ctx, []pcp.PMID{one.id(2), two.id(0)})
	if err != nil || res.Sets[0].Err != pcp.ErrGeneric || len(res.Sets[1].Values) != 1 {
		t.Errorf("panic: %v, %v", res, err)
	}
	if !strings.Contains(log.String(), `"oh no"`) || !strings.Contains(log.String(), "agent=one") {
		t.Errorf("log: %s", &log)
	}

	// So does a goroutine that ends.
	if res, err := c.Fetch(ctx, []pcp.PMID{one.id(6), two.id(0)}); err != nil || res.Sets[0].Err != pcp.ErrGeneric {
		t.Errorf("Goexit: %v, %v", res, err)
	}

	// The same without anything that could end the call.
	if res, err := c.Fetch(context.Background(), []pcp.PMID{one.id(2), two.id(0)}); err != nil || res.Sets[0].Err != pcp.ErrGeneric {
		t.Errorf("panic: %v, %v", res, err)
	}

	// An agent that hangs is waited for as long as the context allows.
	short, cancel := context.WithCancel(ctx)
	go func() {
		<-one.stuck
		cancel()
	}()
	var into pcp.Result
	if _, err := c.FetchInto(short, []pcp.PMID{two.id(0), one.id(3)}, &into); !errors.Is(err, context.Canceled) {
		t.Errorf("hanging agent: %v", err)
	}
	if _, err := c.FetchInto(short, []pcp.PMID{two.id(0)}, &into); !errors.Is(err, context.Canceled) {
		t.Errorf("context that is done: %v", err)
	}
	if _, err := c.FetchInto(ctx, []pcp.PMID{two.id(0), two.id(1)}, &into); err != nil || len(into.Sets[1].Values) != 2 {
		t.Errorf("the other agent: %v", err)
	}
	waiting, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.LookupDesc(waiting, one.id(0)); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for the agent: %v", err)
	}
	one.block <- struct{}{}
	if _, err := c.FetchInto(ctx, []pcp.PMID{one.id(0)}, &into); err != nil || len(into.Sets[0].Values) != 1 {
		t.Errorf("the agent after it: %v", err)
	}

	// Close does not wait for it, and ends the call that does.
	done := make(chan error)
	go func() {
		_, err := c.Fetch(ctx, []pcp.PMID{one.id(3)})
		done <- err
	}()
	<-one.stuck
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, pcp.ErrNoContext) {
		t.Errorf("call when the context was closed: %v", err)
	}
	close(one.block)
}

func TestOpenLocalMistakes(t *testing.T) {
	one, again := newToy(t, "one", 101), newToy(t, "one", 102)
	f := func(want string, agents ...pmapi.LocalAgent) {
		t.Helper()
		if _, err := pmapi.OpenLocal(agents...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	f("there is none", pmapi.LocalAgent{Name: "x", Domain: 5})
	f("domain 0 is not in", pmapi.LocalAgent{Name: "x", Agent: one})
	f("domain 511 is not in", pmapi.LocalAgent{Name: "x", Domain: 511, Agent: one})
	f("domain 101 is that of one", one.local(), one.local())
	f("names of agent one", one.local(), again.local())
	openLocal(t) // a context without agents is valid
	if _, err := pmapi.OpenLocalOptions(pmapi.LocalOptions{Container: "a/../b"}, one.local()); !errors.Is(err, -pcp.Error(syscall.EINVAL)) {
		t.Errorf("odd container: %v", err)
	}
}

// TestLocalFetchAllocs pins what a fetch costs.
func TestLocalFetchAllocs(t *testing.T) {
	a := newToy(t, "one", 101)
	c := openLocal(t, a.local())
	ids := []pcp.PMID{a.id(0)}
	var res pcp.Result
	for ctx, most := range map[context.Context]float64{t.Context(): 1, context.Background(): 0} {
		n := testing.AllocsPerRun(100, func() {
			if _, err := c.FetchInto(ctx, ids, &res); err != nil {
				t.Fatal(err)
			}
		})
		if n > most {
			t.Errorf("%v allocations with %v, want %v at most", n, ctx, most)
		}
	}
}

func BenchmarkLocalFetch(b *testing.B) {
	table, err := pmda.NewTable(pmda.Config{Name: "bench", Domain: 101, Metrics: []pmda.Metric{
		{Name: "bench.a", Type: pcp.Type32, Value: func(int32, int) (pcp.Value, error) { return pcp.Int32Value(1), nil }},
	}})
	if err != nil {
		b.Fatal(err)
	}
	c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "bench", Domain: 101, Agent: table})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ids := []pcp.PMID{pcp.NewPMID(101, 0, 0)}
	var res pcp.Result
	for name, ctx := range map[string]context.Context{"ends": b.Context(), "never ends": context.Background()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.FetchInto(ctx, ids, &res); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
