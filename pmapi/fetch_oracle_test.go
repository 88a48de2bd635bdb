package pmapi

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// The results of fetches, with profiles, errors and values of every type.
func TestFetchOracle(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample", "simple"}})
	names := []string{
		"sample.bin", "sample.long.one", "sample.long.bin", "sample.longlong.million", "sample.ulonglong.hundred", "sample.float.ten",
		"sample.double.bin", "sample.string.hullo", "sample.string.null", "sample.aggregate.hullo", "sample.aggregate.null",
		"sample.noinst", "sample.bad.unknown", "sample.bad.novalues", "sample.part_bin",
		"event.flags", "sample.double.million", "sample.long.million", "sample.longlong.write_me", "sample.ulong.bin",
	}
	c, err := Dial(t.Context(), d.TCP)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids, err := c.LookupName(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, "null", "no agent", "no item")
	ids = append(ids, pcp.PMIDNull, pcp.NewPMID(123, 0, 0), pcp.NewPMID(29, 0, 1000))
	bin, err := c.LookupDesc(t.Context(), ids[0])
	if err != nil {
		t.Fatal(err)
	}
	in, _ := json.Marshal(ids)
	const script = `
import sys, json, ctypes
from pcp import pmapi
import cpmapi as c
ctx = pmapi.pmContext(c.PM_CONTEXT_HOST, sys.argv[1])
ids = json.loads(sys.argv[2])
indom = int(sys.argv[3])
def profile(f, indom, insts):
    a = (ctypes.c_int * max(len(insts), 1))(*insts)
    sts = f(ctypes.c_uint(indom), len(insts), a if insts else None)
    if sts < 0: raise Exception(sts)
for step in json.loads(sys.argv[4]):
    profile(pmapi.LIBPCP.pmAddProfile if step[0] else pmapi.LIBPCP.pmDelProfile, 0xffffffff if step[1] else indom, step[2])
r = ctx.pmFetch((ctypes.c_uint * len(ids))(*ids)).contents
res = []
for i in range(r.numpmid):
    n, fmt = r.get_numval(i), r.get_valfmt(i)
    vals = []
    for j in range(max(n, 0)):
        if fmt == c.PM_VAL_INSITU:
            v = "%d" % (r.get_vlist(i, j).value.lval & 0xffffffff)
        else:
            b = r.get_vlist(i, j).value.pval.contents
            v = "%d %s" % (b.vtype, ctypes.string_at(ctypes.addressof(b) + 4, b.vlen - 4).hex())
        vals.append("%d %s" % (r.get_inst(i, j), v))
    res.append({"PMID": r.get_pmid(i), "Numval": n, "Values": vals or None})
print(json.dumps(res))
`
	type step struct {
		add  bool
		all  bool
		inst []int32
	}
	for _, profile := range [][]step{
		nil,
		{{false, false, nil}, {true, false, []int32{100, 900, 100, 555}}},
		{{false, true, nil}, {true, false, nil}, {false, false, []int32{300}}},
		{{false, true, nil}},
		{{false, true, nil}, {true, true, nil}},
		{{false, false, []int32{100}}},
	} {
		var steps [][]any
		c2, err := c.Dup(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c2.Close()
		for _, s := range profile {
			indom := bin.InDom
			if s.all {
				indom = pcp.InDomNull
			}
			if s.add {
				err = c2.AddProfile(indom, s.inst...)
			} else {
				err = c2.DelProfile(indom, s.inst...)
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.inst == nil {
				s.inst = []int32{}
			}
			steps = append(steps, []any{s.add, s.all, s.inst})
		}
		if steps == nil {
			steps = [][]any{}
		}
		text, _ := json.Marshal(steps)
		out := oracle.Python(t, d.Env, script, d.TCP, string(in), fmt.Sprint(uint32(bin.InDom)), string(text))
		if out.Exit != 0 {
			t.Fatal(out.Stderr)
		}
		var want []view
		if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
			t.Fatal(err)
		}
		res, err := c2.Fetch(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		if since := time.Since(res.Time.Time()); since < -time.Second || since > time.Minute {
			t.Errorf("time stamp %v", res.Time)
		}
		for i, w := range want {
			if diff := cmp.Diff(w, setView(&res.Sets[i])); diff != "" {
				t.Errorf("profile %s: %s (-want +got):\n%s", text, names[i], diff)
			}
		}
	}
}

// setView shows a set as the script above does.
func setView(vs *pcp.ValueSet) view {
	v := view{PMID: uint32(vs.PMID), Numval: int32(vs.Err)}
	if vs.Err == 0 {
		v.Numval = int32(len(vs.Values))
	}
	for _, val := range vs.Values {
		s := fmt.Sprintf("%d %d", val.Inst, uint32(val.Bits()))
		if vs.ValFmt != pcp.ValInSitu {
			b := slices.Clone(val.Bytes())
			switch val.Type() {
			case pcp.TypeString:
				b = append(b, 0)
			case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
				for n := range 8 { // blocks hold numbers in the host's order
					b = append(b, byte(val.Bits()>>(8*n)))
				}
			case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
				for n := range 4 {
					b = append(b, byte(val.Bits()>>(8*n)))
				}
			}
			s = fmt.Sprintf("%d %d %s", val.Inst, val.Type(), hex.EncodeToString(b))
		}
		v.Values = append(v.Values, s)
	}
	return v
}

// The calls that use the profile and those that do not (Table 3.1 of the
// Programmer's Guide).
func TestProfileScopeOracle(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{})
	ctx := t.Context()
	c, err := Dial(ctx, d.TCP)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids, err := c.LookupName(ctx, "sample.bin", "sample.colour")
	if err != nil {
		t.Fatal(err)
	}
	descs, err := c.LookupDescs(ctx, ids...)
	if err != nil {
		t.Fatal(err)
	}
	bin, colour := descs[0].InDom, descs[1].InDom
	if err := c.DelProfile(pcp.InDomNull); err != nil {
		t.Fatal(err)
	}
	if descs, err := c.LookupDescs(ctx, ids...); err != nil || descs[0].InDom != bin {
		t.Errorf("LookupDescs = %v, %v", descs, err)
	}
	if insts, err := c.GetInDom(ctx, bin); err != nil || len(insts) != 9 {
		t.Errorf("GetInDom = %v, %v", insts, err)
	}
	if inst, err := c.LookupInDom(ctx, colour, "green"); err != nil || inst != 1 {
		t.Errorf("LookupInDom = %v, %v", inst, err)
	}
	if res, err := c.Fetch(ctx, ids); err != nil || len(res.Sets[0].Values) != 0 || res.Sets[0].Err != 0 {
		t.Errorf("Fetch = %v, %v", res, err)
	}
	for _, e := range []struct {
		err  error
		want pcp.Error
	}{
		{second(c.LookupInDom(ctx, bin, "nope")), pcp.ErrInst},
		{second(c.LookupInDom(ctx, pcp.NewInDom(29, 9999), "nope")), pcp.ErrInDom},
		{second(c.LookupInDom(ctx, pcp.NewInDom(299, 1), "nope")), pcp.ErrInDom},
		{second(c.NameInDom(ctx, bin, 77)), pcp.ErrInst},
		{second(c.GetInDom(ctx, pcp.InDomNull)), pcp.ErrInDom},
		{second(c.LookupText(ctx, pcp.NewPMID(29, 0, 1022), pcp.TextOneLine|pcp.TextHelp)), pcp.ErrText},
		{second(c.LookupText(ctx, pcp.NewPMID(299, 0, 0), pcp.TextOneLine)), pcp.ErrPMID},
		{second(c.LookupInDomText(ctx, pcp.NewInDom(299, 0), pcp.TextOneLine)), pcp.ErrPMID},
		{second(c.LookupInDomText(ctx, pcp.InDomNull, pcp.TextOneLine)), pcp.ErrPMID},
		{second(c.LookupDesc(ctx, pcp.NewPMID(2, 0, 1000))), pcp.ErrPMID},
		{second(c.LookupDesc(ctx, pcp.NewPMID(299, 0, 0))), pcp.ErrPMID},
		{second(c.NameID(ctx, pcp.NewPMID(2, 0, 1000))), pcp.ErrPMID},
		{second(c.LookupName(ctx)), pcp.ErrTooSmall},
		{second(c.LookupDescs(ctx)), pcp.ErrTooSmall},
		{second(c.Fetch(ctx, nil)), pcp.ErrTooSmall},
	} {
		if pcp.Code(e.err) != e.want {
			t.Errorf("%v, want %v", e.err, e.want)
		}
	}
	names, err := c.NameAll(ctx, pcp.NewPMID(29, 0, 1))
	slices.Sort(names)
	if diff := cmp.Diff([]string{"sample.daemon_pid", "sample.dupnames.daemon_pid", "sample.dupnames.pid_daemon"}, names); diff != "" || err != nil {
		t.Errorf("NameAll: %v (-want +got):\n%s", err, diff)
	}
}

func second[T any](_ T, err error) error { return err }

func TestStoreOracle(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Access: "disallow \"unix:\" : store;\nallow \"*\" : all;\n"})
	ctx := t.Context()
	c, err := Dial(ctx, d.TCP)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids, err := c.LookupName(ctx, "sample.write_me", "sample.string.write_me", "sample.longlong.write_me", "sample.long.one")
	if err != nil {
		t.Fatal(err)
	}
	var res pcp.Result
	res.AddSet(ids[0])
	res.Add(pcp.Int32Value(42))
	res.AddSet(ids[1])
	res.Add(pcp.StringValue("wombat"))
	res.AddSet(ids[2])
	res.Add(pcp.Int64Value(-1 << 40))
	if err := c.Store(ctx, &res); err != nil {
		t.Fatal(err)
	}
	out := d.Run(t, "pminfo", "-h", d.TCP, "-f", "sample.write_me", "sample.string.write_me", "sample.longlong.write_me")
	for _, want := range []string{"value 42", `value "wombat"`, "value -1099511627776"} {
		if !strings.Contains(out.Stdout, want) {
			t.Errorf("no %q in %s", want, out.Stdout)
		}
	}
	res.Reset()
	res.AddSet(ids[3])
	res.Add(pcp.Int32Value(2))
	if err := c.Store(ctx, &res); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("Store of a constant: %v", err)
	}
	res.Reset()
	res.AddSet(ids[0])
	if err := c.Store(ctx, &res); !errors.Is(err, pcp.ErrValue) {
		t.Errorf("Store of nothing: %v", err)
	}
	if err := c.Store(ctx, &pcp.Result{}); !errors.Is(err, pcp.ErrTooSmall) {
		t.Errorf("Store of no metric: %v", err)
	}
	u, err := Dial(ctx, d.Unix)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	res.Add(pcp.Int32Value(1))
	if err := u.Store(ctx, &res); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("Store by a client that must not: %v", err)
	}
}
