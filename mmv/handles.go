package mmv

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
)

// A Counter counts upwards (TypeU64, pcp.SemCounter). Each method is one
// atomic operation on the mapped file, allocates nothing, and may be called
// from any goroutine. A nil Counter does nothing.
type Counter slot

// Counter defines a counter with a single value.
func (r *Registry) Counter(def Metric) *Counter {
	return (*Counter)(r.single(counterDef(def), TypeU64))
}

func counterDef(def Metric) Metric {
	if def.Sem == 0 {
		def.Sem = pcp.SemCounter
	}
	if def.Units == (pcp.Units{}) {
		def.Units = pcp.Units{DimCount: 1}
	}
	return def
}

// Inc adds one (mmv_inc(3)).
func (c *Counter) Inc() {
	if c != nil {
		atomic.AddUint64(&c.rec[0], 1)
	}
}

// Add adds n (mmv_add(3)).
func (c *Counter) Add(n uint64) {
	if c != nil {
		atomic.AddUint64(&c.rec[0], n)
	}
}

// Set replaces the count, for a program that gets totals from elsewhere (mmv_set(3)).
func (c *Counter) Set(n uint64) {
	if c != nil {
		atomic.StoreUint64(&c.rec[0], n)
	}
}

// Value returns the count.
func (c *Counter) Value() uint64 {
	if c == nil {
		return 0
	}
	return atomic.LoadUint64(&c.rec[0])
}

// Own returns a handle for a single goroutine. It is faster because it need not
// be atomic; using the Counter or a second Own at the same time loses counts.
func (c *Counter) Own() *OwnCounter {
	if c == nil {
		return nil
	}
	return &OwnCounter{s: (*slot)(c), n: c.rec[0]}
}

// An OwnCounter is a Counter for use by a single goroutine. A nil OwnCounter does
// nothing.
type OwnCounter struct {
	s *slot
	n uint64
}

// Inc adds one.
func (c *OwnCounter) Inc() { c.Add(1) }

// Add adds n. Readers see an aligned word change as a whole.
func (c *OwnCounter) Add(n uint64) {
	if c != nil {
		c.n += n
		c.s.rec[0] = c.n
	}
}

// A Gauge is a number that goes up and down (TypeDouble, pcp.SemInstant). A
// nil Gauge does nothing.
type Gauge slot

// Gauge defines a gauge with a single value.
func (r *Registry) Gauge(def Metric) *Gauge {
	return (*Gauge)(r.single(gaugeDef(def), TypeDouble))
}

func gaugeDef(def Metric) Metric {
	if def.Sem == 0 {
		def.Sem = pcp.SemInstant
	}
	return def
}

// Set replaces the value with one atomic store (mmv_set_value(3)).
func (g *Gauge) Set(v float64) {
	if g != nil {
		atomic.StoreUint64(&g.rec[0], math.Float64bits(v))
	}
}

// Add adds v, which may be negative (mmv_inc_value(3)). Floating point has no
// atomic addition: under contention Add tries again. IntGauge has one.
func (g *Gauge) Add(v float64) {
	if g == nil {
		return
	}
	for {
		old := atomic.LoadUint64(&g.rec[0])
		if atomic.CompareAndSwapUint64(&g.rec[0], old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

// Value returns the value.
func (g *Gauge) Value() float64 {
	if g == nil {
		return 0
	}
	return math.Float64frombits(atomic.LoadUint64(&g.rec[0]))
}

// An IntGauge is a whole number that goes up and down (TypeI64,
// pcp.SemInstant). Each method is one atomic operation. A nil IntGauge does nothing.
type IntGauge slot

// IntGauge defines a gauge of whole numbers with a single value.
func (r *Registry) IntGauge(def Metric) *IntGauge {
	return (*IntGauge)(r.single(gaugeDef(def), TypeI64))
}

// Set replaces the value (mmv_set(3)).
func (g *IntGauge) Set(v int64) {
	if g != nil {
		atomic.StoreUint64(&g.rec[0], uint64(v))
	}
}

// Add adds v, which may be negative (mmv_add(3)).
func (g *IntGauge) Add(v int64) {
	if g != nil {
		atomic.AddUint64(&g.rec[0], uint64(v))
	}
}

// Inc adds one.
func (g *IntGauge) Inc() { g.Add(1) }

// Dec subtracts one.
func (g *IntGauge) Dec() { g.Add(-1) }

// Value returns the value.
func (g *IntGauge) Value() int64 {
	if g == nil {
		return 0
	}
	return int64(atomic.LoadUint64(&g.rec[0]))
}

// A Timer adds up durations (TypeU64 nanoseconds, pcp.SemCounter): its rate is
// the share of time spent. A nil Timer does nothing.
type Timer slot

// Timer defines a timer with a single value. Its units are nanoseconds; those of
// def are ignored.
func (r *Registry) Timer(def Metric) *Timer {
	return (*Timer)(r.single(timerDef(def), TypeU64))
}

func timerDef(def Metric) Metric {
	def.Units = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeNsec}
	return counterDef(def)
}

// Add adds a duration; it ignores negative durations.
func (t *Timer) Add(d time.Duration) {
	if t != nil && d > 0 {
		atomic.AddUint64(&t.rec[0], uint64(d))
	}
}

// Since adds the time since start: defer timer.Since(time.Now()).
func (t *Timer) Since(start time.Time) { t.Add(time.Since(start)) }

// Value returns the sum.
func (t *Timer) Value() time.Duration {
	if t == nil {
		return 0
	}
	return time.Duration(atomic.LoadUint64(&t.rec[0]))
}

// An Elapsed measures the time inside a section, and is correct while one is
// open: the agent adds the time since its start (TypeElapsed, microseconds). One
// section is open at a time: only one goroutine may use an Elapsed. A nil Elapsed does nothing.
type Elapsed slot

// Elapsed defines an elapsed time with a single value.
func (r *Registry) Elapsed(def Metric) *Elapsed {
	return (*Elapsed)(r.single(elapsedDef(def), TypeElapsed))
}

func elapsedDef(def Metric) Metric {
	def.Units = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeUsec}
	return counterDef(def)
}

// Start opens a section (mmv_stats_interval_start(3)). If one is open it is
// ended first.
func (e *Elapsed) Start() {
	if e == nil {
		return
	}
	e.End()
	atomic.StoreUint64(&e.rec[1], uint64(-time.Now().UnixMicro()))
}

// End closes the section and adds its time (mmv_stats_interval_end(3)). The
// format needs two stores for that: a reader in the nanoseconds between them sees
// the section twice. Without an open section End does nothing.
func (e *Elapsed) End() {
	if e == nil {
		return
	}
	start := int64(atomic.LoadUint64(&e.rec[1]))
	if start >= 0 {
		return
	}
	passed := max(0, time.Now().UnixMicro()+start)
	atomic.AddUint64(&e.rec[0], uint64(passed))
	atomic.StoreUint64(&e.rec[1], 0)
}

// Value returns the time in closed sections and the open one.
func (e *Elapsed) Value() time.Duration {
	if e == nil {
		return 0
	}
	v := int64(atomic.LoadUint64(&e.rec[0]))
	if start := int64(atomic.LoadUint64(&e.rec[1])); start < 0 {
		v += max(0, time.Now().UnixMicro()+start)
	}
	return time.Duration(v) * time.Microsecond
}
