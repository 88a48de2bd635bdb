package agenttest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

// Values are values as text by the names of metrics and instances. A metric without
// instances has one named ""; an error is the value of the instance "!".
type Values map[string]map[string]string

// String has a line for each value, in order.
func (v Values) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(v)) {
		for _, inst := range slices.Sorted(maps.Keys(v[name])) {
			fmt.Fprintf(&b, "%s[%s] %s\n", name, inst, v[name][inst])
		}
	}
	return b.String()
}

// Without removes metrics that a test does not compare.
func (v Values) Without(names ...string) Values {
	for _, name := range names {
		delete(v, name)
	}
	return v
}

// Read returns all values of an agent. It wants each to have the type of its metric,
// and each instance to be one of its domain.
func Read(t testing.TB, a Agent) Values {
	t.Helper()
	var names []string
	var ids []pcp.PMID
	for name, id := range a.NameSpace().All() {
		names, ids = append(names, name), append(ids, id)
	}
	res := Fetch(t, a, nil, ids...)
	insts := make(map[pcp.InDom]map[int32]string)
	values := make(Values)
	for i, set := range res.Sets {
		desc, err := a.Desc(t.Context(), ids[i])
		if err != nil {
			t.Fatal(err)
		}
		if desc.InDom != pcp.InDomNull && insts[desc.InDom] == nil {
			list, err := a.Instances(t.Context(), desc.InDom)
			if err != nil {
				t.Fatal(err)
			}
			insts[desc.InDom] = names32(list)
		}
		values[names[i]] = texts(t, names[i], &set, desc, insts[desc.InDom])
	}
	return values
}

func names32(list []pcp.Instance) map[int32]string {
	m := make(map[int32]string)
	for _, inst := range list {
		m[inst.Inst] = inst.Name
	}
	return m
}

// texts returns the values of a metric.
func texts(t testing.TB, metric string, set *pcp.ValueSet, desc pcp.Desc, insts map[int32]string) map[string]string {
	t.Helper()
	m := make(map[string]string)
	if set.Err != 0 {
		m["!"] = set.Err.Error()
	}
	for _, v := range set.Values {
		name, ok := "", true
		if desc.InDom != pcp.InDomNull {
			if name, ok = insts[v.Inst]; !ok {
				t.Errorf("%s: instance %d is not in %v", metric, v.Inst, desc.InDom)
			}
		}
		v = v.As(desc.Type)
		if v.Type() != desc.Type {
			t.Errorf("%s: %s is a value of type %v, want %v", metric, v, v.Type(), desc.Type)
		}
		m[name] = text(v)
	}
	return m
}

// text returns a value with all its digits and characters.
func text(v pcp.Value) string {
	switch v.Type() {
	case pcp.TypeFloat:
		return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
	case pcp.TypeDouble:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	case pcp.TypeString:
		s, _ := v.Text()
		return `"` + s + `"`
	}
	return v.String()
}

// Read returns the values of metrics of the collector, of those instances that are still there
// after the fetch.
func (r *Real) Read(t testing.TB, names ...string) Values {
	t.Helper()
	ids, err := r.LookupName(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Fetch(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	values, insts := make(Values), make(map[pcp.InDom]map[int32]string)
	for i, set := range res.Sets {
		desc, err := r.LookupDesc(t.Context(), ids[i])
		if err != nil {
			t.Fatal(err)
		}
		if desc.InDom != pcp.InDomNull && insts[desc.InDom] == nil {
			list, err := r.GetInDom(t.Context(), desc.InDom)
			if err != nil {
				t.Fatal(err)
			}
			insts[desc.InDom] = names32(list)
		}
		set.Values = slices.DeleteFunc(set.Values, func(v pcp.Value) bool { // of instances that went meanwhile
			_, ok := insts[desc.InDom][v.Inst]
			return desc.InDom != pcp.InDomNull && !ok
		})
		values[names[i]] = texts(t, names[i], &set, desc, insts[desc.InDom])
	}
	return values
}
