package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

const domain = 400

var _ interface {
	pmda.Agent
	pmda.Refresher
	pmda.NameSpacer
	pmda.Storer
	pmda.Texter
	pmda.Labeler
} = (*pmda.Table)(nil)

// A disk is an instance of the test's agent.
type disk struct {
	name  string
	reads uint64
}

// A fixture is an agent with a bit of everything, and a record of its calls.
type fixture struct {
	*pmda.Table
	disks   []disk
	limit   int32
	indom   *pmda.InDom
	listErr error
	asked   [][]pcp.PMID // of refreshes
	scans   int          // of the instance domain alone
	log     bytes.Buffer
}

var errSource = errors.New("source is gone")

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{disks: []disk{{"sda", 7}, {"sdb", 8}, {"sdc spare", 9}}, limit: 5}
	f.indom = &pmda.InDom{
		Serial: 3, OneLine: "disks", Labels: `{"indom_name":"per disk"}`,
		List: func(context.Context) ([]pcp.Instance, error) {
			var list []pcp.Instance
			for i, d := range f.disks {
				list = append(list, pcp.Instance{Inst: int32(i * 10), Name: d.name})
			}
			return list, f.listErr
		},
		Refresh:        func(context.Context) error { f.scans++; return nil },
		InstanceLabels: func(_ int32, i int) string { return fmt.Sprintf(`{"disk":%q}`, f.disks[i].name) },
		InstanceNotes:  func(_ int32, i int) string { return fmt.Sprintf(`{"nth":%d}`, i) },
	}
	count := pcp.NewUnits(0, 0, 1, 0, 0, pcp.CountOne)
	var err error
	f.Table, err = pmda.NewTable(pmda.Config{
		Name: "fixture", Domain: domain,
		Labels:        `{"role":"test"}`,
		ClusterLabels: map[int]string{1: `{"cluster":"one"}`},
		Log:           slog.New(slog.NewTextHandler(&f.log, nil)),
		Refresh: func(_ context.Context, ids []pcp.PMID) error {
			f.asked = append(f.asked, ids)
			return nil
		},
		Value: func(req *pmda.FetchRequest, m *pmda.Metric, inst int32, i int) (pcp.Value, error) {
			switch m.Item {
			case 0: // by the client
				return pcp.Int32Value(int32(req.Client.ID)), nil
			case 1:
				return pcp.StringValue(m.User.(string)), nil
			}
			return pcp.Value{}, pcp.ErrPMID
		},
		Metrics: []pmda.Metric{
			{
				Name: "fix.limit", Cluster: 0, Item: 0, Type: pcp.Type32, Sem: pcp.SemDiscrete,
				OneLine: "a limit", Help: "A limit at length.", Labels: `{"item":1}`, Notes: `{"note":true}`,
				Value: func(int32, int) (pcp.Value, error) { return pcp.Int32Value(f.limit), nil },
				Store: func(_ *pmda.Client, _ int32, _ int, v pcp.Value) error {
					if v.Int32() < 0 {
						return pcp.ErrBadStore
					}
					f.limit = v.Int32()
					return nil
				},
			},
			{
				Name: "fix.disk.reads", Cluster: 1, Item: 0, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, InDom: f.indom,
				OneLine: "reads",
				Value:   func(_ int32, i int) (pcp.Value, error) { return pcp.Uint64Value(f.disks[i].reads), nil },
				Store: func(_ *pmda.Client, inst int32, i int, v pcp.Value) error {
					f.disks[i].reads = v.Uint64()
					return nil
				},
			},
			{
				Name: "fix.disk.odd", Cluster: 1, Item: 1, Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: f.indom,
				Value: func(inst int32, i int) (pcp.Value, error) {
					switch i {
					case 0:
						return pcp.Value{}, pmda.ErrNoValue
					case 1:
						return pcp.Uint32Value(1), nil
					}
					return pcp.Value{}, pcp.ErrInst
				},
			},
			{
				Name: "fix.disk.none", Cluster: 1, Item: 2, Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: f.indom,
				Value: func(inst int32, i int) (pcp.Value, error) {
					return pcp.Value{}, fmt.Errorf("disk %d: %w", inst, pmda.ErrNoValue)
				},
			},
			{
				Name: "fix.broken", Cluster: 2, Item: 0, Type: pcp.TypeU32, Sem: pcp.SemInstant,
				Value: func(int32, int) (pcp.Value, error) { return pcp.Value{}, errSource },
			},
			{
				Name: "fix.wrongtype", Cluster: 2, Item: 1, Type: pcp.TypeU32, Sem: pcp.SemInstant,
				Value: func(int32, int) (pcp.Value, error) { return pcp.StringValue("7"), nil },
			},
			{Name: "fix.absent", Cluster: 2, Item: 2, Type: pcp.TypeNoSupport, Sem: pcp.SemInstant},
			{Name: "fix.client", Cluster: 3, Item: 0, Type: pcp.Type32, Sem: pcp.SemInstant},
			{Name: "fix.user", Cluster: 3, Item: 1, Type: pcp.TypeString, Sem: pcp.SemDiscrete, User: "mine"},
			{Cluster: 3, Item: 2, Type: pcp.TypeString, Sem: pcp.SemDiscrete}, // without a name
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// show prints a result, one metric a line.
func show(res *pcp.Result) string {
	var b strings.Builder
	for _, vs := range res.Sets {
		fmt.Fprintf(&b, "%v", vs.PMID)
		if vs.Err != 0 {
			fmt.Fprintf(&b, " error %d", int32(vs.Err))
		}
		for _, v := range vs.Values {
			fmt.Fprintf(&b, " [%d]", v.Inst)
			if v.Type() == pcp.TypeString {
				fmt.Fprintf(&b, "%q", v.Bytes())
			} else {
				fmt.Fprint(&b, v.Bits())
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func ids(items ...[2]int) []pcp.PMID {
	var list []pcp.PMID
	for _, i := range items {
		list = append(list, pcp.NewPMID(domain, i[0], i[1]))
	}
	return list
}

func fetch(t testing.TB, a pmda.Agent, p *pcp.Profile, ids []pcp.PMID) *pcp.Result {
	t.Helper()
	req := &pmda.FetchRequest{Client: &pmda.Client{ID: 42}, Profile: p, PMIDs: ids, Result: new(pcp.Result)}
	if err := a.Fetch(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if err := pmda.CheckResult(req); err != nil {
		t.Fatal(err)
	}
	return req.Result
}

func TestTableFetch(t *testing.T) {
	f := newFixture(t)
	disks := pcp.NewInDom(domain, 3)
	var only10, not10, nothing pcp.Profile
	for _, err := range []error{
		only10.Del(disks), only10.Add(disks, 10),
		not10.Add(disks), not10.Del(disks, 10),
		nothing.Del(pcp.InDomNull),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name    string
		profile *pcp.Profile
		ids     []pcp.PMID
		want    string
	}{
		{"single", nil, ids([2]int{0, 0}), "400.0.0 [-1]5\n"},
		{"all instances", nil, ids([2]int{1, 0}), "400.1.0 [0]7 [10]8 [20]9\n"},
		{"some have none", nil, ids([2]int{1, 1}), "400.1.1 [10]1\n"},
		{"all have none", nil, ids([2]int{1, 2}), "400.1.2\n"},
		{"listed", &only10, ids([2]int{1, 0}), "400.1.0 [10]8\n"},
		{"all but", &not10, ids([2]int{1, 0}), "400.1.0 [0]7 [20]9\n"},
		{"the last error counts", &not10, ids([2]int{1, 1}), "400.1.1 error -12360\n"},
		{"nothing", &nothing, ids([2]int{1, 0}, [2]int{0, 0}), "400.1.0\n400.0.0 [-1]5\n"},
		{"unknown", nil, ids([2]int{9, 9}, [2]int{0, 0}), "400.9.9 error -12358\n400.0.0 [-1]5\n"},
		{"other domain", nil, []pcp.PMID{pcp.NewPMID(1, 0, 0)}, "1.0.0 error -12358\n"},
		{"not a pcp.Error", nil, ids([2]int{2, 0}), "400.2.0 error -12345\n"},
		{"wrong type", nil, ids([2]int{2, 1}), "400.2.1 error -12397\n"},
		{"no support", nil, ids([2]int{2, 2}), "400.2.2 error -12350\n"},
		{"common function", nil, ids([2]int{3, 0}, [2]int{3, 1}, [2]int{3, 2}), "400.3.0 [-1]42\n400.3.1 [-1]\"mine\"\n400.3.2 error -12358\n"},
		{"twice the same", nil, ids([2]int{0, 0}, [2]int{0, 0}), "400.0.0 [-1]5\n400.0.0 [-1]5\n"},
		{"none", nil, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, show(fetch(t, f, tt.profile, tt.ids))); diff != "" {
				t.Error(diff)
			}
		})
	}
	f.listErr = pcp.ErrAgain
	if got, want := show(fetch(t, f, nil, ids([2]int{1, 0}))), "400.1.0 error -12389\n"; got != want {
		t.Errorf("with an instance domain in error: %q, want %q", got, want)
	}
	if f.scans != 0 {
		t.Error("a fetch refreshed the instance domain")
	}
	if got := strings.Count(f.log.String(), "source is gone"); got != 1 {
		t.Errorf("%d lines in the log about the broken metric, want 1:\n%s", got, &f.log)
	}
	fetch(t, f, nil, ids([2]int{2, 0}))
	if got := strings.Count(f.log.String(), "source is gone"); got != 1 {
		t.Errorf("%d lines in the log after a second failure, want 1", got)
	}
}

func TestTableRefresh(t *testing.T) {
	f := newFixture(t)
	want := ids([2]int{0, 0}, [2]int{1, 0})
	if err := f.Refresh(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]pcp.PMID{want}, f.asked); diff != "" {
		t.Error(diff)
	}
}

func TestTableFetchAllocs(t *testing.T) {
	f := newFixture(t)
	static := make([]pcp.Instance, 200)
	for i := range static {
		static[i].Inst = int32(i)
	}
	many := &pmda.InDom{Serial: 1, Instances: static}
	table, err := pmda.NewTable(pmda.Config{Domain: domain, Metrics: []pmda.Metric{{
		Type: pcp.TypeU64, InDom: many,
		Value: func(_ int32, i int) (pcp.Value, error) { return pcp.Uint64Value(uint64(i)), nil },
	}, {
		Item: 1, Type: pcp.TypeU64, InDom: many,
		Value: func(_ int32, i int) (pcp.Value, error) { return pcp.Value{}, pcp.ErrAgain },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	var some pcp.Profile
	if err := some.Del(pcp.NewInDom(domain, 1), 3, 4); err != nil {
		t.Fatal(err)
	}
	if err := some.Add(pcp.NewInDom(domain, 1), 5); err != nil {
		t.Fatal(err)
	}
	var ctx context.Context = t.Context()
	for _, tt := range []struct {
		a   pmda.Agent
		req pmda.FetchRequest
	}{
		{f, pmda.FetchRequest{PMIDs: ids([2]int{0, 0}, [2]int{9, 9})}},
		{table, pmda.FetchRequest{PMIDs: ids([2]int{0, 0}, [2]int{0, 1})}},
		{table, pmda.FetchRequest{PMIDs: ids([2]int{0, 0}), Profile: &some}},
	} {
		tt.req.Client, tt.req.Result = &pmda.Client{}, new(pcp.Result)
		n := testing.AllocsPerRun(100, func() {
			tt.req.Result.Reset()
			if err := tt.a.Fetch(ctx, &tt.req); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("Fetch(%v) with %d values allocates %v times", tt.req.PMIDs, len(tt.req.Result.Sets[0].Values), n)
		}
	}
}

func TestTableDesc(t *testing.T) {
	f := newFixture(t)
	got, err := f.Desc(t.Context(), pcp.NewPMID(domain, 1, 0))
	want := pcp.Desc{
		PMID: pcp.NewPMID(domain, 1, 0), Type: pcp.TypeU64, InDom: pcp.NewInDom(domain, 3),
		Sem: pcp.SemCounter, Units: pcp.NewUnits(0, 0, 1, 0, 0, 0),
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if got, _ = f.Desc(t.Context(), pcp.NewPMID(domain, 0, 0)); got.InDom != pcp.InDomNull {
		t.Errorf("instance domain of a single value is %v", got.InDom)
	}
	if _, err := f.Desc(t.Context(), pcp.NewPMID(domain, 9, 9)); err != pcp.ErrPMID {
		t.Errorf("Desc of an unknown metric: %v", err)
	}
}

func TestTableInstances(t *testing.T) {
	f := newFixture(t)
	disks := pcp.NewInDom(domain, 3)
	got, err := f.Instances(t.Context(), disks)
	want := []pcp.Instance{{Inst: 0, Name: "sda"}, {Inst: 10, Name: "sdb"}, {Inst: 20, Name: "sdc spare"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if f.scans != 1 {
		t.Errorf("the instance domain was refreshed %d times, want 1", f.scans)
	}
	if _, err := f.Instances(t.Context(), pcp.NewInDom(domain, 4)); err != pcp.ErrInDom {
		t.Errorf("Instances of an unknown domain: %v", err)
	}
	for name, want := range map[string]int32{"sda": 0, "sdc": 20, "sdc spare": 20} {
		if got, err := pmda.LookupInstance(t.Context(), f, disks, name); got != want || err != nil {
			t.Errorf("LookupInstance(%q) = %d, %v, want %d", name, got, err, want)
		}
	}
	for _, name := range []string{"", "sd", "sdc ", "spare"} {
		if _, err := pmda.LookupInstance(t.Context(), f, disks, name); err != pcp.ErrInst {
			t.Errorf("LookupInstance(%q): %v", name, err)
		}
	}
	if got, err := pmda.InstanceName(t.Context(), f, disks, 10); got != "sdb" || err != nil {
		t.Errorf("InstanceName(10) = %q, %v", got, err)
	}
	if _, err := pmda.InstanceName(t.Context(), f, disks, 11); err != pcp.ErrInst {
		t.Errorf("InstanceName(11): %v", err)
	}
}

func TestTableText(t *testing.T) {
	f := newFixture(t)
	check := func(ident uint32, kind pcp.TextKind, want string, wantErr error) {
		t.Helper()
		if got, err := f.Text(t.Context(), ident, kind); got != want || err != wantErr {
			t.Errorf("Text(%#x, %d) = %q, %v, want %q, %v", ident, kind, got, err, want, wantErr)
		}
	}
	limit, reads := uint32(pcp.NewPMID(domain, 0, 0)), uint32(pcp.NewPMID(domain, 1, 0))
	disks := uint32(pcp.NewInDom(domain, 3))
	check(limit, pcp.TextPMID|pcp.TextOneLine, "a limit", nil)
	check(limit, pcp.TextPMID|pcp.TextHelp, "A limit at length.", nil)
	check(reads, pcp.TextPMID|pcp.TextHelp, "reads", nil)
	check(reads, pcp.TextPMID|pcp.TextHelp|pcp.TextDirect, "", pcp.ErrText)
	check(disks, pcp.TextInDom|pcp.TextOneLine, "disks", nil)
	check(disks+1, pcp.TextInDom|pcp.TextOneLine, "", pcp.ErrText)
	check(reads+1, pcp.TextPMID|pcp.TextOneLine, "", pcp.ErrText)
	check(reads+500, pcp.TextPMID|pcp.TextOneLine, "", pcp.ErrText)
}

func TestTableStore(t *testing.T) {
	f := newFixture(t)
	store := func(wantErr error, sets ...pcp.ValueSet) {
		t.Helper()
		if err := f.Store(t.Context(), &pmda.Client{}, &pcp.Result{Sets: sets}); err != wantErr {
			t.Errorf("Store(%v): %v, want %v", sets, err, wantErr)
		}
	}
	limit := func(v int32) pcp.ValueSet {
		// As from the wire: without a type.
		return pcp.ValueSet{PMID: pcp.NewPMID(domain, 0, 0), Values: []pcp.Value{pcp.RawValue(pcp.TypeUnknown, uint64(uint32(v)))}}
	}
	reads := func(inst int32, v uint64) pcp.ValueSet {
		return pcp.ValueSet{PMID: pcp.NewPMID(domain, 1, 0), Values: []pcp.Value{pcp.Uint64Value(v).WithInst(inst)}}
	}
	store(nil, limit(77))
	store(pcp.ErrBadStore, limit(-1), limit(88)) // the first error ends it
	store(nil, reads(10, 1000))
	store(pcp.ErrInst, reads(11, 1))
	store(pcp.ErrPermission, pcp.ValueSet{PMID: pcp.NewPMID(domain, 2, 0), Values: []pcp.Value{{}}})
	store(pcp.ErrPMID, pcp.ValueSet{PMID: pcp.NewPMID(domain, 9, 9)})
	store(pcp.ErrConv, pcp.ValueSet{PMID: pcp.NewPMID(domain, 0, 0), Values: []pcp.Value{pcp.StringValue("5")}})
	store(nil, pcp.ValueSet{PMID: pcp.NewPMID(domain, 0, 0)})
	if f.limit != 77 || f.disks[1].reads != 1000 {
		t.Errorf("after the stores the limit is %d and sdb's reads %d", f.limit, f.disks[1].reads)
	}
}

func TestTableLabels(t *testing.T) {
	f := newFixture(t)
	check := func(ident uint32, kind pcp.LabelFlags, want string) {
		t.Helper()
		sets, err := f.Labels(t.Context(), ident, kind)
		var b strings.Builder
		for _, s := range sets {
			fmt.Fprintf(&b, "[%d]%s", s.Inst, s.JSON)
			for _, l := range s.Index {
				if l.Flags != kind {
					fmt.Fprintf(&b, " %s=%#x", s.JSON[l.Name:l.Name+uint16(l.NameLen)], uint8(l.Flags))
				}
			}
			b.WriteByte('\n')
		}
		if b.String() != want || err != nil {
			t.Errorf("Labels(%#x, %v) = %s, %v, want %s", ident, kind, &b, err, want)
		}
	}
	item := uint32(pcp.NewPMID(domain, 1, 0))
	indom := uint32(pcp.NewInDom(domain, 3))
	check(domain, pcp.LabelDomain, "[-1]{\"role\":\"test\"}\n")
	check(item, pcp.LabelCluster, "[-1]{\"cluster\":\"one\"}\n")
	check(item, pcp.LabelItem, "")
	check(uint32(pcp.NewPMID(domain, 0, 0)), pcp.LabelItem, "[-1]{\"item\":1,\"note\":true} note=0x90\n")
	check(uint32(pcp.NewPMID(domain, 0, 0)), pcp.LabelCluster, "")
	check(item+99, pcp.LabelItem, "")
	check(indom, pcp.LabelInDom, "[-1]{\"indom_name\":\"per disk\"}\n")
	check(indom+1, pcp.LabelInDom, "")
	check(indom+1, pcp.LabelInstances, "")
	check(0, pcp.LabelContext, "")
	check(indom, pcp.LabelInstances, "[0]{\"disk\":\"sda\",\"nth\":0} nth=0xa0\n[10]{\"disk\":\"sdb\",\"nth\":1} nth=0xa0\n[20]{\"disk\":\"sdc spare\",\"nth\":2} nth=0xa0\n")
	if _, err := f.Labels(t.Context(), 0, 0); err != pcp.ErrType {
		t.Errorf("labels of no level: %v", err)
	}

	// If there are no labels of instances, each gets an empty set.
	f.indom.InstanceLabels, f.indom.InstanceNotes = nil, nil
	check(indom, pcp.LabelInstances, "[0]\n[10]\n[20]\n")
	f = newFixture(t)

	// One instance with bad labels does not spoil the others.
	f.disks[1].name = "\xff\x00"
	sets, err := f.Labels(t.Context(), indom, pcp.LabelInstances)
	if err != nil || len(sets) != 3 || sets[0].Err != 0 || sets[1].Err == 0 || sets[2].Err != 0 {
		t.Errorf("with a bad instance: %+v, %v", sets, err)
	}

	plain, err := pmda.NewTable(pmda.Config{Name: "plain", Domain: domain})
	if err != nil {
		t.Fatal(err)
	}
	sets, err = plain.Labels(t.Context(), domain, pcp.LabelDomain)
	if err != nil || len(sets) != 1 || sets[0].JSON != `{"agent":"plain"}` {
		t.Errorf("labels of a domain without its own: %+v, %v", sets, err)
	}
	none, err := pmda.NewTable(pmda.Config{Name: "none", Domain: domain, Labels: "{}"})
	if err != nil {
		t.Fatal(err)
	}
	if sets, err = none.Labels(t.Context(), domain, pcp.LabelDomain); len(sets) != 0 || err != nil {
		t.Errorf("labels of a domain with none: %+v, %v", sets, err)
	}
}

func TestTableNameSpace(t *testing.T) {
	f := newFixture(t)
	tree := f.NameSpace()
	if id, err := tree.Lookup("fix.disk.reads"); id != pcp.NewPMID(domain, 1, 0) || err != nil {
		t.Errorf("Lookup(fix.disk.reads) = %v, %v", id, err)
	}
	n := 0
	for range tree.All() {
		n++
	}
	if n != 9 {
		t.Errorf("the name space has %d leaves, want 9", n)
	}
}

func TestNewTableErrors(t *testing.T) {
	value := func(int32, int) (pcp.Value, error) { return pcp.Value{}, nil }
	m := pmda.Metric{Name: "a.b", Type: pcp.TypeU32, Value: value}
	with := func(change func(m *pmda.Metric)) []pmda.Metric {
		c := m
		change(&c)
		return []pmda.Metric{m, c}
	}
	for _, tt := range []struct {
		name string
		cfg  pmda.Config
		want string
	}{
		{"domain 0", pmda.Config{}, "domain 0"},
		{"domain 511", pmda.Config{Domain: 511}, "domain 511"},
		{"same PMID", pmda.Config{Domain: 1, Metrics: with(func(m *pmda.Metric) { m.Name = "a.c" })}, "is also a.b"},
		{"same name", pmda.Config{Domain: 1, Metrics: with(func(m *pmda.Metric) { m.Item = 1 })}, "a.b"},
		{"bad name", pmda.Config{Domain: 1, Metrics: with(func(m *pmda.Metric) { m.Item, m.Name = 1, "a..b" })}, "a..b"},
		{"name below a leaf", pmda.Config{Domain: 1, Metrics: with(func(m *pmda.Metric) { m.Item, m.Name = 1, "a.b.c" })}, "a.b.c"},
		{"big item", pmda.Config{Domain: 1, Metrics: with(func(m *pmda.Metric) { m.Item = 1024 })}, "does not fit"},
		{"big cluster", pmda.Config{Domain: 1, Metrics: with(func(m *pmda.Metric) { m.Cluster = 4096 })}, "does not fit"},
		{"no value", pmda.Config{Domain: 1, Metrics: with(func(m *pmda.Metric) { m.Item, m.Name, m.Value = 1, "", nil })}, "nothing gives its value"},
		{"labels", pmda.Config{Domain: 1, Labels: "[]"}, "labels"},
		{"cluster labels", pmda.Config{Domain: 1, ClusterLabels: map[int]string{7: "{"}}, "cluster 7"},
		{"item labels", pmda.Config{Domain: 1, Metrics: with(func(m *pmda.Metric) { m.Item, m.Name, m.Labels = 1, "", "{1}" })}, "metric 1"},
		{"indom labels", pmda.Config{Domain: 1, InDoms: []*pmda.InDom{{Serial: 5, Labels: "x"}}}, "serial 5"},
		{"serials clash", pmda.Config{Domain: 1, InDoms: []*pmda.InDom{{Serial: 1}, {Serial: 1}}}, "serial 1"},
		{"serial", pmda.Config{Domain: 1, InDoms: []*pmda.InDom{{Serial: -1}}}, "serial -1"},
	} {
		if _, err := pmda.NewTable(tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want ...%s...", tt.name, err, tt.want)
		}
	}
}
