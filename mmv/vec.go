package mmv

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/go-pcp/pcp"
)

// A Handle represents one value in a program.
type Handle interface {
	Counter | Gauge | IntGauge | Timer | Elapsed | String | Value
}

// A Vec is a metric with a value for each instance of its domain. T is the
// type of a value's handle: CounterVec is Vec[Counter].
type Vec[T Handle] struct {
	m       *metric
	nowhere *slot // takes values without room
}

// The kinds of metrics over an instance domain.
type (
	CounterVec  = Vec[Counter]
	GaugeVec    = Vec[Gauge]
	IntGaugeVec = Vec[IntGauge]
	TimerVec    = Vec[Timer]
	ElapsedVec  = Vec[Elapsed]
	StringVec   = Vec[String]
	ValueVec    = Vec[Value]
)

// CounterVec defines a counter over an instance domain.
func (r *Registry) CounterVec(def Metric) *CounterVec {
	return newVec[Counter](r, counterDef(def), TypeU64)
}

// GaugeVec defines a gauge over an instance domain.
func (r *Registry) GaugeVec(def Metric) *GaugeVec {
	return newVec[Gauge](r, gaugeDef(def), TypeDouble)
}

// IntGaugeVec defines a gauge of whole numbers over an instance domain.
func (r *Registry) IntGaugeVec(def Metric) *IntGaugeVec {
	return newVec[IntGauge](r, gaugeDef(def), TypeI64)
}

// TimerVec defines a timer over an instance domain.
func (r *Registry) TimerVec(def Metric) *TimerVec {
	return newVec[Timer](r, timerDef(def), TypeU64)
}

// ElapsedVec defines an elapsed time over an instance domain.
func (r *Registry) ElapsedVec(def Metric) *ElapsedVec {
	return newVec[Elapsed](r, elapsedDef(def), TypeElapsed)
}

// StringVec defines a text over an instance domain.
func (r *Registry) StringVec(def Metric) *StringVec {
	return newVec[String](r, stringDef(def), TypeString)
}

// ValueVec defines a metric of type typ over an instance domain. The
// definition is not changed.
func (r *Registry) ValueVec(def Metric, typ Type) *ValueVec {
	return newVec[Value](r, def, typ)
}

// newVec defines a metric whose handles are of type T.
func newVec[T Handle](r *Registry, def Metric, typ Type) *Vec[T] {
	m := r.define(def, typ, true)
	refused := &metric{typ: typ}
	refused.slots.grow(refused, 1, false)
	return &Vec[T]{m: m, nowhere: refused.slots.at(0)}
}

// handle returns the slot s as a handle: each Handle is a slot underneath.
func (v *Vec[T]) handle(s *slot) *T { return (*T)(unsafe.Pointer(s)) }

// With returns the value of the instance name, which it adds to the instance
// domain if it is new. Keep the handle where you can: a look-up costs more than a
// count. If there is no room for another instance, counts are dropped and the
// registry's Err reports it.
func (v *Vec[T]) With(name string) *T {
	if v == nil {
		return nil
	}
	if d := v.m.inDom; d != nil {
		if _, i, ok := d.names.get(name); ok {
			return v.handle(v.m.slots.at(i))
		}
	}
	return v.add(name, nil)
}

// WithLabels is With for an instance that gets labels when it is added
// (mmv_stats_add_instance_label(3)). If the domain already has the instance,
// labels are ignored.
func (v *Vec[T]) WithLabels(name string, labels ...Label) *T {
	if v == nil {
		return nil
	}
	return v.add(name, labels)
}

// add is With for a name that may be new.
func (v *Vec[T]) add(name string, labels []Label) *T {
	r, d := v.m.r, v.m.inDom
	if r == nil || d == nil { // the definition was refused
		return v.handle(v.nowhere)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, i, ok := d.names.get(name); ok {
		return v.handle(v.m.slots.at(i))
	}
	i, err := r.addInstance(d, d.free(), strings.Clone(name)) // it may be part of a large string
	if err != nil {
		r.fail(fmt.Errorf("instance %q: %w", name, err))
		return v.handle(v.nowhere)
	}
	for _, l := range labels {
		if err := r.addLabel(pcp.LabelInstances, d.def.Serial, d.insts[i].Inst, l); err != nil {
			r.fail(fmt.Errorf("instance %q: %w", name, err))
		}
	}
	return v.handle(v.m.slots.at(i))
}
