package fleet

import (
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
)

// A State is what a host is about.
type State int

// States of a host.
const (
	Waiting    State = iota // for its first start
	Connecting              // also while the configuration is looked up
	Recording
	Lost    // the connection, while it records; the archive goes on with a mark
	Retry   // it failed and is left alone for a while
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

// A Status says how it goes with a host.
type Status struct {
	Name, Spec string // Spec is without its password
	Dir        string
	State      State
	Interval   time.Duration // what "default" means
	Archive    string        // the last one, "" if there is none yet

	Last    pcp.Timestamp // of the last record, as the host says
	Written time.Time     // when it was written
	Samples uint64        // how many were recorded
	Missed  uint64        // how many were left out, since the host was late or lost
	Lag     time.Duration // how much later than due the last sample was written
	MaxLag  time.Duration // the most that it ever was
	Bytes   int64         // written so far, to all archives
	Daily   int64         // bytes of records a day, as the last samples have them

	Errors  uint64    // how many there were
	Err     error     // the last one, nil if there was none
	ErrTime time.Time // when
	Again   time.Time // when the host is tried again, in state Retry
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

// failed notes that the host is to be tried again after a while. Of the failures in a row the
// first is an event: the host does not come back by being told so.
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

// sampled takes note of a sample.
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
	if s.Err == nil && s.Records > 0 {
		h.fullSaid = false
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
	if tell {
		text := fmt.Sprintf("%d bytes of records a day, as the first samples have it", s.Daily)
		h.f.Say(Event{Time: s.Done, Host: h.Name, Text: text, Daily: s.Daily})
	}
}
