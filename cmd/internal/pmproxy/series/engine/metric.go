package engine

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
)

// A metric is a series, as its description has it.
type metric struct {
	series.Metric
	prom   string      // name in Prometheus
	host   string      // of the archive
	labels []pcp.Label // sorted by name
	within string      // see names.SeriesWithin

	above map[string]string // labels by their names in Prometheus
	fixed map[string]string // those of the context that identify
}

// parseMetric parses the labels of a description. It returns nil if they are not valid: anybody may have written them.
func parseMetric(of map[string]string) *metric {
	m := &metric{host: of[names.SeriesHost], within: of[names.SeriesWithin], above: map[string]string{}, fixed: map[string]string{}}
	m.Name = of[names.SeriesMetric]
	m.prom = names.Metric(m.Name)
	d := &m.Desc
	d.InDom = pcp.InDomNull
	ok := m.Name != ""
	need := func(good bool) { ok = ok && good }
	var err error
	m.ID, err = sid.Parse(of[names.SeriesID])
	need(err == nil)
	m.Source, err = sid.Parse(of[names.SeriesSource])
	need(err == nil)
	id, good := parseNumbers(of[names.SeriesPMID], 511, 4095, 1023)
	need(good)
	if good {
		d.PMID = pcp.NewPMID(id[0], id[1], id[2])
	}
	if text := of[names.SeriesInDom]; text != "" {
		id, good := parseNumbers(text, 511, 1<<22-1)
		need(good)
		if good {
			d.InDom = pcp.NewInDom(id[0], id[1])
		}
	}
	good = false
	for t := pcp.Type32; t <= pcp.TypeDouble; t++ {
		if t.String() == of[names.SeriesType] {
			d.Type, good = t, true
		}
	}
	need(good)
	good = false
	for _, sem := range []pcp.Sem{pcp.SemCounter, pcp.SemInstant, pcp.SemDiscrete} {
		if sem.String() == of[names.SeriesSem] {
			d.Sem, good = sem, true
		}
	}
	need(good)
	if text := of[names.SeriesUnits]; text != "" {
		u, mult, err := pcp.ParseUnits(text)
		need(err == nil && mult == 1 && u.String() == text)
		d.Units = u
	}
	need(m.setLabels(of[names.SeriesLabels], of[names.SeriesFlags]))
	if !ok {
		return nil
	}
	return m
}

// setLabels sets the labels from their JSON and flags.
func (m *metric) setLabels(text, flags string) bool {
	if text == "" {
		return flags == ""
	}
	set, err := pcp.ParseLabels(text, pcp.LabelContext)
	b, ferr := hex.DecodeString(flags)
	if err != nil || ferr != nil || len(b) != len(set.Index) {
		return false
	}
	for i := range set.Index {
		l := set.Label(i)
		l.Flags = pcp.LabelFlags(b[i])
		m.labels = append(m.labels, l)
		name, value := names.Label(l.Name), names.Pair{Value: l.Value}.Text()
		m.above[name] = value
		if l.Flags.Level() == pcp.LabelContext && l.Flags&pcp.LabelOptional == 0 && value != "" {
			m.fixed[name] = value
		}
	}
	return true
}

// parseNumbers parses numbers with points between, each with its maximum.
func parseNumbers(text string, most ...int) ([]int, bool) {
	words := strings.Split(text, ".")
	if len(words) != len(most) {
		return nil, false
	}
	list := make([]int, len(words))
	for i, w := range words {
		n, err := strconv.ParseUint(w, 10, 31)
		if err != nil || int(n) > most[i] {
			return nil, false
		}
		list[i] = int(n)
	}
	return list, true
}

// selector returns the selector of the metric's series.
func (m *metric) selector() string {
	s := "{" + names.NameLabel + "=" + strconv.Quote(m.prom)
	if host, ok := m.fixed[hostname]; ok {
		return s + "," + hostname + "=" + strconv.Quote(host) + "}" // the first records of an archive may have no other label
	}
	for name, value := range m.fixed {
		s += "," + name + "=" + strconv.Quote(value)
	}
	return s + "}"
}

// hostname is the label with the name of the host.
const hostname = "hostname"

// has reports whether a series with labels has samples of the metric.
func (m *metric) has(labels map[string]string) bool {
	if labels[names.NameLabel] != m.prom {
		return false
	}
	for name, value := range m.fixed {
		if got, ok := labels[name]; ok && got != value {
			return false
		}
	}
	_, inst := labels[names.InstanceName]
	return inst == (m.Desc.InDom != pcp.InDomNull)
}

// An instance is an instance of a metric, by the labels of a series.
type instance struct {
	series.Instance
	labels []pcp.Label
}

// instance returns the instance whose samples a series with labels has.
func (m *metric) instance(labels map[string]string) *instance {
	if m.Desc.InDom == pcp.InDomNull {
		return &instance{}
	}
	in := &instance{Instance: series.Instance{Name: labels[names.InstanceName], Source: m.Source}}
	if n, err := strconv.ParseUint(labels[names.InstanceNumber], 10, 32); err == nil {
		in.Inst = int32(uint32(n))
	}
	in.ID = sid.Instance(in.Name, m.within)
	var own []pcp.Label
	for name, value := range labels {
		if _, ok := m.above[name]; !ok && name != names.NameLabel && name != names.InstanceName && name != names.InstanceNumber {
			own = append(own, pcp.Label{Name: name, Value: valueOf(value), Flags: pcp.LabelInstances})
		}
	}
	for _, l := range m.labels {
		if level := l.Flags.Level(); level == pcp.LabelContext || level == pcp.LabelDomain || level == pcp.LabelInDom {
			own = append(own, l)
		}
	}
	in.labels = sortLabels(own)
	return in
}

// valueOf returns the JSON of a label of which only the text is known: a number, true, false and null are taken for such.
func valueOf(text string) string {
	if text != "" && len(text) < 64 && (text[0] == '-' || text[0] >= '0' && text[0] <= '9' || text == "true" || text == "false" || text == "null") && json.Valid([]byte(text)) {
		return text
	}
	if text != "" && (text[0] == '[' || text[0] == '{') && json.Valid([]byte(text)) {
		return text
	}
	return names.Quote(text)
}

// value returns a number of the engine as a value of the metric.
func (m *metric) value(f float64, inst int32) pcp.Value {
	var v pcp.Value
	switch m.Desc.Type {
	case pcp.Type32:
		v = pcp.Int32Value(int32(clamp(f, math.MinInt32, math.MaxInt32)))
	case pcp.TypeU32:
		v = pcp.Uint32Value(uint32(clamp(f, 0, math.MaxUint32)))
	case pcp.Type64:
		if f >= math.MaxInt64 {
			v = pcp.Int64Value(math.MaxInt64)
		} else {
			v = pcp.Int64Value(int64(clamp(f, math.MinInt64, math.MaxInt64)))
		}
	case pcp.TypeU64:
		if f >= math.MaxUint64 {
			v = pcp.Uint64Value(math.MaxUint64)
		} else {
			v = pcp.Uint64Value(uint64(clamp(f, 0, math.MaxUint64)))
		}
	case pcp.TypeFloat:
		v = pcp.FloatValue(float32(f))
	default:
		v = pcp.DoubleValue(f)
	}
	return v.WithInst(inst)
}

// clamp rounds a number and limits it. NaN is 0.
func clamp(f, low, high float64) float64 {
	if f != f {
		return 0
	}
	return math.Round(max(low, min(high, f)))
}

// alternatives returns a regular expression that matches exactly the given strings.
func alternatives(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quoteMeta(s)
	}
	return strings.Join(quoted, "|")
}

// quoteMeta quotes a string for a regular expression.
func quoteMeta(s string) string {
	var b strings.Builder
	for _, c := range s {
		if strings.ContainsRune(`\.+*?()|[]{}^$`, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// matcher returns the text of a matcher.
func matcher(name, op, value string) string {
	return fmt.Sprintf("%s%s%s", name, op, strconv.Quote(value))
}
