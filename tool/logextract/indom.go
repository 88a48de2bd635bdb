package logextract

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/ctext"
)

// An indom is an instance domain with its history in all inputs.
type indom struct {
	id     pcp.InDom
	recs   []indomRec
	sorted bool

	labels [2]*labelRec // of the domain and of its instances
	texts  [2]*textRec

	last    []member // instances of the last record written, version 3 only
	written bool     // whether there is one
	looked  uint64   // number of the output record for which it was looked at
	settled bool     // nothing is left to write, whatever the time
}

// An indomRec is a record of an instance domain, in the order of time.
type indomRec struct {
	stamp   pcp.Timestamp
	body    []byte // from the type on
	delta   *history
	number  int // of it in the history
	written bool
}

// A history is the records of an instance domain in one input, from which
// deltas are put together.
type history struct {
	bodies  [][]byte
	now     []member // instances after record at
	at      int
	removed []member
}

// A member is an instance; name points into the metadata. A delta that removes
// it has no name.
type member struct {
	inst int32
	name []byte
}

// stampBytes is the length of a time stamp.
func stampBytes(version int) int {
	if version >= archive.Version3 {
		return 12
	}
	return 8
}

// stampOf returns the time stamp of a record of metadata, which follows its type.
func stampOf(body []byte, version int) pcp.Timestamp {
	t, _, _ := archive.RecordTime(body[4:], version)
	return t
}

// putStamp sets the time stamp of a record of metadata.
func putStamp(body []byte, t pcp.Timestamp, version int) {
	if version >= archive.Version3 {
		binary.BigEndian.PutUint32(body[4:], uint32(t.Sec))
		binary.BigEndian.PutUint32(body[8:], uint32(t.Sec>>32))
		binary.BigEndian.PutUint32(body[12:], uint32(t.Nsec))
		return
	}
	binary.BigEndian.PutUint32(body[4:], uint32(t.Sec))
	binary.BigEndian.PutUint32(body[8:], uint32(t.Nsec/1000))
}

// metaVersion returns the version of the format that a type of records is of.
func metaVersion(t archive.MetaType) int {
	switch t {
	case archive.MetaInDom, archive.MetaInDomDelta, archive.MetaLabel:
		return archive.Version3
	}
	return archive.Version2
}

// members decodes the instances of a record. That it can be, the archive's
// opening has shown.
func members(body []byte) []member {
	b := body[4+stampBytes(metaVersion(archive.MetaType(be(body))))+4:]
	n := int(int32(be(b)))
	if n <= 0 || n > (len(b)-4)/8 {
		return nil
	}
	list := make([]member, n)
	insts, offs, names := b[4:], b[4+4*n:], b[4+8*n:]
	for i := range list {
		list[i].inst = int32(be(insts[4*i:]))
		off := int(int32(be(offs[4*i:])))
		if off < 0 || off > len(names) {
			continue
		}
		name := ctext.Bytes(names[off:])
		list[i].name = name[:len(name):len(name)]
	}
	return list
}

func compareMembers(a, b member) int {
	switch {
	case a.inst < b.inst:
		return -1
	case a.inst > b.inst:
		return 1
	}
	return 0
}

// instances returns all instances as of record number n.
func (h *history) instances(n int) []member {
	isDelta := func(i int) bool { return archive.MetaType(be(h.bodies[i])) == archive.MetaInDomDelta }
	start := n
	for start > h.at && isDelta(start) {
		start--
	}
	if start > h.at || h.at > n {
		for start = n; start > 0 && isDelta(start); start-- {
		}
		h.now = slices.Clone(members(h.bodies[start]))
		slices.SortStableFunc(h.now, compareMembers)
		h.at = start
	}
	for ; h.at < n; h.at++ {
		h.apply(members(h.bodies[h.at+1]))
	}
	return slices.Clone(h.now)
}

// apply makes the changes of a delta.
func (h *history) apply(delta []member) {
	slices.SortStableFunc(delta, compareMembers)
	old := h.now
	list := h.removed[:0]
	for len(old) > 0 || len(delta) > 0 {
		switch {
		case len(delta) == 0 || len(old) > 0 && old[0].inst < delta[0].inst:
			list = append(list, old[0])
			old = old[1:]
		case len(old) == 0 || delta[0].inst < old[0].inst:
			if delta[0].name != nil {
				list = append(list, delta[0])
			}
			delta = delta[1:]
		default:
			if delta[0].name != nil {
				list = append(list, delta[0])
			}
			old, delta = old[1:], delta[1:]
		}
	}
	h.removed, h.now = h.now, list
}

// closest returns the record that holds at a time: of several with the same
// stamp the one that the C tool comes upon.
func (d *indom) closest(t pcp.Timestamp) *indomRec {
	if len(d.recs) == 1 {
		return &d.recs[0] // whatever its time
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

// encode returns the body of a record as it goes out at a time. In version 3
// that is a delta if it is of no more instances than the domain has.
func (d *indom) encode(rec *indomRec, t pcp.Timestamp, version int) []byte {
	typ := archive.MetaType(be(rec.body))
	if version < archive.Version3 {
		putStamp(rec.body, t, version)
		return rec.body
	}
	var list []member
	if rec.delta != nil {
		list = rec.delta.instances(rec.number)
	} else {
		list = members(rec.body)
	}
	old, was := d.last, d.written
	d.last, d.written = list, true
	if was {
		if delta, ok := difference(old, list); ok {
			return appendInDom(nil, archive.MetaInDomDelta, t, d.id, delta)
		}
	}
	if typ != archive.MetaInDom {
		return appendInDom(nil, archive.MetaInDom, t, d.id, list)
	}
	putStamp(rec.body, t, version)
	return rec.body
}

// difference returns what changed, and whether to write that instead of the
// whole: not if an instance has got another name, or nothing has changed. Lists
// that are not sorted are compared as the C tool does, which takes an instance
// in another place for one that went and came.
func difference(old, list []member) (delta []member, ok bool) {
	gone, came := make([]bool, len(old)), make([]bool, len(list))
	changes := 0
	for i, j := 0, 0; i < len(old) || j < len(list); {
		switch {
		case j == len(list) || i < len(old) && old[i].inst < list[j].inst:
			gone[i] = true
			changes++
			i++
		case i == len(old) || old[i].inst > list[j].inst:
			came[j] = true
			changes++
			j++
		case !bytes.Equal(old[i].name, list[j].name):
			return nil, false
		default:
			i++
			j++
		}
	}
	if changes == 0 || changes > len(list) {
		return nil, false
	}
	for i, j := 0, 0; i < len(old) || j < len(list); {
		switch {
		case i < len(old) && !gone[i]:
			i++
		case j < len(list) && !came[j]:
			j++
		case j == len(list) || i < len(old) && old[i].inst < list[j].inst:
			delta = append(delta, member{inst: old[i].inst})
			i++
		default:
			delta = append(delta, list[j])
			j++
		}
	}
	return delta, true
}

// appendInDom appends the body of a record of an instance domain in version 3.
func appendInDom(b []byte, typ archive.MetaType, t pcp.Timestamp, id pcp.InDom, list []member) []byte {
	b = slices.Grow(b, 24+24*len(list))
	b = binary.BigEndian.AppendUint32(b, uint32(typ))
	b = append(b, make([]byte, 12)...)
	putStamp(b, t, archive.Version3)
	b = binary.BigEndian.AppendUint32(b, uint32(id))
	b = binary.BigEndian.AppendUint32(b, uint32(len(list)))
	for _, m := range list {
		b = binary.BigEndian.AppendUint32(b, uint32(m.inst))
	}
	off := 0
	for _, m := range list {
		if m.name == nil {
			b = binary.BigEndian.AppendUint32(b, ^uint32(0))
			continue
		}
		b = binary.BigEndian.AppendUint32(b, uint32(off))
		off += len(m.name) + 1
	}
	for _, m := range list {
		if m.name != nil {
			b = append(append(b, m.name...), 0)
		}
	}
	return b
}
