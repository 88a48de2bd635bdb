package pmapi

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/randexpr"
)

// A live is a collector of the C implementation, with the metrics that
// expressions are written over.
type live struct {
	d       *oracle.PMCD
	c       *Context
	w       *randexpr.Writer
	names   map[string]pcp.PMID
	observe map[string]string // values of each metric when it was looked at last
	moves   map[string]bool   // the values were not always the same
}

// startLive starts a collector with the agents linux and sample. With
// growing, expressions have metrics only whose values do not get less.
func startLive(t *testing.T, stream uint64, growing bool) *live {
	t.Helper()
	oracle.Require(t)
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "sample"}})
	c, err := Dial(t.Context(), d.Unix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	l := &live{d: d, c: c, w: randexpr.New(longtest.Seed(t), stream), names: make(map[string]pcp.PMID), observe: make(map[string]string), moves: make(map[string]bool)}
	for _, top := range []string{"sample", "hinv", "mem", "kernel.all", "kernel.percpu.cpu", "kernel.uname", "disk", "network", "filesys", "swap"} {
		names, err := LeavesOf(t.Context(), c, top)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			// Instances of these come and go, and answers of the last wait on purpose.
			if fleeting.MatchString(name) {
				continue
			}
			ids, err := c.LookupName(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			desc, err := c.LookupDesc(t.Context(), ids[0])
			if err != nil {
				continue
			}
			if growing {
				// Without a value C takes one from memory that was never written, or crashes.
				res, err := c.Fetch(t.Context(), ids)
				if err != nil {
					t.Fatal(err)
				}
				if len(res.Sets[0].Values) == 0 || wraps.MatchString(name) {
					continue
				}
			}
			var insts []pcp.Instance
			if desc.InDom != pcp.InDomNull {
				if insts, err = c.GetInDom(t.Context(), desc.InDom); err != nil && !errors.Is(err, pcp.ErrInDom) {
					t.Fatal(err)
				}
			}
			if l.w.Add(name, desc, insts) {
				l.names[name] = ids[0]
				// Such a one can be looked at twice and have been elsewhere between.
				l.moves[name] = desc.Sem == pcp.SemInstant && top != "sample"
			}
		}
	}
	l.look(t)
	l.look(t)
	return l
}

var fleeting = regexp.MustCompile(`^sample\.(mirage|ghosts|dynamic|proc|event|hordes|secret|dodgey|darkness|controller|noinst|needprofile)|^sample\.(sysinfo|dupnames|many|bad|recv_pdu|xmit_pdu)|^network\.(softnet|interface\.(inet|ipv6)|tcpconn|persocket)`)

var wraps = regexp.MustCompile(`^sample\.(slow_wrap|wrap|negative|percontext|rapid|drift|step|pdu)|^mem\.vmstat\.(nr_|workingset_nodes)`)

// look notes which metrics have other values than when they were looked at before.
func (l *live) look(t *testing.T) {
	t.Helper()
	for name, id := range l.names {
		res, err := l.c.Fetch(t.Context(), []pcp.PMID{id})
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(res.Sets[0].Err)
		for _, v := range res.Sets[0].Values {
			text += fmt.Sprint(" ", v.Inst, v.Bits(), string(v.Bytes()))
		}
		if before, ok := l.observe[name]; ok && before != text {
			l.moves[name] = true
		}
		l.observe[name] = text
	}
}

var (
	operandName = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9_]*(\.[a-zA-Z0-9_]+)+`)
	bitsOfValue = regexp.MustCompile(`:[^ ]*`)
)

// still reports whether the values of an expression are the same at all times.
func (l *live) still(expr string) bool {
	for _, name := range operandName.FindAllString(expr, -1) {
		if l.moves[name] {
			return false
		}
	}
	return true
}

func (l *live) moving() (n int) {
	for _, moves := range l.moves {
		if moves {
			n++
		}
	}
	return n
}

// compare compares definitions: descriptors and messages of all, the values of those
// that do not change, and the numbers and instances of the values of the others.
// A difference counts if it is there twice: an instance of the kernel's tables may be missing once.
func (l *live) compare(t *testing.T, defs []string) (bound, exact int) {
	t.Helper()
	bound, first := l.differences(t, defs)
	if len(first) > 0 {
		_, again := l.differences(t, defs)
		for expr, text := range first {
			if _, ok := again[expr]; ok {
				t.Errorf("%s\n%s", expr, text)
			} else {
				t.Logf("once, not again: %s\n%s", expr, text)
			}
		}
	}
	for _, def := range defs {
		if l.still(def) {
			exact++
		}
	}
	return bound, exact
}

// differences returns the differences between the results of both libraries, by expression.
func (l *live) differences(t *testing.T, defs []string) (bound int, found map[string]string) {
	t.Helper()
	type pair struct{ expr, want, got string }
	var different []pair
	bound = compareDefinitions(t, l.c, l.d.Env, defs, []string{"@" + l.d.Unix, "0", "0", "0"}, func(expr, want, got string) bool {
		if want != got {
			different = append(different, pair{expr, want, got})
		}
		return true
	})
	// This notices the metrics that moved meanwhile.
	l.look(t)
	found = map[string]string{}
	for _, p := range different {
		switch {
		case l.still(p.expr):
		case !strings.Contains(p.want, " sample ") || !strings.Contains(p.got, " sample "):
		case strings.Contains(p.expr, "?"):
			continue // which arm has the value, and so the instances, depends on it
		case bitsOfValue.ReplaceAllString(p.want, "") == bitsOfValue.ReplaceAllString(p.got, ""):
			continue
		}
		found[p.expr] = "- " + p.want + "\n+ " + p.got
	}
	return bound, found
}

// TestDerivedLiveOracle compares expressions written at random over the
// metrics of one collector, at which ours and the C library ask in turn.
func TestDerivedLiveOracle(t *testing.T) {
	l := startLive(t, 100, false)
	var defs []string
	for len(defs) < longtest.N(400, 4000) {
		defs = append(defs, l.w.Definition())
	}
	bound, exact := 0, 0
	for some := range slices.Chunk(defs, 100) {
		b, e := l.compare(t, some)
		bound, exact = bound+b, exact+e
	}
	t.Logf("%d metrics, %d of them move; %d definitions, %d of them stand still; %d lines about those that could be bound",
		len(l.names), l.moving(), len(defs), exact, bound)
	if bound < len(defs) || exact < len(defs)/4 {
		t.Error("hardly anything is compared")
	}
}

// TestDerivedLiveFiles compares the definitions of each file that the packages install.
func TestDerivedLiveFiles(t *testing.T) {
	l := startLive(t, 0, false)
	files, err := filepath.Glob("/var/lib/pcp/config/derived/*")
	if err != nil || len(files) == 0 {
		t.Skip("no definitions are installed")
	}
	for _, file := range files {
		var set derive.Set
		if _, err := set.Load(file); err != nil {
			t.Error(err)
		}
		var defs []string
		for d := range set.All() {
			defs = append(defs, d.Expr)
		}
		bound, _ := l.compare(t, defs)
		t.Logf("%s: %d definitions, %d lines about those that could be bound", file, len(defs), bound)
	}
}

// TestDerivedGrowing compares values of counters: those that the C library
// gets are between those that we get before and after it.
func TestDerivedGrowing(t *testing.T) {
	l := startLive(t, 200, true)
	var defs []string
	for len(defs) < longtest.N(200, 2000) {
		defs = append(defs, l.w.Growing())
	}
	compared, moved := 0, 0
	for some := range slices.Chunk(defs, 50) {
		n, m := l.between(t, some)
		compared, moved = compared+n, moved+m
	}
	t.Logf("%d values between two others, %d of which are not the same", compared, moved)
	if compared < len(defs) || moved < compared/50 {
		t.Error("hardly anything is compared")
	}
}

// between compares definitions whose values do not get less. It returns how
// many values it compared and how many of them could be other than ours.
func (l *live) between(t *testing.T, defs []string) (compared, moved int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "T")
	var text strings.Builder
	for i, def := range defs {
		fmt.Fprintf(&text, "d.m%d = %s\n", i, def)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	set := new(derive.Set)
	if _, err := set.Load(file); err != nil {
		t.Fatal(err)
	}
	l.c.UseDerived(set, nil)
	before := derivedText(t, l.c, len(defs))
	out := oracle.Python(t, slices.Concat(l.d.Env, []string{"PCP_DERIVED_CONFIG=" + file}), derivedScript, "@"+l.d.Unix, fmt.Sprint(len(defs)), "0", "0", "0")
	after := derivedText(t, l.c, len(defs))
	switch {
	case out.Exit == -1 && len(defs) == 1:
		t.Logf("the C library crashes: %s", defs[0])
		return 0, 0
	case out.Exit == -1:
		n, m := l.between(t, defs[:len(defs)/2])
		compared, moved = l.between(t, defs[len(defs)/2:])
		return compared + n, moved + m
	}
	a, b, c := strings.Split(before, "\n"), strings.Split(out.Stdout, "\n"), strings.Split(after, "\n")
	if out.Exit != 0 || len(a) != len(b) || len(b) != len(c) {
		t.Fatalf("the C library ended with %d after %d lines, ours has %d and %d: %s", out.Exit, len(b), len(a), len(c), out.Stderr)
	}
	for i := range b {
		var n int
		fmt.Sscanf(b[i], "d.m%d", &n)
		if !strings.Contains(b[i], " sample ") {
			if a[i] != b[i] || b[i] != c[i] {
				t.Errorf("%s\n- %s\n+ %s\n+ %s", defs[n], b[i], a[i], c[i])
			}
			continue
		}
		id, err := l.c.LookupName(t.Context(), fmt.Sprintf("d.m%d", n))
		if err != nil {
			t.Fatal(err)
		}
		d, err := l.c.LookupDesc(t.Context(), id[0])
		if err != nil {
			t.Fatal(err)
		}
		x, y, z := valuesOf(a[i], d.Type), valuesOf(b[i], d.Type), valuesOf(c[i], d.Type)
		if len(x) != len(y) || len(y) != len(z) {
			t.Errorf("%s\n- %s\n+ %s\n+ %s", defs[n], b[i], a[i], c[i])
			continue
		}
		for inst := range y {
			compared++
			if x[inst] != z[inst] {
				moved++
			}
			if x[inst] > z[inst] { // some metrics of the kernel that are called counters also go down
				t.Logf("%s, instance %d: it went from %v to %v", defs[n], inst, x[inst], z[inst])
				continue
			}
			if !(x[inst] <= y[inst] && y[inst] <= z[inst]) {
				t.Errorf("%s, instance %d: %v of ours, %v, %v of ours", defs[n], inst, x[inst], y[inst], z[inst])
			}
		}
	}
	return compared, moved
}

// valuesOf returns the values of a line that derivedText wrote.
func valuesOf(line string, typ pcp.Type) map[int]float64 {
	values := make(map[int]float64)
	for _, word := range strings.Fields(line) {
		var inst int
		var bits uint64
		if n, _ := fmt.Sscanf(word, "%d:%x", &inst, &bits); n == 2 {
			values[inst], _ = pcp.RawValue(typ, bits).Float64()
		}
	}
	return values
}
