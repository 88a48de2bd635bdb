package pcp

import "slices"

// A ValFmt is the place of the values of a set (PM_VAL_*).
type ValFmt int32

// Value formats. The numbers are part of the protocol and of the archive format.
const (
	ValInSitu ValFmt = 0 // PM_VAL_INSITU: in the set, 32 bits each
	ValDPtr   ValFmt = 1 // PM_VAL_DPTR: in separate blocks
	ValSPtr   ValFmt = 2 // PM_VAL_SPTR: as ValDPtr; the difference is only who frees a block in C
)

// A ValueSet holds the values of one metric (pmValueSet).
type ValueSet struct {
	PMID   PMID
	Err    Error  // if not 0, the reason for the absence of values (a negative numval)
	ValFmt ValFmt // of Values, meaningless without values
	Values []Value
}

// As gives the type t to the values without a type, as [Value.As] does; t must be
// that of the metric's descriptor. As does nothing if values of type t cannot be
// in situ.
func (vs *ValueSet) As(t Type) {
	if !t.InSitu() {
		return
	}
	for i := range vs.Values {
		if v := &vs.Values[i]; v.typ == TypeUnknown {
			v.typ = t
		}
	}
}

// A Result holds the answer to a fetch (pmResult, pmHighResResult): one set
// for each requested metric, in the order of the request.
type Result struct {
	Time Timestamp
	Sets []ValueSet

	values []Value // Add hands out parts of it, none of them twice
}

// Reset empties r for another use and keeps its memory. The next additions
// overwrite the sets and values that r held.
func (r *Result) Reset() {
	r.Time = Timestamp{}
	r.Sets = r.Sets[:0]
	r.values = r.values[:0]
}

// Grow makes room for that many more sets and values, so that adding them
// allocates nothing.
func (r *Result) Grow(sets, values int) {
	r.Sets = slices.Grow(r.Sets, sets)
	if cap(r.values)-len(r.values) < values {
		r.values = make([]Value, 0, max(values, 2*cap(r.values)))
	}
}

// AddSet appends an empty set for id. Add its values with [Result.Add].
func (r *Result) AddSet(id PMID) {
	if n := len(r.Sets); n < cap(r.Sets) {
		r.Sets = r.Sets[:n+1]
		r.Sets[n] = ValueSet{PMID: id}
		return
	}
	r.Sets = append(r.Sets, ValueSet{PMID: id})
}

// AddError appends a set for id that holds err and no values.
func (r *Result) AddError(id PMID, err Error) {
	r.AddSet(id)
	r.Sets[len(r.Sets)-1].Err = err
}

// Add appends v to the last set. The first value of a set decides its format.
func (r *Result) Add(v Value) {
	vs := &r.Sets[len(r.Sets)-1]
	n := len(vs.Values)
	if n == 0 {
		switch {
		case v.inSitu():
			vs.ValFmt = ValInSitu
		case v.typ == TypeEvent || v.typ == TypeHighResEvent || v.typ == TypeAggregateStatic:
			vs.ValFmt = ValSPtr // as __pmStuffValue does
		default:
			vs.ValFmt = ValDPtr
		}
	}
	room := r.values
	if len(room) == cap(room) || n > 0 && !endsWith(room, vs.Values) {
		// The values of this set move to a place with room after them; those of
		// earlier sets do not move.
		if cap(room)-len(room) <= n {
			room = make([]Value, 0, max(64, 2*cap(room), 2*n))
		}
		room = append(room, vs.Values...)
	}
	room = append(room, v)
	end := len(room)
	vs.Values = room[end-n-1 : end : end]
	r.values = room
}

// AddValues appends n values to the last set, which must be empty, and returns
// them. The caller, a decoder, must overwrite each of them, as they hold old
// contents, and must set the set's format.
func (r *Result) AddValues(n int) []Value {
	if cap(r.values)-len(r.values) < n {
		r.values = make([]Value, 0, max(64, n, 2*cap(r.values)))
	}
	end := len(r.values) + n
	r.values = r.values[:end]
	vs := &r.Sets[len(r.Sets)-1]
	vs.Values = r.values[end-n : end : end]
	return vs.Values
}

// endsWith reports whether tail, which is not empty, is the end of room.
func endsWith(room, tail []Value) bool {
	return len(room) >= len(tail) && &room[len(room)-1] == &tail[len(tail)-1]
}

// Clone returns a copy of r that shares no memory with it.
func (r *Result) Clone() *Result {
	c := &Result{Time: r.Time, Sets: make([]ValueSet, len(r.Sets))}
	n := 0
	for i := range r.Sets {
		n += len(r.Sets[i].Values)
	}
	room := make([]Value, 0, n)
	for i, vs := range r.Sets {
		start := len(room)
		for _, v := range vs.Values {
			v.data = slices.Clone(v.data)
			room = append(room, v)
		}
		vs.Values = room[start:len(room):len(room)]
		c.Sets[i] = vs
	}
	c.values = room
	return c
}

// SortInstances sorts the values of each set by ascending instance
// (pmSortInstances(3)).
func (r *Result) SortInstances() {
	for _, vs := range r.Sets {
		slices.SortStableFunc(vs.Values, func(a, b Value) int {
			switch {
			case a.Inst < b.Inst:
				return -1
			case a.Inst > b.Inst:
				return 1
			}
			return 0
		})
	}
}
