package trace

import (
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/trace"
)

// MaxTags is the maximum number of tags of a kind. Records of further tags are refused.
const MaxTags = 1 << 16

// A bucket has the values of a tag in one part of the period.
type bucket struct {
	epoch         int64 // number of the part, from the start of the agent
	count         uint64
	min, max, sum float64
}

// A series has the records of one tag.
type series struct {
	inst  int32
	name  string
	count uint64  // since the start, or a reset
	total float64 // of the values
	last  float64
	ring  []bucket // one more than the buckets: the bucket that is being filled
	live  bool     // has a record since the last reset
}

// add adds a record at a time.
func (s *series) add(epoch int64, value float64) {
	s.count++
	s.total += value
	s.last = value
	b := &s.ring[epoch%int64(len(s.ring))]
	if b.epoch != epoch || b.count == 0 {
		*b = bucket{epoch: epoch, count: 1, min: value, max: value, sum: value}
		return
	}
	b.count++
	b.sum += value
	if value < b.min {
		b.min = value
	}
	if value > b.max {
		b.max = value
	}
}

// recent returns the total of the complete buckets before epoch.
func (s *series) recent(epoch int64) (r bucket) {
	for i := range s.ring {
		b := &s.ring[i]
		if b.count == 0 || b.epoch >= epoch || b.epoch <= epoch-int64(len(s.ring)) {
			continue
		}
		if r.count == 0 {
			r = *b
			continue
		}
		r.count += b.count
		r.sum += b.sum
		r.min, r.max = min(r.min, b.min), max(r.max, b.max)
	}
	return r
}

// A set is the tags of one kind.
type set struct {
	tags map[string]*series // including those before a reset: they keep their numbers
	live []*series          // by number
	sort bool               // live is not in order
}

// A window is all tags of all kinds. The caller has a lock.
type window struct {
	interval time.Duration
	buckets  int
	start    time.Time
	sets     [trace.Counter + 1]set
}

func newWindow(period time.Duration, buckets int, now time.Time) *window {
	w := &window{interval: period / time.Duration(buckets), buckets: buckets, start: now}
	for i := range w.sets {
		w.sets[i].tags = map[string]*series{}
	}
	return w
}

// epoch returns the number of the bucket that is being filled.
func (w *window) epoch(now time.Time) int64 {
	return max(0, int64(now.Sub(w.start)/w.interval))
}

// add adds a record, and reports whether there was room for its tag.
func (w *window) add(epoch int64, r *trace.Record) bool {
	set := &w.sets[r.Kind]
	s := set.tags[string(r.Tag)]
	if s == nil {
		if len(set.tags) >= MaxTags {
			return false
		}
		s = &series{inst: int32(len(set.tags) + 1), name: string(r.Tag), ring: make([]bucket, w.buckets+1)}
		set.tags[s.name] = s
	}
	if !s.live {
		s.live = true
		if n := len(set.live); n > 0 && set.live[n-1].inst > s.inst {
			set.sort = true
		}
		set.live = append(set.live, s)
	}
	s.add(epoch, r.Value)
	return true
}

// reset drops everything except the numbers of tags, and begins a new bucket.
func (w *window) reset(now time.Time) {
	for i := range w.sets {
		set := &w.sets[i]
		for _, s := range set.live {
			s.live, s.count, s.total, s.last = false, 0, 0, 0
			clear(s.ring)
		}
		set.live, set.sort = nil, false
	}
	w.start = now
}

// A stat has the values of a tag.
type stat struct {
	count       uint64
	total, last float64
	recent      bucket // count 0: no records in the period
}

// A view is the tags of one kind at a time.
type view struct {
	insts []pcp.Instance
	stats []stat
}

// view returns the values of a kind. It uses the memory of v for the values; the list of
// instances is new if it has changed, as others may still use the old one.
func (w *window) view(kind trace.Kind, now time.Time, v view) view {
	set := &w.sets[kind]
	if set.sort {
		slices.SortFunc(set.live, func(a, b *series) int { return int(a.inst - b.inst) })
		set.sort = false
	}
	same := len(v.insts) == len(set.live)
	for i := 0; same && i < len(set.live); i++ {
		same = v.insts[i].Inst == set.live[i].inst
	}
	if !same {
		v.insts = make([]pcp.Instance, len(set.live))
		for i, s := range set.live {
			v.insts[i] = pcp.Instance{Inst: s.inst, Name: s.name}
		}
	}
	epoch := w.epoch(now)
	v.stats = v.stats[:0]
	for _, s := range set.live {
		v.stats = append(v.stats, stat{s.count, s.total, s.last, s.recent(epoch)})
	}
	return v
}
