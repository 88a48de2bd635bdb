package webapi

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
)

// Limits of the choice of the largest instances.
const (
	// MaxTop is the number of instances of a metric that a client may choose to get.
	MaxTop = 1000

	defaultTop  = 100
	topReserve  = 4 // at most this many times as many instances are sent
	defaultKeep = time.Minute
	longestKeep = time.Hour
)

// A ranking chooses the largest instances of metrics, for all listeners that want the same ones. An instance that is chosen for one metric
// is sent of all metrics with the same domain, so that the rows of a table are complete. An instance is sent
// for some time after it was among the largest, so that lines in a chart have no holes.
type ranking struct {
	top  int
	keep time.Duration

	mu      sync.Mutex
	at      pcp.Timestamp // of the sample before
	metrics map[string]*ranked
}

// A ranked is the state of a metric.
type ranked struct {
	last   map[int32]pcp.Value // the sample before, of counters
	next   map[int32]pcp.Value // an empty map
	chosen map[int32]time.Time // when an instance was among the largest
	sent   map[int32]bool      // with the sample before
	scores []score
}

// A score is a value, of a counter its rate.
type score struct {
	inst int32
	x    float64
}

// A choice has the data of a metric for an event.
type choice struct {
	values []byte  // as appendCompact writes them
	before []byte  // the same, of the sample before: of instances that were not sent with it
	insts  []int32 // that are sent
	rest   int     // instances that are not sent; 0 if their sum is unknown
	sum    float64 // of their values or rates
}

// rank chooses the instances of each metric of a result, and returns the time of the sample before too.
func (r *ranking) rank(names []string, find func(name string) (*metric, *pcp.ValueSet), at pcp.Timestamp) (map[string]*choice, []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seconds := at.Sub(r.at)
	choices := make(map[string]*choice, len(names))
	together := map[pcp.InDom]map[int32]bool{}
	for _, name := range names {
		if m, vs := find(name); m != nil {
			s := r.metrics[name]
			if s == nil {
				s = &ranked{last: map[int32]pcp.Value{}, next: map[int32]pcp.Value{}, chosen: map[int32]time.Time{}}
				r.metrics[name] = s
			}
			s.choose(m, vs, r.top, r.keep, at.Time(), seconds)
			if together[m.desc.InDom] == nil {
				together[m.desc.InDom] = map[int32]bool{}
			}
			for inst := range s.chosen {
				together[m.desc.InDom][inst] = true
			}
		}
	}
	for _, name := range names {
		if m, vs := find(name); m != nil {
			choices[name] = r.metrics[name].collect(m, vs, together[m.desc.InDom])
		}
	}
	before := appendTime(nil, r.at)
	r.at = at
	return choices, before
}

// choose chooses the instances of a metric.
func (s *ranked) choose(m *metric, vs *pcp.ValueSet, top int, keep time.Duration, now time.Time, seconds float64) {
	s.score(m, vs, seconds)
	slices.SortFunc(s.scores, func(a, b score) int { return cmp.Or(cmp.Compare(b.x, a.x), cmp.Compare(a.inst, b.inst)) })
	for _, v := range s.scores[:min(top, len(s.scores))] {
		s.chosen[v.inst] = now
	}
	if len(vs.Values) <= top {
		for i := range vs.Values {
			s.chosen[vs.Values[i].Inst] = now
		}
	}
	s.forget(topReserve*top, now.Add(-keep))
}

// collect returns the values of the instances that were chosen, for this metric or for another one of its domain.
func (s *ranked) collect(m *metric, vs *pcp.ValueSet, chosen map[int32]bool) *choice {
	c := &choice{values: []byte{'['}, before: []byte{'['}}
	sent := make(map[int32]bool, len(chosen))
	for i := range vs.Values {
		v := &vs.Values[i]
		if !chosen[v.Inst] {
			c.rest++
			continue
		}
		sent[v.Inst] = true
		c.insts = append(c.insts, v.Inst)
		c.values = appendPair(c.values, v.Inst, v.As(m.desc.Type))
		if last, ok := s.last[v.Inst]; ok && !s.sent[v.Inst] {
			c.before = appendPair(c.before, v.Inst, last.As(m.desc.Type))
		}
	}
	c.values = append(c.values, ']')
	if c.before = append(c.before, ']'); len(c.before) == 2 {
		c.before = nil
	}
	for _, v := range s.scores {
		if !chosen[v.inst] {
			c.sum += v.x
		}
	}
	if len(s.scores) == 0 { // no rates are known yet, and no sum
		c.rest = 0
	}
	s.last, s.next, s.sent = s.next, s.last, sent
	clear(s.next)
	return c
}

// score computes the values of all instances, and keeps those of counters for the next sample.
func (s *ranked) score(m *metric, vs *pcp.ValueSet, seconds float64) {
	s.scores = s.scores[:0]
	for i := range vs.Values {
		v := &vs.Values[i]
		x, ok := v.As(m.desc.Type).Float64()
		if ok && m.desc.Sem == pcp.SemCounter {
			last, known := s.last[v.Inst]
			s.next[v.Inst] = *v
			x, ok = rate(m.desc.Type, last, *v, seconds)
			ok = ok && known
		}
		if ok && x-x == 0 { // neither NaN nor infinite
			s.scores = append(s.scores, score{v.Inst, x})
		}
	}
}

// rate returns what a counter grew by in a second. There is no rate of a counter that was reset.
func rate(t pcp.Type, last, v pcp.Value, seconds float64) (float64, bool) {
	if seconds <= 0 {
		return 0, false
	}
	last, v = last.As(t), v.As(t)
	if t == pcp.TypeU64 { // differences of large numbers are exact
		return float64(v.Uint64()-last.Uint64()) / seconds, v.Uint64() >= last.Uint64()
	}
	a, _ := last.Float64()
	b, _ := v.Float64()
	return (b - a) / seconds, b >= a
}

// forget removes instances that were not among the largest since a time, and the oldest of those that are too many.
func (s *ranked) forget(most int, since time.Time) {
	for inst, at := range s.chosen {
		if at.Before(since) {
			delete(s.chosen, inst)
		}
	}
	if len(s.chosen) <= most {
		return
	}
	list := make([]int32, 0, len(s.chosen))
	for inst := range s.chosen {
		list = append(list, inst)
	}
	slices.SortFunc(list, func(a, b int32) int { return cmp.Or(s.chosen[a].Compare(s.chosen[b]), cmp.Compare(a, b)) })
	for _, inst := range list[:len(list)-most] {
		delete(s.chosen, inst)
	}
}

// appendPair appends the number and the value of an instance to an array.
func appendPair(b []byte, inst int32, v pcp.Value) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	b = strconv.AppendUint(b, uint64(uint32(inst)), 10)
	return appendValue(append(b, ','), v)
}
