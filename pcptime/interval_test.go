package pcptime

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/oracle"
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
