package archive

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/go-pcp/pcp"
)

// An InDomRecord is an instance domain as of a time: all its instances, sorted
// by number, from then until the next record.
type InDomRecord struct {
	Time      pcp.Timestamp
	Instances []pcp.Instance
}

// A timeline is the history of one instance domain. It keeps records in the form
// of the file, with names by number, which takes no more memory than the file. It
// computes the state at a time on request.
type timeline struct {
	records []indomRecord // by time; of the same time the last one counts
	names   []string      // each once
	byName  map[string]uint32

	// For each instance its names, by record: a look-up is a hash and a binary
	// search, for any number of changes. Built on the first request.
	once  sync.Once
	spans map[int32][]span
}

type indomRecord struct {
	time  pcp.Timestamp
	delta bool
	insts []member // sorted by inst, in the order of the file where equal
}

type member struct {
	inst int32
	name uint32 // number in timeline.names, or gone
}

// gone marks an instance that a delta removes, and in a span a missing instance.
const gone = ^uint32(0)

// A span is the name of an instance from a record on.
type span struct {
	record int32
	name   uint32
}

// add adds a record of the file. Like C, it drops a record without instances, and
// a record that repeats another of the same time, which then counts as the
// latest.
func (t *timeline) add(rec *MetaRecord) {
	if len(rec.Instances) == 0 {
		return
	}
	r := indomRecord{time: rec.Time, delta: rec.Type == MetaInDomDelta, insts: make([]member, len(rec.Instances))}
	for i, c := range rec.Instances {
		r.insts[i] = member{c.Inst, gone}
		if c.Name != nil {
			r.insts[i].name = t.intern(c.Name)
		}
	}
	if !slices.IsSortedFunc(r.insts, compareMembers) {
		slices.SortStableFunc(r.insts, compareMembers)
	}
	// It belongs after all records that are not later, which is nearly always
	// the end.
	i := len(t.records)
	for i > 0 && r.time.Compare(t.records[i-1].time) < 0 {
		i--
	}
	for k := i - 1; k >= 0 && t.records[k].time == r.time; k-- {
		if slices.Equal(t.records[k].insts, r.insts) {
			r = t.records[k]
			t.records = slices.Delete(t.records, k, k+1)
			i--
			break
		}
	}
	t.records = slices.Insert(t.records, i, r)
	t.once, t.spans = sync.Once{}, nil
}

func compareMembers(a, b member) int { return cmp.Compare(a.inst, b.inst) }

func (t *timeline) intern(name []byte) uint32 {
	if n, ok := t.byName[string(name)]; ok {
		return n
	}
	if t.byName == nil {
		t.byName = make(map[string]uint32)
	}
	n, s := uint32(len(t.names)), string(name)
	t.names = append(t.names, s)
	t.byName[s] = n
	return n
}

// at returns the number of the record that applies at a time, -1 if there is none yet.
func (t *timeline) at(when pcp.Timestamp) int {
	return sort.Search(len(t.records), func(i int) bool { return t.records[i].time.Compare(when) > 0 }) - 1
}

// longChain is the number of deltas from which listing instances by the spans is
// faster.
const longChain = 64

// members returns the instances of record i, sorted. They belong to the timeline.
func (t *timeline) members(i int) []member {
	full := i
	for full >= 0 && t.records[full].delta {
		full--
	}
	if i-full > longChain {
		t.once.Do(t.index)
		var set []member
		for inst, s := range t.spans {
			if k := spanAt(s, i); k >= 0 && s[k].name != gone {
				set = append(set, member{inst, s[k].name})
			}
		}
		slices.SortFunc(set, compareMembers)
		return set
	}
	var set []member
	if full >= 0 {
		set = t.records[full].insts
	} // otherwise a delta to nothing, which only a damaged archive has
	for k := full + 1; k <= i; k++ {
		set = applyDelta(nil, set, t.records[k].insts)
	}
	return set
}

// applyDelta appends to room the result of applying delta to set. As in C, it
// ignores a new name for an instance that exists, and the removal of an instance
// that does not.
func applyDelta(room, set, delta []member) []member {
	for len(set) > 0 || len(delta) > 0 {
		switch {
		case len(set) > 0 && len(delta) > 0 && set[0].inst == delta[0].inst:
			if delta[0].name == gone {
				set = set[1:]
			}
			delta = delta[1:]
		case len(set) == 0 || len(delta) > 0 && delta[0].inst < set[0].inst:
			if delta[0].name != gone {
				room = append(room, delta[0])
			}
			delta = delta[1:]
		default:
			room = append(room, set[0])
			set = set[1:]
		}
	}
	return room
}

// each calls yield for all records in the order of time, with their instances,
// valid until it returns.
func (t *timeline) each(yield func(time pcp.Timestamp, set []member) bool) {
	var room, set []member
	for i := range t.records {
		r := &t.records[i]
		switch {
		case !r.delta:
			set = r.insts
		default:
			next := applyDelta(room[:0], set, r.insts)
			if i > 0 && t.records[i-1].delta {
				room = set // the memory of the previous set is free
			} else {
				room = nil
			}
			set = next
		}
		if !yield(r.time, set) {
			return
		}
	}
}

// index builds the spans. Its time grows with the contents of the records, not
// with the number of instances at each of them.
func (t *timeline) index() {
	t.spans = make(map[int32][]span)
	type state struct {
		name   uint32
		record int32 // that last had it
	}
	alive := make(map[int32]state)
	for k := range t.records {
		i, r := int32(k), &t.records[k]
		put := func(inst int32, name uint32) {
			t.spans[inst] = append(t.spans[inst], span{i, name})
		}
		seen := 0
		for _, m := range r.insts {
			old, ok := alive[m.inst]
			switch {
			case ok && old.record == i:
				continue // of equal instances the first
			case r.delta && ok && m.name == gone:
				delete(alive, m.inst)
				put(m.inst, gone)
				continue
			case m.name == gone, r.delta && ok:
				continue
			case !ok || old.name != m.name:
				put(m.inst, m.name)
			}
			alive[m.inst] = state{m.name, i}
			seen++
		}
		if r.delta || seen == len(alive) {
			continue
		}
		for inst, s := range alive {
			if s.record != i {
				delete(alive, inst)
				put(inst, gone)
			}
		}
	}
}

// spanAt returns which of the spans of an instance applies in record i, -1 if none
// does yet.
func spanAt(s []span, i int) int {
	return sort.Search(len(s), func(k int) bool { return int(s[k].record) > i }) - 1
}

// name returns the name that an instance has in record i.
func (t *timeline) name(i int, inst int32) (string, bool) {
	if i < 0 {
		return "", false
	}
	t.once.Do(t.index)
	s := t.spans[inst]
	k := spanAt(s, i)
	if k < 0 || s[k].name == gone {
		return "", false
	}
	return t.names[s[k].name], true
}

// LastName returns the last name that an instance had at any time
// (pmNameInDomArchive(3)).
func (m *Meta) LastName(indom pcp.InDom, inst int32) (string, bool) {
	t := m.indoms[indom]
	if t == nil {
		return "", false
	}
	t.once.Do(t.index)
	s := t.spans[inst]
	for i := len(s) - 1; i >= 0; i-- {
		if s[i].name != gone {
			return t.names[s[i].name], true
		}
	}
	return "", false
}
