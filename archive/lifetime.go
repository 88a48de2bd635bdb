package archive

import (
	"cmp"
	"slices"

	"github.com/go-pcp/pcp"
)

// A Lifetime has the times when an instance appeared and disappeared.
type Lifetime struct {
	Inst int32
	Name string // the last one it had
	Born pcp.Timestamp
	Died pcp.Timestamp // time of the first record after the last one with it
	Gone bool          // it is not in the last record, and Died is set
}

// Lifetimes returns all instances that an instance domain ever had, each once, in
// the order of pmGetInDomArchive(3): those of the latest record first, by number
// within a record. most is the largest number of instances at any time.
func (m *Meta) Lifetimes(indom pcp.InDom) (list []Lifetime, most int) {
	t := m.indoms[indom]
	if t == nil {
		return nil, 0
	}
	t.once.Do(t.index)
	type entry struct {
		Lifetime
		record int // the latest that has it
	}
	room := make([]entry, 0, len(t.spans))
	last := len(t.records) - 1
	change := make([]int32, len(t.records)+1) // of the number of instances, by record
	for inst, spans := range t.spans {
		e := entry{Lifetime{Inst: inst, Born: t.records[spans[0].record].time}, last}
		there := false
		for _, s := range spans {
			if now := s.name != gone; now != there {
				there = now
				if now {
					change[s.record]++
				} else {
					change[s.record]--
				}
			}
		}
		k := len(spans) - 1
		if spans[k].name == gone {
			e.Gone, e.Died = true, t.records[spans[k].record].time
			e.record = int(spans[k].record) - 1
			k--
		}
		if k < 0 {
			continue
		}
		e.Name = t.names[spans[k].name]
		room = append(room, e)
	}
	n := 0
	for _, c := range change {
		n += int(c)
		most = max(most, n)
	}
	slices.SortFunc(room, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.record, a.record), cmp.Compare(a.Inst, b.Inst))
	})
	list = make([]Lifetime, len(room))
	for i := range room {
		list[i] = room[i].Lifetime
	}
	return list, most
}
