package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// A shop counts its sales: each value is 10 more than the one before.
func shop(t testing.TB, names ...string) pmapi.LocalAgent {
	t.Helper()
	goods := &pmda.InDom{Serial: 1, Instances: []pcp.Instance{{Inst: 0, Name: "tea"}, {Inst: 1, Name: "coffee beans"}}}
	sold := [2]uint64{}
	var metrics []pmda.Metric
	for i, name := range append([]string{"shop.sold", "shop.name"}, names...) {
		m := pmda.Metric{
			Name: name, Item: i, Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: goods,
			Value: func(inst int32, _ int) (pcp.Value, error) {
				sold[inst] += 10 * uint64(inst+1)
				return pcp.Uint64Value(sold[inst]), nil
			},
		}
		if name == "shop.name" {
			m.Type, m.Sem, m.InDom = pcp.TypeString, pcp.SemDiscrete, nil
			m.Value = func(int32, int) (pcp.Value, error) { return pcp.StringValue("corner"), nil }
		}
		metrics = append(metrics, m)
	}
	agent, err := pmda.NewTable(pmda.Config{Name: "shop", Domain: 400, Metrics: metrics})
	if err != nil {
		t.Fatal(err)
	}
	return pmapi.LocalAgent{Name: "shop", Domain: 400, Agent: agent}
}

func define(t testing.TB, pairs ...string) *derive.Set {
	t.Helper()
	set := new(derive.Set)
	for i := 0; i < len(pairs); i += 2 {
		if err := set.Add(pairs[i], pairs[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	return set
}

func TestDerivedMetadata(t *testing.T) {
	ctx := t.Context()
	set := define(t,
		"shop.change", "delta(shop.sold)",
		"shop.sold.all", "sum(shop.sold)", // below a leaf
		"shop.lost", "nosuch + 1",
		"shop.wrong", "shop.name + 1",
		"shop.name", "1", // the source has it
		"other.one", "1",
	)
	if err := set.AddText("shop.change", pcp.TextOneLine, "sold since"); err != nil {
		t.Fatal(err)
	}
	c := openLocal(t, shop(t))
	var told []string
	c.UseDerived(set, func(err error) { told = append(told, err.Error()) })

	ids, err := c.LookupName(ctx, "shop.sold", "shop.change", "shop.lost", "shop.name", "nosuch")
	want := []pcp.PMID{pcp.NewPMID(400, 0, 0), pcp.NewPMID(511, 0, 3), pcp.NewPMID(511, 0, 5), pcp.NewPMID(400, 0, 1), pcp.PMIDNull}
	if !errors.Is(err, pcp.ErrName) {
		t.Errorf("LookupName: %v", err)
	}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}
	if name, err := c.NameID(ctx, ids[1]); name != "shop.change" || err != nil {
		t.Errorf("NameID = %q, %v", name, err)
	}
	if _, err := c.LookupName(ctx, "shop.change"); err != nil {
		t.Errorf("LookupName of a derived metric: %v", err)
	}

	children, err := c.Children(ctx, "shop")
	if err != nil {
		t.Error(err)
	}
	var names []string
	for _, child := range children {
		names = append(names, child.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"change", "lost", "name", "sold", "wrong"}, names); diff != "" {
		t.Error(diff)
	}
	if children, err := c.Children(ctx, "shop.change"); len(children) != 0 || err != nil {
		t.Errorf("children of a leaf: %v, %v", children, err)
	}
	if children, err := c.Children(ctx, "other"); len(children) != 1 || err != nil {
		t.Errorf("children of a node of derived metrics: %v, %v", children, err)
	}
	if _, err := c.Children(ctx, "others"); !errors.Is(err, pcp.ErrName) {
		t.Errorf("children of nothing: %v", err)
	}

	descs, err := c.LookupDescs(ctx, ids[:4]...)
	if !errors.Is(err, pcp.ErrBadDerive) {
		t.Errorf("LookupDescs: %v", err)
	}
	if d := descs[1]; d.PMID != ids[1] || d.Type != pcp.TypeDouble || d.Sem != pcp.SemInstant || d.InDom != descs[0].InDom {
		t.Errorf("descriptor of a delta: %+v", d)
	}
	if descs[0].PMID != ids[0] || descs[2].PMID != pcp.PMIDNull || descs[3].PMID != ids[3] {
		t.Errorf("descriptors: %v", descs)
	}
	if text, err := c.LookupText(ctx, ids[1], pcp.TextHelp); text != "sold since" || err != nil {
		t.Errorf("LookupText = %q, %v", text, err)
	}
	if _, err := c.LookupText(ctx, ids[2], pcp.TextHelp); !errors.Is(err, pcp.ErrText) {
		t.Errorf("LookupText without a text: %v", err)
	}
	if len(told) != 0 {
		t.Errorf("told too early: %q", told)
	}

	// Those that are bound already and are bad have gone from the names.
	var leaves []string
	for name, err := range c.Traverse(ctx, "shop") {
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, name)
	}
	slices.Sort(leaves)
	if diff := cmp.Diff([]string{"shop.change", "shop.name", "shop.sold", "shop.wrong"}, leaves); diff != "" {
		t.Error(diff)
	}
	wrong, err := c.LookupName(ctx, "shop.wrong")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.LookupDesc(ctx, wrong[0]); !errors.Is(err, pcp.ErrBadDerive) {
		t.Errorf("LookupDesc: %v", err)
	}
	if diff := cmp.Diff([]string{"Semantic error: derived metric shop.wrong: shop.name + 1: Non-arithmetic type for left operand"}, told); diff != "" {
		t.Error(diff)
	}

	c.UseDerived(nil, nil)
	if _, err := c.LookupName(ctx, "shop.change"); !errors.Is(err, pcp.ErrName) {
		t.Errorf("without the set: %v", err)
	}
}

func values(vs pcp.ValueSet) string {
	if vs.Err < 0 {
		return vs.Err.Error()
	}
	s := ""
	for _, v := range vs.Values {
		s += fmt.Sprintf("%d:%s ", v.Inst, v)
	}
	return s
}

func TestDerivedValues(t *testing.T) {
	ctx := t.Context()
	c := openLocal(t, shop(t))
	c.UseDerived(define(t,
		"change", "delta(shop.sold)",
		"beans", "matchinst(/^coffee$/, shop.sold)",
		"tea", "shop.sold[tea]",
		"all", "mkconst(7, type=u64, meta=shop.sold)",
		"what", "shop.name",
		"lost", "nosuch + 1",
	), nil)
	ids, err := c.LookupName(ctx, "change", "shop.sold", "beans", "tea", "all", "what", "lost")
	if err != nil {
		t.Fatal(err)
	}
	var last pcp.Result
	for i, want := range [][]string{
		{"", "0:10 1:20 ", "1:20 ", "0:10 ", "0:7 1:7 ", `-1:"corner" `, pcp.ErrPMID.Error()},
		{"0:1.000000e+01 1:2.000000e+01 ", "0:20 1:40 ", "1:40 ", "0:20 ", "0:7 1:7 ", `-1:"corner" `, pcp.ErrPMID.Error()},
	} {
		var res pcp.Result
		if _, err := c.FetchInto(ctx, ids, &res); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, vs := range res.Sets {
			got = append(got, values(vs))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("fetch %d: %s", i+1, diff)
		}
		if i == 1 && values(last.Sets[2]) != "1:20 " {
			t.Errorf("the next fetch changed the values of the one before to %s", values(last.Sets[2]))
		}
		last = res
	}

	// What a profile leaves out is left out of constants too.
	if err := c.AddProfile(pcp.NewInDom(400, 1), 1); err != nil {
		t.Fatal(err)
	}
	res, err := c.Fetch(ctx, ids[:5])
	if err != nil {
		t.Fatal(err)
	}
	if got := values(res.Sets[0]) + values(res.Sets[4]); got != "1:2.000000e+01 1:7 " {
		t.Errorf("with a profile: %s", got)
	}

	// A duplicate has the definitions, and values of its own.
	dup, err := c.Dup(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer dup.Close()
	if res, err = dup.Fetch(ctx, ids[:1]); err != nil || values(res.Sets[0]) != "" {
		t.Errorf("first fetch of a duplicate: %v, %v", res, err)
	}
}

func TestDerivedOfContext(t *testing.T) {
	ctx := t.Context()
	c := openLocal(t, shop(t))
	if err := c.AddDerived(ctx, "x", "shop.sold +"); err == nil || !errors.Is(err, pcp.ErrBadDerive) {
		t.Errorf("AddDerived of nonsense: %v", err)
	}
	if err := c.AddDerived(ctx, "x", "shop.sold * 2"); err != nil {
		t.Fatal(err)
	}
	if err := c.AddDerivedText(ctx, "x", pcp.TextOneLine, "twice"); err != nil {
		t.Error(err)
	}
	ids, err := c.LookupName(ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := c.LookupText(ctx, ids[0], pcp.TextOneLine); text != "twice" || err != nil {
		t.Errorf("LookupText = %q, %v", text, err)
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil || values(res.Sets[0]) != "0:20 1:40 " {
		t.Errorf("Fetch = %v, %v", res, err)
	}
	if err := c.RemoveDerived(ctx, "y"); !errors.Is(err, pcp.ErrName) {
		t.Errorf("RemoveDerived of what is not there: %v", err)
	}
	if err := c.RemoveDerived(ctx, "x"); err != nil {
		t.Error(err)
	}
	if _, err := c.LookupName(ctx, "x"); !errors.Is(err, pcp.ErrName) {
		t.Errorf("LookupName of what was removed: %v", err)
	}
	if _, err := c.LookupDesc(ctx, ids[0]); err == nil {
		t.Error("what was removed has a descriptor")
	}
	if err := c.AddDerived(ctx, "x", "shop.sold * 3"); err != nil {
		t.Error(err)
	}
}

// TestDerivedRebound holds that a definition is bound again where names change.
func TestDerivedRebound(t *testing.T) {
	ctx := t.Context()
	c := openLocal(t, shop(t))
	c.UseDerived(define(t, "x", "renamed + 1"), nil)
	id, err := c.LookupName(ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.LookupDesc(ctx, id[0]); !errors.Is(err, pcp.ErrBadDerive) {
		t.Errorf("without the operand: %v", err)
	}
	tree := pmns.New()
	if err := tree.Add("renamed", pcp.NewPMID(400, 0, 0)); err != nil {
		t.Fatal(err)
	}
	c.UseNameSpace(tree)
	if _, err := c.LookupDesc(ctx, id[0]); !errors.Is(err, pcp.ErrBadDerive) {
		t.Errorf("a counter and a number can be added: %v", err)
	}
	if err := c.AddDerived(ctx, "y", "renamed * 2"); err != nil {
		t.Errorf("with the operand: %v", err)
	}
	if err := c.Reconnect(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.LookupName(ctx, "y"); !errors.Is(err, pcp.ErrName) {
		t.Errorf("after a reconnect: %v", err)
	}
	if _, err := c.LookupName(ctx, "x"); err != nil {
		t.Errorf("after a reconnect: %v", err)
	}
}

func TestDerivedGroup(t *testing.T) {
	ctx := t.Context()
	c := openLocal(t, shop(t))
	c.UseDerived(define(t, "twice", "shop.sold * 2"), nil)
	for s, err := range c.Values(ctx, "twice") {
		if err != nil {
			t.Fatal(err)
		}
		if n := s.Value.Uint64(); n != 20*uint64(s.Value.Inst+1) {
			t.Errorf("%s: %d", s.Instance, n)
		}
	}
}

func TestDerivedInArchive(t *testing.T) {
	ctx := t.Context()
	path, start := pmapi.Record(t)
	c, err := pmapi.OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	names, err := pmapi.LeavesOf(ctx, c.Context, "")
	if err != nil {
		t.Fatal(err)
	}
	first, rest := names[0], len(names)
	set := define(t, "same", first, "one", "2 - 1", "lost", "nosuch")
	c.UseDerived(set, nil)
	if names, err = pmapi.LeavesOf(ctx, c.Context, ""); err != nil || len(names) != rest+3 {
		t.Errorf("names: %v, %v", names, err)
	}
	ids, err := c.LookupName(ctx, first, "same", "one", "lost")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []pmapi.Mode{pmapi.ModeForw, pmapi.ModeInterp} {
		if err := c.SetMode(ctx, mode, &start, time.Second); err != nil {
			t.Fatal(err)
		}
		res, err := c.Fetch(ctx, ids)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Sets) != len(ids) || values(res.Sets[0]) == "" || values(res.Sets[1]) != values(res.Sets[0]) ||
			values(res.Sets[2]) != "-1:1 " || res.Sets[3].Err != pcp.ErrPMID {
			t.Errorf("mode %d: %v", mode, res.Sets)
		}
	}
	// A metric without operands is in each record.
	if err := c.SetMode(ctx, pmapi.ModeForw, &start, 0); err != nil {
		t.Fatal(err)
	}
	if res, err := c.Fetch(ctx, ids[2:3]); err != nil || values(res.Sets[0]) != "-1:1 " {
		t.Errorf("a constant: %v, %v", res, err)
	}
}

func BenchmarkDerivedFetch(b *testing.B) {
	ctx := context.Background()
	c, err := pmapi.OpenLocal(shop(b))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	c.UseDerived(define(b, "x", "rate(shop.sold)"), nil)
	ids, err := c.LookupName(ctx, "x")
	if err != nil {
		b.Fatal(err)
	}
	var res pcp.Result
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.FetchInto(ctx, ids, &res); err != nil {
			b.Fatal(err)
		}
	}
}

// Derived metrics are defined once, and all contexts that use the set have them.
func ExampleContext_UseDerived() {
	var set derive.Set
	if err := set.Add("house.warm", "house.temperature > 20"); err != nil {
		log.Fatal(err)
	}
	c, err := pmapi.OpenLocal(house())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	c.UseDerived(&set, func(err error) { log.Print(err) })
	for s, err := range c.Values(context.Background(), "house.warm") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.Instance, s.Value)
	}
	// Output:
	// kitchen 1
	// hall 0
}

func house() pmapi.LocalAgent {
	rooms := &pmda.InDom{Serial: 1, Instances: []pcp.Instance{{Inst: 0, Name: "kitchen"}, {Inst: 1, Name: "hall"}}}
	degrees := []float64{21.5, 18}
	agent, err := pmda.NewTable(pmda.Config{Name: "house", Domain: 400, Metrics: []pmda.Metric{{
		Name: "house.temperature", Type: pcp.TypeDouble, Sem: pcp.SemInstant, InDom: rooms,
		Value: func(inst int32, _ int) (pcp.Value, error) { return pcp.DoubleValue(degrees[inst]), nil },
	}}})
	if err != nil {
		log.Fatal(err)
	}
	return pmapi.LocalAgent{Name: "house", Domain: 400, Agent: agent}
}
