package pmie

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// A task is a list of rules that are evaluated together, at the same interval.
type task struct {
	delta float64
	rules []*named
	hosts []*host

	epoch float64 // the start of the ticks
	tick  int
	due   float64
	retry float64 // how long until missing metrics are tried again, 0 if nothing is missing

	plan  *plan // nil if trees are evaluated
	trees int   // the number of evaluations before a plan is made
	pause int   // the last initial value of trees
}

// A host is where a task gets metrics from.
type host struct {
	name, conn string
	c          *pmapi.Context
	down       bool
	ids        []pcp.PMID
	series     []*series // of ids, followed by more where metrics of an id differ
	waits      []*metric // that are not there yet
	metrics    []*metric // that were there once
	recheck    bool      // their metadata may be out of date
	res        pcp.Result
	ok         bool // res is the result of the last fetch
	err        error
	pending    pmapi.PendingFetch
	started    bool    // pending must be finished
	flight     *flight // the request under way, nil if there is none
	late       bool    // it is not waited for
	fetches    int     // from an archive in this run, until it is read ahead
	ahead      *readAhead
}

// A series has the values of a metric at a host, for all rules that use them.
type series struct {
	id   pcp.PMID
	typ  pcp.Type
	conv float64
	set  *pcp.ValueSet // of the last fetch, in order of instances; nil if there are no values
	time float64       // of the last values
	nums []float64     // of set, in canonical units
	have bool          // nums are those of set

	insts []int32 // of the last values
	turn  int     // the number of times that they have changed
}

// arrive takes values that were fetched.
func (s *series) arrive(set *pcp.ValueSet, time float64) {
	s.set, s.time = set, time
	same := len(s.insts) == len(set.Values)
	for i := 0; same && i < len(s.insts); i++ {
		same = s.insts[i] == set.Values[i].Inst
	}
	if same {
		return
	}
	s.turn++
	s.insts = s.insts[:0]
	for i := range set.Values {
		s.insts = append(s.insts, set.Values[i].Inst)
	}
}

// numbers returns the values as numbers. Values that are not numbers are 0.
func (s *series) numbers() []float64 {
	if s.have {
		return s.nums
	}
	values := s.set.Values
	if cap(s.nums) < len(values) {
		s.nums = make([]float64, len(values))
	}
	s.nums = s.nums[:len(values)]
	for i := range values {
		f := 0.0
		switch v := &values[i]; {
		case v.Type() == s.typ && s.typ == pcp.TypeU32:
			f = s.conv * float64(uint32(v.Bits()))
		case v.Type() == s.typ && s.typ == pcp.TypeU64:
			f = s.conv * float64(v.Bits())
		case v.Type() == s.typ && s.typ == pcp.Type64:
			f = s.conv * float64(int64(v.Bits()))
		case v.Type() == s.typ && s.typ == pcp.TypeDouble:
			f = s.conv * v.Double()
		default:
			if n, err := v.As(s.typ).Extract(s.typ, pcp.TypeDouble); err == nil {
				f = s.conv * n.Double()
			}
		}
		s.nums[i] = f
	}
	s.have = true
	return s.nums
}

// values returns the values of the last fetch, nil if there are none.
func (m *metric) values() []pcp.Value {
	if m.from == nil || m.from.set == nil {
		return nil
	}
	m.time = m.from.time
	return m.from.set.Values
}

// add adds a rule to the task of its interval.
func (e *Engine) add(r *named, delta float64) {
	if r.x.op == opNone {
		return
	}
	if !(delta > 0) {
		e.fail(fmt.Errorf("%s: delta is %g, it must be greater than 0", e.cfg.Name, delta))
		return
	}
	var t *task
	if n := len(e.tasks); n > 0 && e.tasks[n-1].delta == delta {
		t = e.tasks[n-1]
	} else {
		t = &task{delta: delta}
		e.tasks = append(e.tasks, t)
	}
	e.bundle(t, r.x)
	t.rules = append(t.rules, r)
	r.collect(r.x, nil)
	e.stats.Expected += 1 / delta
}

// bundle makes a task fetch the metrics of an expression.
func (e *Engine) bundle(t *task, x *expr) {
	if x.op == opFetch {
		for _, m := range x.metrics.list {
			h := t.host(m)
			if m.ready {
				e.enlist(t, h, m)
			} else {
				h.waits = append([]*metric{m}, h.waits...)
			}
		}
		return
	}
	if x.arg1 != nil {
		e.bundle(t, x.arg1)
		if x.arg2 != nil {
			e.bundle(t, x.arg2)
		}
	}
}

// host returns where a task gets a metric from.
func (t *task) host(m *metric) *host {
	for _, h := range t.hosts {
		if h.conn == m.conn {
			return h
		}
	}
	h := &host{name: m.host, conn: m.conn}
	t.hosts = append([]*host{h}, t.hosts...)
	return h
}

// enlist adds a metric to those fetched.
func (e *Engine) enlist(t *task, h *host, m *metric) {
	if h.c == nil && !h.down {
		if err := e.begin(t, h); err != nil {
			h.down = true
		}
	}
	if h.down {
		h.waits = append([]*metric{m}, h.waits...)
		return
	}
	m.attach(h.of(m))
	if !slices.Contains(h.metrics, m) {
		h.metrics = append(h.metrics, m)
	}
}

// of returns where the values of a metric come.
func (h *host) of(m *metric) *series {
	for _, s := range h.series {
		if s.id == m.desc.PMID && s.typ == m.desc.Type && s.conv == m.conv {
			return s
		}
	}
	s := &series{id: m.desc.PMID, typ: m.desc.Type, conv: m.conv}
	if slices.Contains(h.ids, s.id) {
		h.series = append(h.series, s)
		return s
	}
	h.series = slices.Insert(h.series, len(h.ids), s)
	h.ids = append(h.ids, s.id)
	return s
}

// begin makes the context of a host.
func (e *Engine) begin(t *task, h *host) error {
	c, err := e.open(h.conn)
	if err != nil {
		return err
	}
	h.c = c
	if a, ok := c.Archive(); ok {
		return e.position(a, timestamp(e.start), t.delta)
	}
	return nil
}

// position positions an archive: the next values are those of a time, and then those of delta
// seconds later.
func (e *Engine) position(a *pmapi.ArchiveContext, start pcp.Timestamp, delta float64) error {
	if err := a.SetMode(e.ctx, pmapi.ModeInterp, &start, seconds(delta)); err != nil {
		return fmt.Errorf("%s: pmSetMode failed: %s", e.cfg.Name, errText(err))
	}
	return nil
}

// fetch fetches the metrics of a task from all hosts at once.
func (e *Engine) fetch(t *task) error {
	clear(e.dead)
	if e.archives != nil {
		for _, h := range t.hosts {
			if h.ok, h.err = false, nil; !h.down && h.c != nil && len(h.ids) > 0 {
				if e.fetchesAhead(t, h) {
					h.err = h.ahead.take(e.ctx, &h.res)
				} else {
					_, h.err = h.c.FetchInto(e.ctx, h.ids, &h.res)
				}
				h.ok = h.err == nil
			}
		}
	} else if err := e.gather(t); err != nil {
		return err
	}
	for _, h := range t.hosts {
		for _, s := range h.series {
			s.set, s.have = nil, false
		}
		err := h.err
		switch {
		case err == nil && h.ok:
			h.distribute()
		case err == nil:
		case e.ctx.Err() != nil:
			return e.ctx.Err()
		case e.archives != nil:
			if pcp.Code(err) == pcp.ErrLogRec {
				return fmt.Errorf("%s: pmFetch failed: %s", e.cfg.Name, errText(err))
			}
		default:
			e.notify(slog.LevelError, fmt.Sprintf("pmFetch from %s failed: %s\n", h.name, errText(err)))
			e.changed(h.conn, isLost)
			h.down = true
			for _, t := range e.tasks {
				for _, r := range t.rules {
					if ms := r.x.metrics; ms != nil && slices.ContainsFunc(ms.list, func(m *metric) bool { return m.conn == h.conn }) {
						r.x.unknown()
					}
				}
			}
		}
	}
	return nil
}

// distribute sets the values of metrics, in order of instances.
func (h *host) distribute() {
	time := real(h.res.Time)
	for i := range h.res.Sets {
		s := &h.res.Sets[i]
		if s.Err == 0 && len(s.Values) > 1 && !slices.IsSortedFunc(s.Values, byInst) {
			slices.SortStableFunc(s.Values, byInst)
		}
	}
	for i, s := range h.series {
		var set *pcp.ValueSet
		if i < len(h.res.Sets) && h.res.Sets[i].PMID == s.id {
			set = &h.res.Sets[i]
		} else if i = slices.IndexFunc(h.res.Sets, func(set pcp.ValueSet) bool { return set.PMID == s.id }); i >= 0 {
			set = &h.res.Sets[i]
		}
		if set != nil && set.Err == 0 && len(set.Values) > 0 {
			s.arrive(set, time)
		}
	}
}

func byInst(a, b pcp.Value) int { return cmp.Compare(a.Inst, b.Inst) }

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

// wraps returns the range of a counter, 0 if it cannot wrap.
func (m *metric) wraps() float64 {
	switch m.desc.Type {
	case pcp.Type32, pcp.TypeU32:
		return 1 << 32
	case pcp.Type64, pcp.TypeU64:
		return 1 << 64
	}
	return 0
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

// find finds the values of the instances that a rule names.
func (m *metric) find() bool {
	if m.turn == m.from.turn {
		return true
	}
	m.picked = m.picked[:0]
	for _, inst := range m.insts[:max(m.count, 0)] {
		k, ok := slices.BinarySearch(m.from.insts, inst)
		if !ok {
			return false
		}
		m.picked = append(m.picked, k)
	}
	m.turn = m.from.turn
	return true
}
