package val

import (
	"math"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

func TestReal(t *testing.T) {
	f := func(v float64, sem pcp.Sem, fixed int, want string) {
		t.Helper()
		x := &viewer{fixed: fixed}
		x.real(v, sem, 13)
		if got := string(x.out); got != want {
			t.Errorf("%g, %v, -f %d: %q, want %q", v, sem, fixed, got, want)
		}
	}
	// The point is in the same column for all that have one.
	f(0, pcp.SemInstant, -1, "       0.0   ")
	f(0.05, pcp.SemInstant, -1, "    5.000E-02")
	f(0.1, pcp.SemInstant, -1, "       0.1000")
	f(0.9999, pcp.SemInstant, -1, "       0.9999")
	f(1, pcp.SemInstant, -1, "       1.000 ")
	f(9.999, pcp.SemInstant, -1, "       9.999 ")
	f(12.345, pcp.SemInstant, -1, "      12.35  ")
	f(999.9, pcp.SemInstant, -1, "     999.9   ")
	f(1000, pcp.SemInstant, -1, "    1000.    ")
	f(9999, pcp.SemInstant, -1, "    9999.    ")
	f(10000, pcp.SemInstant, -1, "    1.000E+04")
	f(-1.5, pcp.SemInstant, -1, "   -1.500E+00")
	f(-1.5, pcp.SemCounter, -1, "            !")
	f(1.5, pcp.SemCounter, -1, "       1.500 ")
	f(1.2345, pcp.SemInstant, 2, "         1.23")
	f(-1.2345, pcp.SemInstant, 0, "           -1")
	f(-1.2345, pcp.SemCounter, 0, "            !")
	f(math.Inf(1), pcp.SemInstant, -1, "          INF")
	f(math.NaN(), pcp.SemInstant, -1, "     nan.    ")
	f(math.Inf(1), pcp.SemInstant, 3, "          inf")
}

func TestLabels(t *testing.T) {
	f := func(names string, cols, fixed int, sem pcp.Sem, want string) {
		t.Helper()
		x := &viewer{fixed: fixed, cols: cols, style: -1, desc: pcp.Desc{Sem: sem}}
		for i, name := range strings.Split(names, ",") {
			x.insts = append(x.insts, pcp.Instance{Inst: int32(i), Name: name})
		}
		x.labels()
		if got := string(x.out); got != want {
			t.Errorf("%s: %q, want %q", names, got, want)
		}
	}
	f("a,bb", 8, -1, pcp.SemInstant, "\n       a       bb \n")
	f("a,bb", 8, -1, pcp.SemCounter, "\n    a       bb    \n") // rates have digits after the point
	f("a,bb", 8, 1, pcp.SemCounter, "\n       a       bb \n")
	f("a,123456", 8, -1, pcp.SemCounter, "\n       a   123456 \n") // no room to shift
	f("a,123456789", 8, -1, pcp.SemInstant,
		"full label for instance[0]: a\nfull label for instance[1]: 123456789\n\n       a 12345678 \n")
}

func TestRates(t *testing.T) {
	x := &viewer{fixed: -1, cols: 13, scale: 1, desc: pcp.Desc{Type: pcp.TypeU32, Sem: pcp.SemCounter, InDom: 1}}
	x.env = newEnv(nil)
	x.insts = []pcp.Instance{{Inst: 1, Name: "a"}, {Inst: 2, Name: "b"}, {Inst: 3, Name: "c"}}
	at := func(sec int64, values ...uint32) *sample {
		s := &sample{at: pcp.Timestamp{Sec: sec}}
		for i := 0; i < len(values); i += 2 {
			s.vs.Values = append(s.vs.Values, pcp.Uint32Value(values[i+1]).WithInst(int32(values[i])))
		}
		return s
	}
	f := func(now, before *sample, want string) {
		t.Helper()
		x.out = nil
		x.rateRow(now, before)
		if got := strings.Join(strings.Fields(string(x.out)), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(at(10, 1, 100, 2, 50, 3, 7), at(5, 1, 50, 2, 50, 3, 8), "10.00 0.0 !")
	f(at(10, 1, 50, 3, 100), at(5, 1, 50, 3, 95), "0.0 ? 1.000")
	f(at(10, 1, 100, 4, 20), at(5, 1, 50, 4, 10), "10.00 ? ? Warning: value=2.000 , but instance=4 is unknown")
	x.chosen = []string{"a", "b", "c"}
	f(at(10, 1, 100, 4, 20), at(5, 1, 50, 4, 10), "10.00 ? ?")
	x.wrap = true
	f(at(6, 1, 4), at(5, 1, math.MaxUint32-5), "10.00 ? ?")
}

func TestSplitInstances(t *testing.T) {
	f := func(s, want string) {
		t.Helper()
		if got := strings.Join(splitInstances(s), "|"); got != want {
			t.Errorf("%s: %q, want %q", s, got, want)
		}
	}
	f("a", "a")
	f("a,b c\td", "a|b|c|d")
	f(" ,a,, b, ", "a|b")
	f(`"1 minute",'5 minute' "x`, "1 minute|5 minute|x")
	f(`""`, "")
	f("", "")
}
