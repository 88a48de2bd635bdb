package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// An interp is the state of interpolation. It works as the C library does
// (interp.c: __pmLogFetchInterp), so that values agree in every case, including
// those that depend on earlier fetches. It reads less: see region.
type interp struct {
	metrics map[pcp.PMID]*metric
	list    []*metric // all of them, in the order of sel
	ids     []pcp.PMID
	of      []*metric // metrics of ids, those of the last fetch; nil for PMIDNull
	sel     selection

	placed bool          // the position is known
	from   pcp.Timestamp // the time for which the mode was set
	home   point         // where reading continues: all records up to the time wanted are behind, in the direction
	region region

	asked []*metric // metrics of this fetch, each once
	open  []unbound // those of this search

	end   float64 // end of the set, if known
	reads int     // records read since the last check of the context

	// For the trace: number of reads of a record, and whether a bound had to move.
	forward, backward int
	moved             bool
}

// A point is a place with the number of the record behind it.
type point struct {
	place
	ord int32
}

// A region is the part of the tape read since the last jump by the index. Its
// records are numbered in order, and each bound has its first and last record: a
// search for a value that the region does not have need not read it again.
type region struct {
	lo, hi point
	marks  []passed
	known  bool
}

// A passed is the place of a mark.
type passed struct{ before, after point }

// An unbound is an instance whose bound is being searched.
type unbound struct {
	m *metric
	i int32
}

func (u unbound) bound() *bound { return &u.m.bounds[u.i] }

// reset drops the state that is not valid at time t, when the mode was set.
func (in *interp) reset(from pcp.Timestamp, t float64) {
	in.placed, in.from = false, from
	for _, m := range in.list {
		for i := range m.bounds {
			if b := &m.bounds[i]; b.tPrior > t || b.tNext < t {
				b.reset()
			}
		}
		m.atSet = false
	}
}

// refresh drops everything: there may be new instances.
func (in *interp) refresh(from pcp.Timestamp) { *in = interp{from: from} }

// slop is the tolerance at the start and the end (interp.c).
const slop = 0.001

// interpolate is Fetch in mode Interp.
func (c *Cursor) interpolate(ctx context.Context, ids []pcp.PMID, profile *pcp.Profile, keep bool, res *pcp.Result) error {
	req := seconds(c.origin, c.set.start)
	step := func() { c.origin = c.origin.Add(c.delta) }
	if past, err := c.pastEnds(req); past {
		step()
		return err
	}
	in := &c.in
	in.ask(c, ids, profile, req)
	if !in.placed {
		if err := c.position(ctx, req); err != nil {
			if !over(err) || ctx.Err() != nil {
				return err
			}
			step()
			return err
		}
	}
	if err := c.tape.seek(in.home.place); err != nil {
		step()
		return err
	}
	seen, err := c.bind(ctx, req)
	if err != nil {
		in.forgetRegion() // the record at fault is not in it
		return err
	}
	for _, m := range in.asked {
		m.count(req, seen)
	}
	res.Reset()
	res.Time = c.origin
	for i, m := range in.of {
		if m == nil {
			res.AddError(ids[i], 0)
			continue
		}
		c.build(m, req, keep, res)
	}
	for _, m := range in.asked {
		m.lastNumval = m.numval
	}
	step()
	return nil
}

// pastEnds reports whether a time is before the start or behind the end, and
// the error: pcp.ErrEOL, or why the end is not known.
func (c *Cursor) pastEnds(req float64) (bool, error) {
	if req < -slop {
		return true, pcp.ErrEOL
	}
	in := &c.in
	if req <= in.end+slop {
		return false, nil
	}
	if list := c.set.parts; len(list) > 1 && (in.placed && int(in.home.arch) < len(list)-1 ||
		req <= seconds(list[len(list)-1].start(), c.set.start)) {
		// As in C, the end is known when the last archive is reached. It need not
		// be opened earlier.
		return false, nil
	}
	end, err := c.set.End()
	if err == nil {
		err = pcp.ErrEOL
	}
	if end != (pcp.Timestamp{}) {
		in.end = seconds(end, c.set.start)
	}
	return req > in.end, err
}

// ask prepares the metrics of a fetch.
func (in *interp) ask(c *Cursor, ids []pcp.PMID, profile *pcp.Profile, req float64) {
	for _, m := range in.asked {
		m.asked = false
	}
	in.asked = in.asked[:0]
	grown := in.find(c, ids)
	for _, m := range in.of {
		if m == nil || m.asked {
			continue
		}
		m.asked = true
		in.asked = append(in.asked, m)
		m.err, m.numval = 0, 0
		if m.unknown {
			m.err = pcp.ErrPMIDLog
			m.numval = int(pcp.ErrPMIDLog)
			continue
		}
		m.part = profile.InDom(m.desc.InDom)
		m.all = m.desc.InDom == pcp.InDomNull || m.part.State == pcp.ProfileInclude && len(m.part.Insts) == 0
		m.gather(req)
		for _, i := range m.live {
			b := &m.bounds[i]
			b.search = false
			b.wanted = m.all || m.part.Includes(b.inst)
		}
	}
	if grown {
		all := make([]pcp.PMID, len(in.list))
		for i, m := range in.list {
			all[i] = m.id
		}
		in.sel.set(all)
		// The region was not read for the new metrics.
		in.forgetRegion()
	}
}

// find finds the metrics of ids, and reports whether one of them is requested for the
// first time.
func (in *interp) find(c *Cursor, ids []pcp.PMID) (grown bool) {
	if slices.Equal(in.ids, ids) {
		return false
	}
	in.ids, in.of = append(in.ids[:0], ids...), in.of[:0]
	for _, id := range ids {
		var m *metric
		if id != pcp.PMIDNull {
			if m = in.metrics[id]; m == nil {
				if in.metrics == nil {
					in.metrics = make(map[pcp.PMID]*metric)
				}
				m = c.set.newMetric(id)
				in.metrics[id] = m
				in.list = append(in.list, m)
				grown = true
			}
		}
		in.of = append(in.of, m)
	}
	return grown
}

func (in *interp) forgetRegion() {
	in.region = region{}
	in.home.ord = 0
	for _, m := range in.list {
		for i := range m.bounds {
			m.bounds[i].first, m.bounds[i].last = 1, 0
		}
	}
}

// dir returns the direction of the steps, 0 if there is none.
func (c *Cursor) dir() archive.Direction {
	switch {
	case c.delta > 0:
		return forward
	case c.delta < 0:
		return backward
	}
	return 0
}

// over reports whether err means that there is nothing more to read in a
// direction: the end of the set, or two archives that overlap. Anything else is
// damage, to a record or to a whole volume, and values behind it would be missing
// silently.
func over(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, pcp.ErrLogOverlap)
}

// read reads the next record. At is the position of the tape, which read updates
// unless there is an error.
func (c *Cursor) read(ctx context.Context, dir archive.Direction, at *point) (ord int32, err error) {
	in := &c.in
	if dir == forward {
		in.forward++
	} else {
		in.backward++
	}
	if in.reads++; in.reads >= checkEach {
		in.reads = 0
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
	if err := c.tape.read(dir); err != nil {
		return 0, err
	}
	at.place = c.tape.tell()
	if dir == forward {
		at.ord++
		return at.ord - 1, nil
	}
	at.ord--
	return at.ord, nil
}

// extend adds a record, between two points, to the region. All metrics have been
// updated with it.
func (r *region) extend(from, to point, mark bool) {
	if !r.known {
		r.known, r.lo, r.hi = true, from, from
	}
	switch {
	case to.ord > r.hi.ord:
		r.hi = to
		if mark {
			r.marks = append(r.marks, passed{from, to})
		}
	case to.ord < r.lo.ord:
		r.lo = to
		if mark {
			r.marks = slices.Insert(r.marks, 0, passed{to, from})
		}
	}
}

// take updates all metrics with the record.
func (in *interp) take(c *Cursor, ord int32, t, req float64, dir archive.Direction) (found int, err error) {
	if len(in.list) == 0 {
		return 0, nil
	}
	s := &c.tape.scan
	for s.Next() {
		i := in.sel.find(s.PMID)
		if i < 0 {
			continue
		}
		n, err := in.list[i].take(s, ord, t, req, dir)
		if err != nil {
			return found, fmt.Errorf("%s: %w", c.set.parts[c.tape.cur].Path(), err)
		}
		found += n
	}
	return found, s.Err()
}

// update updates the bounds with the record, a mark or not.
func (c *Cursor) update(at point, ord int32, t, req float64, dir archive.Direction, look bool, seen *bool) (found int, err error) {
	in := &c.in
	if !c.tape.isMark() {
		if !look {
			n, err := in.take(c, ord, t, req, 0)
			return n, err
		}
		return in.take(c, ord, t, req, dir)
	}
	if c.set.opts.IgnoreMarks && c.ignored(at, dir) {
		return 0, nil
	}
	for _, m := range slices.Backward(in.asked) { // for the trace in the order of C
		n, s := m.mark(t, req, dir, look)
		found += n
		*seen = *seen || s
	}
	return found, nil
}

// ignored reports whether the mark that was just read does not count, because the
// records around it are close to each other. The tape does not move.
func (c *Cursor) ignored(at point, dir archive.Direction) bool {
	if c.set.opts.IgnoreGap == 0 {
		c.log.Printf("update_bounds: ignore mark: unconditional\n")
		return true
	}
	scan := c.tape.scan
	peek := tape{set: c.set}
	defer peek.close()
	near := func(dir, back archive.Direction) (pcp.Timestamp, bool) {
		if peek.seek(at.place) != nil {
			return pcp.Timestamp{}, false
		}
		if dir == back && peek.read(dir) != nil { // over the mark
			return pcp.Timestamp{}, false
		}
		if peek.read(dir) != nil {
			return pcp.Timestamp{}, false
		}
		return peek.scan.Time, true
	}
	next, ok := near(forward, -dir)
	prior, ok2 := near(backward, -dir)
	c.tape.scan = scan
	gap := c.set.opts.IgnoreGap.Seconds()
	if !ok || !ok2 || seconds(next, prior) > gap {
		return false
	}
	if c.log != nil {
		c.log.Printf("update_bounds: ignore mark: gap %.6f - %.6f <= %.6f\n",
			seconds(next, c.set.start), seconds(prior, c.set.start), gap)
	}
	return true
}

// position moves close to the time wanted by the index, and then as close as
// records allow (interp.c does not know the records there either).
func (c *Cursor) position(ctx context.Context, req float64) error {
	in := &c.in
	way := c.dir()
	if way == 0 {
		way = backward
	}
	// As in the C library the place is that of the time at which the mode was set,
	// though the time may have moved since, and it is near enough if it is before
	// that time. Otherwise the last results are dropped too.
	short, err := c.tape.near(in.from, way)
	if err == nil && !short {
		_, err = c.tape.near(c.origin, way)
		for _, m := range in.asked {
			m.lastNumval = -1
		}
	}
	if err != nil {
		return err
	}
	in.forgetRegion()
	at := point{place: c.tape.tell()}
	in.home = at
	for !short {
		ord, err := c.read(ctx, -way, &at)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			break
		}
		t := seconds(c.tape.scan.Time, c.set.start)
		if way == forward && t <= req || way == backward && t > req {
			break
		}
		if !c.tape.isMark() {
			if _, err := in.take(c, ord, t, req, 0); err != nil {
				return err
			}
		}
		in.region.extend(in.home, at, c.tape.isMark())
		in.home = at
	}
	in.placed = true
	return nil
}

// roll reads up to the time wanted.
func (c *Cursor) roll(ctx context.Context, req float64, dir archive.Direction, seen *bool) error {
	in := &c.in
	at := in.home
	for {
		ord, err := c.read(ctx, dir, &at)
		if err != nil {
			if !over(err) || ctx.Err() != nil {
				c.traceDamage(0, err)
				return err
			}
			break
		}
		t := seconds(c.tape.scan.Time, c.set.start)
		if dir == forward && t > req || dir == backward && t < req {
			break
		}
		c.traceRoll(dir, t)
		if _, err := c.update(at, ord, t, req, dir, false, seen); err != nil {
			return err
		}
		in.region.extend(in.home, at, c.tape.isMark())
		in.home = at
	}
	return nil
}

// each calls fn for all wanted instances that may exist at the time wanted.
func (in *interp) each(req float64, fn func(m *metric, i int32, b *bound)) {
	for _, m := range in.asked {
		for _, i := range m.live {
			if b := &m.bounds[i]; b.concerns(req) {
				fn(m, i, b)
			}
		}
	}
}

// any reports whether fn returns true for one of these.
func (in *interp) any(req float64, fn func(b *bound) bool) bool {
	for _, m := range in.asked {
		for _, i := range m.live {
			if b := &m.bounds[i]; b.concerns(req) && fn(b) {
				return true
			}
		}
	}
	return false
}

// concerns reports whether an instance is wanted and may exist at a time.
func (b *bound) concerns(t float64) bool {
	return b.wanted && (b.born < 0 || t >= b.born) && (b.died < 0 || t <= b.died)
}

// bind finds the bounds at the time wanted, from home. Seen is set if a mark was
// passed on the way.
func (c *Cursor) bind(ctx context.Context, req float64) (seen bool, err error) {
	in := &c.in
	dir := c.dir()

	// Those not bound below.
	if dir == forward {
		if in.any(req, func(b *bound) bool { return (b.tFirst < 0 || req >= b.tFirst) && (b.tPrior < 0 || b.tPrior > req) }) {
			in.moved = true
			if err := c.roll(ctx, req, forward, &seen); err != nil {
				return seen, err
			}
		}
	}
	in.open = in.open[:0]
	in.each(req, func(m *metric, i int32, b *bound) {
		if b.tFirst >= 0 && req < b.tFirst {
			return
		}
		if dir != forward && (b.tPrior < 0 || b.tPrior > req) {
			in.moved = true
		}
		b.same = b.sNext&marked != 0 && b.tPrior == req
		if b.sPrior&(undefined|scanned) == undefined ||
			b.tPrior > req && (dir < 0 || b.sPrior&scanned == 0) || b.same {
			b.search = true
			in.open = append(in.open, unbound{m, i})
		}
	})
	in.traceOpen("search back")
	if len(in.open) > 0 {
		if err := c.search(ctx, req, backward, &seen); err != nil {
			return seen, err
		}
	}

	// Those not bound above.
	rolled := false
	if dir == backward {
		rolled = in.any(req, func(b *bound) bool { return (b.tLast < 0 || req <= b.tLast) && (b.tNext < 0 || b.tNext < req) })
		if rolled {
			in.moved = true
			if err := c.tape.seek(in.home.place); err != nil {
				return seen, err
			}
			if err := c.roll(ctx, req, backward, &seen); err != nil {
				return seen, err
			}
		}
	}
	in.open = in.open[:0]
	in.each(req, func(m *metric, i int32, b *bound) {
		if b.tLast >= 0 && req > b.tLast {
			return
		}
		if b.tNext < 0 || b.tNext < req {
			in.moved = true
		}
		b.same = b.sPrior&marked != 0 && b.tNext == req
		if b.sNext&(undefined|scanned) == undefined ||
			b.tNext < req && (dir > 0 || b.sNext&scanned == 0) || b.same {
			b.search = true
			in.open = append(in.open, unbound{m, i})
		}
	})
	in.traceOpen("search forw")
	if len(in.open) > 0 {
		if err := c.search(ctx, req, forward, &seen); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// search reads from home in a direction until all in room are bound, or cannot be.
func (c *Cursor) search(ctx context.Context, req float64, dir archive.Direction, seen *bool) error {
	in := &c.in
	open := in.open
	if err := c.tape.seek(in.home.place); err != nil {
		return err
	}
	at := in.home
	left := len(open)
	beyond := false // of the time wanted
	limit, far := in.survey(open, dir)
	for left > 0 {
		// The region is not searched for records that it does not have.
		if beyond && in.region.lacks(at, far, dir) {
			if to := in.region.skip(at, dir); to.ord != at.ord {
				if err := c.tape.seek(to.place); err != nil {
					return err
				}
				at = to
			}
		}
		before := at
		ord, err := c.read(ctx, dir, &at)
		if err != nil {
			if !over(err) || ctx.Err() != nil {
				c.traceDamage(dir, err)
				return err
			}
			c.traceEnd(dir, left)
			break
		}
		t := seconds(c.tape.scan.Time, c.set.start)
		beyond = dir == forward && t > req || dir == backward && t < req
		if dir == backward && c.delta < 0 && t >= req || dir == forward && c.delta > 0 && t <= req {
			in.home = at
		}
		found, err := c.update(at, ord, t, req, dir, true, seen)
		if err != nil {
			return err
		}
		in.region.extend(before, at, c.tape.isMark())
		left -= found
		// Bounds that cannot be found from here on.
		past := dir == forward && t >= limit || dir == backward && t <= limit
		if found > 0 || past {
			kept := open[:0]
			for _, u := range open {
				b := u.bound()
				switch {
				case !b.search:
					continue
				case b.same && (dir == forward && t > req || dir == backward && t < req):
				case dir == forward && b.tLast >= 0 && b.tLast <= t:
					b.sNext |= scanned
				case dir == backward && b.tFirst >= 0 && b.tFirst >= t:
					b.sPrior |= scanned
				default:
					kept = append(kept, u)
					continue
				}
				b.search = false
				left--
			}
			open = kept
			limit, far = in.survey(open, dir)
		}
	}
	for _, u := range open {
		b := u.bound()
		b.search = false
		if dir == backward {
			if (b.sPrior&undefined != 0 || b.tPrior > req) && b.tFirst < req {
				b.tFirst = req
				b.sPrior |= scanned
				u.m.traceBound("no values before t_first", u.i)
			}
		} else if b.tNext < req && (b.tLast < 0 || req < b.tLast) {
			b.tLast = req
			b.sNext |= scanned
			if u.m.log != nil {
				u.m.log.Printf("pmid %s inst %d no values after t_last=%.6f\n", u.m.id, b.inst, b.tLast)
			}
		}
	}
	return nil
}

// survey returns the time from which on one of the open ones can be given up, and
// the number of the outermost record in the region that has any of them.
func (in *interp) survey(open []unbound, dir archive.Direction) (limit float64, far int32) {
	if dir == forward {
		limit, far = math.Inf(1), math.MinInt32
	} else {
		limit, far = math.Inf(-1), math.MaxInt32
	}
	for _, u := range open {
		b := u.bound()
		if dir == forward {
			switch {
			case b.same:
				limit = math.Inf(-1)
			case b.tLast >= 0:
				limit = min(limit, b.tLast)
			}
			if b.first <= b.last {
				far = max(far, b.last)
			}
			continue
		}
		switch {
		case b.same:
			limit = math.Inf(1)
		case b.tFirst >= 0:
			limit = max(limit, b.tFirst)
		}
		if b.first <= b.last {
			far = min(far, b.first)
		}
	}
	return limit, far
}

// lacks reports whether the region continues behind a point and has no record
// there of the kind sought. far is the outermost record of that kind.
func (r *region) lacks(at point, far int32, dir archive.Direction) bool {
	switch {
	case !r.known:
		return false
	case dir == forward:
		return at.ord < r.hi.ord && far < at.ord
	}
	return at.ord > r.lo.ord && far >= at.ord
}

// skip returns where reading then continues: at the next mark, or the end of the region.
func (r *region) skip(at point, dir archive.Direction) point {
	if dir == forward {
		i, _ := slices.BinarySearchFunc(r.marks, at.ord, func(m passed, ord int32) int { return cmp.Compare(m.before.ord, ord) })
		if i < len(r.marks) {
			return r.marks[i].before
		}
		return r.hi
	}
	i, _ := slices.BinarySearchFunc(r.marks, at.ord, func(m passed, ord int32) int { return cmp.Compare(m.after.ord, ord+1) })
	if i > 0 {
		return r.marks[i-1].after
	}
	return r.lo
}
