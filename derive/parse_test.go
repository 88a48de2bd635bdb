package derive

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// String prints n with all its parentheses.
func (n *node) String() string {
	switch n.op {
	case opName, opInteger, opDouble:
		return n.text
	case opNeg, opNot:
		return "(" + opNames[n.op].sign + n.left.String() + ")"
	case opQuest:
		return "(" + n.left.String() + "?" + n.right.left.String() + ":" + n.right.right.String() + ")"
	case opSelect:
		return n.left.String() + "[" + n.text + "]"
	}
	if n.right != nil {
		return "(" + n.left.String() + opNames[n.op].sign + n.right.String() + ")"
	}
	s := strings.ToLower(n.op.String()) + "("
	if n.op == opMatch && n.more.invert {
		s += "!"
	}
	s += n.text
	if n.left != nil {
		s += " " + n.left.String()
	}
	return s + ")"
}

func TestTree(t *testing.T) {
	f := func(expr, want string) {
		t.Helper()
		n, err := parse(expr)
		if err != nil {
			t.Errorf("parse(%q): %v", expr, err)
		} else if got := n.String(); got != want {
			t.Errorf("parse(%q) = %s, want %s", expr, got, want)
		}
	}
	f("a+b*c", "(a+(b*c))")
	f("a-b-c", "((a-b)-c)")
	f("a/b*c", "((a/b)*c)")
	f("(a+b)*c", "((a+b)*c)")
	f("a-b>c+d", "((a-b)>(c+d))")
	f("a>b!=c", "((a>b)!=c)")
	f("a>b*c&&d<=e+f", "((a>(b*c))&&(d<=(e+f)))")
	f("a>=b||b>c&&d!=e||f>g", "((((a>=b)||(b>c))&&(d!=e))||(f>g))")
	f("!a<b+c", "(!(a<(b+c)))")
	f("!a&&b", "((!a)&&b)")
	f("!a==!b", "(!(a==(!b)))")
	f("-3*some.metric", "(-(3*some.metric))")
	f("-a+b", "((-a)+b)")
	f("a*-b*c", "(a*(-(b*c)))")
	f("a*-b+c", "((a*(-b))+c)")
	f("a--b", "(a-(-b))")
	f("a*!b+c", "(a*(!(b+c)))")
	f("a?b:c?d:e", "((a?b:c)?d:e)")
	f("a?b?c:d:e", "(a?(b?c:d):e)")
	f("a+b?c:d+e", "((a+b)?c:(d+e))")
	f("-a?b:c", "((-a)?b:c)")
	f(`a[foo\]bar] + (b)[x y]`, "(a[foo]bar]+b[x y])")
	f(" avg( a )\t+ count(b)-max(c)", "((avg( a)+count( b))-max( c))")
	f("count + avg", "(count+avg)")
	f("delta (a)[x]"[:5]+"(a)", "delta( a)")
	f("rate(a-b) / instant(-c)", "(rate( (a-b))/instant( (-c)))")
	f("matchinst(!/^lo|vir\\/x/, a)", "filterinst(!^lo|vir/x a)")
	f("matchinst(/a/, b) / c", "(filterinst(a b)/c)")
	f("defined(a) ? a : novalue()", "(defined(a)?a:novalue())")
	f("defined(a) ? novalue(type=u64, meta=b) : 1.5", "(defined(a)?novalue():1.5)")
	f("mkconst(1, type=double) + .5 + 3.", "((1+.5)+3.)")
	f("anon(PM_TYPE_U64)", "anon(PM_TYPE_U64)")
	f("novalue + indom + meta", "((novalue+indom)+meta)")
}

// readSyntax returns the expressions of testdata/syntax.txt and C's results.
func readSyntax(t *testing.T) (exprs []string, said map[string]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/syntax.txt")
	if err != nil {
		t.Fatal(err)
	}
	said = make(map[string]string)
	for part := range strings.SplitSeq(strings.TrimPrefix(string(text), "## "), "\n## ") {
		expr, message, _ := strings.Cut(part, "\n")
		exprs = append(exprs, expr)
		said[expr] = strings.TrimSuffix(message, "\n")
	}
	return exprs, said
}

// beyond has the expressions that we accept and version 6.0.3 does not.
var beyond = map[string]bool{"delta(a+b)": true, "delta(3)": true}

func TestSyntaxOfC(t *testing.T) {
	exprs, said := readSyntax(t)
	for _, expr := range exprs {
		var set Set
		_, err := set.Read(strings.NewReader("dm.x = "+expr+"\n"), "T")
		got := ""
		if err != nil {
			got = err.Error()
		}
		if beyond[expr] {
			if got != "" || said[expr] == "" {
				t.Errorf("%s is not beyond C: %s", expr, got)
			}
			continue
		}
		if got != said[expr] {
			t.Errorf("%s\n-- got\n%s\n-- want\n%s", expr, got, said[expr])
		}
	}
}

// TestSyntaxOracle compares testdata/syntax.txt with the output of this machine's pminfo.
func TestSyntaxOracle(t *testing.T) {
	oracle.Require(t)
	exprs, said := readSyntax(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("root", []byte("root {\n  a 1:1:1\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	step := longtest.N(8, 1)
	for i := 0; i < len(exprs); i += step {
		if err := os.WriteFile("T", []byte("dm.x = "+exprs[i]+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out := oracle.RunEnv(t, []string{"PCP_DERIVED_CONFIG=T"}, "pminfo", "-n", "root", "-L", "-K", "clear", "event.flags")
		got := strings.TrimSuffix(out.Stderr, "\n")
		if got != said[exprs[i]] {
			t.Errorf("%s\n-- pminfo\n%s\n-- syntax.txt\n%s", exprs[i], got, said[exprs[i]])
		}
	}
}

func TestLimits(t *testing.T) {
	if _, err := parse(strings.Repeat("(", maxDepth+1)); err == nil || err.msg != msgTooDeep {
		t.Errorf("%d parentheses: %v", maxDepth+1, err)
	}
	if _, err := parse(strings.Repeat("-", maxDepth+1) + "a"); err == nil || err.msg != msgTooDeep {
		t.Errorf("%d signs: %v", maxDepth+1, err)
	}
	deep := strings.Repeat("(", maxDepth-1) + "a" + strings.Repeat(")", maxDepth-1)
	if _, err := parse(deep); err != nil {
		t.Errorf("%d parentheses: %v", maxDepth-1, err)
	}
	if _, err := parse(strings.Repeat("a", maxExpr+1)); err == nil {
		t.Errorf("an expression of %d bytes is taken", maxExpr+1)
	}
	if _, err := parse("a" + strings.Repeat("+a", maxExpr/2-1)); err != nil {
		t.Errorf("a long sum: %v", err)
	}
	var set Set
	set.setLimit(1)
	if err := set.Add("a", "b"); err != nil {
		t.Error(err)
	}
	var e *Error
	if err := set.Add("b", "b"); !errors.As(err, &e) || e.Msg != "Too many global derived metrics" || !errors.Is(err, pcp.ErrBadDerive) {
		t.Errorf("one more than the limit: %v", err)
	}
}

func TestErrorOfProgram(t *testing.T) {
	var set Set
	err := set.Add("my.disk.rates", "4rat(disk.dev.read)")
	want := "Error: pmRegisterDerivedMetric(\"my.disk.rates\", ...)\n4rat(disk.dev.read)\n ^"
	if err == nil || err.Error() != want {
		t.Errorf("Add = %v, want %s", err, want)
	}
	var e *Error
	if errors.As(err, &e) && e.Column != 1 {
		t.Errorf("column %d, want 1", e.Column)
	}
}

func TestPatterns(t *testing.T) {
	f := func(pattern, name string, want bool) {
		t.Helper()
		re, err := compilePattern(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		} else if got := re.MatchString(name); got != want {
			t.Errorf("%s matches %s: %v, want %v", pattern, name, got, want)
		}
	}
	f("^(lo)|(vbir)", "lo", true)
	f("^(lo)|(vbir)", "eth0", false)
	f("[[:digit:]]$", "eth0", true)
	f("a)b", "a)b", true)
	f("(a)b)[)]", "ab))", true)
	f(`\bsd`, "sda", true)
	f("x{2}", "axx", true)
}

func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/syntax.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if expr, ok := strings.CutPrefix(line, "## "); ok {
			f.Add(strings.TrimSuffix(expr, "\n"))
		}
	}
	f.Add("a>=b||b>c&&d!=e||f>g ? mkconst(0, type=\"double\", units=\"kbyte / count\") : rate(a)[x]")
	f.Add("matchinst(!/^(lo)|(vbir)/, network.interface.in.bytes) * -3")
	f.Fuzz(func(t *testing.T, expr string) {
		n, bad := parse(expr)
		if (n == nil) == (bad == nil) {
			t.Fatalf("parse(%q) = %v, %v", expr, n, bad)
		}
		if bad != nil && (bad.pos < 0 || bad.pos > len(expr)) {
			t.Fatalf("parse(%q): position %d", expr, bad.pos)
		}
		if bad != nil && accepts(expr, new(string)) {
			t.Fatalf("%q is accepted", expr)
		}
		var set Set
		if n == nil || set.Add("x", expr) != nil {
			return
		}
		// Accepted expressions can be bound, or not, and computed.
		src := newFake()
		b := set.Bind(src, nil)
		id, _ := b.Lookup("x")
		ids, err := b.Operands(t.Context(), []pcp.PMID{id})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var res pcp.Result
			for _, id := range ids {
				res.AddError(id, 0)
				if !id.IsDerived() {
					res.Add(pcp.RawValue(pcp.TypeUnknown, 3).WithInst(0))
					res.Add(pcp.Uint64Value(1 << 40).WithInst(1))
				}
			}
			b.Evaluate(t.Context(), &res, 1)
		}
	})
}
