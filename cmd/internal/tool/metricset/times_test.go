package metricset

import (
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/pcptime"
)

// TestClock compares the fast path with the slow one, over changes of the minute, the day and summer time.
func TestClock(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "NST3:30NDT", "Asia/Kolkata"} {
		loc := pcptime.Zone(zone)
		fast := NewClock("%Y-%m-%d at %H:%M:%S", loc)
		if !fast.fast {
			t.Fatal("the clock is slow")
		}
		for _, from := range []int64{0, -90, 1_699_999_990, 1_711_846_740, 253_402_300_000} {
			for n := range int64(150) {
				at := pcp.Timestamp{Sec: from + n, Nsec: 123456789}
				if got, want := fast.Format(at), fast.slow(at); got != want {
					t.Fatalf("%s, %d: %s, want %s", zone, at.Sec, got, want)
				}
			}
		}
	}
	f := func(format, want string) {
		t.Helper()
		if got := NewClock(format, time.UTC).Format(pcp.Timestamp{Sec: 1_700_000_000, Nsec: 6789}); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
	f("%H:%M:%S.%f", "22:13:20.000006")
	f("%s", "1700000000")
	f("%a %b %d", "Tue Nov 14")
	f("[%Z%z]", "[]") // times do not know of a zone
	f("100%", "100%")
	f("", "")
}

// TestZones fixes zones at a time.
func TestZones(t *testing.T) {
	berlin := pcptime.Zone("Europe/Berlin")
	summer, winter := time.Date(2023, 7, 1, 12, 0, 0, 0, time.UTC), time.Date(2023, 12, 1, 12, 0, 0, 0, time.UTC)
	f := func(loc *time.Location, at time.Time, zone, offset string) {
		t.Helper()
		if got := posixZone(loc, at); got != zone {
			t.Errorf("posixZone = %s, want %s", got, zone)
		}
		if got := UTCOffset(zone); got != offset {
			t.Errorf("UTCOffset(%s) = %s, want %s", zone, got, offset)
		}
		_, want := at.In(loc).Zone()
		if _, got := at.In(FixedZone(loc, at)).Zone(); got != want {
			t.Errorf("%s: the fixed zone has the offset %d, want %d", zone, got, want)
		}
	}
	f(berlin, summer, "CEST-2", "UTC+2")
	f(berlin, winter, "CET-1", "UTC+1")
	f(time.UTC, winter, "UTC", "UTC+0")
	f(pcptime.Zone("America/New_York"), winter, "EST+5", "UTC-5")
	f(pcptime.Zone("America/St_Johns"), winter, "NST+3:30", "UTC-3:30")
	f(pcptime.Zone("Australia/Sydney"), winter, "AEDT-11", "UTC+11")
	f(pcptime.Zone("Australia/Sydney"), summer, "AEST-10", "UTC+10")
	if _, offset := winter.In(FixedZone(berlin, summer)).Zone(); offset != 2*60*60 {
		t.Errorf("summer time ends in a fixed zone: %d", offset)
	}
}

// TestTimes settles the interval and the number of samples.
func TestTimes(t *testing.T) {
	f := func(o getopt.Options, set Times, samples int, limited bool, interval time.Duration) {
		t.Helper()
		set.Window = pcptime.Window{Origin: pcp.Timestamp{Sec: 1000}, Finish: pcp.Timestamp{Sec: 1060}}
		err := set.settle(&o)
		if err != nil && interval != 0 || set.Samples != samples || set.Limited != limited || err == nil && set.Interval != interval {
			t.Errorf("%d samples, limited %t, each %s (%v), want %d, %t, %s", set.Samples, set.Limited, set.Interval, err, samples, limited, interval)
		}
	}
	const second = time.Second
	finish := "+60" // only the window depends on its value
	f(getopt.Options{}, Times{Interval: second}, 0, false, second)
	f(getopt.Options{Interval: 2 * second}, Times{Interval: second}, 0, false, 2*second)
	f(getopt.Options{Samples: 5, SamplesSet: true}, Times{Interval: second}, 5, true, second)
	f(getopt.Options{Samples: 0, SamplesSet: true}, Times{Interval: second, Samples: 3}, 0, false, second)
	f(getopt.Options{Interval: 1500 * time.Nanosecond}, Times{}, 0, false, time.Microsecond)
	f(getopt.Options{Finish: &finish}, Times{Interval: second}, 61, true, second)
	f(getopt.Options{Finish: &finish}, Times{Interval: 7 * second}, 9, true, 7*second)
	f(getopt.Options{Finish: &finish, Samples: 4, SamplesSet: true}, Times{Interval: second}, 4, true, 20*second)
	f(getopt.Options{Finish: &finish, Samples: 1, SamplesSet: true}, Times{Interval: second}, 2, true, 60*second)
	f(getopt.Options{}, Times{Interval: second, intervalSet: true}, 0, false, 0) // -t 0
	f(getopt.Options{Interval: 100}, Times{}, 0, false, 0)                       // less than a microsecond

	f(getopt.Options{Interval: 1500 * time.Nanosecond}, Times{fine: true}, 0, false, 1500*time.Nanosecond)
	f(getopt.Options{Finish: &finish, Samples: 8, SamplesSet: true}, Times{Interval: second}, 8, true, 8571428*time.Microsecond)
	f(getopt.Options{Finish: &finish, Samples: 8, SamplesSet: true}, Times{Interval: second, fine: true}, 8, true, 8571428571)
	f(getopt.Options{Finish: &finish, Samples: 10, SamplesSet: true}, Times{Interval: second, fine: true}, 10, true, 6666666667) // and a sample after the end

	zone := func(o getopt.Options, name string) {
		t.Helper()
		set := Times{Window: pcptime.Window{Origin: pcp.Timestamp{Sec: 1_700_000_000}}}
		if err := set.setZone(t.Context(), &o, nil, pcptime.Zone("Europe/Berlin")); err != nil || set.Zone != name {
			t.Errorf("zone %s, %v, want %s", set.Zone, err, name)
		}
	}
	zone(getopt.Options{}, "CET-1")
	zone(getopt.Options{TimeZone: "EST+5", TimeZoneSet: true}, "EST+5")
	zone(getopt.Options{TimeZoneSet: true}, "CET-1")
}
