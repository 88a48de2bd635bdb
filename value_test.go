package pcp

import (
	"math"
	"testing"
	"time"
)

func TestValueNumbers(t *testing.T) {
	f := func(v Value, want float64, wantInt int64) {
		t.Helper()
		got, ok := v.Float64()
		if !ok || got != want || v.Double() != want || v.Float() != float32(want) {
			t.Errorf("%v %v: Float64 %v, %v, Double %v, Float %v, want %v", v.Type(), v, got, ok, v.Double(), v.Float(), want)
		}
		if v.Int64() != wantInt || v.Uint64() != uint64(wantInt) || v.Int32() != int32(wantInt) || v.Uint32() != uint32(wantInt) {
			t.Errorf("%v %v: integers %d %d %d %d, want %d", v.Type(), v, v.Int64(), v.Uint64(), v.Int32(), v.Uint32(), wantInt)
		}
	}
	f(Int32Value(-7), -7, -7)
	f(Uint32Value(7), 7, 7)
	f(Uint32Value(1<<31), 1<<31, 1<<31)
	f(Int64Value(-1<<40), -1<<40, -1<<40)
	f(Uint64Value(1<<40), 1<<40, 1<<40)
	f(FloatValue(1.5), 1.5, 1)
	f(FloatValue(-2.5), -2.5, -2)
	f(DoubleValue(-1e6), -1e6, -1e6)
	for _, v := range []Value{StringValue("7"), RawValue(TypeUnknown, 7), BytesValue(TypeAggregate, []byte{7})} {
		if got, ok := v.Float64(); ok || !math.IsNaN(v.Double()) {
			t.Errorf("%v: Float64 %v, Double %v: it is not a number", v, got, v.Double())
		}
	}
	edge := func(f float64, want uint64) {
		t.Helper()
		v := DoubleValue(f)
		if got := v.Uint64(); got != want || v.Int64() != int64(want) {
			t.Errorf("%v: Uint64 %#x, Int64 %#x, want %#x", v, got, v.Int64(), want)
		}
	}
	edge(math.NaN(), 0)
	edge(math.Inf(1), math.MaxUint64)
	edge(1<<64, math.MaxUint64)
	edge(1<<63, 1<<63)
	edge(-1<<63, 1<<63)
	edge(math.Inf(-1), 1<<63)
	edge(-0.5, 0)
	if s, ok := StringValue("a\x00b").Text(); s != "a" || !ok {
		t.Errorf("Text: %q, %v", s, ok)
	}
	if s, ok := Int32Value(1).Text(); s != "" || ok {
		t.Errorf("Text of a number: %q, %v", s, ok)
	}
}

func TestValueSetAs(t *testing.T) {
	f := func(typ Type, want string) {
		t.Helper()
		vs := ValueSet{Values: []Value{RawValue(TypeUnknown, 7), Uint64Value(8)}}
		vs.As(typ)
		if got := vs.Values[0].String(); got != want || vs.Values[1].Type() != TypeU64 {
			t.Errorf("As(%v): %q and %v, want %q", typ, got, vs.Values[1].Type(), want)
		}
	}
	f(TypeU32, "7")
	f(Type32, "7")
	f(TypeString, RawValue(TypeUnknown, 7).String())
	f(TypeU64, RawValue(TypeUnknown, 7).String())
}

func TestTimestampString(t *testing.T) {
	f := func(ts Timestamp, want string) {
		t.Helper()
		if got := ts.String(); got != want {
			t.Errorf("%d.%09d is %q, want %q", ts.Sec, ts.Nsec, got, want)
		}
	}
	f(Timestamp{}, "1970-01-01T00:00:00Z")
	f(Timestamp{Nsec: 5}, "1970-01-01T00:00:00.000000005Z")
	f(TimestampOf(time.Date(2128, 2, 3, 4, 5, 6, 5e8, time.UTC)), "2128-02-03T04:05:06.5Z")
}

func BenchmarkValueDouble(b *testing.B) {
	v, sum := DoubleValue(1), 0.0
	for b.Loop() {
		sum += v.Double()
	}
	_ = sum
}
