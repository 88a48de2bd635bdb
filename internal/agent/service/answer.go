package service

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Limits of an answer.
const (
	maxInstances = 10_000 // of a domain
	maxName      = 255    // bytes of an instance
	maxText      = 4096   // bytes of a value
)

// An Answer has the values of one reading.
type Answer struct {
	layout *layout
	tables []table // by number of the domain; 0 has one row, without instances
	empty  bool    // no server has answered
}

// A table has the values of a domain.
type table struct {
	insts []pcp.Instance // sorted once the answer is finished
	rows  [][]cell       // by place in insts
	index map[string]int
	used  map[int32]bool
}

type cell struct {
	v  pcp.Value
	ok bool
}

func newAnswer(l *layout) *Answer {
	a := &Answer{layout: l, tables: make([]table, len(l.keys)), empty: true}
	a.tables[0].rows = [][]cell{make([]cell, l.width[0])}
	for i, d := range l.indoms {
		t := &a.tables[i+1]
		t.index, t.used = make(map[string]int), make(map[int32]bool)
		for n, name := range d.Members {
			t.append(int32(n), name, l.width[i+1])
		}
	}
	return a
}

func (t *table) append(inst int32, name string, width int) int {
	n := len(t.insts)
	t.insts = append(t.insts, pcp.Instance{Inst: inst, Name: name})
	t.rows = append(t.rows, make([]cell, width))
	t.index[name], t.used[inst] = n, true
	return n
}

// Set sets the metrics without instances that have the key.
func (a *Answer) Set(key, text string) { a.set(0, 0, key, text) }

// A Row is an instance of an answer.
type Row struct {
	a         *Answer
	indom, at int
}

// RowOf is Row for an instance that has a number of its own, if no other has that.
func (a *Answer) RowOf(d *InDom, name string, inst int32) Row { return a.row(d, name, inst) }

// Row returns an instance, which it adds if it is new. The row of an instance beyond the limits takes no values.
func (a *Answer) Row(d *InDom, name string) Row { return a.row(d, name, -1) }

func (a *Answer) row(d *InDom, name string, inst int32) Row {
	t := &a.tables[d.number]
	at, ok := t.index[name]
	if !ok {
		if len(t.insts) == maxInstances || name == "" || len(name) > maxName || strings.ContainsRune(name, 0) {
			return Row{}
		}
		if inst < 0 || t.used[inst] {
			inst = t.number(name)
		}
		at = t.append(inst, name, a.layout.width[d.number])
	}
	return Row{a, d.number, at}
}

// number returns the number of an instance, which is the same in each run unless two names have the same.
func (t *table) number(name string) int32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	for n := int32(h.Sum32() & math.MaxInt32); ; n = (n + 1) & math.MaxInt32 {
		if !t.used[n] {
			return n
		}
	}
}

// Set sets the instance's values of the metrics that have the key.
func (r Row) Set(key, text string) {
	if r.a != nil {
		r.a.set(r.indom, r.at, key, text)
	}
}

func (a *Answer) set(indom, row int, key, text string) {
	for _, p := range a.layout.keys[indom][key] {
		if v, ok := parse(text, p.of, p.sem); ok {
			a.tables[indom].rows[row][p.col] = cell{v, true}
		}
	}
}

// parse converts a text. A number with a fraction is truncated for a metric of integers. A counter wraps at the end of its type,
// as counters do; any other number that does not fit has no value.
func parse(text string, of pcp.Type, sem pcp.Sem) (v pcp.Value, ok bool) {
	switch of {
	case pcp.TypeString:
		if len(text) > maxText || strings.ContainsRune(text, 0) {
			return v, false
		}
		return pcp.StringValue(strings.Clone(text)), true
	case pcp.TypeFloat, pcp.TypeDouble:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return v, false
		}
		if of == pcp.TypeFloat {
			return pcp.FloatValue(float32(f)), true
		}
		return pcp.DoubleValue(f), true
	}
	whole, fraction, cut := strings.Cut(text, ".")
	if cut && strings.Trim(fraction, "0123456789") != "" {
		return v, false
	}
	if strings.HasPrefix(whole, "-") {
		n, err := strconv.ParseInt(whole, 10, 64)
		switch {
		case err != nil:
		case of == pcp.Type64:
			return pcp.Int64Value(n), true
		case of == pcp.Type32 && n >= math.MinInt32:
			return pcp.Int32Value(int32(n)), true
		}
		return v, false
	}
	n, err := strconv.ParseUint(whole, 10, 64)
	if err != nil {
		return v, false
	}
	wraps := sem == pcp.SemCounter
	switch of {
	case pcp.TypeU64:
		return pcp.Uint64Value(n), true
	case pcp.Type64:
		return pcp.Int64Value(int64(n)), n <= math.MaxInt64 || wraps
	case pcp.TypeU32:
		return pcp.Uint32Value(uint32(n)), n <= math.MaxUint32 || wraps
	case pcp.Type32:
		return pcp.Int32Value(int32(n)), n <= math.MaxInt32 || wraps
	}
	return v, false
}

// finish sorts the instances by number.
func (a *Answer) finish() {
	for i := range a.tables[1:] {
		t := &a.tables[i+1]
		order := make([]int, len(t.insts))
		for j := range order {
			order[j] = j
		}
		slices.SortFunc(order, func(x, y int) int { return cmp.Compare(t.insts[x].Inst, t.insts[y].Inst) })
		insts, rows := make([]pcp.Instance, len(order)), make([][]cell, len(order))
		for j, from := range order {
			insts[j], rows[j] = t.insts[from], t.rows[from]
		}
		t.insts, t.rows, t.index, t.used = insts, rows, nil, nil
	}
}

// add adds the values of another answer, which is finished.
func (a *Answer) add(b *Answer) {
	a.empty = false
	for i := range b.tables {
		t := &b.tables[i]
		for j, row := range t.rows {
			to := 0
			if i > 0 {
				r := a.RowOf(a.layout.indoms[i-1], t.insts[j].Name, t.insts[j].Inst)
				if r.a == nil {
					continue
				}
				to = r.at
			}
			for col, c := range row {
				if c.ok {
					a.tables[i].rows[to][col] = c
				}
			}
		}
	}
}

// value returns a value: of the domain with a number, the instance at a place, and the metric of a column.
func (a *Answer) value(indom, i, col int) (pcp.Value, error) {
	if t := &a.tables[indom]; i < len(t.rows) && t.rows[i][col].ok {
		return t.rows[i][col].v, nil
	}
	if a.empty {
		return pcp.Value{}, pcp.ErrAgain
	}
	return pcp.Value{}, pmda.ErrNoValue
}

// Text returns the value of a key that has no instances, as pminfo prints it, "" if there is none. It is for tests and messages.
func (a *Answer) Text(key string) string {
	for _, p := range a.layout.keys[0][key] {
		if c := a.tables[0].rows[0][p.col]; c.ok {
			return c.v.String()
		}
	}
	return ""
}
