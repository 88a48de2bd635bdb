package pmie

import (
	"github.com/go-pcp/pcp"
)

// The values of expr.rates.
const (
	ratesUnknown int8 = iota
	ratesYes
	ratesNo
)

// rated reports whether the values of a counter must become rates.
func rated(x *cell) bool {
	if x.rates == ratesUnknown {
		x.rates = ratesNo
		if isRated(x.node) {
			x.rates = ratesYes
		}
	}
	return x.rates == ratesYes
}

func isRated(x *expr) bool {
	if x.metrics.first().desc.Sem != pcp.SemCounter {
		return false
	}
	return isCounted(x)
}

// take stores values of a metric: n from the kth on.
func (x *cell) take(m *metric, k, n, at int) {
	if x.nums != nil {
		copy(x.numbers(0)[at:at+n], m.from.numbers()[k:])
		return
	}
	for i, v := range m.from.set.Values[k : k+n] {
		x.node.strs(0)[at+i], _ = v.As(m.desc.Type).Text()
	}
}

// makeRates makes rates of n counters of a metric, whose values begin at index at.
func (ev *evaluator) makeRates(x *cell, m *metric, at, n int) {
	wrap := 0.0
	if ev.wrap {
		wrap = m.wraps()
	}
	if !rates(x.numbers(0)[at:at+n], m.last, m.time-m.before, wrap) || m.before == 0 {
		x.valid = 0
	}
	m.before = m.time
}

// rates makes rates of counters, given their values delta seconds before. It reports
// whether none of them went back; a counter that went back is left as it is.
func rates(nums, last []float64, delta, wrap float64) bool {
	ok := true
	for j, now := range nums {
		t := now - last[j]
		if t < 0 {
			t += wrap
		}
		t /= delta
		last[j] = now
		if t < 0 {
			ok = false
		} else {
			nums[j] = t
		}
	}
	return ok
}

// missing records that a metric has no values from now on.
func (x *cell) missing(from int) {
	x.valid = 0
	for _, m := range x.metrics.list[from:] {
		m.before = 0
	}
}

// A fetchKind is how a fetch finds its values.
type fetchKind uint8

const (
	fetchOne   fetchKind = iota // one value of each metric
	fetchAll                    // those of all instances
	fetchNamed                  // those of the instances that the rule names
)

// fetch takes the values of a metric that were fetched.
func (ev *evaluator) fetch(x *cell) {
	x.rotate()
	latest := 0.0
	switch x.kind {
	case fetchOne:
		latest = ev.fetchOne(x)
	case fetchAll:
		latest = ev.fetchAll(x)
	case fetchNamed:
		latest = ev.fetchNamed(x)
	}
	if latest > 0 {
		x.samples[0].time = latest
	}
}

// fetchOne returns the time of the values, as do fetchAll and fetchNamed, and 0 if some are missing.
func (ev *evaluator) fetchOne(x *cell) (latest float64) {
	x.valid++
	rates := rated(x)
	for i, m := range x.metrics.list {
		if len(m.values()) != 1 || i >= x.span {
			x.missing(i)
			return 0
		}
		x.take(m, 0, 1, i)
		if rates {
			ev.makeRates(x, m, i, min(1, len(m.last)))
		}
		latest = max(latest, m.time)
	}
	return latest
}

func (ev *evaluator) fetchAll(x *cell) (latest float64) {
	changed := false
	for _, m := range x.metrics.list {
		if ev.changedInstances(m) {
			changed = true
			m.before = 0
		}
	}
	if changed {
		x.node.instances()
	}
	x.valid++
	rates := rated(x)
	at := 0
	for _, m := range x.metrics.list {
		n := max(m.count, 0)
		if n > 0 {
			x.take(m, 0, n, at)
		}
		if rates {
			ev.makeRates(x, m, at, n)
		}
		at += n
		latest = max(latest, m.time)
	}
	return latest
}

func (ev *evaluator) fetchNamed(x *cell) (latest float64) {
	x.valid++
	rates := rated(x)
	at := 0
	for i, m := range x.metrics.list {
		if m.values() == nil {
			x.missing(i)
			return 0
		}
		n := max(m.count, 0)
		if !m.find() || at+n > x.span {
			x.valid = 0
			m.before = 0
			return 0
		}
		if x.nums != nil {
			to, from := x.numbers(0)[at:], m.from.numbers()
			for j, k := range m.picked {
				to[j] = from[k]
			}
		} else {
			for j, k := range m.picked {
				x.take(m, k, 1, at+j)
			}
		}
		if rates {
			ev.makeRates(x, m, at, n)
		}
		at += n
		latest = max(latest, m.time)
	}
	return latest
}

// isCounted reports whether counters become rates where x is.
func isCounted(x *expr) bool {
	for p := x.parent; p != nil; p = p.parent {
		if p.op == opInstant {
			return false
		}
	}
	return true
}
