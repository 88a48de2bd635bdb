package pmcd

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// A fakeCollector is a collector with fixed answers.
type fakeCollector struct {
	Collector // a method that the collector lacks must not be called
	in        map[int]uint64
	clients   []ClientState
	timeout   time.Duration
	requests  int
	fenced    map[int]bool
	flags     uint32
	buffers   int
	debug     int32
	dumps     []string
}

func (f *fakeCollector) TraceFlags() uint32     { return f.flags }
func (f *fakeCollector) SetTraceFlags(n uint32) { f.flags = n }
func (f *fakeCollector) TraceBuffers() int      { return f.buffers }
func (f *fakeCollector) Debug() int32           { return f.debug }
func (f *fakeCollector) SetDebug(n int32)       { f.debug = n }
func (f *fakeCollector) DumpTrace()             { f.dumps = append(f.dumps, "trace") }
func (f *fakeCollector) DumpClients()           { f.dumps = append(f.dumps, "clients") }

func (f *fakeCollector) SetTraceBuffers(n int) error {
	if n < 0 {
		return pcp.ErrSign
	}
	f.buffers = n
	return nil
}

func (f *fakeCollector) PDUsIn(kind int) uint64          { return f.in[kind] }
func (f *fakeCollector) CredsTimeout() time.Duration     { return 7 * time.Second }
func (f *fakeCollector) Limits() Limits                  { return Limits{PDU: 65536, Contexts: 64, Metrics: 32768} }
func (f *fakeCollector) RequestHangUp()                  { f.requests++ }
func (f *fakeCollector) ClientStates() []ClientState     { return f.clients }
func (f *fakeCollector) AgentTimeout() time.Duration     { return f.timeout }
func (f *fakeCollector) SetAgentTimeout(d time.Duration) { f.timeout = d }
func (f *fakeCollector) AgentStates() []AgentState {
	return []AgentState{
		{Name: "pmcd", Domain: 2, Connected: true},
		{Name: "gone", Domain: 7, Type: 4, Status: 8},
		{Name: "linux", Domain: 60, Connected: true, Fenced: f.fenced[60]},
	}
}

func (f *fakeCollector) Fence(domain int, on bool) error {
	if domain == 9 {
		return pcp.ErrInst
	}
	f.fenced[domain] = on
	return nil
}

func newAgent(t *testing.T) (*Agent, *fakeCollector) {
	t.Helper()
	c := &fakeCollector{in: map[int]uint64{}, fenced: map[int]bool{}, timeout: 5 * time.Second}
	a, err := New(Config{Collector: c, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	return a, c
}

// values fetches one metric and returns its values by instance.
func values(t *testing.T, a *Agent, cluster, item int) map[int32]pcp.Value {
	t.Helper()
	ctx := context.Background()
	ids := []pcp.PMID{pcp.NewPMID(2, cluster, item)}
	if err := a.Refresh(ctx, ids); err != nil {
		t.Fatal(err)
	}
	req := &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: new(pcp.Result)}
	if err := a.Fetch(ctx, req); err != nil {
		t.Fatal(err)
	}
	if err := req.Result.Sets[0].Err; err != 0 {
		t.Fatalf("%v: %v", ids[0], err)
	}
	found := map[int32]pcp.Value{}
	for _, v := range req.Result.Sets[0].Values {
		found[v.Inst] = v
	}
	return found
}

func store(a *Agent, client *pmda.Client, cluster, item int, v pcp.Value) error {
	var res pcp.Result
	res.AddSet(pcp.NewPMID(2, cluster, item))
	res.Add(v)
	return a.Store(context.Background(), client, &res)
}

func TestValues(t *testing.T) {
	a, c := newAgent(t)
	c.in[0], c.in[3], c.in[0x17] = 2, 40, 1
	c.clients = []ClientState{{Number: 11, ID: 0, Start: time.Unix(0, 0)}, {Number: 12, ID: 1, Container: "box"}}
	number := func(cluster, item int, want uint32) {
		t.Helper()
		if got := values(t, a, cluster, item)[pcp.InNull].Uint32(); got != want {
			t.Errorf("2.%d.%d is %d, want %d", cluster, item, got, want)
		}
	}
	number(0, itemNumAgents, 2)
	number(0, itemNumClients, 2)
	number(0, 4, 5)
	number(0, 27, 65536)
	number(0, 28, 64)
	number(0, 29, 32768)
	number(0, 30, 7)
	number(clusterPDUsIn, 3, 40)
	number(clusterPDUsIn, 24, 1)
	number(clusterPDUsIn, itemPDUTotal, 43)
	if got := string(values(t, a, 0, 7)[pcp.InNull].Bytes()); got != "1.2.3" {
		t.Errorf("version is %q", got)
	}
	if got := values(t, a, clusterAgent, 1); got[7].Int32() != 8 || got[60].Int32() != 0 || len(got) != 3 {
		t.Errorf("pmcd.agent.status is %v", got)
	}
	if got := values(t, a, clusterClient, 2); string(got[12].Bytes()) != "box" || len(got) != 2 {
		t.Errorf("pmcd.client.container is %v", got)
	}
}

func TestStore(t *testing.T) {
	a, c := newAgent(t)
	root := &pmda.Client{Attrs: map[pmda.AttrKey]string{pmda.AttrUserID: "0"}}
	user := &pmda.Client{ID: 1, Attrs: map[pmda.AttrKey]string{pmda.AttrUserID: "1000"}}
	check := func(what string, got, want error) {
		t.Helper()
		if !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	check("time limit", store(a, user, 0, 4, pcp.Uint32Value(9)), nil)
	if c.timeout != 9*time.Second {
		t.Errorf("time limit is %v", c.timeout)
	}
	check("a negative time limit", store(a, user, 0, 4, pcp.Int32Value(-1).As(pcp.TypeU32)), pcp.ErrConv)
	check("register", store(a, user, 0, 8, pcp.Int32Value(-7).WithInst(3)), nil)
	if got := values(t, a, 0, 8); got[3].Int32() != -7 || got[4].Int32() != 0 {
		t.Errorf("registers are %v", got)
	}
	check("signal", store(a, user, 0, 15, pcp.Int32Value(0)), nil)
	if c.requests != 1 {
		t.Errorf("%d hang-ups were requested", c.requests)
	}
	check("register 16", store(a, user, 0, 8, pcp.Int32Value(1).WithInst(16)), pcp.ErrInst)
	check("a counter", store(a, user, 1, 3, pcp.Uint32Value(1)), pcp.ErrPMID)
	check("no such metric", store(a, user, 1, 999, pcp.Uint32Value(1)), pcp.ErrPMID)

	check("fence by a user", store(a, user, clusterAgent, 2, pcp.Uint32Value(1).WithInst(60)), pcp.ErrPermission)
	check("fence by root", store(a, root, clusterAgent, 2, pcp.Uint32Value(1).WithInst(60)), nil)
	if !maps.Equal(c.fenced, map[int]bool{60: true}) {
		t.Errorf("fenced are %v", c.fenced)
	}
	check("fence itself", store(a, root, clusterAgent, 2, pcp.Uint32Value(1).WithInst(2)), nil)
	check("fence itself by a user", store(a, user, clusterAgent, 2, pcp.Uint32Value(1).WithInst(2)), pcp.ErrPermission)
	if !maps.Equal(c.fenced, map[int]bool{60: true}) {
		t.Errorf("fenced are %v", c.fenced)
	}
	check("fence with 2", store(a, root, clusterAgent, 2, pcp.Uint32Value(2).WithInst(60)), pcp.ErrBadStore)
}

func TestWhoAmI(t *testing.T) {
	a, c := newAgent(t)
	c.clients = []ClientState{{Number: 5, ID: 0}, {Number: 6, ID: 1}}
	first, second := &pmda.Client{ID: 0}, &pmda.Client{ID: 1}
	for client, text := range map[*pmda.Client]string{first: "one", second: "two"} {
		if err := store(a, client, clusterClient, itemWhoAmI, pcp.StringValue(text)); err != nil {
			t.Fatal(err)
		}
	}
	names := func() []string {
		got := values(t, a, clusterClient, itemWhoAmI)
		return []string{string(got[5].Bytes()), string(got[6].Bytes())}
	}
	if got := names(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("clients are %q", got)
	}
	// The number of a client that left may be reused.
	a.EndContext(first)
	if got := names(); !slices.Equal(got, []string{"", "two"}) {
		t.Errorf("after one left clients are %q", got)
	}
	if err := store(a, second, clusterClient, itemWhoAmI, pcp.StringValue(string(make([]byte, maxWhoAmI+1)))); err == nil {
		t.Error("a name without end is taken")
	}
	if err := store(a, second, clusterClient, itemWhoAmI, pcp.Int32Value(1)); err == nil {
		t.Error("a number is taken for a name")
	}
}

func TestMetricsHaveHelp(t *testing.T) {
	a, _ := newAgent(t)
	ctx := context.Background()
	for _, m := range a.metrics() {
		id := uint32(pcp.NewPMID(2, m.Cluster, m.Item))
		for _, kind := range []pcp.TextKind{pcp.TextOneLine, pcp.TextHelp | pcp.TextDirect} {
			if s, err := a.Text(ctx, id, kind|pcp.TextPMID); err != nil || s == "" {
				t.Errorf("%s: %v: %v", m.Name, kind, err)
			}
		}
	}
}

func TestNoCollector(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("an agent without a collector was made")
	}
}
