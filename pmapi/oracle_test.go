package pmapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmns"
)

// A view is all that one metric has, as either client sees it.
type view struct {
	PMID    uint32
	Names   []string
	Desc    string
	OneLine string
	Help    string
	InDom   []string
	InHelp  string
	Labels  []string
	Numval  int32
	Values  []string
}

// viewScript makes the views of all metrics with the real library.
const viewScript = `
import ctypes, json, sys
from pcp import pmapi
import cpmapi as c
lib = pmapi.LIBPCP
ctx = pmapi.pmContext(c.PM_CONTEXT_HOST, sys.argv[1])
def code(f):
    try:
        return f()
    except pmapi.pmErr as e:
        return e.args[0]
names = []
ctx.pmTraversePMNS("", lambda n: names.append(n.decode() if isinstance(n, bytes) else n))
def text(f, *args):
    r = code(lambda: f(*args))
    return str(r) if isinstance(r, int) else r.decode() if isinstance(r, bytes) else r
def labels(pmid):
    def look():
        r = ctx.pmLookupLabels(pmid)
        return [r[i].json.decode() for i in range(4 if desc.indom == c.PM_INDOM_NULL else 5) if r[i].nlabels > 0]
    r = code(look)
    return r if isinstance(r, list) else [str(r)]
res = {}
for name in names:
    pmid = ctx.pmLookupName((name,))[0]
    desc = code(lambda: ctx.pmLookupDesc(pmid))
    v = {"PMID": pmid, "Names": sorted(code(lambda: ctx.pmNameAll(pmid)))}
    if isinstance(desc, int):
        v["Desc"] = str(desc)
        res[name] = v
        continue
    descp, desc = desc, desc.contents
    u = desc.units
    v["Desc"] = "%d %d %d %d %d %d %d %d %d" % (desc.type, desc.indom & 0xffffffff, desc.sem, u.dimSpace, u.dimTime, u.dimCount, u.scaleSpace, u.scaleTime, u.scaleCount)
    v["OneLine"], v["Help"] = text(ctx.pmLookupText, pmid, c.PM_TEXT_ONELINE), text(ctx.pmLookupText, pmid, c.PM_TEXT_HELP)
    if desc.indom != c.PM_INDOM_NULL and desc.indom != 0xffffffff:
        r = code(lambda: ctx.pmGetInDom(descp))
        v["InDom"] = [str(r)] if isinstance(r, int) else ["%d %s" % (i, n if isinstance(n, str) else n.decode()) for i, n in zip(*r)] if r[0] else None
        v["InHelp"] = text(ctx.pmLookupInDomText, descp, c.PM_TEXT_ONELINE)
    res[name] = v
print(json.dumps({"order": names, "metrics": res}))
`

func TestViewOracle(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample", "simple", "trivial"}})
	out := oracle.Python(t, d.Env, viewScript, d.TCP)
	if out.Exit != 0 {
		t.Fatal(out.Stderr)
	}
	var want struct {
		Order   []string
		Metrics map[string]view
	}
	if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
		t.Fatal(err)
	}
	if len(want.Order) < 200 {
		t.Fatalf("the real library sees only %d metrics", len(want.Order))
	}
	for _, spec := range []string{d.TCP, d.Unix, "pcp://" + d.TCP} {
		c, err := Dial(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		order, err := LeavesOf(t.Context(), c, "")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Order, order); diff != "" {
			t.Errorf("%s: names (-want +got):\n%s", spec, diff)
		}
		for _, name := range order {
			if diff := cmp.Diff(want.Metrics[name], viewOf(t, c, name)); diff != "" && !differs(name) {
				t.Errorf("%s: %s (-want +got):\n%s", spec, name, diff)
			}
		}
	}
}

// differs reports whether the compared output about a metric changes from one run
// to the next.
func differs(name string) bool {
	return strings.HasPrefix(name, "event.") || // help text in our own words
		strings.HasPrefix(name, "pmcd.client.") || // one instance for each client
		strings.HasPrefix(name, "sample.mirage") || strings.HasPrefix(name, "sample.scramble") ||
		name == "sample.dynamic.counter" || name == "sample.dynamic.discrete" || name == "sample.dynamic.instant"
}

func status(err error) string { return fmt.Sprint(int32(pcp.Code(err))) }

func viewOf(t *testing.T, c *Context, name string) view {
	t.Helper()
	ctx := t.Context()
	ids, err := c.LookupName(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	v := view{PMID: uint32(ids[0])}
	if v.Names, err = c.NameAll(ctx, ids[0]); err != nil {
		t.Fatal(err)
	}
	slices.Sort(v.Names)
	desc, err := c.LookupDesc(ctx, ids[0])
	if err != nil {
		v.Desc = status(err)
		return v
	}
	u := desc.Units
	v.Desc = fmt.Sprintf("%d %d %d %d %d %d %d %d %d", desc.Type, uint32(desc.InDom), desc.Sem, u.DimSpace, u.DimTime, u.DimCount, u.ScaleSpace, u.ScaleTime, u.ScaleCount)
	text := func(s string, err error) string {
		if err != nil {
			return status(err)
		}
		return s
	}
	v.OneLine = text(c.LookupText(ctx, ids[0], pcp.TextOneLine))
	v.Help = text(c.LookupText(ctx, ids[0], pcp.TextHelp))
	if desc.InDom != pcp.InDomNull {
		insts, err := c.GetInDom(ctx, desc.InDom)
		if err != nil {
			v.InDom = []string{status(err)}
		}
		for _, in := range insts {
			v.InDom = append(v.InDom, fmt.Sprintf("%d %s", in.Inst, in.Name))
			// Both ways of one instance lead back to it.
			if n, err := c.NameInDom(ctx, desc.InDom, in.Inst); n != in.Name && !differs(name) {
				t.Errorf("NameInDom(%v, %d) = %q, %v, want %q", desc.InDom, in.Inst, n, err, in.Name)
			}
			if n, err := c.LookupInDom(ctx, desc.InDom, in.Name); n != in.Inst && !differs(name) {
				t.Errorf("LookupInDom(%v, %q) = %d, %v, want %d", desc.InDom, in.Name, n, err, in.Inst)
			}
		}
		v.InHelp = text(c.LookupInDomText(ctx, desc.InDom, pcp.TextOneLine))
	}
	return v
}

// Labels of every level as pminfo prints them with the real library.
func TestLabelsOracle(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample", "simple"}})
	c, err := Dial(t.Context(), d.TCP)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, name := range []string{"sample.bin", "sample.long.one", "simple.now", "simple.numfetch", "pmcd.pid", "sample.colour", "sample.event.records"} {
		out := oracle.Python(t, d.Env, `
import sys, json, ctypes
from pcp import pmapi
import cpmapi as c
ctx = pmapi.pmContext(c.PM_CONTEXT_HOST, sys.argv[1])
pmid = ctx.pmLookupName((sys.argv[2],))[0]
sets = ctypes.POINTER(pmapi.pmLabelSet)()
n = pmapi.LIBPCP.pmLookupLabels(pmid, ctypes.byref(sets))
res = [sets[i].json[:sets[i].jsonlen].decode() for i in range(n)] if n >= 0 else [str(n)]
desc = ctx.pmLookupDesc(pmid).contents
sets = ctypes.POINTER(pmapi.pmLabelSet)()
n = pmapi.LIBPCP.pmGetInstancesLabels(desc.indom, ctypes.byref(sets))
inst = ["%d %s" % (sets[i].inst, sets[i].json[:max(sets[i].jsonlen, 0)].decode() if sets[i].nlabels > 0 else sets[i].nlabels) for i in range(n)] if n >= 0 else [str(n)]
print(json.dumps([res, inst]))
`, d.TCP, name)
		if out.Exit != 0 {
			t.Fatal(out.Stderr)
		}
		var want [][]string
		if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
			t.Fatal(err)
		}
		ids, err := c.LookupName(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		got := [][]string{{}, {}}
		sets, err := c.LookupLabels(t.Context(), ids[0])
		if err != nil {
			got[0] = []string{status(err)}
		}
		for _, s := range sets {
			got[0] = append(got[0], s.JSON)
		}
		desc, err := c.LookupDesc(t.Context(), ids[0])
		if err != nil {
			t.Fatal(err)
		}
		sets, err = c.Labels(t.Context(), pcp.LabelInstances, uint32(desc.InDom))
		if err != nil {
			got[1] = []string{status(err)}
		}
		for _, s := range sets {
			if len(s.Index) > 0 {
				got[1] = append(got[1], fmt.Sprintf("%d %s", s.Inst, s.JSON))
			} else {
				got[1] = append(got[1], fmt.Sprintf("%d %d", s.Inst, int32(s.Err)))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNamesOracle(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{})
	names := []string{
		"sample", "sample.bin", "sample.nope", "nope", "sample.dupnames", "sample.bin.x", "sample.dynamic", "sample.secret", "sample.secret.foo",
		"sample.secret.foo.bar.max", "sample.secret.nope", "event", "event.flags", "event.nope", "pmcd.", ".", "sample..bin", "SAMPLE", "",
	}
	in, _ := json.Marshal(names)
	out := oracle.Python(t, d.Env, `
import sys, json, ctypes
from pcp import pmapi
import cpmapi as c
ctx = pmapi.pmContext(c.PM_CONTEXT_HOST, sys.argv[1])
lib = pmapi.LIBPCP
names = [n.encode() for n in json.loads(sys.argv[2])]
res = []
for n in names:
    ids = (ctypes.c_uint * 1)()
    look = lib.pmLookupName(1, (ctypes.c_char_p * 1)(n), ids)
    kids, st = ctypes.POINTER(ctypes.c_char_p)(), ctypes.POINTER(ctypes.c_int)()
    nk = lib.pmGetChildrenStatus(n, ctypes.byref(kids), ctypes.byref(st))
    k = sorted("%s %d" % (kids[i].decode(), st[i]) for i in range(nk)) if nk > 0 else [str(nk)]
    tr = []
    cb = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda x: tr.append(x.decode()))
    nt = lib.pmTraversePMNS(n, cb)
    res.append([n.decode(), "%d %d" % (min(look, 0), ids[0]), k, sorted(tr) + [str(min(nt, 0))]])
print(json.dumps(res))
`, d.TCP, string(in))
	if out.Exit != 0 {
		t.Fatal(out.Stderr)
	}
	var want [][]any
	if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var got [][]any
	for _, name := range names {
		c, err := Dial(ctx, d.TCP) // a new one each: the collector may hang up on a name it does not like
		if err != nil {
			t.Fatal(err)
		}
		ids, err := c.LookupName(ctx, name)
		row := []any{name, status(err) + " " + fmt.Sprint(uint32(ids[0]))}
		children, err := c.Children(ctx, name)
		list := []any{}
		for _, ch := range children {
			n := 1
			if ch.Leaf {
				n = 0
			}
			list = append(list, fmt.Sprintf("%s %d", ch.Name, n))
		}
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		if len(list) == 0 {
			list = append(list, status(err))
		}
		found, err := LeavesOf(ctx, c, name)
		slices.Sort(found)
		leaves := []any{}
		for _, n := range found {
			leaves = append(leaves, n)
		}
		got = append(got, append(row, list, append(leaves, status(err))))
		c.Close()
	}
	for i := range want {
		if diff := cmp.Diff(want[i], got[i]); diff != "" {
			t.Errorf("%q (-want +got):\n%s", names[i], diff)
		}
	}

	// A local name space is asked instead of the collector.
	c, err := Dial(ctx, d.TCP)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tree := pmns.New()
	for name, id := range map[string]pcp.PMID{"my.bin": pcp.NewPMID(29, 0, 6), "my.dyn": pcp.DynamicRoot(29)} {
		if err := tree.Add(name, id); err != nil {
			t.Fatal(err)
		}
	}
	if loc := c.PMNSLocation(); loc != PMNSRemote {
		t.Errorf("PMNSLocation = %v", loc)
	}
	c.UseNameSpace(tree)
	if loc := c.PMNSLocation(); loc != PMNSLocal {
		t.Errorf("PMNSLocation = %v", loc)
	}
	ids, err := c.LookupName(ctx, "my.bin", "my.dyn", "event.flags", "my", "sample.bin")
	wantIDs := []pcp.PMID{pcp.NewPMID(29, 0, 6), pcp.DynamicRoot(29), pmns.EventFlags, pcp.PMIDNull, pcp.PMIDNull}
	if !slices.Equal(ids, wantIDs) || !errors.Is(err, pcp.ErrNonLeaf) {
		t.Errorf("LookupName = %v, %v, want %v", ids, err, wantIDs)
	}
	if name, err := c.NameID(ctx, pcp.NewPMID(29, 0, 6)); name != "my.bin" || err != nil {
		t.Errorf("NameID = %q, %v", name, err)
	}
	if all, err := LeavesOf(ctx, c, ""); err != nil || len(all) != 4 {
		t.Errorf("Traverse: %q, %v", all, err)
	}
	if ch, err := c.Children(ctx, "my.dyn"); len(ch) != 0 || err != nil {
		t.Errorf("Children of a dynamic root: %v, %v", ch, err)
	}
	if res, err := c.Fetch(ctx, ids[:1]); err != nil || len(res.Sets[0].Values) != 9 {
		t.Errorf("Fetch: %v, %v", res, err)
	}
	c.UseNameSpace(nil)
	if _, err := c.LookupName(ctx, "sample.bin"); err != nil {
		t.Error(err)
	}
}
