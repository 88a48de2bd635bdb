package sample

import (
	"math/bits"
	"time"

	"github.com/go-pcp/pcp"
)

// A Time is a struct timeval: C's atop calculates in microseconds.
type Time struct {
	Sec, Usec int64
}

// TimeOf cuts ts to microseconds.
func TimeOf(ts pcp.Timestamp) Time { return Time{ts.Sec, int64(ts.Nsec / 1000)} }

// Timestamp returns t as a timestamp.
func (t Time) Timestamp() pcp.Timestamp { return pcp.Timestamp{Sec: t.Sec, Nsec: int32(t.Usec * 1000)} }

// Less reports whether t is before other.
func (t Time) Less(other Time) bool {
	return t.Sec < other.Sec || t.Sec == other.Sec && t.Usec < other.Usec
}

// Add returns t moved by d, in whole microseconds.
func (t Time) Add(d time.Duration) Time {
	us := d.Microseconds()
	t.Sec, t.Usec = t.Sec+us/1e6, t.Usec+us%1e6
	if t.Usec >= 1e6 {
		t.Sec, t.Usec = t.Sec+1, t.Usec-1e6
	} else if t.Usec < 0 {
		t.Sec, t.Usec = t.Sec-1, t.Usec+1e6
	}
	return t
}

// Seconds returns t as pmtimevalToReal(3) does, which adds in a long double of 64 bits
// and rounds once.
func (t Time) Seconds() float64 {
	if t.Sec < 0 || t.Sec >= 1<<31 || t.Usec < 0 || t.Usec >= 1e6 {
		return float64(t.Sec) + float64(t.Usec)/1e6
	}
	q, r := bits.Div64(uint64(t.Usec)>>31, uint64(t.Usec)<<33, 1e6)
	if r > 5e5 || r == 5e5 && q&1 != 0 {
		q++
	}
	return float64(uint64(t.Sec)<<33+q) / (1 << 33)
}

// FromSeconds is pmtimevalFromReal(3).
func FromSeconds(s float64) Time {
	sec := int64(s)
	return Time{sec, int64((s-float64(sec))*1e6 + 0.5)}
}
