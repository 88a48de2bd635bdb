package opentelemetry

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/pushed"
)

// Reasons of the agent, besides those of package pushed. The order is that of their numbers.
const (
	reasonMalformed   pushed.Reason = "malformed"   // a request that is not one
	reasonUnsupported pushed.Reason = "unsupported" // a kind of value that the agent does not have
	reasonValue       pushed.Reason = "value"       // values that contradict each other
	reasonBuckets     pushed.Reason = "buckets"     // too many buckets
	reasonBody        pushed.Reason = "body"        // a body that is too long
	reasonToken       pushed.Reason = "token"       // no token, or a wrong one
	reasonBusy        pushed.Reason = "busy"        // too many requests at the same time
)

func reasons() []pushed.Reason {
	return []pushed.Reason{reasonMalformed, reasonUnsupported, reasonValue, reasonBuckets, reasonBody, reasonToken, reasonBusy}
}

// An outcome is what became of the values of a request.
type outcome struct {
	taken    int
	rejected int
	why      error // of the first that was rejected
}

func (o *outcome) count(err error) {
	switch {
	case err == nil:
		o.taken++
		return
	case o.rejected == 0:
		o.why = err
	}
	o.rejected++
}

// A service is the sender of metrics.
type service struct {
	name     string         // as it is in the names of metrics
	identity string         // what the names of its instances begin with
	labels   []pushed.Label // of the resource
}

// attribute returns the value of an attribute, "" if there is none.
func attribute(list []pushed.Label, name string) string {
	for _, l := range list {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// component returns a string as a part of names of metrics.
func component(s, otherwise string) string {
	if s = pushed.LabelName(s); s == "" {
		return otherwise
	}
	if s == "control" { // these are the metrics of the agent
		return "control_"
	}
	return s
}

// serviceOf returns the service with the attributes of a resource.
func serviceOf(list []pushed.Label) service {
	name := attribute(list, "service.name")
	if space := attribute(list, "service.namespace"); space != "" && name != "" {
		name = space + "_" + name
	}
	s := service{name: component(name, "unknown_service")}
	for _, key := range []string{"service.instance.id", "host.name"} {
		if value := attribute(list, key); value != "" {
			s.identity = pushed.LabelName(key) + ":" + value
			break
		}
	}
	for _, l := range list {
		if key := pushed.LabelName(l.Name); key != "" {
			s.labels = append(s.labels, pushed.Label{Name: key, Value: l.Value})
		}
	}
	return s
}

// otlp takes the metrics of a request. An error is about a request that cannot be decoded.
func (a *Agent) otlp(f format, body []byte) (o outcome, err error) {
	resources, err := f.request(body)
	if err != nil {
		return o, err
	}
	for _, b := range resources {
		r, err := f.resource(b)
		if err != nil {
			return o, err
		}
		s := serviceOf(r.attributes)
		for _, b := range r.scopes {
			name, metrics, err := f.scope(b)
			if err != nil {
				return o, err
			}
			common := s.labels
			if name != "" {
				common = append(slices.Clip(common), pushed.Label{Name: "otel_scope_name", Value: name})
			}
			batch := a.Begin(s.name, common)
			for _, b := range metrics {
				if err = a.metric(batch, f, &s, b, &o); err != nil {
					break
				}
			}
			batch.End()
			if err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

func (a *Agent) metric(batch *pushed.Batch, f format, s *service, b []byte, o *outcome) error {
	m, err := f.metric(b)
	if err != nil {
		return err
	}
	units, known := unitsOf(m.unit)
	w := writer{Batch: batch, m: &m, name: pushed.Name(s.name + "." + m.name), units: units, help: strings.TrimSpace(m.description)}
	if !known {
		w.help = strings.TrimSpace(w.help + "\nUnit: " + m.unit)
	}
	for _, b := range m.points {
		var p point
		if err := f.point(m.kind, b, &p); err != nil {
			return err
		}
		w.at = batch.Now()
		if p.time > 0 && p.time <= math.MaxInt64 {
			w.at = time.Unix(0, int64(p.time))
		}
		w.err = nil
		w.inst, w.labels = instance(s.identity, p.attributes)
		w.point(&p)
		o.count(w.err)
	}
	return nil
}

// instance returns the name of the instance with some attributes, and its labels.
func instance(identity string, attributes []pushed.Label) (string, []pushed.Label) {
	list := make([]pushed.Label, 0, len(attributes)+1)
	for _, l := range attributes {
		if key := pushed.LabelName(l.Name); key != "" {
			list = append(list, pushed.Label{Name: key, Value: l.Value})
		}
	}
	slices.SortStableFunc(list, func(a, b pushed.Label) int { return strings.Compare(a.Name, b.Name) })
	name := []byte(identity)
	for _, l := range list {
		name = appendPart(name, l.Name, l.Value)
	}
	return string(name), list
}

// appendPart appends a label to the name of an instance.
func appendPart(name []byte, label, value string) []byte {
	if len(name) > 0 {
		name = append(name, ' ')
	}
	return append(append(append(name, label...), ':'), strings.ToValidUTF8(value, "\ufffd")...)
}

// A writer puts the points of a metric into the table.
type writer struct {
	*pushed.Batch
	m      *metric
	name   string
	units  pcp.Units
	help   string
	at     time.Time
	inst   string
	labels []pushed.Label
	err    error // of the first series of a point that was rejected
}

// put sets or adds a value of the series with a label more.
func (w *writer) put(suffix string, t pcp.Type, sem pcp.Sem, units pcp.Units, label, value string, v pcp.Value, add bool) {
	m := pushed.Metric{Name: w.name + suffix, Type: t, Sem: sem, Units: units, Help: w.help}
	inst, labels := w.inst, w.labels
	if label != "" {
		inst = string(appendPart([]byte(inst), label, value))
		labels = append(slices.Clip(labels), pushed.Label{Name: label, Value: value})
	}
	var err error
	if add {
		err = w.Add(&m, inst, labels, v, w.at)
	} else {
		err = w.Set(&m, inst, labels, v, w.at)
	}
	if w.err == nil {
		w.err = err
	}
}

// reject rejects the point.
func (w *writer) reject(reason pushed.Reason, what string) {
	w.err = w.Reject(reason, "metric "+w.name+": "+what)
}

func (w *writer) point(p *point) {
	delta := w.m.temporality == temporalityDelta
	switch {
	case w.m.kind == kindGauge || w.m.kind == kindSummary:
		delta = false
	case w.m.kind == 0:
		w.reject(reasonUnsupported, "a metric of no known kind")
		return
	case !delta && w.m.temporality != temporalityCumulative:
		w.reject(reasonUnsupported, fmt.Sprintf("aggregation temporality %d", w.m.temporality))
		return
	}
	switch w.m.kind {
	case kindGauge, kindSum:
		if p.flags&flagNoValue != 0 {
			w.Gone(w.name, w.inst)
			return
		}
		w.number(p, delta)
	case kindHistogram:
		w.histogram(p, delta)
	case kindExponential:
		w.exponential(p, delta)
	case kindSummary:
		w.summary(p)
	}
}

func (w *writer) number(p *point, delta bool) {
	sem := pcp.SemInstant
	if w.m.kind == kindSum && w.m.monotonic {
		sem = pcp.SemCounter
	}
	switch {
	case !p.isSet:
		w.reject(reasonValue, "a point without a value")
	case p.isInt && sem == pcp.SemCounter && int64(p.number) < 0,
		!p.isInt && sem == pcp.SemCounter && delta && !(math.Float64frombits(p.number) >= 0):
		w.reject(reasonValue, "a negative count")
	case p.isInt && sem == pcp.SemCounter:
		w.put("", pcp.TypeU64, sem, w.units, "", "", pcp.Uint64Value(p.number), delta)
	case p.isInt:
		w.put("", pcp.Type64, sem, w.units, "", "", pcp.Int64Value(int64(p.number)), delta)
	default:
		w.put("", pcp.TypeDouble, sem, w.units, "", "", pcp.DoubleValue(math.Float64frombits(p.number)), delta)
	}
}

// oneCount is the units of counts.
func oneCount() pcp.Units { return pcp.Units{DimCount: 1} }

// totals puts the metrics that histograms and summaries have besides their buckets.
func (w *writer) totals(p *point, delta bool) {
	w.put(".count", pcp.TypeU64, pcp.SemCounter, oneCount(), "", "", pcp.Uint64Value(p.count), delta)
	if p.hasSum {
		w.put(".sum", pcp.TypeDouble, pcp.SemCounter, w.units, "", "", pcp.DoubleValue(p.sum), delta)
	}
	if p.hasMin {
		w.put(".min", pcp.TypeDouble, pcp.SemInstant, w.units, "", "", pcp.DoubleValue(p.min), false)
	}
	if p.hasMax {
		w.put(".max", pcp.TypeDouble, pcp.SemInstant, w.units, "", "", pcp.DoubleValue(p.max), false)
	}
}

func (w *writer) bucket(le string, n uint64, delta bool) {
	w.put(".bucket", pcp.TypeU64, pcp.SemCounter, oneCount(), "le", le, pcp.Uint64Value(n), delta)
}

// bound writes a bound as Prometheus does.
func bound(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "+Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// gone has all series of a histogram or a summary vanish.
func (w *writer) gone(bounds []string, label, suffix string) {
	for _, s := range []string{".count", ".sum", ".min", ".max"} {
		w.Gone(w.name+s, w.inst)
	}
	for _, b := range bounds {
		w.Gone(w.name+suffix, string(appendPart([]byte(w.inst), label, b)))
	}
}

func (w *writer) histogram(p *point, delta bool) {
	switch {
	case p.flags&flagNoValue != 0: // the buckets vanish when they are not pushed for some time
		w.gone([]string{"+Inf"}, "le", ".bucket")
		return
	case len(p.counts) > maxBuckets:
		w.reject(reasonBuckets, fmt.Sprintf("%d buckets", len(p.counts)))
		return
	case len(p.counts) != 0 && len(p.counts) != len(p.bounds)+1:
		w.reject(reasonValue, fmt.Sprintf("%d buckets and %d bounds", len(p.counts), len(p.bounds)))
		return
	}
	for i, b := range p.bounds {
		if b != b || i > 0 && b <= p.bounds[i-1] {
			w.reject(reasonValue, "the bounds do not grow")
			return
		}
	}
	total := uint64(0)
	for i, n := range p.counts {
		total += n
		if i < len(p.bounds) {
			w.bucket(bound(p.bounds[i]), total, delta)
		}
	}
	w.bucket("+Inf", p.count, delta)
	w.totals(p, delta)
}

// maxScale is the scale to which finer exponential histograms are reduced: four buckets for each power of two.
const maxScale = 2

// ladder returns 2 to the power of i quarters, the same on every machine.
func ladder(i int) float64 {
	quarters := [4]float64{1, 1.189207115002721, 1.4142135623730951, 1.681792830507429}
	return math.Ldexp(quarters[i&3], i>>2)
}

// exponential puts the buckets of an exponential histogram as if they were explicit, those that count something. An upper
// bound of the histogram is le; a bucket of negative numbers has its bound nearer to zero.
func (w *writer) exponential(p *point, delta bool) {
	switch {
	case p.flags&flagNoValue != 0:
		w.gone([]string{"+Inf"}, "le", ".bucket")
		return
	case delta: // the bounds differ from push to push, so they cannot be added
		w.reject(reasonUnsupported, "an exponential histogram with delta temporality")
		return
	case p.scale < -11 || p.scale > 32:
		w.reject(reasonValue, fmt.Sprintf("scale %d", p.scale))
		return
	}
	scale := min(p.scale, maxScale)
	reduce := func(side int) (indexes []int, counts []uint64) {
		for i, n := range p.buckets[side] {
			if n == 0 {
				continue
			}
			at := (int(p.offset[side]) + i) >> (p.scale - scale)
			if last := len(indexes) - 1; last >= 0 && indexes[last] == at {
				counts[last] += n
			} else {
				indexes, counts = append(indexes, at), append(counts, n)
			}
		}
		return indexes, counts
	}
	positive, above := reduce(0)
	negative, below := reduce(1)
	if n := len(positive) + len(negative); n > maxBuckets {
		w.reject(reasonBuckets, fmt.Sprintf("%d buckets", n))
		return
	}
	power := func(i int) float64 { return ladder(i << (maxScale - scale)) }
	total := uint64(0)
	for i := len(negative) - 1; i >= 0; i-- {
		total += below[i]
		w.bucket(bound(-power(negative[i])), total, false)
	}
	if p.zero > 0 {
		total += p.zero
		w.bucket(bound(math.Max(p.zeroThreshold, 0)), total, false)
	}
	for i, n := range above {
		total += n
		if le := power(positive[i] + 1); !math.IsInf(le, 1) {
			w.bucket(bound(le), total, false)
		}
	}
	w.bucket("+Inf", p.count, false)
	w.totals(p, false)
}

func (w *writer) summary(p *point) {
	if len(p.quantiles) > maxBuckets {
		w.reject(reasonBuckets, fmt.Sprintf("%d quantiles", len(p.quantiles)))
		return
	}
	var names []string
	for _, q := range p.quantiles {
		names = append(names, bound(q[0]))
	}
	if p.flags&flagNoValue != 0 {
		w.gone(names, "quantile", ".quantile")
		return
	}
	for i, q := range p.quantiles {
		w.put(".quantile", pcp.TypeDouble, pcp.SemInstant, w.units, "quantile", names[i], pcp.DoubleValue(q[1]), false)
	}
	w.totals(p, false)
}
