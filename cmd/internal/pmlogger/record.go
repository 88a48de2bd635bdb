package pmlogger

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/wire"
)

// Reasons for a Recorder to end by itself.
var (
	ErrSampleLimit = errors.New("sample limit reached")
	ErrByteLimit   = errors.New("byte limit reached")
	ErrRunTime     = errors.New("end of run time")
)

// A logged is a metric whose metadata are in the archive.
type logged struct {
	desc pcp.Desc
	// Instances in ascending order, InNull for a metric without an instance domain: those in
	// any record, and those in the last fetch. Both may share memory.
	seen, available []int32
}

// single is the instance of a metric without an instance domain.
var single = []int32{pcp.InNull}

// A loggedInDom is the last record of an instance domain in the archive.
type loggedInDom struct {
	at     pcp.Timestamp
	record int     // record for which it was written, as the recorder counts them
	insts  []int32 // in ascending order
}

// An instances lists the instances of a metric in a record.
type instances struct {
	record int          // last record with any, as group counts them
	of     *loggedInDom // the domain with all of them
	order  []int32      // unsorted; others may share it
	sorted []int32
}

// equal reports whether the values of a set are of the same instances, in the same order.
func (l *instances) equal(pairs []byte) bool { return sameOrder(l.order, pairs) }

func sameOrder(order []int32, pairs []byte) bool {
	if len(pairs) != 8*len(order) {
		return false
	}
	for _, inst := range order {
		if int32(binary.BigEndian.Uint32(pairs)) != inst {
			return false
		}
		pairs = pairs[8:]
	}
	return true
}

// take stores the instances of a set, and returns the previous ones, sorted. The sorted
// list may be retained.
func (r *Recorder) take(l *instances, pairs []byte) (before []int32) {
	before = l.sorted
	// Metrics of a domain usually have the same instances.
	if m := r.taken; m != nil && sameOrder(m.order, pairs) {
		l.order, l.sorted = m.order, m.sorted
		return before
	}
	l.order = make([]int32, len(pairs)/8)
	for i := range l.order {
		l.order[i] = int32(binary.BigEndian.Uint32(pairs[8*i:]))
	}
	l.sorted = l.order
	if !slices.IsSorted(l.sorted) {
		l.sorted = slices.Clone(l.order)
		slices.Sort(l.sorted)
	}
	r.taken = l
	return before
}

// same reports whether two lists are the same slice.
func same(a, b []int32) bool {
	return len(a) == len(b) && (a == nil) == (b == nil) && (len(a) == 0 || &a[0] == &b[0])
}

// equalLists reports whether two lists are equal.
func equalLists(a, b []int32) bool { return same(a, b) || slices.Equal(a, b) }

// A labelKey identifies the owner of labels.
type labelKey struct {
	level pcp.LabelFlags
	ident uint32
}

// sample fetches the groups of a task and writes a record for each.
func (r *Recorder) sample(ctx context.Context, t *task, due time.Time, missed int) error {
	if ok, err := r.out.room(); !ok {
		if err == nil && r.cfg.Sampled != nil {
			r.report(t, due, missed, 0, errNoRoom)
		}
		return err
	}
	bytes, metrics := int64(0), 0
	var why error
	for _, g := range slices.Clone(t.groups) {
		changes, err := r.fetch(ctx, g)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, errChanged) {
				return err
			}
			why = err
			continue // as in C: the next group finds the connection lost too, or reconnects
		}
		n, err := r.write(ctx, t, g, changes)
		if lost(err) && ctx.Err() == nil { // before the record was written
			r.disconnected(err)
			why = err
			continue
		}
		if err != nil {
			if err := r.out.space.check(err, r.out.base); err != nil {
				return err
			}
			why = err
			continue
		}
		bytes += n
		metrics += len(g.ids)
	}
	if err := r.out.flush(); err != nil {
		return err
	}
	if r.cfg.Sampled != nil {
		r.report(t, due, missed, bytes, why)
	}
	if r.cfg.Report && !t.sized && metrics > 0 {
		t.sized = true
		t.reportSize(r.log, bytes, metrics)
	}
	return r.out.sampled()
}

// fetch fetches a group into r.res. It first restores a lost connection.
func (r *Recorder) fetch(ctx context.Context, g *group) (wire.State, error) {
	if r.from.lost {
		if err := r.from.restore(ctx, r.plan.tasks); err != nil {
			return 0, err
		}
		if err := r.out.mark(); err != nil {
			return 0, err
		}
	}
	if err := r.profile(g); err != nil {
		return 0, err
	}
	var changes wire.State
	var err error
	if r.raw = (wire.RawResult{}); g.decoded > 0 {
		changes, err = r.c.FetchInto(ctx, g.ids, &r.res)
	} else {
		changes, err = r.c.FetchRaw(ctx, g.ids, &r.raw, &r.res)
	}
	if err != nil {
		if ctx.Err() == nil && (lost(err) || !errors.Is(err, syscall.ETIMEDOUT)) {
			r.disconnected(err)
		}
		return 0, err
	}
	return changes, nil
}

// disconnected notes that the connection is lost: no instance is available.
func (r *Recorder) disconnected(err error) {
	r.from.lose(err)
	for _, m := range r.written {
		m.available = nil
	}
}

// profile sets the profile of a group, unless it is set already. The change is sent with the next
// fetch.
func (r *Recorder) profile(g *group) error {
	if r.profiled == g && !g.changed {
		return nil
	}
	r.profiled = nil
	if err := r.c.AddProfile(pcp.InDomNull); err != nil {
		return err
	}
	for _, d := range g.indoms {
		if d.indom != pcp.InDomNull && !d.want.all {
			if err := errors.Join(r.c.DelProfile(d.indom), r.c.AddProfile(d.indom, d.want.insts...)); err != nil {
				return err
			}
		}
	}
	r.profiled, g.changed = g, false
	return nil
}

// write writes r.res, after the required metadata. It returns the length of the
// record.
func (r *Recorder) write(ctx context.Context, t *task, g *group, changes wire.State) (int64, error) {
	r.res.Time = r.out.stamp(r.res.Time, changes&wire.AddAgent != 0)
	events, err := r.prepare(g)
	if err != nil {
		return 0, err
	}
	// Values are valid until the next request, and metadata need requests: encode the record
	// first.
	if err := r.encode(); err != nil {
		return 0, err
	}
	g.records++
	r.records++
	if changes == 0 && len(events) == 0 && r.steady(g) {
		return r.out.put(r.res.Time, r.record)
	}
	if err := r.changed(ctx, changes); err != nil {
		return 0, err
	}
	for _, id := range events {
		if err := r.eventMetric(ctx, id); err != nil {
			return 0, err
		}
	}
	if asked, err := r.ahead(ctx, t); err != nil {
		return 0, err
	} else if asked {
		defer r.c.Rest()
	}
	if g.last == nil {
		g.last = make(map[pcp.PMID]*instances)
	}
	r.scan.Start(r.body(), r.out.w.Label().Version)
	for i := 0; r.scan.Next(); i++ {
		if err := r.writeMeta(ctx, t, g, r.ids[i], r.scan.Pairs()); err != nil {
			return 0, err
		}
	}
	return r.out.put(r.res.Time, r.record)
}

// writeMeta writes the metadata that a set of the record needs.
func (r *Recorder) writeMeta(ctx context.Context, t *task, g *group, id pcp.PMID, pairs []byte) error {
	m, err := r.metric(ctx, t, id)
	if err != nil {
		return err
	}
	if m.desc.InDom == pcp.InDomNull || len(pairs) == 0 {
		now := single
		if len(pairs) == 0 {
			now = nil
		}
		if !equalLists(now, m.available) {
			r.note(m, m.available, now)
		}
		return nil
	}
	last := g.last[id]
	if last == nil {
		last = &instances{record: -1}
		g.last[id] = last
	}
	again := last.record >= g.records-1
	last.record = g.records
	of := r.indoms[m.desc.InDom]
	if again && m.available != nil && last.of == of && last.equal(pairs) {
		return nil // usually nothing is new
	}
	before := r.take(last, pairs)
	if !again {
		before = nil
	}
	changed := again && !equalLists(before, last.sorted)
	if !again || m.available == nil || changed {
		r.note(m, before, last.sorted)
	}
	if err := r.putInDom(ctx, m.desc, last.sorted, changed); err != nil {
		return err
	}
	last.of = r.indoms[m.desc.InDom]
	return nil
}

// encode encodes the fetched values as a record, with room for its length words.
func (r *Recorder) encode() (err error) {
	version := r.out.w.Label().Version
	b := append(r.record[:0], 0, 0, 0, 0)
	if r.raw.Sets > 0 {
		head := archive.HeadSize(version)
		b = slices.Grow(b, head+r.raw.Len()+4)
		b = r.raw.Append(archive.AppendHead(b, r.res.Time, r.raw.Sets, version), head)
	} else if b, err = archive.AppendResult(b, &r.res, version); err != nil {
		return err
	}
	r.record = append(b, 0, 0, 0, 0)
	return nil
}

// body returns the contents of the record.
func (r *Recorder) body() []byte { return r.record[4 : len(r.record)-4] }

// steady reports whether the record has only metrics and instances that the archive knows, and
// each metric has the instances of the last record.
func (r *Recorder) steady(g *group) bool {
	r.scan.Start(r.body(), r.out.w.Label().Version)
	for i := 0; r.scan.Next(); i++ {
		m := r.written[r.ids[i]]
		if m == nil {
			return false
		}
		pairs := r.scan.Pairs()
		if len(pairs) == 0 {
			if len(m.available) > 0 {
				return false
			}
			continue
		}
		if m.available == nil {
			return false
		}
		if m.desc.InDom == pcp.InDomNull {
			continue
		}
		last := g.last[r.ids[i]]
		if last == nil || last.record < g.records-1 || last.of != r.indoms[m.desc.InDom] || !last.equal(pairs) {
			return false
		}
		last.record = g.records
	}
	return true
}

// changed handles changes at the collector.
func (r *Recorder) changed(ctx context.Context, changes wire.State) error {
	if changes&wire.LabelChange != 0 {
		if err := r.labelsAgain(ctx); err != nil {
			return err
		}
	}
	if changes&wire.NamesChange != 0 {
		r.compiler().discover(ctx)
	}
	if changes&wire.AddAgent == 0 {
		return nil
	}
	// Metrics of a restarted agent may have lost their counts.
	if err := r.from.validate(ctx, r.plan.tasks); err != nil {
		return err
	}
	return r.out.mark()
}

// prepare replaces the metric numbers in r.res with those of the archive, and stores the
// collector's in r.ids. It returns the metrics in event records whose metadata the archive
// lacks.
func (r *Recorder) prepare(g *group) ([]pcp.PMID, error) {
	if r.raw.Sets > 0 {
		r.ids = append(r.ids[:0], g.ids...)
		return nil, nil
	}
	var events []pcp.PMID
	r.ids = r.ids[:0]
	for i := range r.res.Sets {
		s := &r.res.Sets[i]
		r.ids = append(r.ids, s.PMID)
		if t := r.plan.typeOf(s.PMID); t == pcp.TypeEvent || t == pcp.TypeHighResEvent {
			for _, v := range s.Values {
				records, err := v.As(t).EventRecords()
				if err != nil {
					return nil, fmt.Errorf("event records of %v: %w", s.PMID, err)
				}
				for _, rec := range records {
					for _, p := range rec.Params {
						if _, ok := r.written[p.PMID]; !ok && !slices.Contains(events, p.PMID) {
							events = append(events, p.PMID)
						}
					}
				}
			}
		}
		s.PMID = s.PMID.Logged()
	}
	return events, nil
}
