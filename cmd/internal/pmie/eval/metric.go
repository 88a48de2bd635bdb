package eval

import (
	"fmt"
	"slices"

	"github.com/go-pcp/pcp"
)

// A Metric is a metric of one host, as used by one expression.
type Metric struct {
	// Fields that each evaluation reads come first.
	from   *Series   // the source of its values, nil until it is fetched
	time   float64   // of the last values
	Before float64   // the time of last, 0 if last is unset
	Last   []float64 // the previous values of a counter
	Turn   int       // the turn of from that insts are of, 0 if it is not known
	Count  int       // of instances that have values; less than 0 if unknown
	Desc   pcp.Desc
	picked []int // which values of from those of the instances are that the rule names

	X    *Expr // the fetch
	Name string
	Conn string // how the host is reached: a host specification or an archive
	Host string // its name, "" if it is not known yet

	First   pcp.Desc // the first known descriptor
	Current pcp.Desc // the last descriptor from the host, also if the rule cannot use it
	Ready   bool     // its metadata are known
	Conv    float64  // to canonical units

	Given   bool // the rule names the host
	Named   int  // instances that the rule names, 0 for all
	Insts   []int32
	Names   []string // of insts; missing instances are last
	Changes int      // of insts, names or count
}

// Attach sets the source of the values of a metric.
func (m *Metric) Attach(s *Series) { m.from, m.Turn = s, 0 }

// changedInstances replaces the known instances with those of new values, and reports whether they
// differ.
func (ev *Evaluator) changedInstances(m *Metric) bool {
	values := m.values()
	turn := 0
	if values != nil {
		if turn = m.from.turn; m.Turn == turn {
			return false
		}
	}
	m.Turn = turn
	same := len(values) == max(m.Count, 0)
	for i := 0; same && i < len(values); i++ {
		same = m.Insts[i] == values[i].Inst
	}
	if same {
		return false
	}
	old := make(map[int32]int, len(m.Insts))
	for i := max(m.Count, 0) - 1; i >= 0; i-- {
		old[m.Insts[i]] = i
	}
	insts, names := make([]int32, len(values)), make([]string, len(values))
	if m.Desc.Sem == pcp.SemCounter && len(values) > len(m.Last) {
		m.Last = append(m.Last, make([]float64, len(values)-len(m.Last))...)
	}
	var byInst map[int32]string
	for i, v := range values {
		insts[i] = v.Inst
		if j, ok := old[v.Inst]; ok {
			names[i] = m.Names[j]
			if m.Desc.Sem == pcp.SemCounter && i != j {
				m.Last[i], m.Last[j] = m.Last[j], m.Last[i]
			}
			continue
		}
		if byInst == nil {
			byInst = ev.Names(m)
		}
		name, ok := byInst[v.Inst]
		if !ok {
			name = fmt.Sprintf("inst#%d?", v.Inst)
		}
		names[i] = name
		if m.Desc.Sem == pcp.SemCounter {
			m.Last[i] = 0
		}
	}
	m.Insts, m.Names, m.Count = insts, names, len(values)
	m.Changes++
	return true
}

// values returns the values of the last fetch, nil if there are none.
func (m *Metric) values() []pcp.Value {
	if m.from == nil || m.from.Set == nil {
		return nil
	}
	m.time = m.from.time
	return m.from.Set.Values
}

// wraps returns the range of a counter, 0 if it cannot wrap.
func (m *Metric) wraps() float64 {
	switch m.Desc.Type {
	case pcp.Type32, pcp.TypeU32:
		return 1 << 32
	case pcp.Type64, pcp.TypeU64:
		return 1 << 64
	}
	return 0
}

// find finds the values of the instances that a rule names.
func (m *Metric) find() bool {
	if m.Turn == m.from.turn {
		return true
	}
	m.picked = m.picked[:0]
	for _, inst := range m.Insts[:max(m.Count, 0)] {
		k, ok := slices.BinarySearch(m.from.insts, inst)
		if !ok {
			return false
		}
		m.picked = append(m.picked, k)
	}
	m.Turn = m.from.turn
	return true
}
