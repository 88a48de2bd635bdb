package rep

import (
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/pmrep"
)

// A repeater decides when the header is written again: after a number of samples, or with a dynamic header when the
// instances have changed.
type repeater struct {
	every int        // samples; 0: never
	auto  func() int // the number of samples that fit on the terminal, asked for before each; nil: it is every
	lines int        // samples since the last header
	insts []metricInsts
	begun bool // insts are known
}

// metricInsts are the instances of a metric that had values.
type metricInsts struct {
	metric int
	insts  []int32
}

// next counts a sample, and reports whether the header is written before it.
func (r *repeater) next() (due bool) {
	if r.auto != nil {
		r.every = r.auto()
	}
	due = r.lines > 0 && r.every == r.lines || r.auto != nil && r.lines >= r.every
	if due {
		r.lines = 0
	}
	r.lines++
	return due
}

// nextDynamic is next for a dynamic header. It also reports whether that has been written before.
func (r *repeater) nextDynamic(s *pmrep.Sample) (due, again bool) {
	var insts []metricInsts
	for i, values := range s.Results {
		if len(values) == 0 {
			continue
		}
		one := metricInsts{metric: i}
		for _, v := range values {
			one.insts = append(one.insts, v.Inst)
		}
		insts = append(insts, one)
	}
	again = r.begun
	changed := !r.begun || !slices.EqualFunc(insts, r.insts, func(a, b metricInsts) bool {
		return a.metric == b.metric && slices.Equal(a.insts, b.insts)
	})
	if due = len(insts) > 0 && (r.every == r.lines || changed); due {
		r.lines = 0
	}
	r.lines++
	r.insts, r.begun = insts, true
	return due, again
}

// unrank restores the order of instances in ranked values, for lines whose columns or lines are instances.
func unrank(set *pmrep.Set, s *pmrep.Sample) {
	if set.Options().Rank == 0 {
		return
	}
	for i := range s.Results {
		slices.SortStableFunc(s.Results[i], func(a, b pmrep.Value) int { return int(int64(a.Inst) - int64(b.Inst)) })
	}
}
