package fleet

import (
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
)

// A State is the state of a host.
type State int

// States of a host.
const (
	Waiting    State = iota // for its first start
	Connecting              // also during the lookup of the configuration
	Recording
	Lost    // the connection, during recording; the archive continues with a mark
	Retry   // it failed and waits for a retry
	Ended   // it was removed, or the fleet has ended
	nStates = iota
)

var stateNames = [nStates]string{"waiting", "connecting", "recording", "lost", "retry", "ended"}

func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return stateNames[s]
}

// A Status is the status of a host.
type Status struct {
	Name, Spec string // Spec has no password
	Dir        string
	State      State
	Interval   time.Duration // the "default" interval
	Archive    string        // the last one, "" before the first

	Last    pcp.Timestamp // time of the last record, by the host's clock
	Written time.Time     // time when it was written
	Samples uint64        // number of samples recorded
	Missed  uint64        // number of samples dropped, since the host was late or lost
	Lag     time.Duration // delay of the last sample, until it was written
	MaxLag  time.Duration // longest delay of a sample
	Clock   time.Duration // how much the host's clock is ahead of ours; 0 if they may agree
	Bytes   int64         // written so far, to all archives
	Daily   int64         // bytes of records a day, estimated from the last samples

	Errors  uint64    // number of errors
	Err     error     // the last error, or nil
	ErrTime time.Time // its time
	Again   time.Time // time of the next try, in state Retry
}

func (h *host) status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.s
	s.Bytes += h.base
	return s
}

func (h *host) state(s State) {
	h.mu.Lock()
	h.s.State = s
	h.mu.Unlock()
}

// failed records a failure, and when the host will be retried. Only the first of several
// failures in a row is an event, since repeating it would not help.
func (h *host) failed(err error, wait time.Duration, first bool) {
	now := time.Now()
	h.mu.Lock()
	h.s.State, h.s.Again = Retry, now.Add(wait)
	h.s.Errors++
	same := h.s.Err != nil && err != nil && h.s.Err.Error() == err.Error()
	h.s.Err, h.s.ErrTime = err, now
	h.mu.Unlock()
	if first || !same {
		h.f.event(h.Name, "not recorded, will be tried again", err)
	}
}

// sampled records a sample.
func (h *host) sampled(s pmlogger.Sample) {
	h.begun()
	lag := s.Done.Sub(s.Due)
	h.mu.Lock()
	was := h.s.State
	h.s.Missed += uint64(s.Missed)
	if s.Err != nil {
		h.s.State = Lost
		h.s.Errors++
		h.s.Err, h.s.ErrTime = s.Err, s.Done
		if s.Records == 0 {
			h.s.Missed++
		}
	} else {
		h.s.State = Recording
	}
	if s.Records > 0 {
		h.s.Samples++
		h.s.Last, h.s.Written = s.Time, s.Done
		h.s.Lag = lag
		h.s.MaxLag = max(h.s.MaxLag, lag)
	}
	h.s.Bytes = s.Bytes
	clock := ""
	if s.Records > 0 {
		h.s.Clock = ahead(s.Clock.Time(), s.Due, s.Done)
		clock = h.clockNews()
	}
	h.s.Daily = s.Daily
	tell := s.All && !h.told
	h.told = h.told || s.All
	now := h.s.State
	h.mu.Unlock()
	switch {
	case was == Lost && now == Recording:
		h.f.event(h.Name, "recording again", nil)
	case was != Lost && now == Lost:
		h.f.event(h.Name, "lost, will be tried again", s.Err)
	}
	if clock != "" {
		h.f.event(h.Name, clock, nil)
	}
	if tell {
		text := fmt.Sprintf("%d bytes of records a day, as the first samples have it", s.Daily)
		h.f.Say(Event{Time: s.Done, Host: h.Name, Text: text, Daily: s.Daily})
	}
}
