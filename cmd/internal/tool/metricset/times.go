package metricset

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Times are the times of samples, and the zone in which they are reported.
type Times struct {
	// Window is the time window, which only archives and -T bound. Connect sets it.
	Window pcptime.Window

	// Resolve sets the number of samples: Samples if Limited. Runtime is that of -T in seconds, -1 without.
	Samples  int
	Limited  bool
	Runtime  float64
	Interval time.Duration

	// Loc is the time zone of the report, after Prepare; Zone its name as POSIX has it, LocalZone that of
	// the environment.
	Loc             *time.Location
	Zone, LocalZone string

	intervalSet bool // by -t
	fine        bool // times are those of PCP 7, to the nanosecond
}

// Clock formats the time of a sample by a format of strftime(3), in the zone of the report. As in Python, times do not
// know of a zone.
func (t *Times) Clock(format string, at pcp.Timestamp) string {
	return NewClock(format, t.Loc).Format(at)
}

// settle sets the interval and the number of samples: with -T its time takes precedence.
func (t *Times) settle(o *getopt.Options) error {
	if o.Interval != 0 || t.intervalSet {
		t.Interval = o.Interval
	}
	if o.SamplesSet {
		t.Samples = o.Samples
	}
	if !t.fine {
		t.Interval = t.Interval.Truncate(time.Microsecond)
	}
	t.Limited = t.Samples != 0
	if o.Finish != nil {
		t.Runtime = t.seconds(t.Window.Finish) - t.seconds(t.Window.Origin)
		if t.Samples != 0 {
			t.Samples = max(2, t.Samples)
			if t.Runtime >= 0 { // else the interval stays as it was
				t.Interval = t.duration(t.Runtime / float64(t.Samples-1))
			}
		} else if t.Interval > 0 {
			n := t.Runtime/t.Interval.Seconds() + 1
			t.Samples = int(max(min(n, 1<<31-1), -1<<31))
			t.Limited = t.Samples >= 0
		}
	}
	if t.Interval <= 0 {
		return &conf.Error{Text: "Interval must be greater than zero."}
	}
	return nil
}

// seconds is a time as Seconds has it, with fine to the nanosecond.
func (t *Times) seconds(at pcp.Timestamp) float64 {
	if !t.fine {
		return Seconds(at)
	}
	exact := new(big.Rat).SetInt64(at.Sec)
	sec, _ := exact.Add(exact, new(big.Rat).SetFrac64(int64(at.Nsec), int64(time.Second))).Float64()
	return sec
}

// duration is an interval in seconds as these programs know it. PCP 7 rounds it to nanoseconds, up to a million seconds.
func (t *Times) duration(sec float64) time.Duration {
	if !t.fine {
		return time.Duration(math.Trunc(sec*1e6)) * time.Microsecond
	}
	whole := math.Trunc(sec)
	unit := time.Nanosecond
	if whole > 999_999 {
		unit = time.Microsecond
	}
	perSecond := float64(time.Second / unit)
	return time.Duration(whole)*time.Second + time.Duration(math.FMA(sec-whole, perSecond, 0.5))*unit
}

// Seconds is a time as these programs know it, to the microsecond.
func Seconds(t pcp.Timestamp) float64 { return float64(t.Sec) + float64(t.Nsec/1000)/1e6 }

// setZone sets the zone: that of the options, which may be that of the source c, or else the local one.
func (t *Times) setZone(ctx context.Context, o *getopt.Options, c *pmapi.Context, local *time.Location) error {
	origin := time.Unix(t.Window.Origin.Sec, 0)
	t.LocalZone = posixZone(local, time.Now())
	switch {
	case o.TimeZoneSet && o.TimeZone != "":
		t.Loc = pcptime.Zone(o.TimeZone)
	case o.HostZone:
		tz, err := c.TimeZone(ctx)
		if err != nil {
			return err
		}
		t.Loc = pcptime.Zone(tz)
	default:
		// Summer time does not begin or end within a report.
		t.Loc = FixedZone(local, origin)
	}
	t.Zone = posixZone(t.Loc, origin)
	return nil
}

// FixedZone returns the zone as it is at some time, without changes between summer and
// winter time.
func FixedZone(loc *time.Location, at time.Time) *time.Location {
	return pcptime.Zone(posixZone(loc, at))
}

// posixZone returns the offset of a zone at some time, "CET-1" or "NST+3:30": name and offset are those that
// summer or winter time have this year. As in Python, winter time is that of January or July which is less ahead of UTC.
func posixZone(loc *time.Location, at time.Time) string {
	year := time.Now().In(loc).Year()
	t := time.Date(year, time.January, 1, 0, 0, 0, 0, loc)
	july := time.Date(year, time.July, 1, 0, 0, 0, 0, loc)
	_, first := t.Zone()
	_, second := july.Zone()
	if at.In(loc).IsDST() == (first <= second) {
		t = july
	}
	name, offset := t.Zone()
	offset = -offset
	if offset == 0 {
		return name
	}
	hours, rest := offset/3600, (offset%3600+3600)%3600/60
	if offset > 0 {
		name += "+"
	}
	name += fmt.Sprint(hours)
	if rest != 0 {
		name += fmt.Sprint(":", rest)
	}
	return name
}

// UTCOffset returns the offset of a zone from UTC as people read it, "UTC+1" of "CET-1".
func UTCOffset(zone string) string {
	i := strings.IndexAny(zone, "+-")
	if i < 0 {
		return "UTC+0"
	}
	sign := "-"
	if strings.Contains(zone, "-") {
		sign = "+"
	}
	sep := "-"
	if strings.Contains(zone, "+") {
		sep = "+"
	}
	return "UTC" + sign + strings.Split(zone, sep)[1]
}
