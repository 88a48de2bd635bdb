package eval

import (
	"github.com/go-pcp/pcp"
)

// The values of Cell.rates.
const (
	ratesUnknown int8 = iota
	ratesYes
	ratesNo
)

// rated reports whether the values of a counter must become rates.
func rated(x *Cell) bool {
	if x.rates == ratesUnknown {
		x.rates = ratesNo
		if isRated(x.node) {
			x.rates = ratesYes
		}
	}
	return x.rates == ratesYes
}

func isRated(x *Expr) bool {
	if x.Metrics.First().Desc.Sem != pcp.SemCounter {
		return false
	}
	return IsCounted(x)
}

// take stores values of a metric: n from the kth on.
func (x *Cell) take(m *Metric, k, n, at int) {
	if x.Nums != nil {
		copy(x.Numbers(0)[at:at+n], m.from.numbers()[k:])
		return
	}
	for i, v := range m.from.Set.Values[k : k+n] {
		x.node.Strs(0)[at+i], _ = v.As(m.Desc.Type).Text()
	}
}

// makeRates makes rates of n counters of a metric, whose values begin at index at.
func (ev *Evaluator) makeRates(x *Cell, m *Metric, at, n int) {
	wrap := 0.0
	if ev.Wrap {
		wrap = m.wraps()
	}
	if !rates(x.Numbers(0)[at:at+n], m.Last, m.time-m.Before, wrap) || m.Before == 0 {
		x.Valid = 0
	}
	m.Before = m.time
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
func (x *Cell) missing(from int) {
	x.Valid = 0
	for _, m := range x.Metrics.List[from:] {
		m.Before = 0
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
func (ev *Evaluator) fetch(x *Cell) {
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
		x.Samples[0].time = latest
	}
}

// fetchOne returns the time of the values, as do fetchAll and fetchNamed, and 0 if some are missing.
func (ev *Evaluator) fetchOne(x *Cell) (latest float64) {
	x.Valid++
	rates := rated(x)
	for i, m := range x.Metrics.List {
		if len(m.values()) != 1 || i >= x.Span {
			x.missing(i)
			return 0
		}
		if x.Nums != nil {
			x.Nums[x.Samples[0].at+i] = m.from.numbers()[0]
		} else {
			x.take(m, 0, 1, i)
		}
		if rates {
			ev.makeRates(x, m, i, min(1, len(m.Last)))
		}
		latest = max(latest, m.time)
	}
	return latest
}

func (ev *Evaluator) fetchAll(x *Cell) (latest float64) {
	changed := false
	for _, m := range x.Metrics.List {
		if ev.changedInstances(m) {
			changed = true
			m.Before = 0
		}
	}
	if changed {
		x.node.Instances()
	}
	x.Valid++
	rates := rated(x)
	at := 0
	for _, m := range x.Metrics.List {
		n := max(m.Count, 0)
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

func (ev *Evaluator) fetchNamed(x *Cell) (latest float64) {
	x.Valid++
	rates := rated(x)
	at := 0
	for i, m := range x.Metrics.List {
		if m.values() == nil {
			x.missing(i)
			return 0
		}
		n := max(m.Count, 0)
		if !m.find() || at+n > x.Span {
			x.Valid = 0
			m.Before = 0
			return 0
		}
		if x.Nums != nil {
			to, from := x.Numbers(0)[at:], m.from.numbers()
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

// IsCounted reports whether counters become rates where x is.
func IsCounted(x *Expr) bool {
	for p := x.Parent; p != nil; p = p.Parent {
		if p.Op == OpInstant {
			return false
		}
	}
	return true
}
