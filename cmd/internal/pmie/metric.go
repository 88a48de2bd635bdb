package pmie

import (
	"fmt"
	"slices"

	"github.com/go-pcp/pcp"
)

// A metric is a metric of one host, as used by one expression.
type metric struct {
	// Fields that each evaluation reads come first.
	from   *series   // the source of its values, nil until it is fetched
	time   float64   // of the last values
	before float64   // the time of last, 0 if last is unset
	last   []float64 // the previous values of a counter
	turn   int       // the turn of from that insts are of, 0 if it is not known
	count  int       // of instances that have values; less than 0 if unknown
	desc   pcp.Desc
	picked []int // which values of from those of the instances are that the rule names

	x    *expr // the fetch
	name string
	conn string // how the host is reached: a host specification or an archive
	host string // its name, "" if it is not known yet

	first   pcp.Desc // the first known descriptor
	current pcp.Desc // the last descriptor from the host, also if the rule cannot use it
	ready   bool     // its metadata are known
	conv    float64  // to canonical units

	given   bool // the rule names the host
	named   int  // instances that the rule names, 0 for all
	insts   []int32
	names   []string // of insts; missing instances are last
	changes int      // of insts, names or count
}

// attach sets the source of the values of a metric.
func (m *metric) attach(s *series) { m.from, m.turn = s, 0 }

// changedInstances replaces the known instances with those of new values, and reports whether they
// differ.
func (ev *evaluator) changedInstances(m *metric) bool {
	values := m.values()
	turn := 0
	if values != nil {
		if turn = m.from.turn; m.turn == turn {
			return false
		}
	}
	m.turn = turn
	same := len(values) == max(m.count, 0)
	for i := 0; same && i < len(values); i++ {
		same = m.insts[i] == values[i].Inst
	}
	if same {
		return false
	}
	old := make(map[int32]int, len(m.insts))
	for i := max(m.count, 0) - 1; i >= 0; i-- {
		old[m.insts[i]] = i
	}
	insts, names := make([]int32, len(values)), make([]string, len(values))
	if m.desc.Sem == pcp.SemCounter && len(values) > len(m.last) {
		m.last = append(m.last, make([]float64, len(values)-len(m.last))...)
	}
	var byInst map[int32]string
	for i, v := range values {
		insts[i] = v.Inst
		if j, ok := old[v.Inst]; ok {
			names[i] = m.names[j]
			if m.desc.Sem == pcp.SemCounter && i != j {
				m.last[i], m.last[j] = m.last[j], m.last[i]
			}
			continue
		}
		if byInst == nil {
			byInst = ev.names(m)
		}
		name, ok := byInst[v.Inst]
		if !ok {
			name = fmt.Sprintf("inst#%d?", v.Inst)
		}
		names[i] = name
		if m.desc.Sem == pcp.SemCounter {
			m.last[i] = 0
		}
	}
	m.insts, m.names, m.count = insts, names, len(values)
	m.changes++
	return true
}

// values returns the values of the last fetch, nil if there are none.
func (m *metric) values() []pcp.Value {
	if m.from == nil || m.from.set == nil {
		return nil
	}
	m.time = m.from.time
	return m.from.set.Values
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
