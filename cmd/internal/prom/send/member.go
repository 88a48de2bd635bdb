package send

import (
	"hash/maphash"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
)

// A member is an instance of a metric that has values.
type member struct {
	inst     int32
	labelled int32 // epoch of its labels
	name     string
	own      string     // labels of the instance
	series   *series    // nil: not sent
	more     *[]*series // for further names of the metric, if there are any
	last     int64      // time of its last value
	gap      int64      // between its last two values, 0 if it had one
	seen     bool       // in the set under way
}

// others returns the series of further names.
func (b *member) others() []*series {
	if b.more == nil {
		return nil
	}
	return *b.more
}

// A members has the members of a metric, by instance. Most metrics have one.
type members struct {
	one    *member
	byInst map[int32]*member // if there are several, or were
}

func (s *members) len() int {
	if s.one != nil {
		return 1
	}
	return len(s.byInst)
}

func (s *members) get(inst int32) *member {
	if s.byInst != nil {
		return s.byInst[inst]
	}
	if s.one != nil && s.one.inst == inst {
		return s.one
	}
	return nil
}

func (s *members) put(b *member) {
	switch {
	case s.byInst != nil:
		s.byInst[b.inst] = b
	case s.one == nil || s.one.inst == b.inst:
		s.one = b
	default:
		s.byInst = map[int32]*member{s.one.inst: s.one, b.inst: b}
		s.one = nil
	}
}

func (s *members) drop(inst int32) {
	if s.byInst == nil {
		s.one = nil
		return
	}
	delete(s.byInst, inst)
}

// each calls f with each member, in no order.
func (s *members) each(f func(*member)) {
	if s.one != nil {
		f(s.one)
	}
	for _, b := range s.byInst {
		f(b)
	}
}

// labels returns the labels of a metric, without those of instances.
func (r *reader) labels(d pcp.Desc, at pcp.Timestamp) []pcp.LabelSet {
	sets, known := r.meta.LookupLabels(pcp.LabelContext, uint32(pcp.PMIDNull), at)
	if !known || len(sets) == 0 {
		// The only label of an archive without labels, and of the first records of an archive that has its labels from a later time on.
		if set, err := pcp.StringLabels(pcp.LabelContext, "hostname", r.a.Label().Host); err == nil {
			sets = []pcp.LabelSet{set}
		}
	}
	sets = slices.Clone(sets)
	for _, l := range []struct {
		level pcp.LabelFlags
		ident uint32
	}{
		{pcp.LabelDomain, uint32(d.PMID.Domain())},
		{pcp.LabelInDom, uint32(d.InDom)},
		{pcp.LabelCluster, uint32(d.PMID) &^ 0x3ff},
		{pcp.LabelItem, uint32(d.PMID)},
	} {
		if l.level == pcp.LabelInDom && d.InDom == pcp.InDomNull {
			continue
		}
		more, _ := r.meta.LookupLabels(l.level, l.ident, at)
		sets = append(sets, more...)
	}
	return sets
}

// member makes a member with its series.
func (r *reader) member(m *metric, inst int32, name string, own *pcp.LabelSet, sets []pcp.LabelSet, ok bool) *member {
	b := &member{inst: inst, name: name, labelled: int32(r.epoch)}
	if own != nil {
		b.own = own.JSON
	}
	if !ok {
		r.left.Nameless++
		return b
	}
	pairs := names.Merge(sets, own, inst, name, names.Label)
	for i := range m.names {
		s := r.series(m.names[i].family, pairs)
		if i == 0 {
			b.series = s
		} else if s != nil {
			more := append(b.others(), s)
			b.more = &more
		}
	}
	return b
}

// series returns a series, or nil if another instance has it.
func (r *reader) series(f *remote.Family, pairs []names.Pair) *series {
	labels := make([]remote.Label, 1, len(pairs)+1)
	labels[0] = remote.Label{Name: "__name__", Value: f.Name}
	for _, p := range pairs {
		if v := p.Text(); v != "" && p.Name != "" && p.Name != "__name__" {
			labels = append(labels, remote.Label{Name: p.Name, Value: v})
		}
	}
	labels, key, ok := r.filter.series(labels)
	if !ok {
		return nil
	}
	hash := r.hash(key)
	if s := r.live[hash]; s != nil {
		if !s.dead {
			r.left.Twins++
			return nil
		}
		s.dead = false
		return s
	}
	if name := nameOf(labels); name != f.Name {
		renamed := *f
		renamed.Name = name
		f = r.shared.family(renamed)
	}
	s := &series{base: r.base(labels), family: f, bytes: sizeOf(key, labels)}
	r.live[hash] = s
	return s
}

// sizeOf estimates the size of the labels of a series with a key.
func sizeOf(key string, labels []remote.Label) uint32 {
	return uint32(len(key) + labelBytes*len(labels))
}

// maxBases limits the bases in which the one of a new series is looked for.
const maxBases = 10_000

// base returns the base for labels, which other series may have, too.
func (r *reader) base(labels []remote.Label) *base {
	b := newBase(labels)
	name := labels[b.name].Value
	labels[b.name].Value = ""
	key := r.hash(keyOf(labels))
	labels[b.name].Value = name
	if old := r.bases[key]; old != nil {
		return old
	}
	if r.bases == nil || len(r.bases) >= maxBases {
		r.bases = make(map[hashed]*base)
	}
	b.labels = slices.Clone(labels)
	r.bases[key] = b
	return b
}

func newBase(labels []remote.Label) *base {
	return &base{labels, slices.IndexFunc(labels, func(l remote.Label) bool { return l.Name == nameLabel })}
}

// A hashed is a key, in less memory: there may be a million of them.
type hashed [2]uint64

func (r *reader) hash(key string) hashed {
	return hashed{maphash.String(r.seeds[0], key), maphash.String(r.seeds[1], key)}
}

// kill marks the end of the series of a member. A new member with the same labels revives them.
func (b *member) kill() {
	if b.series != nil {
		b.series.dead = true
	}
	for _, s := range b.others() {
		s.dead = true
	}
}

// replace ends the series of a member that another one has not revived.
func (r *reader) replace(old *member, at int64) {
	if s := old.series; s != nil && s.dead {
		r.endSeries(s, at)
	}
	for _, s := range old.others() {
		if s.dead {
			r.endSeries(s, at)
		}
	}
}

// retire ends the series of a member.
func (r *reader) retire(b *member, at int64) {
	b.kill()
	r.replace(b, at)
}

// endSeries marks the end of a series that is dead.
func (r *reader) endSeries(s *series, at int64) {
	if s.any && at > s.last {
		r.put(s, at, remote.Stale)
		if !r.warm {
			r.sum.stale++
		}
	}
	r.dead = append(r.dead, s)
}
