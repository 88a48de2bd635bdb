package pcp_test

import (
	"testing"
	"time"

	"github.com/go-pcp/pcp"
)

func TestParseValue(t *testing.T) {
	f := func(s string, typ pcp.Type, want string) {
		t.Helper()
		v, err := pcp.ParseValue(s, typ)
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case v.Type() != typ:
			t.Fatalf("ParseValue(%q, %v) is of type %v", s, typ, v.Type())
		default:
			got = string(v.AppendPrint(nil, typ, 1, time.UTC))
		}
		if got != want {
			t.Errorf("ParseValue(%q, %v) = %s, want %s", s, typ, got, want)
		}
	}
	const badType, badRange = "Unknown or illegal metric type", "Numerical result out of range"
	f("42", pcp.Type32, "42")
	f(" -42", pcp.Type32, "-42")
	f("+7", pcp.Type32, "7")
	f("", pcp.Type32, "0")
	f("0x1F", pcp.Type32, "31")
	f("-0x10", pcp.Type32, "-16")
	f("2147483647", pcp.Type32, "2147483647")
	f("2147483648", pcp.Type32, badRange)
	f("-2147483648", pcp.Type32, "-2147483648")
	f("-2147483649", pcp.Type32, badRange)
	f("1.5", pcp.Type32, badType)
	f("x", pcp.Type32, badType)
	f("1_000", pcp.Type32, badType)
	f("4294967295", pcp.TypeU32, "4294967295")
	f("4294967296", pcp.TypeU32, badRange)
	f("-1", pcp.TypeU32, badRange)
	f("-9223372036854775808", pcp.Type64, "-9223372036854775808")
	f("-9223372036854775809", pcp.Type64, badRange)
	f("9223372036854775808", pcp.Type64, badRange)
	f("-1", pcp.TypeU64, "18446744073709551615")
	f("18446744073709551616", pcp.TypeU64, badRange)
	f("1.25", pcp.TypeFloat, "1.25")
	f("1e39", pcp.TypeFloat, badRange)
	f("1e-39", pcp.TypeFloat, badRange)
	f("0x10", pcp.TypeFloat, badType)
	f("1e300", pcp.TypeDouble, "1e+300")
	f("1e999", pcp.TypeDouble, badRange)
	f("inf", pcp.TypeDouble, "inf")
	f("", pcp.TypeDouble, "0")
	f("1.5x", pcp.TypeDouble, badType)
	f("hello", pcp.TypeString, `"hello"`)
	f("x", pcp.TypeAggregate, badType)
	f("x", pcp.TypeEvent, badType)
}
