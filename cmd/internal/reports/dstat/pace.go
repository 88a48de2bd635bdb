package dstat

import (
	"math"
	"strconv"
	"time"
)

// A pace determines the times of fetches, and the line and the second of its interval that each is of.
type pace struct {
	delay   float64   // seconds between lines
	samples int       // fetches, -1: without end
	update  bool      // show figures each second, before their interval is over
	began   time.Time // the first fetch was due
	missed  int       // fetches since the last line

	loop, step int // number of the line, and the second in its interval
}

// interval is the time between fetches in seconds.
func (p *pace) interval() float64 {
	if !p.update || p.delay < 1 {
		return p.delay
	}
	return 1
}

// more reports whether there is a fetch at a number of seconds after the first.
func (p *pace) more(seconds float64) bool {
	return p.samples == -1 || seconds <= p.delay*float64(p.samples-1)
}

// advance sets the line of the fetch that was due a number of seconds after the first. It reports whether now is too late
// for it.
func (p *pace) advance(seconds float64, now time.Time) (late bool) {
	p.loop, p.step = int((seconds-1+p.delay)/p.delay), int(modulo(seconds-1, p.delay)+1)
	if p.delay < 1 {
		p.loop = int(math.Round(seconds / p.delay))
	}
	if p.loop != 0 && now.Sub(p.began).Seconds()-seconds > 1 {
		p.missed++
		return true
	}
	return false
}

// definite reports whether the interval of the line is complete.
func (p *pace) definite() bool { return float64(p.step) == p.delay || p.delay < 1 }

// takeMissed returns the note about fetches missed since the last call, "" if there is none.
func (p *pace) takeMissed() string {
	n := p.missed
	if p.missed = 0; n == 0 {
		return ""
	}
	return "missed " + strconv.Itoa(n+1) + " ticks"
}
