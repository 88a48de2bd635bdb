package metricset

import (
	"testing"
	"time"

	"github.com/go-pcp/pcp"
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
