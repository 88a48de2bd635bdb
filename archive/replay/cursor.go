package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/debug"
)

// A Mode selects the results of a fetch. The numbers are those of PM_MODE_*.
type Mode int

// Modes of a cursor.
const (
	Interp Mode = 1 // PM_MODE_INTERP: values at given times
	Forw   Mode = 2 // PM_MODE_FORW: records, forwards
	Back   Mode = 3 // PM_MODE_BACK: records, backwards
)

// A Cursor is a position in a Set and the mode of reading from there. It starts
// at the beginning of the set in mode Forw. It is for one goroutine; a Set may
// have many.
type Cursor struct {
	set    *Set
	mode   Mode
	origin pcp.Timestamp
	delta  time.Duration
	placed bool // the tape is at the next record in the mode's direction

	tape tape
	sel  selection // of pick
	in   interp

	log *debug.Log // for interpolation, nil if it is not traced
}

// NewCursor returns a cursor.
func (s *Set) NewCursor() *Cursor {
	c := &Cursor{set: s, mode: Forw, origin: s.start, log: s.interpLog()}
	c.tape.set = s
	return c
}

// Clone returns a cursor at the same time in the same mode.
func (c *Cursor) Clone() *Cursor {
	n := c.set.NewCursor()
	n.mode, n.origin, n.delta = c.mode, c.origin, c.delta
	return n
}

// Close releases the resources of the cursor.
func (c *Cursor) Close() { c.tape.close() }

// Mode returns the mode.
func (c *Cursor) Mode() Mode { return c.mode }

// Origin returns the time of the cursor: in mode Interp that of the next fetch,
// otherwise that of the last record.
func (c *Cursor) Origin() pcp.Timestamp { return c.origin }

// SetMode sets mode, time and step (pmSetMode(3)). Without when the time does not
// change. Delta is the step of the time for each fetch in mode Interp, and its sign
// is the expected direction of reading; the other modes ignore it. Any other mode
// gives pcp.ErrMode.
func (c *Cursor) SetMode(mode Mode, when *pcp.Timestamp, delta time.Duration) error {
	if mode != Interp && mode != Forw && mode != Back {
		return fmt.Errorf("mode %d: %w", mode, pcp.ErrMode)
	}
	if when != nil {
		c.origin = *when
	}
	c.mode, c.delta, c.placed = mode, delta, false
	c.in.reset(c.origin, seconds(c.origin, c.set.start))
	return nil
}

// Refreshed must be called after the cursor's Set was refreshed.
func (c *Cursor) Refreshed() { c.in.refresh(c.origin) }

// Fetch fetches the values of metrics, a set for each id in order, with the
// instances that the profile selects.
//
// In the modes Forw and Back the values are those of the next record that has any
// of the metrics; metrics missing in it have no values and no error.
//
// In mode Interp the values are those at the cursor's time, which then moves by the
// step, even if the error is pcp.ErrEOL, before the start and behind the end of the
// set.
//
// Values of variable length are valid until the next call; if keep is set,
// forever.
func (c *Cursor) Fetch(ctx context.Context, ids []pcp.PMID, profile *pcp.Profile, keep bool, res *pcp.Result) error {
	if c.mode == Interp {
		if c.log == nil {
			return c.interpolate(ctx, ids, profile, keep, res)
		}
		c.traceRequest()
		err := c.interpolate(ctx, ids, profile, keep, res)
		c.traceReads()
		return err
	}
	for {
		if err := c.next(ctx); err != nil {
			return err
		}
		if c.tape.isMark() {
			continue
		}
		found, err := c.pick(ids, profile, keep, res)
		if err != nil {
			return err
		}
		if found {
			return nil
		}
	}
}

// Next returns the next complete record, marks included (pmFetchArchive(3)). In
// mode Interp the error is pcp.ErrMode.
func (c *Cursor) Next(ctx context.Context, keep bool, res *pcp.Result) error {
	if c.mode == Interp {
		return fmt.Errorf("next record: %w", pcp.ErrMode)
	}
	if err := c.next(ctx); err != nil {
		return err
	}
	s := &c.tape.scan
	if c.tape.isMark() {
		res.Reset()
		res.Time = s.Time
		return nil
	}
	if err := archive.DecodeResult(res, s.Body(), c.set.parts[c.tape.cur].Version()); err != nil {
		return err
	}
	for i := range res.Sets {
		c.retype(&res.Sets[i])
		if keep {
			own(&res.Sets[i])
		}
	}
	return nil
}

// own copies the bytes of the values of a set from the record.
func own(vs *pcp.ValueSet) {
	for i, v := range vs.Values {
		if b := v.Bytes(); b != nil {
			vs.Values[i] = pcp.BytesValue(v.Type(), bytes.Clone(b)).WithInst(v.Inst)
		}
	}
}

// retype sets the types of values that have no type in the archive.
func (c *Cursor) retype(vs *pcp.ValueSet) {
	if len(vs.Values) == 0 || vs.Values[0].Type() != pcp.Type32 {
		return
	}
	if desc, err := c.set.meta.Desc(vs.PMID); err == nil {
		for i := range vs.Values {
			vs.Values[i] = archive.Retype(vs.Values[i], desc.Type)
		}
	}
}

// NextOf is like Next for some metrics: it returns the next record that has any
// of them, with only these, or a mark.
func (c *Cursor) NextOf(ctx context.Context, ids []pcp.PMID, keep bool, res *pcp.Result) error {
	if c.mode == Interp {
		return fmt.Errorf("next record: %w", pcp.ErrMode)
	}
	for {
		if err := c.next(ctx); err != nil {
			return err
		}
		if c.tape.isMark() {
			res.Reset()
			res.Time = c.tape.scan.Time
			return nil
		}
		found, err := c.pick(ids, allInstances, keep, res)
		if err != nil || found {
			return err
		}
	}
}

// allInstances is a profile that selects everything.
var allInstances = new(pcp.Profile)

// checkEach is the number of records read between checks of the context.
const checkEach = 256

// next reads the next record in the direction of the mode.
func (c *Cursor) next(ctx context.Context) error {
	dir := forward
	if c.mode == Back {
		dir = backward
	}
	if !c.placed {
		if err := c.tape.approach(c.origin, dir); err != nil {
			return err
		}
		c.placed = true
	}
	for n := 0; ; n++ {
		if n%checkEach == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.tape.read(dir); err != nil {
			return endOfLog(err)
		}
		at := c.tape.scan.Time
		if at.Compare(c.origin) == -int(dir) {
			continue
		}
		c.origin = at
		return nil
	}
}

// endOfLog converts io.EOF to its status.
func endOfLog(err error) error {
	if errors.Is(err, io.EOF) {
		return pcp.ErrEOL
	}
	return err
}

// pick copies the values of metrics from the record. It reports whether there are
// any.
func (c *Cursor) pick(ids []pcp.PMID, profile *pcp.Profile, keep bool, res *pcp.Result) (bool, error) {
	s := &c.tape.scan
	if !c.sel.is(ids) {
		c.sel.set(ids)
	}
	sel := &c.sel
	clear(sel.at)
	found := false
	start := *s
	for s.Next() {
		if i := sel.find(s.PMID); i >= 0 && sel.at[i] == 0 {
			found, sel.at[i] = true, s.Mark()
		}
	}
	if err := s.Err(); err != nil {
		return false, err
	}
	if !found {
		return false, nil
	}
	res.Reset()
	res.Time = s.Time
	for _, id := range ids {
		at := sel.at[sel.find(id)]
		if at == 0 {
			res.AddError(id, 0)
			continue
		}
		start.Return(at)
		if err := start.AppendTo(res); err != nil {
			return false, err
		}
		vs := &res.Sets[len(res.Sets)-1]
		if len(vs.Values) > 0 && !profile.IsAll() {
			c.filter(vs, profile)
		}
		c.retype(vs)
		if keep {
			own(vs)
		}
	}
	return true, nil
}

// filter keeps the instances that the profile selects.
func (c *Cursor) filter(vs *pcp.ValueSet, profile *pcp.Profile) {
	desc, err := c.set.meta.Desc(vs.PMID)
	if err != nil || desc.InDom == pcp.InDomNull {
		return
	}
	part := profile.InDom(desc.InDom)
	kept := vs.Values[:0]
	for _, v := range vs.Values {
		if part.Includes(v.Inst) {
			kept = append(kept, v)
		}
	}
	vs.Values = kept
}
