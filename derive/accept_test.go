package derive

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/longtest"
)

func TestAccepts(t *testing.T) {
	f := func(expr string, want bool) {
		t.Helper()
		if got := accepts(expr, new(string)); got != want {
			t.Errorf("accepts(%q) = %v", expr, got)
		}
	}
	for _, expr := range []string{
		"a", " a ", "a.b_c1+2", "a >= b && !c", "-a*(b - -c)/2.5", "a ? b : c ? d : e", "a ? b ? c : d : e", "(a+b)[x y\\]]", "a[1]",
		"delta(a)/rate( b + c )", "avg(a.b)", "defined(sum) != 1", "scalar(instant(a))",
		`mkconst(0, type="double", semantics="instant", units="millisec / count")`, "mkconst(1.5,type=float)", "mkconst(3, type=32)",
		`rescale(a + b , "kbyte")`, `mkconst(1, units="")`, "a != b == c", "1.", strings.Repeat("-", maxAccepted) + "a",
	} {
		f(expr, true)
		if _, err := parse(expr); err != nil {
			t.Errorf("parse(%q): %v", expr, err)
		}
	}
	for _, expr := range []string{
		"", "a b", "a +", "+ a", "(a", "a)", "a ? b", "a : b", "(a ? b) : c", "a ? (b : c)", "a & b", "a = b", "a ! = b", "type + 1",
		"a(b)", "sum(a)[x]", "a[x][y]", "a[x", "sum(a+b)", "sum(type)", "mkconst(1)", "mkconst(1.5, type=u32)", "mkconst(1, type==32)",
		"mkconst(1, type=36)", `mkconst(1, units="furlong")`, `rescale(a, "furlong")`, "rescale(a, kbyte)", `rescale(a, "kbyte"`, "4294967296",
		"a\x00", "a[\x00]", "1.2.3", "1e5", "@",
	} {
		f(expr, false)
		if _, err := parse(expr); err == nil && !strings.Contains(expr, "\x00") {
			t.Errorf("parse(%q): no error", expr)
		}
	}
	// These need parse.
	for _, expr := range []string{
		"matchinst(/x/, a)", "a ? b : novalue()", "anon(PM_TYPE_32)", "mkconst(1, meta=a)", ".5", "4294967295",
		strings.Repeat("-", maxAccepted+1) + "a", strings.Repeat("(", maxAccepted) + "(a)" + strings.Repeat(")", maxAccepted),
	} {
		f(expr, false)
		if _, err := parse(expr); err != nil {
			t.Errorf("parse(%q): %v", expr, err)
		}
	}
}

// TestAcceptsRandom combines tokens at random: accepts and the parser must agree.
func TestAcceptsRandom(t *testing.T) {
	tokens := []string{
		"a", "b.c", "a", "sum(", "delta(", "sum(a)", "rate(b)", "(", "(", ")", ")", ")", " ", "+", "-", "*", "/", "<", ">=", "==", "=", "!", "!=", "&&", "||",
		"&", "?", ":", ":", ",", "1", "2.5", "[x]", "type", "mkconst(1,type=u32)", "mkconst(", "units=", `"kbyte"`, "rescale(", `,"kbyte")`, "sum", "novalue()",
	}
	r := rand.New(rand.NewPCG(longtest.Seed(t), 0))
	both, parsed := 0, 0
	for range longtest.N(200_000, 5_000_000) {
		var b strings.Builder
		for range 1 + r.IntN(9) {
			b.WriteString(tokens[r.IntN(len(tokens))])
		}
		expr := b.String()
		ok := accepts(expr, new(string))
		_, err := parse(expr)
		if ok && err != nil {
			t.Fatalf("%q is accepted, and parse says %q at %d", expr, err.msg, err.pos)
		}
		if err == nil {
			if parsed++; ok {
				both++
			}
		}
	}
	if both < parsed*9/10 || both == 0 {
		t.Errorf("of %d good expressions %d are accepted", parsed, both)
	}
}

// TestAcceptsDeep checks the maximum depth of the parser.
func TestAcceptsDeep(t *testing.T) {
	for _, level := range []string{"(", "a?b&&c>d+e*(", "!", "a ? ", "a&&!a<b+c*-", "delta(1+2*"} {
		for n := 1; n < maxDepth; n++ {
			expr := strings.Repeat(level, n) + "a" + strings.Repeat(")", strings.Count(level, "(")*n) + strings.Repeat(" : b", strings.Count(level, "?")*n)
			if strings.Contains(level, "?b") {
				expr = strings.Repeat(level, n) + "a" + strings.Repeat("):b", n)
			}
			if !accepts(expr, new(string)) {
				break
			}
			if _, err := parse(expr); err != nil {
				t.Errorf("%d of %q are accepted, and parse says %q", n, level, err.msg)
				break
			}
		}
	}
}

// TestAcceptsBuiltin checks that the definitions read at each start of a tool need no
// parser.
func TestAcceptsBuiltin(t *testing.T) {
	var set Set
	if err := set.LoadBuiltin(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for d := range set.All() {
		if accepts(d.Expr, new(string)) {
			n++
		}
	}
	if n < set.Len()*9/10 {
		t.Errorf("of %d definitions %d are accepted", set.Len(), n)
	}
}

// TestReadAllocations checks that reading a definition only allocates its memory.
func TestReadAllocations(t *testing.T) {
	text := ""
	for i := range 500 {
		text += "k.m" + strings.Repeat("a", i%7+1) + strings.Repeat("b", i/7+1) + " = delta(sample.bin) / 3 + sample.long.one\n"
	}
	n := testing.AllocsPerRun(20, func() {
		var set Set
		if n, err := set.readText(text, "f"); n != 500 || err != nil {
			t.Fatal(n, err)
		}
	})
	if n > 50 {
		t.Errorf("%v allocations for 500 definitions", n)
	}
}
