package pmcc

import (
	"strings"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
)

// Converted is like Named, but counters are rates per second (netConvValues): an instance that is
// missing from the previous sample, or whose counter has decreased, is left out.
func (m *Manager) Converted(name string) []Named {
	i, ok := m.index[name]
	if !ok || m.descs[i].Sem != pcp.SemCounter {
		return m.Named(name)
	}
	if !m.Sampled() {
		return nil
	}
	names, set := m.names[m.descs[i].InDom], &m.cur.res.Sets[i]
	list := make([]Named, 0, len(set.Values))
	for _, v := range set.Values {
		now, okNow := v.Float64()
		was, okWas := m.Before(name, v.Inst).Number()
		if okNow && okWas && now >= was {
			list = append(list, Named{names[v.Inst], Value{pcp.DoubleValue((now - was) / m.Elapsed()), true}})
		}
	}
	return list
}

// ByName returns values by the names of their instances. Of several of one name the last counts.
func ByName(list []Named) map[string]Value {
	byName := make(map[string]Value, len(list))
	for _, n := range list {
		byName[n.Name] = n.Value
	}
	return byName
}

// Center returns s with fill on both sides of it, n characters wide, as Python's str.center does.
func Center(s string, n int, fill byte) string {
	pad := n - utf8.RuneCountInString(s)
	if pad <= 0 {
		return s
	}
	left := pad/2 + pad&n&1
	return strings.Repeat(string(fill), left) + s + strings.Repeat(string(fill), pad-left)
}
