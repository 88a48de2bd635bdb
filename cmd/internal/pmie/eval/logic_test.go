package eval

import (
	"testing"
)

// TestTruthTables checks all cells of the tables of and, or and not, and those with a
// missing operand.
func TestTruthTables(t *testing.T) {
	const f, tr, u = False, True, Unknown
	for _, c := range []struct{ a, b, and, or int8 }{
		{f, f, f, f},
		{f, tr, f, tr},
		{f, u, f, u},
		{tr, f, f, tr},
		{tr, tr, tr, tr},
		{tr, u, u, tr},
		{u, f, f, u},
		{u, tr, u, tr},
		{u, u, u, u},
	} {
		if got := and.both(c.a, c.b); got != c.and {
			t.Errorf("%d and %d is %d, want %d", c.a, c.b, got, c.and)
		}
		if got := or.both(c.a, c.b); got != c.or {
			t.Errorf("%d or %d is %d, want %d", c.a, c.b, got, c.or)
		}
	}
	for _, c := range []struct{ a, and, or, not int8 }{{f, f, u, tr}, {tr, u, tr, f}, {u, u, u, u}} {
		if got := and.one(c.a); got != c.and {
			t.Errorf("%d and nothing is %d, want %d", c.a, got, c.and)
		}
		if got := or.one(c.a); got != c.or {
			t.Errorf("%d or nothing is %d, want %d", c.a, got, c.or)
		}
		value := NewExpr(OpNone, nil, nil, None, None, None, 1, SemTruth)
		value.Truths[0], value.Valid = c.a, 1
		x := NewExpr(OpNot, value, nil, None, None, None, 1, SemTruth)
		x.Settle()
		Compute(x.Cell, x.Arg1.Cell, nil)
		if got := x.Truth(0)[0]; got != c.not {
			t.Errorf("not %d is %d, want %d", c.a, got, c.not)
		}
	}
	for _, c := range []struct {
		list      []int8
		all, some int8
	}{
		{[]int8{tr, tr}, tr, tr}, {[]int8{tr, f}, f, tr}, {[]int8{f, f}, f, f}, {[]int8{u, tr}, u, tr}, {[]int8{tr, u}, u, u}, {[]int8{u, u}, u, u},
	} {
		if got := allOf(c.list, 1, len(c.list)); got != c.all {
			t.Errorf("all of %d is %d, want %d", c.list, got, c.all)
		}
		if got := someOf(c.list, 1, len(c.list)); got != c.some {
			t.Errorf("some of %d is %d, want %d", c.list, got, c.some)
		}
	}
}
