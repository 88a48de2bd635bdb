package pcp

import (
	"math"
	"time"
)

// A Timestamp is a time of day as PCP records it: seconds since 1970-01-01
// 00:00 UTC and nanoseconds within the second, 0..999,999,999 (__pmTimestamp).
type Timestamp struct {
	Sec  int64
	Nsec int32
}

// MaxSec is later than any time (PM_MAX_TIME_T).
const MaxSec int64 = math.MaxInt64

// TimestampOf converts t.
func TimestampOf(t time.Time) Timestamp { return Timestamp{t.Unix(), int32(t.Nanosecond())} }

// Time converts ts to the local time zone.
func (ts Timestamp) Time() time.Time { return time.Unix(ts.Sec, int64(ts.Nsec)) }

// String returns ts in UTC in the format of RFC 3339, with a fraction of a
// second if there is one: 2026-02-03T04:05:06.5Z.
func (ts Timestamp) String() string { return ts.Time().UTC().Format(time.RFC3339Nano) }

// Compare returns -1, 0 or 1 as ts is before, at or after other.
func (ts Timestamp) Compare(other Timestamp) int {
	switch {
	case ts.Sec < other.Sec, ts.Sec == other.Sec && ts.Nsec < other.Nsec:
		return -1
	case ts == other:
		return 0
	}
	return 1
}

// Sub returns ts-other in seconds.
func (ts Timestamp) Sub(other Timestamp) float64 {
	return float64(ts.Sec-other.Sec) + float64(ts.Nsec-other.Nsec)/1e9
}

// Add returns ts moved by d.
func (ts Timestamp) Add(d time.Duration) Timestamp {
	sec, nsec := ts.Sec+int64(d/time.Second), int64(ts.Nsec)+int64(d%time.Second)
	if nsec >= 1e9 {
		sec, nsec = sec+1, nsec-1e9
	} else if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	return Timestamp{sec, int32(nsec)}
}

// IsZero reports whether ts is the zero Timestamp.
func (ts Timestamp) IsZero() bool { return ts == Timestamp{} }
