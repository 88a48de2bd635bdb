package opentelemetry

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/pushed"
)

// staleBits is the value that marks the end of a series.
const staleBits = 0x7ff0000000000002

// Types of metrics in remote write, the same in both versions.
const (
	typeCounter   = 1
	typeGauge     = 2
	typeHistogram = 3
	typeSummary   = 5
)

// Limits of the descriptions that remote write 1.0 sends apart from the samples.
const (
	maxFamilies   = 10_000
	maxFamilyHelp = 1 << 10
)

// A family describes a metric of Prometheus.
type family struct {
	kind       int
	help, unit string
}

// A promSeries is a series of remote write.
type promSeries struct {
	labels     []pushed.Label
	family     *family // nil if it is not known
	samples    int
	newest     int64 // in milliseconds
	bits       uint64
	histograms int
}

// sample reads a message Sample, the same in both versions, and keeps the newest.
func (s *promSeries) sample(b []byte) error {
	at, bits := int64(0), uint64(0)
	m := message{b: b}
	for m.next() {
		switch {
		case m.is(1, wire64):
			bits = m.bits
		case m.is(2, wireVarint):
			at = int64(m.bits)
		}
	}
	if s.samples++; s.samples == 1 || at >= s.newest {
		s.newest, s.bits = at, bits
	}
	return m.err
}

// write1 takes a request of remote write 1.0.
func (a *Agent) write1(body []byte) (o outcome, err error) {
	m := message{b: body}
	for m.next() { // descriptions first, as series of the same request may need them
		if m.is(3, wireBytes) {
			if err := a.describe(m.data); err != nil {
				return o, err
			}
		}
	}
	if m.err != nil {
		return o, m.err
	}
	p := prometheus{Agent: a, outcome: &o}
	defer p.end()
	m = message{b: body}
	for m.next() {
		if !m.is(1, wireBytes) {
			continue
		}
		var s promSeries
		in := message{b: m.data}
		for in.next() {
			switch {
			case in.is(1, wireBytes):
				if len(s.labels) >= maxLabels {
					return o, errMany("labels", maxLabels)
				}
				var l pushed.Label
				pair := message{b: in.data}
				for pair.next() {
					switch {
					case pair.is(1, wireBytes):
						l.Name = string(pair.data)
					case pair.is(2, wireBytes):
						l.Value = string(pair.data)
					}
				}
				if pair.err != nil {
					return o, pair.err
				}
				s.labels = append(s.labels, l)
			case in.is(2, wireBytes):
				if err := s.sample(in.data); err != nil {
					return o, err
				}
			case in.is(4, wireBytes):
				s.histograms++
			}
		}
		if in.err != nil {
			return o, in.err
		}
		p.series(&s)
	}
	return o, m.err
}

// describe keeps a description of remote write 1.0.
func (a *Agent) describe(b []byte) error {
	var f family
	name := ""
	m := message{b: b}
	for m.next() {
		switch {
		case m.is(1, wireVarint):
			f.kind = int(int32(m.bits))
		case m.is(2, wireBytes):
			name = string(m.data)
		case m.is(4, wireBytes):
			f.help = string(m.data[:min(len(m.data), maxFamilyHelp)])
		case m.is(5, wireBytes):
			f.unit = string(m.data[:min(len(m.data), maxLabels)])
		}
	}
	if m.err != nil || len(name) > maxFamilyHelp {
		return m.err
	}
	a.familyMu.Lock()
	defer a.familyMu.Unlock()
	if _, known := a.families[name]; known || len(a.families) < maxFamilies {
		a.families[name] = &f
	}
	return nil
}

// familyOf returns the description of a series by its name, nil if there is none.
func (a *Agent) familyOf(name string) *family {
	a.familyMu.Lock()
	defer a.familyMu.Unlock()
	if f := a.families[name]; f != nil {
		return f
	}
	for _, suffix := range []string{"_bucket", "_count", "_sum", "_total"} {
		if base, ok := strings.CutSuffix(name, suffix); ok {
			return a.families[base]
		}
	}
	return nil
}

// write2 takes a request of remote write 2.0.
func (a *Agent) write2(body []byte) (o outcome, err error) {
	var symbols [][]byte
	m := message{b: body}
	for m.next() {
		if m.is(4, wireBytes) {
			symbols = append(symbols, m.data)
		}
	}
	if m.err != nil {
		return o, m.err
	}
	symbol := func(ref uint64) (string, error) {
		if ref >= uint64(len(symbols)) {
			return "", fmt.Errorf("symbol %d of %d", ref, len(symbols))
		}
		return string(symbols[ref]), nil
	}
	p := prometheus{Agent: a, outcome: &o}
	defer p.end()
	m = message{b: body}
	for m.next() {
		if !m.is(5, wireBytes) {
			continue
		}
		var s promSeries
		var refs []uint64
		in := message{b: m.data}
		for in.next() {
			switch {
			case in.field == 1:
				if refs = in.varints(refs); len(refs) > 2*maxLabels {
					return o, errMany("labels", maxLabels)
				}
			case in.is(2, wireBytes):
				if err := s.sample(in.data); err != nil {
					return o, err
				}
			case in.is(3, wireBytes):
				s.histograms++
			case in.is(5, wireBytes):
				var f family
				about := message{b: in.data}
				for about.next() && err == nil {
					switch {
					case about.is(1, wireVarint):
						f.kind = int(int32(about.bits))
					case about.is(3, wireVarint):
						f.help, err = symbol(about.bits)
					case about.is(4, wireVarint):
						f.unit, err = symbol(about.bits)
					}
				}
				if err == nil {
					err = about.err
				}
				if err != nil {
					return o, err
				}
				s.family = &f
			}
		}
		if in.err != nil {
			return o, in.err
		}
		if len(refs)%2 != 0 {
			return o, fmt.Errorf("a series with %d references to symbols", len(refs))
		}
		for i := 0; i < len(refs); i += 2 {
			var l pushed.Label
			if l.Name, err = symbol(refs[i]); err == nil {
				l.Value, err = symbol(refs[i+1])
			}
			if err != nil {
				return o, err
			}
			s.labels = append(s.labels, l)
		}
		p.series(&s)
	}
	return o, m.err
}

// prometheus takes the series of one request.
type prometheus struct {
	*Agent
	*outcome
	batch *pushed.Batch
	job   string
}

func (p *prometheus) end() {
	if p.batch != nil {
		p.batch.End()
	}
}

// series takes the newest sample of a series. The older ones count as taken: PCP has the value of now.
func (p *prometheus) series(s *promSeries) {
	name := attribute(s.labels, "__name__")
	job := component(attribute(s.labels, "job"), "unknown_job")
	if p.batch == nil || p.job != job {
		p.end()
		p.batch, p.job = p.Begin(job, nil), job
	}
	full := pushed.Name(job + "." + name)
	if s.histograms > 0 {
		p.outcome.count(p.batch.Reject(reasonUnsupported, "native histogram "+full))
	}
	if s.samples == 0 {
		return
	}
	labels := slices.DeleteFunc(slices.Clone(s.labels), func(l pushed.Label) bool { return l.Name == "__name__" || l.Name == "job" || l.Value == "" })
	inst, labels := instance("", labels)
	if s.bits == staleBits {
		p.batch.Gone(full, inst)
		p.taken += s.samples
		return
	}
	m := pushed.Metric{Name: full, Type: pcp.TypeDouble}
	f := s.family
	if f == nil {
		f = p.familyOf(name)
	}
	m.Sem, m.Units = describe(name, f)
	if f != nil {
		m.Help = f.help
	}
	if d, known := p.batch.Known(full); known && s.family == nil {
		m.Sem, m.Units = d.Sem, d.Units
	}
	err := p.batch.Set(&m, inst, labels, pcp.DoubleValue(math.Float64frombits(s.bits)), time.UnixMilli(s.newest))
	p.outcome.count(err)
	if err == nil {
		p.taken += s.samples - 1
	}
}

// describe returns semantics and units by the description of a metric, which may be nil, and by its name.
func describe(name string, f *family) (pcp.Sem, pcp.Units) {
	parts := strings.Split(name, "_")
	last := parts[len(parts)-1]
	counts := last == "bucket" || last == "count"
	counter := counts || last == "sum" || last == "total"
	if f != nil && f.kind != 0 {
		composed := f.kind == typeHistogram || f.kind == typeSummary
		counter = f.kind == typeCounter || composed && (counts || last == "sum")
		counts = counts && composed
	}
	var u pcp.Units
	switch {
	case counts:
		u.DimCount = 1
	case slices.Contains(parts, "seconds"):
		u.DimTime, u.ScaleTime = 1, pcp.TimeSec
	case slices.Contains(parts, "bytes"):
		u.DimSpace = 1
	}
	if counter {
		return pcp.SemCounter, u
	}
	return pcp.SemInstant, u
}
