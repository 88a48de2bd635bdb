package pcptime

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// zones are compared with the system's results, around changes of summer time and
// in both hemispheres.
var zones = []string{
	"UTC", "GMT", "EST5EDT", "PST8PDT", "Europe/Berlin", ":Europe/Berlin", "Australia/Melbourne", "Asia/Kolkata",
	"EST5", "EST+5", "FOO-3", "FOO-3:30", "XYZ-5:45:30", "AEST-10AEDT,M10.1.0,M4.1.0/3", "CET-1CEST,M3.5.0,M10.5.0/3", "NZST-12NZDT,M9.5.0,M4.1.0/3",
	"<+03>-3", "<-05>5", "EST5EDT4", "CET-1CEST", "NZST-12NZDT", "EST5EDT,M3.2.0,M11.1.0", "Nowhere/AtAll", "FOO",
}

func TestZoneOracle(t *testing.T) {
	var times []int64
	for month := range int64(18) {
		times = append(times, 1_700_000_000+month*30*86400+month*7211)
	}
	for week := range int64(52) { // other rules in the United States
		times = append(times, 815_000_000+week*7*86400+week*7211)
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
	at = time.Date(1995, time.October, 30, 4, 0, 0, 0, time.UTC) // a day after the end of summer time
	f("CET-1CEST", "05:00:00")
	f("CET-1CEST,M3.2.0,M11.1.0", "06:00:00")
	at = time.Date(1997, time.April, 6, 12, 0, 0, 0, time.UTC) // the day on which it begins
	f("EST5EDT4", "08:00:00")
	f("CET-1CEST", "14:00:00")
	f("AEST-10", "22:00:00")
	at = time.Unix(1_700_000_000, 0)
	f("", "22:13:20")
	f("UTC", "22:13:20")
	f("FOO-3", "01:13:20")
	f("EST5EDT", "17:13:20")
	f("Local", "22:13:20") // a name that only package time has
	f("../../../etc/passwd", "22:13:20")
	f("1", "22:13:20")
	f("EST5EDT,garbage", "22:13:20")
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
