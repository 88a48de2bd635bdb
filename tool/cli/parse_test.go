package cli

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/oracle"
)

var intervals = []string{
	"1", "1.5", "0", ".5", "5.", "1e3", "1E-3", "+2", " 5", "5 ", " 5 sec ", "1sec", "1 sec", "2 secs", "3 second", "4 seconds",
	"1min", "2mins", "1 minute", "1 minutes", "1h", "1hr", "2hrs", "1 hour", "3hours", "1d", "1day", "2 days",
	"10msec", "10 msecs", "5 millisecond", "7usec", "7 microseconds", "3nsec", "3 nanoseconds", "5ms", "1s", "1m", "1M", "1 SEC", "1 Hours",
	"4day6hour30min", "4d6.5h", "1hour 30min", "1 min 3", "1 3", "1\t2", "1d 1h 1m 1s",
	"", " ", "x", "-1", "1foo", "5us", "1milli", "1 sec bar", "1 sec, 2 sec", "1..5", "1.5.5", "sec", "1 min 2 x", "1sec2sec2sex", "é", "1é", "0.0000000015",
}

// TestParseIntervalOracle compares with the library's function.
func TestParseIntervalOracle(t *testing.T) {
	in, _ := json.Marshal(intervals)
	out := oracle.Python(t, nil, `
import ctypes, json, sys
lib = ctypes.CDLL("libpcp.so.3")
class Timespec(ctypes.Structure):
    _fields_ = [("sec", ctypes.c_long), ("nsec", ctypes.c_long)]
res = []
for spec in json.loads(sys.argv[1]):
    ts, err = Timespec(), ctypes.c_char_p()
    if lib.pmParseHighResInterval(spec.encode(), ctypes.byref(ts), ctypes.byref(err)) < 0:
        res.append({"err": err.value.decode("utf-8", "replace")})
    else:
        res.append({"sec": ts.sec, "nsec": ts.nsec})
print(json.dumps(res))
`, string(in))
	if out.Exit != 0 {
		t.Fatal(out.Stderr)
	}
	var want []struct {
		Err       string
		Sec, Nsec int64
	}
	if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		got, err := ParseInterval(intervals[i])
		if err != nil || w.Err != "" {
			if err == nil || err.Error() != w.Err {
				t.Errorf("ParseInterval(%q) = %v, %q, want error %q", intervals[i], got, err, w.Err)
			}
			continue
		}
		if got != time.Duration(w.Sec)*time.Second+time.Duration(w.Nsec) {
			t.Errorf("ParseInterval(%q) = %v, want %d.%09d s", intervals[i], got, w.Sec, w.Nsec)
		}
	}
}

func TestParseInterval(t *testing.T) {
	f := func(spec string, want time.Duration) {
		t.Helper()
		if got, err := ParseInterval(spec); err != nil || got != want {
			t.Errorf("ParseInterval(%q) = %v, %v, want %v", spec, got, err, want)
		}
	}
	f("1.5", 1500*time.Millisecond)
	f("4day6hour30min", (4*24+6)*time.Hour+30*time.Minute)
	f("5ms", 5*time.Minute) // not milliseconds: the s is a plural
	f("10 msec", 10*time.Millisecond)
	f("1.5usec", 1500)
	if _, err := ParseInterval("1e300"); err == nil {
		t.Error("1e300 seconds were accepted")
	}
	_, err := ParseInterval("1 hour x")
	se, ok := errors.AsType[*SyntaxError](err)
	if !ok || se.Off != 7 || se.Error() != "1 hour x\n       ^ -- unexpected value\n" {
		t.Errorf("1 hour x: %q", err)
	}
}

func TestParseValue(t *testing.T) {
	f := func(s string, typ pcp.Type, want string) {
		t.Helper()
		v, err := ParseValue(s, typ)
		got := ""
		switch {
		case err != nil:
			got = ErrText(err)
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

// zones are compared with what the system makes of them, around changes of
// summer time and in both hemispheres.
var zones = []string{
	"UTC", "GMT", "EST5EDT", "PST8PDT", "Europe/Berlin", ":Europe/Berlin", "Australia/Melbourne", "Asia/Kolkata",
	"EST5", "EST+5", "FOO-3", "FOO-3:30", "XYZ-5:45:30", "AEST-10AEDT,M10.1.0,M4.1.0/3", "CET-1CEST,M3.5.0,M10.5.0/3", "NZST-12NZDT,M9.5.0,M4.1.0/3",
	"<+03>-3", "<-05>5", "EST5EDT4", "EST5EDT,M3.2.0,M11.1.0", "Nowhere/AtAll", "FOO",
}

func TestZoneOracle(t *testing.T) {
	var times []int64
	for month := range int64(18) {
		times = append(times, 1_700_000_000+month*30*86400+month*7211)
	}
	in, _ := json.Marshal([]any{zones, times})
	out := oracle.Python(t, nil, `
import json, os, sys, time
zones, times = json.loads(sys.argv[1])
res = []
for z in zones:
    os.environ["TZ"] = z
    time.tzset()
    res.append([time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(t)) for t in times])
print(json.dumps(res))
`, string(in))
	if out.Exit != 0 {
		t.Fatal(out.Stderr)
	}
	var want [][]string
	if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
		t.Fatal(err)
	}
	for i, zone := range zones {
		loc := Zone(zone)
		for j, sec := range times {
			if got := time.Unix(sec, 0).In(loc).Format(time.DateTime); got != want[i][j] {
				t.Errorf("TZ=%s: %d is %s, want %s", zone, sec, got, want[i][j])
				break
			}
		}
	}
}

func TestZone(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	f := func(tz, want string) {
		t.Helper()
		if got := at.In(Zone(tz)).Format("15:04:05"); got != want {
			t.Errorf("Zone(%q): %s, want %s", tz, got, want)
		}
	}
	f("", "22:13:20")
	f("UTC", "22:13:20")
	f("FOO-3", "01:13:20")
	f("EST5EDT", "17:13:20")
	f("Local", "22:13:20") // a name that only package time knows
	f("../../../etc/passwd", "22:13:20")
	f("1", "22:13:20")
	f("EST5EDT,garbage", "22:13:20")
}

func FuzzParseInterval(f *testing.F) {
	for _, s := range intervals {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseInterval(s)
		if err == nil && d < 0 {
			t.Errorf("ParseInterval(%q) = %v", s, d)
		}
		if se, ok := errors.AsType[*SyntaxError](err); ok {
			_ = se.Error()
		}
	})
}

func FuzzZone(f *testing.F) {
	for _, s := range zones {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := time.Unix(math.MaxInt32, 0).In(Zone(s)).Format(time.DateTime); got == "" {
			t.Errorf("Zone(%q) cannot tell the time", s)
		}
	})
}
