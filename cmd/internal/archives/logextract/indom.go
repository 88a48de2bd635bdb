package logextract

import (
	"slices"
	"sort"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// An indom is an instance domain with its history in all inputs.
type indom struct {
	id     pcp.InDom
	recs   []indomRec
	sorted bool

	labels [2]*labelRec // of the domain and of its instances
	texts  [2]*textRec

	last    []archive.Change // instances of the last record written, version 3 only
	written bool             // a record has been written
	looked  uint64           // number of the last output record for which it was examined
	settled bool             // nothing is left to write at any time
}

// An indomRec is a record of an instance domain, in the order of time.
type indomRec struct {
	stamp   pcp.Timestamp
	typ     archive.MetaType
	body    []byte // from the type on
	delta   *history
	number  int // of it in the history
	written bool
}

// A history is the records of an instance domain in one input, from which
// deltas are put together.
type history struct {
	bodies [][]byte
	state  archive.InDomState // after the first done of them
	done   int
}

// instances returns all instances as of record number n.
func (h *history) instances(n int) ([]archive.Change, error) {
	from := h.done
	if h.done > n+1 {
		from, h.state = 0, archive.InDomState{}
	}
	for i := n; i > from; i-- {
		if archive.MetaType(be(h.bodies[i])) != archive.MetaInDomDelta {
			from = i // nothing before it counts
		}
	}
	for ; from <= n; from++ {
		rec, err := archive.DecodeMeta(h.bodies[from], archive.Version3)
		if err != nil {
			return nil, err
		}
		h.state.Apply(rec)
	}
	h.done = n + 1
	return slices.Clone(h.state.Instances), nil
}

// closest returns the record that holds at a time: of several with the same stamp, the
// record that the C tool finds.
func (d *indom) closest(t pcp.Timestamp) *indomRec {
	if len(d.recs) == 1 {
		return &d.recs[0] // regardless of its time
	}
	if !d.sorted {
		sort.SliceStable(d.recs, func(i, j int) bool { return d.recs[i].stamp.Compare(d.recs[j].stamp) < 0 })
		d.sorted = true
	}
	first, last := 0, len(d.recs)-1
	middle := last / 2
	c := 0
	for first <= last {
		c = d.recs[middle].stamp.Compare(t)
		if c == 0 {
			return &d.recs[middle]
		}
		if c < 0 {
			if middle == len(d.recs)-1 {
				break
			}
			first = middle + 1
		} else {
			if middle == 0 {
				break
			}
			last = middle - 1
		}
		middle = (first + last) / 2
	}
	if d.recs[middle].stamp.Compare(t) < 0 {
		return &d.recs[middle]
	}
	return nil
}

// append appends the contents of a record to be written at a time. In version 3 that is
// a delta if it has no more instances than the domain.
func (d *indom) append(b []byte, rec *indomRec, t pcp.Timestamp, version int) ([]byte, error) {
	if version < archive.Version3 {
		return archive.AppendMetaCopy(b, rec.body, t, version)
	}
	full := archive.MetaRecord{Type: archive.MetaInDom, Time: t, InDom: d.id}
	if rec.delta != nil {
		list, err := rec.delta.instances(rec.number)
		if err != nil {
			return b, err
		}
		full.Instances = list
	} else {
		m, err := archive.DecodeMeta(rec.body, version)
		if err != nil {
			return b, err
		}
		full.Instances = m.Instances
	}
	old, was := d.last, d.written
	d.last, d.written = full.Instances, true
	if was {
		if delta, ok := archive.InDomDelta(old, d.last); ok {
			return archive.AppendInDomDelta(b, t, d.id, delta)
		}
	}
	if rec.typ != archive.MetaInDom {
		return archive.AppendMeta(b, &full, version)
	}
	return archive.AppendMetaCopy(b, rec.body, t, version)
}
