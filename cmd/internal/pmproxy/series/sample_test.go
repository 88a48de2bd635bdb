package series

import (
	"math"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
)

func TestAppendValue(t *testing.T) {
	for _, c := range []struct {
		v    pcp.Value
		t    pcp.Type
		want string
	}{
		{pcp.Int32Value(-1), pcp.Type32, "-1"},
		{pcp.Uint32Value(math.MaxUint32), pcp.TypeU32, "4294967295"},
		{pcp.Int64Value(math.MinInt64), pcp.Type64, "-9223372036854775808"},
		{pcp.Uint64Value(math.MaxUint64), pcp.TypeU64, "18446744073709551615"},
		{pcp.FloatValue(0.5), pcp.TypeFloat, "5.000000e-01"},
		{pcp.DoubleValue(-12345678.9), pcp.TypeDouble, "-1.234568e+07"},
		{pcp.DoubleValue(math.Inf(1)), pcp.TypeDouble, "inf"},
		{pcp.StringValue("a \"b\"\n\\é~"), pcp.TypeString, `"a \u0022b\u0022\u000A\u005C\uFFFD\uFFFD~"`},
		{pcp.BytesValue(pcp.TypeAggregate, []byte{0, 'x', 127}), pcp.TypeAggregate, `"\u0000x\u007F"`},
		{pcp.BytesValue(pcp.TypeEvent, nil), pcp.TypeEvent, "-21344"},
	} {
		if got := string(AppendValue(nil, c.v, c.t)); got != c.want {
			t.Errorf("AppendValue(%v, %v) = %s, want %s", c.v, c.t, got, c.want)
		}
	}
}

// TestThinner compares with the samples of the C implementation, derived by hand from its documented
// rule: the last sample before each step, and the last one.
func TestThinner(t *testing.T) {
	f := func(w Window, times, want []int64) {
		t.Helper()
		th := NewThinner(w)
		var got []int64
		var before int64
		for _, at := range times {
			if th.Next(pcp.Timestamp{Sec: at}) {
				got = append(got, before)
			}
			before = at
		}
		if th.Last() {
			got = append(got, before)
		}
		if len(got) != len(want) {
			t.Fatalf("%+v of %v: %v, want %v", w, times, got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%+v of %v: %v, want %v", w, times, got, want)
			}
		}
	}
	times := []int64{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	f(Window{}, times, times)
	f(Window{Count: 3}, times, []int64{10, 11, 12})
	f(Window{Interval: 3 * time.Second}, times, []int64{10, 13, 16, 19})
	f(Window{Interval: 3 * time.Second, Start: pcp.Timestamp{Sec: 11}}, times[1:], []int64{11, 14, 17, 19})
	f(Window{Interval: 3 * time.Second, Count: 2}, times, []int64{10, 13})
	f(Window{Interval: time.Second}, []int64{10, 20, 21, 22}, []int64{10, 21, 22}) // the gap shifts the steps
	f(Window{Interval: time.Second}, nil, nil)
}
