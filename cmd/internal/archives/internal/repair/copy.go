package repair

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// A copier writes the kept records.
type copier struct {
	*run
	ctx  context.Context
	out  Output
	res  pcp.Result
	body []byte

	next  int // of meta.list
	lostM int // of meta.lost
	bases map[pcp.InDom]bool

	last    pcp.Timestamp
	before  []byte // the last record, if some are out of order
	end     int64  // where it ended
	written bool
	mark    bool // the last record is one
	gap     bool // unknown bytes are lost behind it
	doubt   bool // descriptors were dropped: no record is known to match

	gone map[loser]*Drop
}

// A loser is the reason for dropping values of a metric.
type loser struct {
	id  pcp.PMID
	why string
}

// metaUpTo writes the metadata up to t, all if it is nil.
func (c *copier) metaUpTo(t *pcp.Timestamp) error {
	m := c.meta
	for ; c.next < len(m.list); c.next++ {
		r := &m.list[c.next]
		for c.lostM < len(m.lost) && m.lost[c.lostM].from < r.off {
			c.loseMeta()
		}
		if r.bad != "" {
			c.drop(Drop{File: m.in.Name, Offset: r.off, Bytes: int64(r.n), Records: 1, Why: r.bad})
			continue
		}
		if t != nil && r.timed() && r.time().Compare(*t) > 0 {
			return nil
		}
		body := m.body(r)
		if body == nil {
			return fmt.Errorf("%s: offset %d: %w", m.in.Name, r.off, errChanged)
		}
		switch r.typ {
		case archive.MetaInDom, archive.MetaInDomV2:
			c.bases[pcp.InDom(r.id)] = true
		case archive.MetaInDomDelta:
			if !c.bases[pcp.InDom(r.id)] {
				var err error
				if body, err = c.base(r, body); err != nil {
					return err
				}
				if body == nil {
					continue
				}
			}
		}
		if err := c.out.WriteMeta(body); err != nil {
			return err
		}
	}
	if t == nil {
		for c.lostM < len(m.lost) {
			c.loseMeta()
		}
	}
	return nil
}

func (c *copier) loseMeta() {
	c.loseIn(c.meta.in, c.meta.lost[c.lostM], c.metaBad)
	c.lostM++
}

// base turns a delta to a lost record into a full record of the added instances.
// It returns nil if there are none.
func (c *copier) base(r *metaRecord, body []byte) ([]byte, error) {
	rec, err := archive.DecodeMeta(body, c.label.Version)
	if err != nil {
		return nil, err
	}
	var s archive.InDomState
	s.Apply(rec)
	why := fmt.Sprintf("its changes of instance domain %s are lost", rec.InDom)
	if len(s.Instances) == 0 {
		c.drop(Drop{File: c.meta.in.Name, Offset: r.off, Bytes: int64(r.n), Records: 1, Why: why})
		return nil, nil
	}
	c.note(Drop{File: c.meta.in.Name, Offset: r.off, Why: why + ": it becomes a record of what it adds"})
	c.bases[rec.InDom] = true
	full := archive.MetaRecord{Type: archive.MetaInDom, Time: rec.Time, InDom: rec.InDom, Instances: s.Instances}
	return archive.AppendMeta(nil, &full, c.label.Version)
}

// volume writes the records of a volume. List has the complete ones.
func (c *copier) volume(k int, in *input, list []record, lost []loss, badLabel bool) error {
	started := !c.written // the first volume exists already
	told, done := int64(0), int64(0)
	for i := range list {
		r := &list[i]
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if done = r.off; done-told >= windowSize/2 {
			c.progress(done - told)
			told = done
		}
		for len(lost) > 0 && lost[0].from < r.off {
			c.loseIn(in, lost[0], badLabel)
			c.gap = c.gap || lost[0].to > lost[0].from && (!badLabel || lost[0].from > 0)
			lost = lost[1:]
		}
		if r.flags&kept == 0 {
			why := "its time is not between those of the records around it"
			if r.flags&early != 0 {
				why = "its time is before the start of the archive"
			}
			c.drop(Drop{File: in.Name, Offset: r.off, Bytes: int64(r.n), Records: 1, Why: why})
			c.gap = c.gap || r.flags&isMark != 0
			continue
		}
		b := in.at(r.off, int64(r.n))
		if len(b) < int(r.n) {
			return fmt.Errorf("%s: offset %d: %w", in.Name, r.off, errChanged)
		}
		body := b[4 : len(b)-4]
		if c.disorder {
			// Repeated bytes give a record of the same time.
			if c.written && r.off != c.end && r.time() == c.last && bytes.Equal(body, c.before) {
				c.drop(Drop{File: in.Name, Offset: r.off, Bytes: int64(r.n), Records: 1, Why: "it repeats the record before"})
				continue
			}
			c.before, c.end = append(c.before[:0], body...), r.off+int64(r.n)
		}
		if (r.flags&fits == 0 || c.doubt) && r.flags&isMark == 0 {
			var err error
			if body, err = c.filter(in, r, body); err != nil {
				return err
			}
			if body == nil {
				continue
			}
		}
		if !started {
			if err := c.out.NewVolume(); err != nil {
				return err
			}
			started = true
		}
		if err := c.record(r, body); err != nil {
			return err
		}
	}
	for _, l := range lost {
		c.loseIn(in, l, badLabel)
		c.gap = c.gap || l.to > l.from
	}
	c.gap = c.gap || in.End != nil || in.Size == 0
	c.progress(in.Size - told)
	c.flush()
	return nil
}

// record writes a record, with the metadata and perhaps a mark before it.
func (c *copier) record(r *record, body []byte) error {
	t := r.time()
	if err := c.metaUpTo(&t); err != nil {
		return err
	}
	mark := r.flags&isMark != 0
	if c.gap && c.written && !c.mark && !mark {
		at := c.last.Add(archive.MarkGap)
		if at.Compare(t) > 0 {
			at = t
		}
		if err := c.out.Mark(at); err != nil {
			return err
		}
		c.sum.Added++
	}
	c.gap, c.mark, c.last, c.written = false, mark, t, true
	c.sum.Records++
	return c.out.WriteRecord(t, body)
}

// filter returns the contents of a record without its unusable values, nil if
// nothing is left.
func (c *copier) filter(in *input, r *record, body []byte) ([]byte, error) {
	if err := archive.DecodeResult(&c.res, body, c.label.Version); err != nil {
		return nil, fmt.Errorf("%s: offset %d: %w", in.Name, r.off, errChanged)
	}
	sets := c.res.Sets
	before := len(sets)
	values := 0
	c.res.Sets = slices.DeleteFunc(sets, func(set pcp.ValueSet) bool {
		if len(set.Values) == 0 {
			return false
		}
		d := c.meta.desc(set.PMID)
		why := ""
		switch {
		case d == nil:
			why = "it has no descriptor"
		case !like(d, &set):
			why = fmt.Sprintf("they contradict its descriptor: %s", d.Type)
		case d.InDom != pcp.InDomNull && !c.meta.indoms[d.InDom]:
			why = fmt.Sprintf("its instance domain %s is lost", d.InDom)
		default:
			values += len(set.Values)
			return false
		}
		c.dropSet(in, r, set.PMID, len(set.Values), why)
		return true
	})
	switch {
	case len(c.res.Sets) == before:
		return body, nil
	case values == 0:
		c.drop(Drop{File: in.Name, Offset: r.off, Bytes: int64(r.n), Records: 1, Why: "nothing in it is of use without metadata"})
		return nil, nil
	}
	b, err := archive.AppendResult(c.body[:0], &c.res, c.label.Version)
	c.body = b
	if err != nil {
		return nil, fmt.Errorf("%s: offset %d: %w", in.Name, r.off, err)
	}
	return b, nil
}

// dropSet counts the dropped values of a metric by reason.
func (c *copier) dropSet(in *input, r *record, id pcp.PMID, n int, why string) {
	key := loser{id, why}
	d := c.gone[key]
	if d == nil {
		d = &Drop{File: in.Name, Offset: r.off, Why: fmt.Sprintf("values of metric %s: %s", id, why)}
		c.gone[key] = d
	}
	d.Values += int64(n)
}

// flush reports the values that are dropped in a volume.
func (c *copier) flush() {
	list := make([]*Drop, 0, len(c.gone))
	for _, d := range c.gone {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *Drop) int {
		if a.Offset != b.Offset {
			if a.Offset < b.Offset {
				return -1
			}
			return 1
		}
		if a.Why < b.Why {
			return -1
		}
		return 1
	})
	for _, d := range list {
		c.drop(*d)
	}
	clear(c.gone)
}
