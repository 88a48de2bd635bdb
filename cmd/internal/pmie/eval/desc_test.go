package eval

import (
	"testing"

	"github.com/go-pcp/pcp"
)

func TestExtraUnits(t *testing.T) {
	term := func(u pcp.Units) *Expr {
		x := NewExpr(OpNone, nil, nil, None, None, None, 1, SemNumber)
		x.Unit = u
		return x
	}
	watts, volts, bytes := pcp.Units{Extra: pcp.Watt}, pcp.Units{Extra: pcp.Volt}, pcp.Units{DimSpace: 1}
	f := func(left pcp.Units, op Op, right pcp.Units, want string) {
		t.Helper()
		x := NewExpr(op, term(left), term(right), None, None, None, 1, SemInstant)
		if got, known := x.dimension(); got.String() != want || known != (want != "" || left == right) {
			t.Errorf("%v %v %v has the units %q, %t, want %q", left, op, right, got, known, want)
		}
	}
	f(watts, OpAdd, watts, "power (W)")
	f(watts, OpMul, bytes, "power (W) byte")
	f(bytes, OpMul, watts, "power (W) byte")
	f(bytes, OpDiv, watts, "byte / power (W)")
	f(watts, OpDiv, bytes, "power (W) / byte")
	f(watts, OpDiv, watts, "")
	f(watts, OpDiv, volts, "")
	f(watts, OpMul, volts, "")
}
