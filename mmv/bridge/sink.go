package bridge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
)

// Options configures how foreign metrics appear. The zero Options are right for
// one bridge in a registry.
type Options struct {
	// Prefix is put before all names, with a dot between.
	Prefix string
	// Interval is the time between updates of the values; 0 means a second.
	// Exporter.Refresh updates them at any time.
	Interval time.Duration
	// MaxInstances is the maximum number of instances of a metric; 0 means 2000.
	MaxInstances int
}

// errFull is the error for an instance that was left out.
var errFull = fmt.Errorf("more instances than the bridge allows: %w", -pcp.Error(syscall.ENOSPC))

// A Sink keeps metrics of a registry in step with foreign ones. It must not be
// used by several goroutines at a time: an Exporter ensures that.
type Sink struct {
	reg     *mmv.Registry
	opt     Options
	names   names
	metrics map[any]any // *Metric or *Histogram by key
	list    []*Metric
	round   uint64
	buf     []byte
	noRoom  bool // for labels
	err     error
}

// NewSink returns a sink that adds to reg, which must be able to grow.
func NewSink(reg *mmv.Registry, opt Options) *Sink {
	opt.MaxInstances = cmp.Or(opt.MaxInstances, 2000)
	return &Sink{reg: reg, opt: opt, names: names{}, metrics: map[any]any{}}
}

// Err returns an error for the first metric or instance without room, nil if there is
// none.
func (s *Sink) Err() error { return cmp.Or(s.err, s.reg.Err()) }

func (s *Sink) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// A Def describes a foreign metric.
type Def struct {
	Name   string // foreign; Name converts it to a name of PCP
	Help   string
	Units  pcp.Units
	Sem    pcp.Sem
	Type   mmv.Type // of TypeI64, TypeU64, TypeDouble and TypeString
	Single bool     // has no instances, ever
	Labels []Label  // of the metric as a whole
}

// Metric returns the metric with the given key, any comparable value. The first
// time it calls def for its definition.
func (s *Sink) Metric(key any, def func() Def) *Metric {
	if m, ok := s.metrics[key].(*Metric); ok {
		return m
	}
	d := def()
	m := s.define(s.take(d.Name), d)
	s.metrics[key] = m
	return m
}

// take returns the name of PCP for a foreign name.
func (s *Sink) take(foreign string, suffixes ...string) string {
	if s.opt.Prefix != "" {
		foreign = s.opt.Prefix + "." + foreign
	}
	return s.names.take(Name(foreign), suffixes...)
}

// define defines a metric under a name returned by take.
func (s *Sink) define(name string, d Def) *Metric {
	line, rest, _ := strings.Cut(strings.TrimSpace(d.Help), "\n")
	def := mmv.Metric{Name: name, Sem: d.Sem, Units: d.Units, OneLine: text(line)}
	if rest != "" || len(line) > textMax {
		def.Help = text(d.Help)
	}
	m := &Metric{s: s, typ: d.Type}
	if d.Single {
		m.single = s.reg.Value(def, d.Type)
	} else {
		m.inDom = s.reg.InDom(mmv.InDomDef{})
		def.InDom = m.inDom
		m.vec = s.reg.ValueVec(def, d.Type)
		m.series = map[string]*series{}
	}
	for _, l := range d.Labels {
		s.label(func(l mmv.Label) error { return s.reg.AddMetricLabel(name, l) }, l)
	}
	s.list = append(s.list, m)
	return m
}

const textMax = 255 // of the format

// text returns s as a help text.
func text(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(strings.TrimSpace(s), "?"), "\x00", "?")
	if len(s) > textMax {
		s = clip(s, textMax-3) + "..."
	}
	return s
}

// Label adds a label to all metrics of the registry, if there is room.
func (s *Sink) Label(l Label) { s.label(func(l mmv.Label) error { return s.reg.AddLabel(l) }, l) }

// label adds a label if there is room. A label that does not fit is left out
// without an error, as the name of the instance has the same text.
func (s *Sink) label(add func(mmv.Label) error, l Label) {
	if s.noRoom || l.Name == "" || l.Value == "" {
		return
	}
	name := strings.ReplaceAll(Name(l.Name), ".", "_")
	err := add(mmv.Label{Name: name, Value: strings.ToValidUTF8(l.Value, "?")})
	s.noRoom = errors.Is(err, -pcp.Error(syscall.ENOSPC))
}

// Begin starts a round, in which all foreign metrics are set.
func (s *Sink) Begin() { s.round++ }

// End ends a complete round: a value that was not set becomes NaN, if the metric
// is of floats.
func (s *Sink) End() {
	for _, m := range s.list {
		if m.typ != mmv.TypeDouble {
			continue
		}
		if m.single != nil && m.round != s.round {
			m.single.Set(math.NaN())
		}
		for _, v := range m.series {
			if v.round != s.round {
				v.value.Set(math.NaN())
			}
		}
	}
}

// A Metric is a foreign metric in a registry.
type Metric struct {
	s      *Sink
	typ    mmv.Type
	single *mmv.Value
	round  uint64 // in which single was set
	vec    *mmv.ValueVec
	inDom  *mmv.InDom
	series map[string]*series
}

type series struct {
	value *mmv.Value // nil if there was no room
	round uint64
}

// Single reports whether the metric has no instances.
func (m *Metric) Single() bool { return m.vec == nil }

// Type returns the type of the values.
func (m *Metric) Type() mmv.Type { return m.typ }

// Set sets the value of the instance that labels name, of a metric of floats.
// A metric without instances ignores labels.
func (m *Metric) Set(x float64, labels ...Label) { m.value(labels).Set(x) }

// SetInt is Set for a metric of signed numbers.
func (m *Metric) SetInt(n int64, labels ...Label) { m.value(labels).SetInt(n) }

// SetUint is Set for a metric of unsigned numbers.
func (m *Metric) SetUint(n uint64, labels ...Label) { m.value(labels).SetUint(n) }

// SetString is Set for a metric of texts, of which a file keeps 255 bytes.
func (m *Metric) SetString(text string, labels ...Label) {
	m.value(labels).SetString(clip(text, textMax))
}

func (m *Metric) value(labels []Label) *mmv.Value {
	s := m.s
	if m.vec == nil {
		m.round = s.round
		return m.single
	}
	s.buf = appendInstance(s.buf[:0], labels)
	if v, ok := m.series[string(s.buf)]; ok {
		v.round = s.round
		return v.value
	}
	if len(m.series) >= s.opt.MaxInstances {
		s.fail(fmt.Errorf("bridge: instance %s: %w", s.buf, errFull))
		return nil
	}
	key := string(s.buf)
	name := instanceName(key)
	v := &series{round: s.round}
	m.series[key] = v
	if _, err := m.inDom.Add(name); err != nil {
		s.fail(fmt.Errorf("bridge: instance %s: %w", name, err))
		return nil
	}
	v.value = m.vec.With(name)
	for _, l := range labels {
		s.label(func(l mmv.Label) error { return m.inDom.AddInstanceLabel(name, l) }, l)
	}
	return v.value
}

// A Histogram is a foreign histogram: three metrics, of which that of the
// buckets counts the observations up to the value of the label le.
type Histogram struct {
	count, sum, bucket *Metric
	bounds             []float64
	le                 []string
	labels             []Label
}

// Histogram returns the histogram with the given key. Its metrics have the name
// with sep and then count, sum, and bucket appended.
func (s *Sink) Histogram(key any, sep string, def func() Def) *Histogram {
	if h, ok := s.metrics[key].(*Histogram); ok {
		return h
	}
	d := def()
	name := s.take(d.Name, sep+"count", sep+"sum", sep+"bucket")
	d.Sem = pcp.SemCounter
	h := &Histogram{}
	d.Type = mmv.TypeDouble
	h.sum = s.define(name+sep+"sum", d)
	d.Type, d.Units = mmv.TypeU64, Count()
	h.count = s.define(name+sep+"count", d)
	d.Single = false
	h.bucket = s.define(name+sep+"bucket", d)
	s.metrics[key] = h
	return h
}

// Single reports whether count and sum have no instances.
func (h *Histogram) Single() bool { return h.count.Single() }

// Set sets the number of observations, their sum, and the number of observations
// up to each of bounds. The last bound need not be infinite.
func (h *Histogram) Set(n uint64, sum float64, bounds []float64, cumulative []uint64, labels ...Label) {
	h.count.SetUint(n, labels...)
	h.sum.Set(sum, labels...)
	if len(bounds) == 0 {
		return
	}
	if !slices.Equal(bounds, h.bounds) {
		h.bounds, h.le = slices.Clone(bounds), nil
		for _, b := range bounds {
			h.le = append(h.le, strconv.FormatFloat(b, 'g', -1, 64))
		}
	}
	h.labels = append(append(h.labels[:0], labels...), Label{Name: "le"})
	le := &h.labels[len(h.labels)-1].Value
	for i, text := range h.le {
		*le = text
		h.bucket.SetUint(cumulative[i], h.labels...)
	}
	if !math.IsInf(bounds[len(bounds)-1], 1) {
		*le = "+Inf"
		h.bucket.SetUint(n, h.labels...)
	}
}
