package pcpjson

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/go-pcp/pcp"
)

func TestValue(t *testing.T) {
	f := func(v pcp.Value, typ pcp.Type, want string) {
		t.Helper()
		if got := string(Value(v, typ, nil)); got != want {
			t.Errorf("Value(%v, %v) = %s, want %s", v, typ, got, want)
		}
	}
	f(pcp.Int32Value(-1), pcp.Type32, "-1")
	f(pcp.Uint32Value(math.MaxUint32), pcp.TypeU32, "4294967295")
	f(pcp.Int64Value(math.MinInt64), pcp.Type64, "-9223372036854775808")
	f(pcp.Uint64Value(math.MaxUint64), pcp.TypeU64, "18446744073709551615")
	f(pcp.FloatValue(0.1), pcp.TypeFloat, "0.1")
	f(pcp.DoubleValue(1e300), pcp.TypeDouble, "1e+300")
	f(pcp.DoubleValue(math.NaN()), pcp.TypeDouble, "null")
	f(pcp.FloatValue(float32(math.Inf(1))), pcp.TypeFloat, "null")
	f(pcp.StringValue("a\xffb\"\n"), pcp.TypeString, `"a\ufffdb\"\n"`)
	f(pcp.BytesValue(pcp.TypeAggregate, []byte{0, 1, 0xfe}), pcp.TypeAggregate, `"0001fe"`)
	f(pcp.Int32Value(1), pcp.TypeUnknown, "null")
	f(pcp.StringValue("x"), pcp.TypeEvent, "null")
}

func FuzzValue(f *testing.F) {
	f.Add([]byte(nil), byte(pcp.TypeString))
	f.Add([]byte("\xff\x00<&>"), byte(pcp.TypeString))
	f.Add([]byte{0, 0, 0, 12, 0, 0, 0, 1}, byte(pcp.TypeEvent))
	f.Add([]byte{0, 0, 0, 12, 0, 0, 0, 1}, byte(pcp.TypeHighResEvent))
	f.Fuzz(func(t *testing.T, b []byte, typ byte) {
		v := pcp.BytesValue(pcp.TypeAggregate, b)
		metric := func(pcp.PMID) (string, pcp.Type) { return "x", pcp.Type(typ % 11) }
		if j := Value(v, pcp.Type(typ%11), metric); !json.Valid(j) {
			t.Errorf("Value(%x, %d) = %s", b, typ, j)
		}
	})
}
