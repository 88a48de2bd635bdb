package pmapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/wire"
)

func TestFetchGroup(t *testing.T) {
	fake := newCollector()
	bytesID := pcp.NewPMID(400, 1, 0)
	fake.names.Add("demo.bytes", bytesID)
	fake.descs[bytesID] = pcp.Desc{PMID: bytesID, Type: pcp.TypeU32, InDom: indom, Sem: pcp.SemCounter, Units: pcp.NewUnits(1, 0, 0, pcp.SpaceByte, 0, 0)}
	var now int64 // also the values
	values := map[int64][]uint32{0: {0, 100, 4294967295}, 2: {2048, 100, 1}, 4: {4096, 50, 2}, 6: nil}
	usual := fake.fetch
	fake.fetch = func(id pcp.PMID, res *pcp.Result) {
		switch {
		case id == bytesID:
			res.AddSet(id)
			for i, v := range values[now] {
				res.Add(pcp.Uint32Value(v).WithInst(int32(i)))
			}
		case id == idName && now == 6:
			res.AddSet(id)
		default:
			usual(id, res)
		}
		res.Time = pcp.Timestamp{Sec: 1000 + now}
	}
	var profile wire.Profile
	fake.answer = func(s *session, hdr wire.Header, body []byte) bool {
		if hdr.Type == wire.TypeProfile {
			profile = wire.Profile{}
			profile.DecodeBody(body)
		}
		return false
	}
	ctx := t.Context()
	g, err := NewFetchGroup(fake.dial(t))
	if err != nil {
		t.Fatal(err)
	}
	add := func(metric, inst, scale string, typ pcp.Type) *GroupItem {
		t.Helper()
		item, err := g.Add(ctx, GroupMetric{metric, inst, scale, typ})
		if err != nil {
			t.Fatal(err)
		}
		return item
	}
	perSec := add("demo.bytes", "one", "", pcp.TypeDouble)
	perMin := add("demo.bytes", "one", "Kbyte/min", pcp.TypeU32)
	kbytes := add("demo.bytes", "one", "Kbyte", pcp.TypeFloat)
	instant := add("demo.bytes", "three", "instant", pcp.TypeString)
	wrapped := add("demo.bytes", "three", "rate", pcp.TypeDouble)
	fell := add("demo.bytes", "two", "", pcp.Type64)
	text := add("demo.name", "", "", pcp.TypeString)
	number := add("demo.name", "", "", pcp.TypeU32)
	all, err := g.AddInstances(ctx, GroupMetric{Metric: "demo.bytes", Type: pcp.TypeDouble})
	if err != nil {
		t.Fatal(err)
	}
	single, err := g.AddInstances(ctx, GroupMetric{Metric: "demo.name", Type: pcp.TypeString})
	if err != nil {
		t.Fatal(err)
	}
	step := func(sec int64) {
		t.Helper()
		now = sec
		if err := g.Fetch(ctx); err != nil {
			t.Fatal(err)
		}
		if g.Time().Sec != 1000+sec {
			t.Errorf("Time = %v", g.Time())
		}
	}
	check := func(what string, item *GroupItem, want string, wantErr pcp.Error) {
		t.Helper()
		if got := item.Value.String(); got != want || pcp.Code(item.Err) != wantErr || wantErr == 0 && item.Err != nil || item.Value.Type() != item.m.out {
			t.Errorf("at %d: %s = %s, %v, want %s, %v", now, what, got, item.Err, want, wantErr)
		}
	}
	nan := pcp.DoubleValue(math.NaN()).String()
	step(0)
	check("perSec", perSec, nan, pcp.ErrAgain)
	check("perMin", perMin, "4294967295", pcp.ErrAgain)
	check("kbytes", kbytes, pcp.FloatValue(0).String(), 0)
	check("instant", instant, pcp.StringValue("4294967295").String(), 0)
	check("text", text, pcp.StringValue("wallaby").String(), 0)
	check("number", number, "4294967295", pcp.ErrType)
	if len(all.Values) != 3 || all.Values[1].Err != pcp.ErrAgain || all.Values[1].Name != "two 2" || all.Err != nil {
		t.Errorf("all = %+v", all)
	}
	if len(single.Values) != 1 || string(single.Values[0].Value.Bytes()) != "wallaby" {
		t.Errorf("single = %+v", single)
	}
	g.wrap = true
	step(2)
	check("perSec", perSec, pcp.DoubleValue(1024).String(), 0)
	check("perMin", perMin, "60", 0)
	check("kbytes", kbytes, pcp.FloatValue(2).String(), 0)
	check("wrapped", wrapped, pcp.DoubleValue(1).String(), 0)
	check("fell", fell, "0", 0)
	g.wrap = false
	step(4)
	check("fell", fell, "-1", pcp.ErrValue)
	check("wrapped", wrapped, pcp.DoubleValue(0.5).String(), 0)
	if len(all.Values) != 3 || all.Values[0].Value.Double() != 1024 || all.Values[1].Err != pcp.ErrValue {
		t.Errorf("all = %+v", all)
	}
	step(6)
	check("instant", instant, pcp.StringValue("").String(), pcp.ErrValue)
	check("text", text, pcp.StringValue("wallaby").String(), 0) // discrete: stays
	if len(all.Values) != 0 || all.Err != nil || len(single.Values) != 1 {
		t.Errorf("all = %+v, single = %+v", all, single)
	}

	for _, bad := range []struct {
		metric, inst, scale string
		typ                 pcp.Type
		want                pcp.Error
	}{
		{"demo.nope", "", "", pcp.TypeU32, pcp.ErrName},
		{"demo.bytes", "", "", pcp.TypeU32, pcp.ErrInDom},
		{"demo.bytes", "nope", "", pcp.TypeU32, pcp.ErrInst},
		{"demo.name", "one", "", pcp.TypeU32, pcp.ErrInDom},
		{"demo.bytes", "one", "sec", pcp.TypeU32, pcp.ErrConv},
		{"demo.bytes", "one", "Kbyte/sec^2", pcp.TypeU32, pcp.ErrConv},
		{"demo.bytes", "one", "furlong", pcp.TypeU32, pcp.ErrConv},
		{"demo.bytes", "one", "", pcp.TypeAggregate, pcp.ErrType},
	} {
		if _, err := g.Add(ctx, GroupMetric{bad.metric, bad.inst, bad.scale, bad.typ}); pcp.Code(err) != bad.want {
			t.Errorf("Add(%+v): %v", bad, err)
		}
	}
	// A group that has only single instances asks for no more than these.
	if err := g.Clear(); err != nil {
		t.Fatal(err)
	}
	add("demo.bytes", "three", "", pcp.TypeDouble)
	step(0)
	if profile.Profile.Includes(indom, 1) || !profile.Profile.Includes(indom, 2) {
		t.Errorf("profile %+v", profile.Profile)
	}
	g.Close()
	if err := g.Fetch(ctx); !errors.Is(err, pcp.ErrNoContext) {
		t.Errorf("Fetch after Close: %v", err)
	}
}

// Values that do not depend on time, in every type, as the C library's groups
// have them.
func TestFetchGroupOracle(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{})
	type request struct {
		Metric, Inst, Scale string
		Type                pcp.Type
	}
	var reqs []request
	for _, m := range [][3]string{
		{"sample.long.million", "", ""},
		{"sample.longlong.million", "", ""},
		{"sample.double.million", "", ""},
		{"sample.float.ten", "", ""},
		{"sample.bin", "bin-300", ""},
		{"sample.string.hullo", "", ""},
		{"sample.bin", "bin-300", "instant"},
		{"sample.bin", "bin-300", "rate"},
		{"sample.longlong.bin", "bin-900", ""}, // that of ulonglong grows by one a second
		{"pmcd.datasize", "", "byte"},
		{"pmcd.datasize", "", "10 byte"},
		{"pmcd.datasize", "", "sec"},
		{"sample.bad.novalues", "", ""},
		{"sample.bad.unknown", "", ""},
		{"sample.long.hundred", "", "count"},
		{"sample.aggregate.hullo", "", ""},
		{"sample.bin", "nope", ""},
		{"sample.bin", "", ""},
		{"sample.long.one", "x", ""},
		{"sample.nope", "", ""},
	} {
		for _, typ := range []pcp.Type{pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64, pcp.TypeFloat, pcp.TypeDouble, pcp.TypeString} {
			if m[0] == "pmcd.datasize" && (typ == pcp.TypeFloat || typ == pcp.TypeString) {
				continue // only its type and order of magnitude are compared, see below
			}
			reqs = append(reqs, request{m[0], m[1], m[2], typ})
		}
	}
	in, _ := json.Marshal(reqs)
	out := oracle.Python(t, d.Env, `
import sys, json
from pcp import pmapi
import cpmapi as c
res = []
for r in json.loads(sys.argv[2]):
    g = pmapi.fetchgroup(c.PM_CONTEXT_HOST, sys.argv[1])
    try:
        v = g.extend_item(r["Metric"], r["Type"], r["Scale"] or None, r["Inst"] or None)
    except pmapi.pmErr as e:
        res.append("extend %d" % e.args[0])
        continue
    g.fetch()
    try:
        x = v()
        if isinstance(x, float): x = "%.6g" % x
        res.append(str(x))
    except pmapi.pmErr as e:
        res.append("value %d" % e.args[0])
print(json.dumps(res))
`, d.TCP, string(in))
	if out.Exit != 0 {
		t.Fatal(out.Stderr)
	}
	var want []string
	if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
		t.Fatal(err)
	}
	for i, r := range reqs {
		c, err := Dial(t.Context(), d.TCP)
		if err != nil {
			t.Fatal(err)
		}
		g, err := NewFetchGroup(c)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		item, err := g.Add(t.Context(), GroupMetric{r.Metric, r.Inst, r.Scale, r.Type})
		if err != nil {
			got = fmt.Sprintf("extend %d", pcp.Code(err))
		} else {
			if err := g.Fetch(t.Context()); err != nil {
				t.Fatal(err)
			}
			v := item.Value
			switch {
			case item.Err != nil:
				got = fmt.Sprintf("value %d", pcp.Code(item.Err))
			case v.Type() == pcp.TypeFloat:
				got = fmt.Sprintf("%.6g", v.Float())
			case v.Type() == pcp.TypeDouble:
				got = fmt.Sprintf("%.6g", v.Double())
			default:
				got = string(v.Bytes())
				if v.Type() != pcp.TypeString {
					got = v.String()
				}
			}
		}
		if r.Metric == "pmcd.datasize" && item != nil && item.Err == nil && len(got) == len(want[i]) {
			got = want[i]
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("%+v: %q, want %q", r, got, want[i])
		}
		g.Close()
	}
}

// At the start of an archive there are no instances yet.
func TestFetchGroupArchive(t *testing.T) {
	const path = "/var/lib/pcp/testsuite/archives/20180416.10.00"
	if _, err := os.Stat(path + ".index"); err != nil {
		t.Skip("SKIPPED: PCP's QA suite is not installed: ", err)
	}
	ctx := t.Context()
	c, err := OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewFetchGroup(c.Context)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	load, err := g.Add(ctx, GroupMetric{Metric: "kernel.all.load", Instance: "1 minute", Type: pcp.TypeFloat})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Add(ctx, GroupMetric{Metric: "kernel.all.load", Instance: "nosuch", Type: pcp.TypeFloat}); !errors.Is(err, pcp.ErrInstLog) {
		t.Errorf("Add of an instance that never comes: %v", err)
	}
	if err := g.Fetch(ctx); err != nil || load.Err != nil || load.Value.Float() < 6.01 || load.Value.Float() > 6.03 {
		t.Errorf("Fetch: %v, value %v, %v, want 6.02", err, load.Value, load.Err)
	}
}

// TestFetchGroupDerived has a group of a metric without instances that is computed from a metric with
// instances: these must be fetched too.
func TestFetchGroupDerived(t *testing.T) {
	fake := newCollector()
	var profile wire.Profile
	fake.answer = func(s *session, hdr wire.Header, body []byte) bool {
		if hdr.Type == wire.TypeProfile {
			profile = wire.Profile{}
			profile.DecodeBody(body)
		}
		return false
	}
	id := pcp.NewPMID(400, 1, 1)
	fake.names.Add("demo.each", id)
	fake.descs[id] = pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: indom, Sem: pcp.SemInstant}
	usual := fake.fetch
	fake.fetch = func(id2 pcp.PMID, res *pcp.Result) {
		if id2 != id {
			usual(id2, res)
			return
		}
		res.AddSet(id)
		for i := range int32(3) {
			if profile.Profile.Includes(indom, i) {
				res.Add(pcp.Uint32Value(uint32(10 + i)).WithInst(i))
			}
		}
	}
	c := fake.dial(t)
	if err := c.AddDerived(t.Context(), "demo.all", "sum(demo.each)"); err != nil {
		t.Fatal(err)
	}
	g, err := NewFetchGroup(c)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	item, err := g.Add(t.Context(), GroupMetric{Metric: "demo.all", Type: pcp.TypeDouble})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if item.Err != nil || item.Value.Double() != 33 {
		t.Errorf("sum(demo.each) = %v, %v; want 33", item.Value, item.Err)
	}
	// Single instances are fetched too, each of them.
	if err := c.AddDerived(t.Context(), "demo.twice", "demo.each * 2"); err != nil {
		t.Fatal(err)
	}
	var each []*GroupItem
	for _, name := range []string{"one", "two 2", "three"} {
		it, err := g.Add(t.Context(), GroupMetric{Metric: "demo.twice", Instance: name, Type: pcp.TypeDouble})
		if err != nil {
			t.Fatal(err)
		}
		each = append(each, it)
	}
	if err := g.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, it := range each {
		if it.Err != nil || it.Value.Double() != float64(20+2*i) {
			t.Errorf("demo.twice[%d] = %v, %v", i, it.Value, it.Err)
		}
	}
}

// TestDiscreteOnce fetches a discrete metric that has a value only once: it stays, unless
// PCP_DISCRETE_ONCE is set.
func TestDiscreteOnce(t *testing.T) {
	for _, once := range []bool{false, true} {
		fake := newCollector()
		usual, fetches := fake.fetch, 0
		fake.fetch = func(id pcp.PMID, res *pcp.Result) {
			if fetches++; fetches > 1 {
				res.AddSet(id)
				return
			}
			usual(id, res)
		}
		vars := map[string]string{"PCP_CONF": os.DevNull}
		if once {
			vars["PCP_DISCRETE_ONCE"] = ""
		}
		cfg := config.NewLookup(func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
		g, err := NewFetchGroupConfig(fake.dial(t), cfg)
		if err != nil {
			t.Fatal(err)
		}
		item, err := g.Add(t.Context(), GroupMetric{Metric: "demo.name", Type: pcp.TypeString})
		if err != nil {
			t.Fatal(err)
		}
		all, err := g.AddInstances(t.Context(), GroupMetric{Metric: "demo.name", Type: pcp.TypeString})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if err := g.Fetch(t.Context()); err != nil {
				t.Fatal(err)
			}
			if want := i == 0 || !once; (item.Err == nil) != want || (len(all.Values) == 1) != want {
				t.Errorf("PCP_DISCRETE_ONCE %t, fetch %d: value %v, %v; %d values, want %t", once, i, item.Value, item.Err, len(all.Values), want)
			}
		}
	}
}
