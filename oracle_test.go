package pcp

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle/clib"
)

func TestMain(m *testing.M) { clib.Main(m) }

// newRand draws the same numbers each time, unless PCP_TEST_SEED sets another
// seed: a number, or "now" for the time. The log has the seed.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(longtest.Seed(t), 0))
}

// awkward are numbers at limits.
func awkward(r *rand.Rand, random int) []uint64 {
	var list []uint64
	for _, f := range []float64{
		0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 3.9, -3.9, 0.1, 1e10, -1e10, 1e20, -1e20, 1e300, -1e300, 1e-300,
		math.MaxInt32, math.MaxInt32 - 0.5, math.MaxInt32 + 0.5, math.MinInt32, math.MinInt32 + 0.5, math.MinInt32 - 1,
		math.MaxUint32, math.MaxUint32 - 0.5, 1 << 32, 1 << 31, 1 << 63, -1 << 63, 1<<63 - 1024, 1 << 64, 1<<64 - 2048, -1<<63 - 4096,
		math.Inf(1), math.Inf(-1), math.NaN(), math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 0x1p-1022,
		math.MaxFloat64, math.MaxFloat32, math.SmallestNonzeroFloat32, 1e15, 1e16, 1e17, 123456789, 12345678, 1234567.5, 99999999.5, 0.0001, 0.00001,
	} {
		list = append(list, math.Float64bits(f), uint64(math.Float32bits(float32(f))))
	}
	list = append(list, 0xfff8<<48, 0xffc00000, 0x7ff0000000000001, 0x7f800001)
	for _, n := range []uint64{1 << 31, 1 << 32, 1 << 63, 0, 1 << 53, 1 << 24} {
		for d := range uint64(5) {
			list = append(list, n+d-2)
		}
	}
	for range random {
		bits := r.Uint64()
		switch r.IntN(5) {
		case 0:
			bits = math.Float64bits(math.Round(r.NormFloat64()*1e6) / 100)
		case 1:
			bits = uint64(math.Float32bits(float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(30)-10)))))
		case 2:
			bits = math.Float64bits(r.NormFloat64() * math.Pow(10, float64(r.IntN(40)-10)))
		case 3:
			bits >>= r.IntN(64)
		}
		list = append(list, bits)
	}
	return list
}

func TestOracleNames(t *testing.T) {
	r := newRand(t)
	var tr clib.Trial
	for code := -140; code <= 5; code++ {
		tr.Add(Error(code).Error(), "err %d", code)
	}
	for code := -12460; code <= -12340; code++ {
		tr.Add(Error(code).Error(), "err %d", code)
	}
	for code := -22360; code <= -21300; code++ {
		tr.Add(Error(code).Error(), "err %d", code)
	}
	for _, code := range []int{-13393, -13394, -13392, math.MinInt32, math.MaxInt32, -4095, -4096} {
		tr.Add(Error(code).Error(), "err %d", code)
	}
	for range 200 {
		n := r.Uint32()
		tr.Add(PMID(n).String(), "pmid %x", n)
		tr.Add(PMID(n&^1023|511<<22).String(), "pmid %x", n&^1023|511<<22)
		tr.Add(InDom(n).String(), "indom %x", n)
		tr.Add(UnpackUnits(n&^0xff).String(), "units %x", n&^0xff) // 6.0.3 has no extra units
		tr.Add(EventFlags(n&31).String(), "flags %x", n&31)
	}
	for _, n := range []uint32{0, 1, math.MaxUint32, math.MaxUint32 - 1, 1 << 31, 0x7fffffff, 511 << 22, 60<<22 | 20} {
		tr.Add(PMID(n).String(), "pmid %x", n)
		tr.Add(InDom(n).String(), "indom %x", n)
		tr.Add(EventFlags(n).String(), "flags %x", n)
	}
	// Every scale and power on its own.
	for field := range 6 {
		for n := range uint32(16) {
			w := n << (28 - 4*field)
			tr.Add(UnpackUnits(w).String(), "units %x", w)
			w |= 0x11100000
			tr.Add(UnpackUnits(w).String(), "units %x", w)
			w |= 0xfff00000
			tr.Add(UnpackUnits(w).String(), "units %x", w)
		}
	}
	for n := -3; n < 300; n++ {
		tr.Add(Type(n).String(), "type %d", n)
		tr.Add(Sem(n).String(), "sem %d", n)
	}
	tr.Compare(t)
}

func TestOracleNumberStr(t *testing.T) {
	var tr clib.Trial
	for _, bits := range awkward(newRand(t), 5000) {
		f := math.Float64frombits(bits)
		tr.Add("["+NumberStr(f)+"]", "number %x", bits)
	}
	for _, edge := range append(numberLimits[:], 0.005, 99.995, 99995, 99995e3, 99995e6, 99995e9, 1.005e12, 1.015e9, 2.675e6) {
		for _, f := range []float64{edge, -edge, math.Nextafter(edge, 0), math.Nextafter(-edge, 0), math.Nextafter(edge, math.Inf(1)), math.Nextafter(-edge, math.Inf(-1))} {
			tr.Add("["+NumberStr(f)+"]", "number %x", math.Float64bits(f))
		}
	}
	tr.Compare(t)
}

// oracleTypes are the types that a value can be requested in.
var oracleTypes = []Type{Type32, TypeU32, Type64, TypeU64, TypeFloat, TypeDouble, TypeString, TypeAggregate, TypeAggregateStatic, TypeNoSupport, TypeUnknown}

// oracleValue describes the number bits as a value of type typ to the oracle.
func oracleValue(typ Type, bits uint64) (Value, string) {
	switch typ {
	case Type64, TypeU64, TypeDouble:
		v := RawValue(typ, bits)
		return v, fmt.Sprintf("1 %d %s", typ, clib.Hex(nativeBytes(bits, 8)))
	case TypeFloat:
		v := RawValue(typ, bits&math.MaxUint32)
		return v, fmt.Sprintf("1 %d %s", typ, clib.Hex(nativeBytes(bits, 4)))
	}
	bits &= math.MaxUint32
	return RawValue(typ, bits), fmt.Sprintf("0 0 %x", bits)
}

func TestOracleExtract(t *testing.T) {
	var tr clib.Trial
	add := func(v Value, asked string, from, to Type) {
		got, err := v.Extract(from, to)
		ours := fmt.Sprintf("%d %x", Code(err), got.Bits())
		if err == nil && to == TypeString || err == nil && to == TypeAggregate {
			ours = "0 " + clib.Hex(got.Bytes())
			if to == TypeString {
				ours = "0 " + clib.Hex(ctext.Bytes(got.Bytes()))
			}
		}
		tr.Add(ours, "extract %s %d %d", asked, from, to)
	}
	for _, bits := range awkward(newRand(t), 300) {
		for _, typ := range []Type{Type32, TypeU32, Type64, TypeU64, TypeFloat, TypeDouble, TypeUnknown} {
			v, asked := oracleValue(typ, bits)
			for _, to := range oracleTypes {
				add(v, asked, typ, to)
			}
		}
		// An old number in situ that the descriptor calls a float.
		v, asked := oracleValue(TypeUnknown, bits)
		for _, to := range oracleTypes {
			add(v, asked, TypeFloat, to)
		}
	}
	// Values that do not match the descriptor, and long ones.
	for _, from := range oracleTypes {
		for _, to := range oracleTypes {
			for _, typ := range []Type{TypeUnknown, Type64, TypeU64, TypeFloat, TypeDouble} {
				v, asked := oracleValue(typ, 7)
				add(v, asked, from, to)
			}
			for _, s := range []string{"", "a", "hello", "a\x00b"} {
				add(StringValue(s), "1 6 "+clib.Hex(s+"\x00"), from, to)
				add(BytesValue(TypeAggregate, []byte(s)), "1 7 "+clib.Hex(s), from, to)
				add(BytesValue(TypeAggregateStatic, []byte(s)), "1 8 "+clib.Hex(s), from, to)
			}
		}
	}
	tr.Compare(t)
}

func TestOracleConvScale(t *testing.T) {
	r := newRand(t)
	var tr clib.Trial
	// If the powers overflow to 0, C crashes on the division.
	tr.Equal = func(_, ours, theirs string) bool {
		return theirs == "died" && ours == fmt.Sprintf("%d 0", ErrConv)
	}
	for range 20000 {
		from, to := UnpackUnits(r.Uint32()&^0xff), UnpackUnits(r.Uint32()&^0xff)
		if r.IntN(10) > 0 {
			dim := func() int8 { return int8(r.IntN(5) - 2) }
			from = Units{dim(), dim(), dim(), uint8(r.IntN(9)), uint8(r.IntN(7)), int8(r.IntN(16) - 8), 0}
			to = Units{from.DimSpace, from.DimTime, from.DimCount, uint8(r.IntN(9)), uint8(r.IntN(7)), int8(r.IntN(16) - 8), 0}
		}
		typ := Type(r.IntN(8))
		bits := r.Uint64()
		switch {
		case typ == TypeFloat:
			bits = uint64(math.Float32bits(float32(r.NormFloat64() * 1e4)))
		case typ == TypeDouble:
			bits = math.Float64bits(r.NormFloat64() * 1e4)
		case r.IntN(4) > 0:
			bits >>= r.IntN(64)
		}
		if typ <= TypeU32 {
			bits &= math.MaxUint32
		}
		v, err := ConvScale(RawValue(typ, bits), from, to)
		ours := fmt.Sprintf("%d %x", Code(err), v.Bits())
		if err != nil {
			ours = fmt.Sprintf("%d 0", Code(err))
		}
		tr.Add(ours, "scale %d %x %x %x", typ, bits, from.Pack(), to.Pack())
	}
	tr.Compare(t)
}

func TestOracleParseUnits(t *testing.T) {
	r := newRand(t)
	var tr clib.Trial
	tr.Equal = func(question, ours, theirs string) bool {
		// C's pow and ours may differ in the last bits.
		a, b := strings.Fields(ours), strings.Fields(theirs)
		if len(a) != 3 || len(b) != 3 || a[0] != b[0] || a[1] != b[1] {
			return theirs == "died" && strings.Contains(ours, "time scale out of bounds")
		}
		x, _ := strconv.ParseUint(a[2], 16, 64)
		y, _ := strconv.ParseUint(b[2], 16, 64)
		f, g := math.Float64frombits(x), math.Float64frombits(y)
		return f != f && g != g || math.Abs(f-g) <= 1e-15*math.Abs(g)
	}
	add := func(s string) {
		u, mult, err := ParseUnits(s)
		reason := ""
		if e, ok := errors.AsType[*UnitsError](err); ok {
			reason = e.Reason
		}
		tr.Add(fmt.Sprintf("%d %x %x %s", Code(err), u.Pack(), math.Float64bits(mult), reason), "parse %s", clib.Hex(s))
	}
	words := []string{
		"nanoseconds", "nanosecond", "nanosec", "ns", "microseconds", "microsec", "us", "millisec", "ms", "msec", "usec", "nsec",
		"seconds", "second", "sec", "s", "minutes", "minute", "min", "hours", "hour", "hr", "h", "day",
		"byte", "bytes", "b", "B", "count", "counts", "count x 10", "count x 10^2", "count x 10^-3", "count x 10^-8", "count x 10^8",
		"count x 10^7", "count x 10^1", "count x 10^0", "count  x 10", "COUNT X 10^3", "counts x 10", "x", "x 10^2", "10^2",
		"^2", "^-8", "^15", "^16", "^0", "^1", "^01", "^-9", "^x", "^", "^2^3", " ^2", "SEC^2", "kbyte^-1", "sec^0",
		"/", " / ", "/ sec", "per", "2", "2.5e2", "-3", ".5", "-.5e-3", "1e400", "1e-400", "1e-310", "0x10", "0x1p3", "0x", "-inf", "-nan", "-nan(abc)",
		"1e", "1e+", "5sec", "5 sec", "- 5", "-", ".", "1.2.3", "1,000", "1_0", "0", "0x1p-1074", "0.0e-999", "١",
		" ", "\t", "\n", "\v", "\f", "\r", "\u00a0", "", "time-1", "time-01", "time-15", "time-16", "time-6", "time-+1", "space-9", "space-15", "space-0", "count x 10 ^2",
	}
	for _, scale := range []string{"", "k", "m", "g", "t", "p", "e", "z", "y", "kibi", "kilo", "mebi", "mega", "gibi", "giga", "tebi", "tera", "pebi", "peta", "exbi", "exa", "zebi", "zetta", "yobi", "yotta", "kiga", "mibi"} {
		for _, unit := range []string{"b", "ib", "byte", "bytes", "bytess", "i", "ibyte", ""} {
			words = append(words, scale+unit)
		}
	}
	for _, w := range words {
		add(w)
		add(strings.ToUpper(w) + "^2")
		add(w + " / hour")
		add("byte /" + w)
		add("3 kbyte/" + w + "^3")
	}
	for range 20000 {
		var b strings.Builder
		for range 1 + r.IntN(5) {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteString([]string{"", " ", " ", "^2", "^3 ", " / "}[r.IntN(6)])
		}
		add(b.String())
	}
	for range 2000 {
		add(UnpackUnits(r.Uint32() &^ 0xff).String())
	}
	tr.Compare(t)
}

func TestOraclePrint(t *testing.T) {
	r := newRand(t)
	var tr clib.Trial
	add := func(v Value, asked string, from Type, width int) {
		tr.Add(clib.Hex(v.AppendPrint(nil, from, width, time.UTC)), "print %s %d %d", asked, from, width)
	}
	widths := []int{0, 1, 2, 8, 25, 80}
	for _, bits := range awkward(r, 500) {
		width := widths[r.IntN(len(widths))]
		for _, typ := range []Type{Type32, TypeU32, Type64, TypeU64, TypeFloat, TypeDouble, TypeUnknown} {
			v, asked := oracleValue(typ, bits)
			add(v, asked, typ, width)
			// Print it by a descriptor that does not fit.
			add(v, asked, TypeUnknown, width)
			if width != 0 {
				add(v, asked, TypeString, width)
			}
			add(v, asked, TypeNoSupport, width)
			if typ <= TypeDouble {
				atom := fmt.Sprintf("atom %d %x", typ, v.Bits())
				tr.Add(clib.Hex(v.String()), "%s", atom)
			}
		}
	}
	texts := []string{
		"", "a", "hello world", "tab\there", "line\nline", "caf\xc3\xa9", "a\x00b", "\x00", "quote\"d", "12345678", "1234",
		strings.Repeat("x", 37), strings.Repeat("x", 38), strings.Repeat("x", 39), strings.Repeat("long ", 30),
	}
	for range 200 {
		b := make([]byte, r.IntN(30))
		for i := range b {
			if b[i] = byte(r.Uint32()); r.IntN(3) > 0 {
				b[i] = ' ' + b[i]%95
			}
		}
		texts = append(texts, string(b))
	}
	for _, s := range texts {
		for _, width := range widths {
			for _, from := range []Type{TypeString, TypeAggregate, TypeUnknown, TypeAggregateStatic, Type64, 42} {
				add(StringValue(s), "1 6 "+clib.Hex(s+"\x00"), from, width)
				add(BytesValue(TypeAggregate, []byte(s)), "1 7 "+clib.Hex(s), from, width)
				add(BytesValue(TypeAggregateStatic, []byte(s)), "1 8 "+clib.Hex(s), from, width)
			}
		}
		tr.Add(clib.Hex(StringValue(s).String()), "atom 6 %s", clib.Hex(s))
		tr.Add(clib.Hex(BytesValue(TypeAggregate, []byte(s)).String()), "atom 7 %s 7", clib.Hex(s))
		tr.Add(clib.Hex(BytesValue(TypeAggregateStatic, []byte(s)).String()), "atom 8 %s 8", clib.Hex(s))
	}
	for _, typ := range []Type{-1, 255, 11, 12345} {
		tr.Add(clib.Hex(RawValue(typ, 0).String()), "atom %d 0", typ)
	}
	for range 200 {
		ts := Timestamp{r.Int64N(1 << 31), r.Int32N(1e9)}
		tr.Add(string(ts.AppendHighResStamp(append(ts.AppendStamp(nil, time.UTC), ' '), time.UTC)), "stamp %d %d", ts.Sec, ts.Nsec)
	}
	tr.Compare(t)
}

// nativeBytes returns the low n bytes of bits in this machine's order.
func nativeBytes(bits uint64, n int) []byte {
	var b bytes.Buffer
	for i := range n {
		b.WriteByte(byte(bits >> (8 * i)))
	}
	return b.Bytes()
}
