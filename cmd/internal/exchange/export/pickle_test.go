package export

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestPickle compares protocols with Python's output for the same points.
func TestPickle(t *testing.T) {
	points := []point{
		{"pcp.a.b", 1700000000, pcp.DoubleValue(1.5)},
		{"pcp.c._x", 1700000000, pcp.Uint32Value(12)},
	}
	for proto, want := range []string{
		"(lp0\n(Vpcp.a.b\np1\n(I1700000000\nF1.5\ntp2\ntp3\na(Vpcp.c._x\np4\n(I1700000000\nI12\ntp5\ntp6\na.",
		"]q\x00((X\x07\x00\x00\x00pcp.a.bq\x01(J\x00\xf1SeG?\xf8\x00\x00\x00\x00\x00\x00tq\x02tq\x03(X\x08\x00\x00\x00pcp.c._xq\x04(J\x00\xf1SeK\x0ctq\x05tq\x06e.",
		"\x80\x02]q\x00(X\x07\x00\x00\x00pcp.a.bq\x01J\x00\xf1SeG?\xf8\x00\x00\x00\x00\x00\x00\x86q\x02\x86q\x03X\x08\x00\x00\x00pcp.c._xq\x04J\x00\xf1SeK\x0c\x86q\x05\x86q\x06e.",
		"\x80\x03]q\x00(X\x07\x00\x00\x00pcp.a.bq\x01J\x00\xf1SeG?\xf8\x00\x00\x00\x00\x00\x00\x86q\x02\x86q\x03X\x08\x00\x00\x00pcp.c._xq\x04J\x00\xf1SeK\x0c\x86q\x05\x86q\x06e.",
		"\x80\x04\x95\x37\x00\x00\x00\x00\x00\x00\x00]\x94(\x8c\x07pcp.a.b\x94J\x00\xf1SeG?\xf8\x00\x00\x00\x00\x00\x00\x86\x94\x86\x94\x8c\x08pcp.c._x\x94J\x00\xf1SeK\x0c\x86\x94\x86\x94e.",
	} {
		if got := string(appendPickle(nil, points, proto)); got != want {
			t.Errorf("protocol %d:\n got %q\nwant %q", proto, got, want)
		}
	}
}

// TestPickleOracle draws lists and compares all protocols with Python's.
func TestPickleOracle(t *testing.T) {
	oracle.Require(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	text := func() string {
		const letters = "abc.é\\\n\x1a\x00世\U0001f600\"'"
		all := []rune(letters)
		b := make([]rune, rnd.IntN(20))
		for i := range b {
			b[i] = all[rnd.IntN(len(all))]
		}
		if rnd.IntN(20) == 0 {
			return string(b) + strings.Repeat("x", 400)
		}
		return string(b)
	}
	value := func() (pcp.Value, string) {
		switch rnd.IntN(7) {
		case 0:
			n := int64(rnd.Uint64()) >> rnd.IntN(64)
			return pcp.Int64Value(n), strconv.FormatInt(n, 10)
		case 1:
			n := rnd.Uint64() >> rnd.IntN(64)
			return pcp.Uint64Value(n), strconv.FormatUint(n, 10)
		case 2:
			n := int64(1)<<rnd.IntN(63) - int64(rnd.IntN(3))
			if rnd.IntN(2) == 0 {
				n = -n
			}
			return pcp.Int64Value(n), strconv.FormatInt(n, 10)
		case 3:
			s := strings.ReplaceAll(text(), "\x00", "")
			return pcp.StringValue(s), "bytes.fromhex('" + hex.EncodeToString([]byte(s)) + "').decode()"
		case 4:
			return pcp.DoubleValue(math.Inf(-1)), "float('-inf')"
		}
		f := rnd.NormFloat64() * math.Pow10(rnd.IntN(40)-20)
		return pcp.DoubleValue(f), "float.fromhex('" + strconv.FormatFloat(f, 'x', -1, 64) + "')"
	}
	var script strings.Builder
	script.WriteString("import pickle\n")
	var want []string
	for range 12 {
		n := []int{0, 1, 2, 300, 1000, 1001, 2500}[rnd.IntN(7)]
		var points []point
		var list strings.Builder
		for i := range n {
			v, py := value()
			p := point{text() + strconv.Itoa(i), int64(rnd.Uint32()) << rnd.IntN(3), v}
			points = append(points, p)
			fmt.Fprintf(&list, "(bytes.fromhex('%x').decode(),(%d,%s)),", p.name, p.time, py)
		}
		fmt.Fprintf(&script, "l=[%s]\n", list.String())
		for proto := range highestPickle + 1 {
			fmt.Fprintf(&script, "print(pickle.dumps(l,protocol=%d).hex())\n", proto)
			want = append(want, hex.EncodeToString(appendPickle(nil, points, proto)))
		}
	}
	out := oracle.Python(t, nil, script.String())
	got := strings.Fields(out.Stdout)
	if len(got) != len(want) {
		t.Fatalf("Python printed %d lists, want %d: %s", len(got), len(want), out.Stderr)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("list %d, protocol %d:\n Python %.300s\n ours   %.300s", i/(highestPickle+1), i%(highestPickle+1), got[i], want[i])
		}
	}
}
