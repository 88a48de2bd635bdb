package pmapi

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/internal/longtest"
	"github.com/go-pcp/pcp/internal/oracle"
)

// derivedScript prints what the C library makes of the metrics d.m0, d.m1, ...
// in an archive: descriptors, then three samples.
const derivedScript = `
import sys, struct
import pcp.pmapi as p
import cpmapi as c
path, n, sec, usec, step = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
ctx = p.pmContext(c.PM_CONTEXT_ARCHIVE, path)
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
ctx.pmSetMode(c.PM_MODE_INTERP, p.timeval(sec, usec), step)
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
        print(name, s, k if k < 0 else " ".join(line))
    ctx.pmFreeResult(r)
`

// derivedText is what derivedScript prints, by our library.
func derivedText(t *testing.T, c *ArchiveContext, n int, start pcp.Timestamp, step time.Duration) string {
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
	if err := c.SetMode(ctx, ModeInterp, &start, step); err != nil {
		t.Fatal(err)
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
			fmt.Fprintln(&out, name, s, strings.Join(line, " "))
		}
	}
	return out.String()
}

// compareDerived compares definitions in an archive: descriptors, three samples
// and messages. excused says which definition may differ.
func compareDerived(t *testing.T, path string, defs []string, excused func(expr string) bool) (bound int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "T")
	var text strings.Builder
	for i, def := range defs {
		fmt.Fprintf(&text, "d.m%d = %s\n", i, def)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	start, step := span(t, c)

	var messages strings.Builder
	report := func(err error) { fmt.Fprintln(&messages, err) }
	set := new(derive.Set)
	if _, err := set.Load(file); err != nil {
		report(err)
	}
	c.UseDerived(set, report)
	got := derivedText(t, c, len(defs), start, step)
	out := oracle.Python(t, []string{"PCP_DERIVED_CONFIG=" + file}, derivedScript, path, fmt.Sprint(len(defs)),
		fmt.Sprint(start.Sec), fmt.Sprint(start.Nsec/1000), fmt.Sprint(step.Milliseconds()))
	switch {
	case out.Exit == -1 && len(defs) == 1:
		t.Logf("the C library crashes: %s", defs[0])
		return 0
	case out.Exit == -1:
		half := len(defs) / 2
		return compareDerived(t, path, defs[:half], excused) + compareDerived(t, path, defs[half:], excused)
	case out.Exit != 0:
		t.Errorf("%s: the C library ended with %d: %s", path, out.Exit, out.Stderr)
		return 0
	}
	compareLines(t, path, defs, out.Stdout, got, excused)
	if got := messages.String(); got != out.Stderr {
		a, b := strings.SplitAfter(out.Stderr, "\n"), strings.SplitAfter(got, "\n")
		i := 0
		for i < min(len(a), len(b))-1 && a[i] == b[i] {
			i++
		}
		t.Errorf("%s: message %d:\n- %s+ %s", path, i+1, strings.Join(a[max(i-2, 0):min(i+3, len(a))], "- "), strings.Join(b[max(i-2, 0):min(i+3, len(b))], "+ "))
	}
	return strings.Count(got, "\n") - strings.Count(got, "error")
}

func compareLines(t *testing.T, path string, defs []string, want, got string, excused func(expr string) bool) {
	t.Helper()
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	if len(a) != len(b) {
		t.Errorf("%s: %d lines, want %d", path, len(b), len(a))
	}
	shown := 0
	for i := range min(len(a), len(b)) {
		if strings.TrimRight(a[i], " ") == strings.TrimRight(b[i], " ") {
			continue
		}
		var n int
		fmt.Sscanf(b[i], "d.m%d", &n)
		if n < len(defs) && excused(defs[n]) {
			continue
		}
		if shown++; shown <= 10 {
			t.Errorf("%s: %s\n- %s\n+ %s", path, defs[min(n, len(defs)-1)], a[i], b[i])
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
	start.Nsec -= start.Nsec % 1000 // what C can be told
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
	// What C takes from memory that was never written, where there is no value.
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

// A writer writes expressions at random.
type writer struct {
	*rand.Rand
	metrics []pcp.Desc
	names   map[pcp.PMID]string
	insts   map[pcp.InDom][]pcp.Instance
}

func (w *writer) pick(list ...string) string { return list[w.IntN(len(list))] }

// metric returns a metric, mostly one with numbers.
func (w *writer) metric(numeric bool) pcp.Desc {
	for range 50 {
		if d := w.metrics[w.IntN(len(w.metrics))]; d.Type.IsNumeric() || !numeric && w.IntN(8) == 0 {
			return d
		}
	}
	return w.metrics[0]
}

func (w *writer) name(d pcp.Desc) string { return w.names[d.PMID] }

// expr returns an expression of a few levels.
func (w *writer) expr(depth int, like *pcp.Desc) string {
	m := func() string {
		// Operands that belong together are what makes expressions bind.
		if like != nil && w.IntN(10) < 8 {
			var same []pcp.Desc
			for _, d := range w.metrics {
				if d.Type.IsNumeric() && d.Sem == like.Sem && d.Units == like.Units && (d.InDom == like.InDom || d.InDom == pcp.InDomNull) {
					same = append(same, d)
				}
			}
			if len(same) > 0 {
				return w.name(same[w.IntN(len(same))])
			}
		}
		return w.name(w.metric(false))
	}
	if depth <= 0 {
		switch w.IntN(12) {
		case 0:
			return fmt.Sprint(w.IntN(1000))
		case 1:
			return w.pick("0.5", "10.25", "0", "1", "4294967295", "3.")
		case 2:
			if d := w.metric(true); len(w.insts[d.InDom]) > 0 {
				list := w.insts[d.InDom]
				return w.name(d) + "[" + strings.NewReplacer("]", `\]`, `\`, `\\`).Replace(list[w.IntN(len(list))].Name) + "]"
			}
		case 3:
			return fmt.Sprintf("mkconst(%d, type=%s, semantics=%s, units=%q)", w.IntN(5), w.pick("32", "u32", "64", "u64", "float", "double"),
				w.pick("counter", "instant", "discrete"), w.pick("", "byte", "kbyte", "count", "sec", "millisec", "byte / sec", "count x 10^3"))
		}
		return m()
	}
	sub := func() string { return w.expr(depth-1-w.IntN(2), like) }
	switch w.IntN(16) {
	case 0, 1, 2, 3:
		return sub() + w.pick(" + ", " - ", " * ", " / ") + sub()
	case 4:
		return "(" + sub() + ")" + w.pick("+", "-", "*", "/") + "(" + sub() + ")"
	case 5, 6:
		return sub() + w.pick(" < ", " <= ", " == ", " >= ", " > ", " != ") + sub()
	case 7:
		return "(" + sub() + " > " + sub() + ")" + w.pick(" && ", " || ") + "(" + sub() + " <= " + sub() + ")"
	case 8:
		return "-" + sub()
	case 9:
		// In parentheses: of numbers other than these C's has bits that were never set.
		return "(!(" + sub() + " != " + sub() + "))"
	case 10, 11:
		return w.pick("delta", "rate", "instant", "delta", "rate") + "(" + m() + ")"
	case 12:
		return w.pick("avg", "sum", "count") + "(" + m() + ")"
	case 13:
		return "matchinst(" + w.pick("", "!") + w.pick("/a/", "/^[a-m]/", "/[0-9]$/", "/^(bin|sd)/", "/./") + ", " + w.expr(0, like) + ")"
	case 14:
		return "rescale(" + sub() + ", " + w.pick(`"kbyte"`, `"sec"`, `"count"`, `"mbyte"`, `"hour"`) + ")"
	}
	s := "(" + sub() + " > " + sub() + ") ? " + sub() + " : " + sub()
	if strings.Contains(s, "[") || strings.Contains(s, "matchinst") {
		return m() // where an arm has fewer values, C takes instances from behind them
	}
	return s
}

// definition returns an expression, some of them broken.
func (w *writer) definition() string {
	like := w.metric(true)
	s := w.expr(w.IntN(4), &like)
	// After a mistake inside of matchinst the C library takes a slash for a
	// pattern in all expressions that follow.
	if strings.Contains(s, "!") || strings.Contains(s, "matchinst") || w.IntN(6) > 0 {
		return s
	}
	words := strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ", ",", " , ").Replace(s))
	i := w.IntN(len(words))
	switch w.IntN(3) {
	case 0:
		words = slices.Delete(words, i, i+1)
	case 1:
		words = slices.Insert(words, i, w.pick("+", "(", ")", "?", ":", "x", "7", "&", "==", "\"s\"", ","))
	default:
		words[i], words[len(words)-1] = words[len(words)-1], words[i]
	}
	if len(words) == 0 {
		return "("
	}
	broken := strings.NewReplacer(" ( ", "(", " ) ", ")").Replace(strings.Join(words, " "))
	if strings.Contains(broken, "[") || len(ofMetric.FindAllString(broken, -1)) != len(ofAny.FindAllString(broken, -1)) {
		return s // an instance that C finds by its first characters; what only later versions take
	}
	return broken
}

var (
	ofMetric = regexp.MustCompile(`(delta|rate|instant)\( *[a-z][a-zA-Z0-9_.]* *\)`)
	ofAny    = regexp.MustCompile(`(delta|rate|instant)\(`)
)

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
		w := &writer{Rand: rand.New(rand.NewPCG(seed, uint64(n))), names: make(map[pcp.PMID]string), insts: make(map[pcp.InDom][]pcp.Instance)}
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
			if err != nil || w.names[d.PMID] != "" || slices.ContainsFunc(strings.Split(name, "."), reserved) {
				continue
			}
			w.names[d.PMID] = name
			w.metrics = append(w.metrics, d)
			if _, ok := w.insts[d.InDom]; !ok {
				w.insts[d.InDom], err = c.GetInDomArchive(t.Context(), d.InDom)
				if err != nil && !errors.Is(err, pcp.ErrInDomLog) && !errors.Is(err, pcp.ErrInDom) {
					t.Fatal(err)
				}
			}
		}
		var defs []string
		for len(defs) < per {
			defs = append(defs, w.definition())
		}
		all += compareDerived(t, suite+"archives/"+name, defs, func(string) bool { return false })
	}
	t.Logf("%d lines about metrics that could be bound", all)
}

// reserved reports whether a name cannot stand in an expression.
func reserved(s string) bool { return s == "type" || s == "semantics" || s == "units" }
