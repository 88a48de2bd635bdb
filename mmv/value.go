package mmv

import (
	"math"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"
)

// A Value is a value of any type, for programs that do not know the type when
// they are written, and for the types without a handle type. Arguments of another
// type are converted as in C; text is only for strings, and numbers are not. Each
// method except SetString is one atomic operation, and a nil Value does nothing: so
// reg.Lookup("products.count", name).Inc() needs no check.
type Value slot

// Value defines a metric of type typ with a single value. The definition is
// not changed: without Sem readers treat it as a counter.
func (r *Registry) Value(def Metric, typ Type) *Value {
	return (*Value)(r.single(def, typ))
}

// Lookup returns the value of a metric for the first of the instances that its
// domain has, or nil if the domain has no such instance. For a metric with a
// single value it ignores instances (mmv_lookup_value_desc(3)).
//
// It finds values by name, and corresponds to C functions: Lookup(metric, inst).Inc()
// is mmv_stats_inc(3), Add is mmv_stats_add(3), Set is mmv_stats_set(3), SetString is
// mmv_stats_set_string(3) and, of a part of a text, mmv_stats_set_strlen(3), Start is
// mmv_stats_interval_start(3); and with a second instance mmv_stats_inc_fallback(3)
// and mmv_stats_add_fallback(3).
func (r *Registry) Lookup(metric string, insts ...string) *Value {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.byName[metric]
	if m == nil {
		return nil
	}
	if m.inDom == nil {
		return (*Value)(m.slots.at(0))
	}
	for _, inst := range insts {
		if _, i, ok := m.inDom.names.get(inst); ok {
			return (*Value)(m.slots.at(i))
		}
	}
	return nil
}

// Type returns the type of the value, TypeNoSupport of a nil one.
func (v *Value) Type() Type {
	if v == nil {
		return TypeNoSupport
	}
	return v.m.typ
}

// Inc adds one (mmv_inc(3)).
func (v *Value) Inc() { v.AddInt(1) }

// AddInt adds n (mmv_add(3), mmv_inc_atomvalue(3)). Sums wrap round as those
// of the type do.
func (v *Value) AddInt(n int64) {
	switch v.Type() {
	case TypeI32, TypeU32:
		atomic.AddUint32(v.half(), uint32(n))
	case TypeI64, TypeU64:
		atomic.AddUint64(&v.rec[0], uint64(n))
	case TypeFloat, TypeDouble:
		v.Add(float64(n))
	case TypeElapsed:
		v.addElapsed(n)
	}
}

// AddUint is AddInt for numbers that do not fit into an int64.
func (v *Value) AddUint(n uint64) {
	if t := v.Type(); t == TypeFloat || t == TypeDouble {
		v.Add(float64(n))
		return
	}
	v.AddInt(int64(n))
}

// Add adds x (mmv_inc_value(3)); types without fractions add its whole part.
// Added to an elapsed time a negative x opens a section, being minus the time of
// day in microseconds, and any other x closes it.
func (v *Value) Add(x float64) {
	switch v.Type() {
	case TypeFloat:
		for p := v.half(); ; {
			old := atomic.LoadUint32(p)
			if atomic.CompareAndSwapUint32(p, old, math.Float32bits(math.Float32frombits(old)+float32(x))) {
				return
			}
		}
	case TypeDouble:
		(*Gauge)(v).Add(x)
	default:
		v.AddInt(wholePart(x))
	}
}

// SetInt replaces the value (mmv_set(3), mmv_set_atomvalue(3)).
func (v *Value) SetInt(n int64) {
	switch v.Type() {
	case TypeI32, TypeU32:
		atomic.StoreUint32(v.half(), uint32(n))
	case TypeI64, TypeU64:
		atomic.StoreUint64(&v.rec[0], uint64(n))
	case TypeFloat, TypeDouble:
		v.Set(float64(n))
	case TypeElapsed:
		atomic.StoreUint64(&v.rec[0], uint64(n))
		atomic.StoreUint64(&v.rec[1], 0)
	}
}

// SetUint is SetInt for numbers that do not fit into an int64.
func (v *Value) SetUint(n uint64) {
	if t := v.Type(); t == TypeFloat || t == TypeDouble {
		v.Set(float64(n))
		return
	}
	v.SetInt(int64(n))
}

// Set replaces the value (mmv_set_value(3)).
func (v *Value) Set(x float64) {
	switch v.Type() {
	case TypeFloat:
		atomic.StoreUint32(v.half(), math.Float32bits(float32(x)))
	case TypeDouble:
		(*Gauge)(v).Set(x)
	default:
		v.SetInt(wholePart(x))
	}
}

// SetString replaces the text (mmv_set_string(3)), see [String.Set].
func (v *Value) SetString(text string) {
	if v.Type() == TypeString {
		(*slot)(v).setString(text)
	}
}

// Start opens a section of an elapsed time (mmv_stats_interval_start(3)).
func (v *Value) Start() {
	if v.Type() == TypeElapsed {
		(*Elapsed)(v).Start()
	}
}

// End closes it (mmv_stats_interval_end(3)).
func (v *Value) End() {
	if v.Type() == TypeElapsed {
		(*Elapsed)(v).End()
	}
}

// String returns the value as text: a number as strconv formats it, an
// elapsed time in microseconds.
func (v *Value) String() string {
	switch v.Type() {
	case TypeI32:
		return strconv.FormatInt(int64(int32(atomic.LoadUint32(v.half()))), 10)
	case TypeU32:
		return strconv.FormatUint(uint64(atomic.LoadUint32(v.half())), 10)
	case TypeI64:
		return strconv.FormatInt(int64(atomic.LoadUint64(&v.rec[0])), 10)
	case TypeU64:
		return strconv.FormatUint(atomic.LoadUint64(&v.rec[0]), 10)
	case TypeFloat:
		return strconv.FormatFloat(float64(math.Float32frombits(atomic.LoadUint32(v.half()))), 'g', -1, 32)
	case TypeDouble:
		return strconv.FormatFloat((*Gauge)(v).Value(), 'g', -1, 64)
	case TypeString:
		return (*String)(v).Value()
	case TypeElapsed:
		return strconv.FormatInt(int64((*Elapsed)(v).Value()/time.Microsecond), 10)
	}
	return ""
}

// half returns the first half of the value's word, the place of values of 32 bits
// in either byte order.
func (v *Value) half() *uint32 { return (*uint32)(unsafe.Pointer(&v.rec[0])) }

// addElapsed is mmv_inc_value(3) for an elapsed time.
func (v *Value) addElapsed(n int64) {
	if n < 0 {
		atomic.StoreUint64(&v.rec[1], uint64(n))
		return
	}
	start := atomic.LoadUint64(&v.rec[1])
	atomic.AddUint64(&v.rec[0], start+uint64(n))
	atomic.StoreUint64(&v.rec[1], 0)
}

// wholePart returns x without its fraction, as 64 bits for any integer type.
func wholePart(x float64) int64 {
	switch {
	case x != x:
		return 0
	case x >= 1<<64:
		return -1 // all ones, the largest uint64
	case x >= 1<<63:
		return int64(uint64(x))
	case x < -1<<63:
		return math.MinInt64
	}
	return int64(x)
}
