package pmapi

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/randexpr"
)

// derivedScript prints the C library's results for the metrics d.m0, d.m1, ... in
// an archive, or with an @ before it of a host: descriptors, then three samples.
const derivedScript = `
import sys, struct
import pcp.pmapi as p
import cpmapi as c
path, n, sec, usec, step = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
live = path.startswith("@")
ctx = p.pmContext(c.PM_CONTEXT_HOST, path[1:]) if live else p.pmContext(c.PM_CONTEXT_ARCHIVE, path)
ids, descs, names = [], [], []
for i in range(n):
    name = "d.m%d" % i
    try:
        id = ctx.pmLookupName([name])[0]
    except p.pmErr as e:
        print(name, "error", e.errno())
        continue
    try:
        d = ctx.pmLookupDesc(id)
    except p.pmErr as e:
        print(name, "error", e.errno())
        continue
    d = d.contents if hasattr(d, "contents") else d
    print(name, d.type, d.indom & 0xffffffff, d.sem, str(d.units))
    ids.append(id); descs.append(d); names.append(name)
def bits(a, t):
    if t in (0, 1): return "%x" % (a.ul & 0xffffffff)
    if t in (2, 3): return "%x" % (a.ull & 0xffffffffffffffff)
    if t == 4: return "%x" % struct.unpack("<I", struct.pack("<f", a.f))[0]
    if t == 5: return "%x" % struct.unpack("<Q", struct.pack("<d", a.d))[0]
    if t == 6: return a.cp.decode("latin1")
    return "?"
if not live: ctx.pmSetMode(c.PM_MODE_INTERP, p.timeval(sec, usec), step)
for s in range(3):
    if not ids: break
    try:
        r = ctx.pmFetch((p.c_uint * len(ids))(*ids))
    except p.pmErr as e:
        print("fetch", e.errno())
        break
    for i, name in enumerate(names):
        k = r.contents.get_numval(i)
        line = []
        for j in range(k):
            v = r.contents.get_vlist(i, j)
            line.append("%d:%s" % (v.inst, bits(ctx.pmExtractValue(r.contents.get_valfmt(i), v, descs[i].type, descs[i].type), descs[i].type)))
        print(name, "sample", s, k if k < 0 else " ".join(line))
    ctx.pmFreeResult(r)
`

// derivedText returns the output of derivedScript as by our library.
func derivedText(t *testing.T, c *Context, n int) string {
	t.Helper()
	ctx := t.Context()
	var out strings.Builder
	var ids []pcp.PMID
	var names []string
	for i := range n {
		name := fmt.Sprintf("d.m%d", i)
		found, err := c.LookupName(ctx, name)
		var d pcp.Desc
		if err == nil {
			d, err = c.LookupDesc(ctx, found[0])
		}
		if err != nil {
			fmt.Fprintln(&out, name, "error", int(pcp.Code(err)))
			continue
		}
		fmt.Fprintln(&out, name, int(d.Type), uint32(d.InDom), int(d.Sem), d.Units)
		ids, names = append(ids, found[0]), append(names, name)
	}
	if len(ids) == 0 {
		return out.String()
	}
	var res pcp.Result
	for s := range 3 {
		if _, err := c.FetchInto(ctx, ids, &res); err != nil {
			fmt.Fprintln(&out, "fetch", int(pcp.Code(err)))
			break
		}
		for i, name := range names {
			vs := &res.Sets[i]
			var line []string
			for _, v := range vs.Values {
				text := fmt.Sprintf("%x", v.Bits())
				if v.Type() == pcp.TypeString {
					text, _ = v.Text()
				} else if !v.Type().IsNumeric() {
					text = "?"
				}
				line = append(line, fmt.Sprintf("%d:%s", v.Inst, text))
			}
			if vs.Err < 0 {
				line = []string{fmt.Sprint(int(vs.Err))}
			}
			fmt.Fprintln(&out, name, "sample", s, strings.Join(line, " "))
		}
	}
	return out.String()
}

// compareDerived compares definitions in an archive: descriptors, three samples
// and messages. excused reports whether a definition may differ.
func compareDerived(t *testing.T, path string, defs []string, excused func(expr string) bool) (bound int) {
	t.Helper()
	c, err := OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	start, step := span(t, c)
	if err := c.SetMode(t.Context(), ModeInterp, &start, step); err != nil {
		t.Fatal(err)
	}
	return compareDefinitions(t, c.Context, nil, defs, []string{path, fmt.Sprint(start.Sec), fmt.Sprint(start.Nsec / 1000), fmt.Sprint(step.Milliseconds())},
		func(expr, want, got string) bool { return want == got || excused(expr) })
}

// compareDefinitions compares the results of c for definitions with the output of derivedScript for its
// arguments args, in env. same reports whether two lines about a definition agree.
func compareDefinitions(t *testing.T, c *Context, env, defs, args []string, same func(expr, want, got string) bool) (bound int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "T")
	var text strings.Builder
	for i, def := range defs {
		fmt.Fprintf(&text, "d.m%d = %s\n", i, def)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := c.Dup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()

	var messages strings.Builder
	report := func(err error) { fmt.Fprintln(&messages, err) }
	set := new(derive.Set)
	if _, err := set.Load(file); err != nil {
		report(err)
	}
	own.UseDerived(set, report)
	got := derivedText(t, own, len(defs))
	out := oracle.Python(t, slices.Concat(env, []string{"PCP_DERIVED_CONFIG=" + file}), derivedScript,
		slices.Concat(args[:1], []string{fmt.Sprint(len(defs))}, args[1:])...)
	switch {
	case out.Exit == -1 && len(defs) == 1:
		t.Logf("the C library crashes: %s", defs[0])
		return 0
	case out.Exit == -1:
		half := len(defs) / 2
		return compareDefinitions(t, c, env, defs[:half], args, same) + compareDefinitions(t, c, env, defs[half:], args, same)
	case out.Exit != 0:
		t.Errorf("%s: the C library ended with %d: %s", args[0], out.Exit, out.Stderr)
		return 0
	}
	compareLines(t, args[0], defs, out.Stdout, got, same)
	if got := messages.String(); got != out.Stderr {
		a, b := strings.SplitAfter(out.Stderr, "\n"), strings.SplitAfter(got, "\n")
		i := 0
		for i < min(len(a), len(b))-1 && a[i] == b[i] {
			i++
		}
		t.Errorf("%s: message %d:\n- %s+ %s", args[0], i+1, strings.Join(a[max(i-2, 0):min(i+3, len(a))], "- "), strings.Join(b[max(i-2, 0):min(i+3, len(b))], "+ "))
	}
	return strings.Count(got, "\n") - strings.Count(got, "error")
}

func compareLines(t *testing.T, path string, defs []string, want, got string, same func(expr, want, got string) bool) {
	t.Helper()
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	if len(a) != len(b) {
		t.Errorf("%s: %d lines, want %d", path, len(b), len(a))
	}
	shown := 0
	for i := range min(len(a), len(b)) {
		var n int
		fmt.Sscanf(b[i], "d.m%d", &n)
		def := defs[min(n, len(defs)-1)]
		if same(def, strings.TrimRight(a[i], " "), strings.TrimRight(b[i], " ")) {
			continue
		}
		if shown++; shown <= 10 {
			t.Errorf("%s: %s\n- %s\n+ %s", path, def, a[i], b[i])
		}
	}
}

// span returns a start and a step for a few samples of an archive.
func span(t *testing.T, c *ArchiveContext) (start pcp.Timestamp, step time.Duration) {
	t.Helper()
	l, err := c.Label(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start = l.Start
	end, err := c.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start.Nsec -= start.Nsec % 1000 // the resolution of C
	length := time.Duration(end.Sub(start) * float64(time.Second))
	step = min(max(length/5, time.Millisecond), 10*time.Second).Truncate(time.Millisecond)
	return start.Add(step), step
}

// handwritten are expressions over the metrics of the archive ok-foo.
var handwritten = []string{
	"sample.bin", "sample.long.one + sample.long.ten", "sample.long.one * 3 - 1", "sample.colour / sample.long.ten",
	"sample.bin + sample.colour", "sample.bin + sample.long.one", "sample.long.one + sample.bin", "delta(sample.seconds)",
	"rate(sample.seconds)", "rate(sample.milliseconds)", "instant(sample.seconds)", "-sample.bin", "-sample.ulong.one",
	"sample.bin > 300", "sample.bin >= 300 && sample.bin < 700", "!(sample.bin > 300)", "sample.bin[bin-500]",
	"sample.bin[bin-500] + sample.long.one", "matchinst(/5/, sample.bin)", "matchinst(!/5/, sample.bin)",
	"avg(sample.bin)", "sum(sample.bin)", "max(sample.bin)", "min(sample.bin)", "count(sample.bin)", "count(sample.nosuch)",
	"defined(sample.bin)", "defined(sample.nosuch)", "sample.nosuch", "sample.string.hullo", "sample.string.hullo + 1",
	"1", "1.5", "1/0", "0/0", "4294967295 + 1", "2 * -3", `mkconst(3, type="64", semantics="counter", units="byte")`,
	"sample.long.one ? sample.bin : sample.colour", "sample.bin > 300 ? sample.bin : mkconst(0, type=32, semantics=instant)",
	"sample.long.one == 1 ? sample.long.ten : sample.long.hundred", "sample.float.one + sample.double.one",
	"sample.float.ten * sample.longlong.ten", "sample.ulonglong.million - sample.long.one", "sample.longlong.million * sample.ulonglong.million",
	"sample.byte_ctr + sample.kbyte_ctr", "rate(sample.byte_ctr) / rate(sample.byte_ctr)", `rescale(sample.byte_ctr, "kbyte")`,
	`rescale(sample.bin, "kbyte")`, "sample.byte_ctr * sample.byte_ctr", "sample.byte_ctr / sample.byte_ctr", "sample.byte_ctr - 1",
	"sample.dodgey.value + 1", "sample.aggregate.null", "sample.hordes.one", "sum(sample.hordes.one)", "sample.part_bin + sample.bin",
	"sample.bin - sample.part_bin", "count(sample.part_bin)", "sample.noinst", "delta(sample.noinst)", "sample.bogus_bin * 2",
	"sample.needprofile.bin", "sample.mirage + 0", "delta(sample.drift)", "rate(sample.drift)", "sample.scale_step.time_up_secs",
}

func TestDerivedOracle(t *testing.T) {
	oracle.Require(t)
	if _, err := os.Stat(suite); err != nil {
		t.Skipf("the QA suite of PCP is not installed: %v", err)
	}
	// Where there is no value, C reads memory that was never written.
	garbage := func(expr string) bool { return strings.HasPrefix(expr, "max") || strings.HasPrefix(expr, "min") }
	for _, name := range []string{"ok-foo", "ok-bigbin", "ok-interp", "sample-secs"} {
		if compareDerived(t, suite+"archives/"+name, handwritten, garbage) < 10 {
			t.Errorf("%s: hardly anything is bound", name)
		}
	}
}

// TestDerivedInstalledOracle compares the definitions that the packages install.
func TestDerivedInstalledOracle(t *testing.T) {
	oracle.Require(t)
	if _, err := os.Stat(suite); err != nil {
		t.Skipf("the QA suite of PCP is not installed: %v", err)
	}
	var set derive.Set
	if err := set.LoadInstalled(config.NewLookup(func(string) (string, bool) { return "", false })); err != nil {
		t.Error(err)
	}
	var defs []string
	for d := range set.All() {
		defs = append(defs, d.Expr)
	}
	for _, name := range []string{"20180127.08.40", "pcp-atop", "dm-io", "pcp-dstat", "proc"} {
		compareDerived(t, suite+"archives/"+name, defs, func(string) bool { return false })
	}
}

// TestDerivedRandomOracle compares expressions written at random.
func TestDerivedRandomOracle(t *testing.T) {
	oracle.Require(t)
	if _, err := os.Stat(suite); err != nil {
		t.Skipf("the QA suite of PCP is not installed: %v", err)
	}
	archives := []string{
		"ok-foo", "20180127.08.40", "pcp-dstat", "pcp-mpstat", "wrap", "dyninsts", "ok-bigbin", "ok-interp", "pcp-free", "pcp-vmstat",
		"20180606", "all-irix-6.5.25", "babylon.percpu_v2", "changeinst", "count-mark", "cputime", "dm-io", "gap", "kenj-pc-1", "value-test",
	}
	seed := longtest.Seed(t)
	per := longtest.N(50, 500)
	all := 0
	for n, name := range archives {
		c := openSuite(t, "archives/"+name)
		w := randexpr.New(seed, uint64(n))
		names, err := LeavesOf(t.Context(), c.Context, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			ids, err := c.LookupName(t.Context(), name)
			if err != nil || ids[0].IsDerived() {
				continue
			}
			d, err := c.LookupDesc(t.Context(), ids[0])
			if err != nil {
				continue
			}
			insts, err := c.GetInDomArchive(t.Context(), d.InDom)
			if err != nil && !errors.Is(err, pcp.ErrInDomLog) && !errors.Is(err, pcp.ErrInDom) {
				t.Fatal(err)
			}
			w.Add(name, d, insts)
		}
		var defs []string
		for len(defs) < per {
			defs = append(defs, w.Definition())
		}
		all += compareDerived(t, suite+"archives/"+name, defs, func(string) bool { return false })
	}
	t.Logf("%d lines about metrics that could be bound", all)
}
