package logreduce

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A metric is a metric of the output.
type metric struct {
	id    pcp.PMID
	name  string
	desc  pcp.Desc // in the input
	out   pcp.Type // in the output
	indom *indom   // nil if it has no instances

	seen instances
}

// instances are those of a metric that were recorded so far.
type instances struct {
	slots []slot
	index map[int32]int32 // slot of an instance; nil while there are few
	fetch []int32         // slots of the last fetch, by position; mostly unchanged

	// The last record, and its interval. Its instances are only marked one by one if
	// the next record has different ones.
	list   []int32 // instances, by place
	at     []int32 // their slots
	listed uint32
}

type slot struct {
	inst     int32
	interval uint32 // number of the last interval in which it was recorded
	inList   bool   // it is in the last record
	written  bool   // the output has a value of it
}

// recorded reports whether there was a value in an interval.
func (s *instances) recorded(sl *slot, interval uint32) bool {
	return sl.interval == interval || sl.inList && s.listed == interval
}

// note notes the instances of a set that was recorded in an interval, with their
// values.
func (s *instances) note(values []byte, interval uint32) {
	n := len(values) / 8
	at := func(k int) int32 { return int32(binary.BigEndian.Uint32(values[8*k:])) }
	if n == len(s.list) {
		k := 0
		for k < n && at(k) == s.list[k] {
			k++
		}
		if k == n {
			s.listed = interval
			return
		}
	}
	for _, at := range s.at {
		sl := &s.slots[at]
		sl.inList, sl.interval = false, s.listed
	}
	was := s.at
	s.list = s.list[:0]
	var slots []int32
	for k := range n {
		inst := at(k)
		found := s.find(inst, was, k)
		if found < 0 {
			found = s.add(inst)
		}
		s.slots[found].inList = true
		s.list, slots = append(s.list, inst), append(slots, found)
	}
	s.at, s.listed = slots, interval
}

// find returns the slot of an instance, -1 if there is none. Last holds the slots of
// the last time, and at is the position to try first.
func (s *instances) find(inst int32, last []int32, at int) int32 {
	if at < len(last) {
		if n := last[at]; s.slots[n].inst == inst {
			return n
		}
	}
	if s.index == nil {
		for i := range s.slots {
			if s.slots[i].inst == inst {
				return int32(i)
			}
		}
		return -1
	}
	if n, ok := s.index[inst]; ok {
		return n
	}
	return -1
}

func (s *instances) add(inst int32) int32 {
	const few = 8
	n := int32(len(s.slots))
	s.slots = append(s.slots, slot{inst: inst})
	if s.index != nil {
		s.index[inst] = n
	} else if len(s.slots) > few {
		s.index = make(map[int32]int32, 2*few)
		for i := range s.slots {
			s.index[s.slots[i].inst] = int32(i)
		}
	}
	return n
}

// An indom is an instance domain with the instances that were last written.
type indom struct {
	id      pcp.InDom
	written bool
	last    []pcp.Instance
	looked  pcp.Timestamp
}

// describe writes the descriptors, in the order of the name space.
func (x *reducer) describe() error {
	for name, err := range x.c.Traverse(context.Background(), "") {
		if err != nil {
			x.complain("Error traversing namespace ... %s", cli.ErrText(err))
			return errAbandon
		}
		if id, ok := x.meta.LookupName(name); ok {
			if err := x.describeOne(name, id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *reducer) describeOne(name string, id pcp.PMID) error {
	desc, err := x.meta.Desc(id)
	if err != nil {
		x.complain("dometric: Error: cannot lookup pmDesc for metric \"%s\": %s", name, cli.ErrText(err))
		return errExit
	}
	switch desc.Type {
	case pcp.TypeAggregate, pcp.TypeAggregateStatic, pcp.TypeEvent, pcp.TypeHighResEvent:
		x.complain("%s: Warning: skipping %s metric", name, desc.Type)
		x.byID[id] = nil // known, but not selected
		return nil
	}
	if !desc.Type.IsNumeric() && desc.Type != pcp.TypeString && desc.Type != pcp.TypeNoSupport {
		x.complain("dometric: Error: metric \"%s\" (%s) has the unknown type %d", name, id, int32(desc.Type))
		return errExit
	}
	if x.byID[id] != nil {
		return nil // by another of its names
	}
	m := &metric{id: id, name: name, desc: desc, out: desc.Type}
	if desc.Sem == pcp.SemCounter {
		switch desc.Type {
		case pcp.Type32:
			m.out = pcp.Type64
		case pcp.TypeU32:
			m.out = pcp.TypeU64
		}
	}
	out := desc
	out.Type = m.out
	body, err := archive.AppendDesc(nil, out, x.meta.Names(id)...)
	if err == nil {
		err = x.out.WriteMeta(body)
	}
	if err != nil {
		x.complain("Error: failed to add pmDesc for %s (%s): %s", name, id, cli.ErrText(err))
		return errExit
	}
	if desc.InDom != pcp.InDomNull {
		if m.indom = x.indoms[desc.InDom]; m.indom == nil {
			m.indom = &indom{id: desc.InDom}
			x.indoms[desc.InDom] = m.indom
		}
	}
	x.describeDebug(m, out)
	x.byID[id] = m
	x.metrics = append(x.metrics, m)
	return nil
}

// putInDoms writes the instance domains of the record whose instances changed since
// they were last written. As in the C tool, they are those of the next fetch.
func (x *reducer) putInDoms(at pcp.Timestamp) (wrote bool, err error) {
	for i := range x.result.Sets {
		vs := &x.result.Sets[i]
		d := x.byID[vs.PMID].indom
		if len(vs.Values) == 0 || d == nil || d.looked == at {
			continue
		}
		d.looked = at
		rec, err := x.meta.InDom(d.id, at)
		if err != nil {
			x.complain("doindom: pmGetInDom (%s) failed: %s", d.id, cli.ErrText(err))
			return wrote, errAbandon
		}
		if sameInstances(d.last, rec.Instances) && (d.written || len(rec.Instances) == 0) {
			continue
		}
		if x.debug.setup {
			fmt.Fprintf(x.env.Stderr, "Add metadata: indom %s for metric %s\n", d.id, vs.PMID)
		}
		if err := x.out.WriteMeta(d.encode(rec.Instances, x.current, x.label.Version)); err != nil {
			x.complain("Error: failed to add pmInDom: indom %s (for pmid %s): %s", d.id, vs.PMID, cli.ErrText(err))
			return wrote, errAbandon
		}
		wrote = true
	}
	return wrote, nil
}

// sameInstances reports whether the numbers are the same; it ignores names.
func sameInstances(a, b []pcp.Instance) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Inst != b[i].Inst {
			return false
		}
	}
	return true
}

// encode returns the record of the instances at a time, and keeps them.
func (d *indom) encode(list []pcp.Instance, t pcp.Timestamp, version int) []byte {
	old, was := d.last, d.written
	d.last, d.written = list, true
	if was && version >= archive.Version3 {
		if delta, ok := difference(old, list); ok {
			if b, err := archive.AppendInDomDelta(nil, t, d.id, delta); err == nil {
				return b
			}
		}
	}
	b, err := archive.AppendInDom(nil, t, d.id, list, version)
	if err != nil {
		panic(fmt.Sprintf("instance domain %s of an archive cannot be written: %v", d.id, err))
	}
	return b
}

// difference returns the changes, and whether to write them instead of the whole
// domain.
func difference(old, list []pcp.Instance) (delta []archive.Change, ok bool) {
	for i, j := 0, 0; i < len(old) || j < len(list); {
		switch {
		case j == len(list) || i < len(old) && old[i].Inst < list[j].Inst:
			delta = append(delta, archive.Change{Inst: old[i].Inst})
			i++
		case i == len(old) || old[i].Inst > list[j].Inst:
			name := list[j].Name
			delta = append(delta, archive.Change{Inst: list[j].Inst, Name: append(make([]byte, 0, len(name)), name...)})
			j++
		case old[i].Name != list[j].Name:
			return nil, false
		default:
			i++
			j++
		}
		if len(delta) > len(list) {
			return nil, false
		}
	}
	return delta, len(delta) > 0
}
