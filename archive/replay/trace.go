package replay

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
)

// Interpolation is traced in the layout of the C library. Each function here does
// nothing on a nil log, and callers with many calls check first.

// interpLog returns the log if interpolation is traced, otherwise nil.
func (s *Set) interpLog() *debug.Log {
	if log := s.opts.Debug; log.On(debugname.Interp) {
		return log
	}
	return nil
}

// traceRequest traces the time of the wanted values, and the start of reading.
func (c *Cursor) traceRequest() {
	if c.log == nil {
		return
	}
	in := &c.in
	in.forward, in.backward, in.moved = 0, 0, false
	at, serial := in.home.place, 1
	if !in.placed {
		at, serial = place{}, 0
		if c.tape.rd != nil {
			at = c.tape.tell()
		}
	}
	cur := at.vol
	if c.tape.rd != nil {
		v, _ := c.tape.rd.Position()
		cur = int32(v)
	}
	b := []byte("__pmLogFetchInterp @ ")
	b = c.origin.AppendHighResStamp(b, c.log.Zone())
	b = fmt.Appendf(b, " t_req=%.6f curvol=%d posn=%d (vol=%d) serial=%d\n",
		seconds(c.origin, c.set.start), cur, at.off, at.vol, serial)
	c.log.Write(b)
}

// traceReads traces the number of records read for the request.
func (c *Cursor) traceReads() {
	c.log.Printf("__pmLogFetchInterp: log reads: forward %d backwards %d\n", c.in.forward, c.in.backward)
}

// traceRoll traces a record at time t on the way to the time wanted.
func (c *Cursor) traceRoll(dir archive.Direction, t float64) {
	if c.log == nil {
		return
	}
	way, mark := "forw", ""
	if dir == backward {
		way = "back"
	}
	if c.tape.isMark() {
		mark = " <mark>"
	}
	c.log.Printf("do_roll: %s to t=%.6f%s\n", way, t, mark)
}

// traceDamage traces the place of an unreadable record, searching in a direction, or 0 on
// the way to the time wanted.
func (c *Cursor) traceDamage(dir archive.Direction, err error) {
	log := c.set.opts.Debug
	if !log.Any(debugname.Interp, debugname.Archive) || !errors.Is(err, pcp.ErrLogRec) {
		return
	}
	doing, volume := "", "vol"
	switch dir {
	case forward:
		doing, volume = " scanning forwards in", "volume"
	case backward:
		doing, volume = " scanning backwards in", "volume"
	}
	number, _ := c.tape.rd.Position()
	log.Printf("Error: corrupted archive%s '%s', %s %d\n", doing, c.set.parts[c.tape.cur].Path(), volume, number)
}

// traceEnd traces that a search reached an end of the archive.
func (c *Cursor) traceEnd(dir archive.Direction, left int) {
	if c.log == nil {
		return
	}
	if dir == backward {
		c.log.Printf("Start of Log, %d metric-inst not found\n", left)
	} else {
		c.log.Printf("End of Log, %d metric-insts not found\n", left)
	}
}

// traceBound traces the state of a bound.
func (m *metric) traceBound(what string, i int32) {
	if m.log == nil {
		return
	}
	b := &m.bounds[i]
	out := fmt.Appendf(nil, "%s: pmid %s", what, m.id)
	if b.inst != pcp.InNull {
		out = fmt.Appendf(out, "[inst=%d]", b.inst)
	}
	out = append(out, ':')
	seen := func(name string, t float64) {
		if t >= 0 {
			out = fmt.Appendf(out, " %s=%.6f", name, t)
		}
	}
	seen("t_first", b.tFirst)
	out = fmt.Appendf(out, " t_prior=%.6f", b.tPrior)
	out = m.appendSide(out, b.sPrior, b.vPrior)
	out = fmt.Appendf(out, " t_next=%.6f", b.tNext)
	out = m.appendSide(out, b.sNext, b.vNext)
	seen("t_last", b.tLast)
	seen("t_birth", b.born)
	seen("t_death", b.died)
	m.log.Write(append(out, '\n'))
}

// traceOpen traces the bounds being searched, the last first as in C.
func (in *interp) traceOpen(what string) {
	for _, u := range slices.Backward(in.open) {
		if u.m.log == nil {
			return
		}
		u.m.traceBound(what, u.i)
	}
}

// traceValue traces the bounds that a value of the result is computed from.
func (m *metric) traceValue(b *bound) {
	if m.log == nil {
		return
	}
	out := fmt.Appendf(nil, "pmid %s inst %d prior: t=%.6f", m.id, b.inst, b.tPrior)
	out = m.appendSide(out, b.sPrior, b.vPrior)
	out = fmt.Appendf(out, " next: t=%.6f", b.tNext)
	out = m.appendSide(out, b.sNext, b.vNext)
	out = fmt.Appendf(out, " t_first=%.6f t_last=%.6f\n", b.tFirst, b.tLast)
	m.log.Write(out)
}

// appendSide appends the state of one side of a bound, with its value.
func (m *metric) appendSide(out []byte, s state, bits uint64) []byte {
	if s&valued == 0 {
		what := "<undefined>"
		if s&marked != 0 {
			what = "<mark>"
		}
		out = append(append(out, " state="...), what...)
		if s&scanned != 0 {
			out = append(out, "&<scanned>"...)
		}
		return out
	}
	if s&scanned != 0 {
		out = append(out, " state=<scanned>"...)
	}
	switch m.desc.Type {
	case pcp.Type32, pcp.TypeU32:
		return fmt.Appendf(out, " v=%d", int32(bits))
	case pcp.Type64:
		return fmt.Appendf(out, " v=%d", int64(bits))
	case pcp.TypeU64:
		return fmt.Appendf(out, " v=%d", bits)
	case pcp.TypeFloat:
		return fmt.Appendf(out, " v=%f", math.Float32frombits(uint32(bits)))
	case pcp.TypeDouble:
		return fmt.Appendf(out, " v=%f", math.Float64frombits(bits))
	}
	return append(out, " v=???"...)
}
