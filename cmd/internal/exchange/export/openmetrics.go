package export

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/exposition"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/pmapi"
)

// A document is written to standard output or a file, or posted to a server.
type document struct {
	*run
	url     string
	timeout time.Duration
	user    string
	pass    string
	kind    string

	out  outbox
	post *poster
}

func (d *document) begin() {
	if d.url == "" {
		return
	}
	d.post = newPoster(d.timeout)
	d.post.user, d.post.password = d.user, d.pass
	d.out = outbox{env: d.env, send: d.sendTo, complain: func(_ message, err error) {
		if code := (statusError{}); errors.As(err, &code) {
			fmt.Fprintf(d.env.Stderr, "Cannot send metrics: HTTP code %d\n", code.code)
			return
		}
		fmt.Fprintf(d.env.Stderr, "Cannot connect to server at %s: %v\n", d.url, err)
	}}
}

func (d *document) sendTo(ctx context.Context, m message) error {
	return d.post.do(ctx, http.MethodPost, d.url, d.kind, m.body, success)
}

// put writes or posts a rendered sample.
func (d *document) put(ctx context.Context, stamp string, b []byte) error {
	if d.url != "" {
		d.out.put(ctx, message{stamp: stamp, body: b})
		return nil
	}
	return d.emit(b)
}

func (d *document) end(ctx context.Context) bool {
	return d.url == "" || d.out.close(ctx)
}

// openMetrics writes samples in the text of OpenMetrics.
type openMetrics struct {
	document
	times     bool // -l, and from archives: with times
	noComment bool // -x

	about map[string]*described
}

// described is the description before a metric's lines.
type described struct {
	name string
	sets []pcp.LabelSet // of the levels above instances
	help string
	own  map[int32]pcp.LabelSet // of instances
	line map[int32]string
	seen bool
}

// describe asks for the labels and the help text of a metric.
func describe(ctx context.Context, c *pmapi.Context, m *metric) *described {
	d := &described{own: make(map[int32]pcp.LabelSet), line: make(map[int32]string)}
	if sets, err := c.LookupLabels(ctx, m.Desc.PMID); err == nil {
		d.sets = sets
	}
	if text, err := c.LookupText(ctx, m.Desc.PMID, pcp.TextOneLine); err == nil {
		d.help = text
	}
	d.instances(ctx, c, m)
	return d
}

// instances asks for the labels of the instances of a metric.
func (d *described) instances(ctx context.Context, c *pmapi.Context, m *metric) {
	if m.Desc.InDom == pcp.InDomNull {
		return
	}
	sets, err := c.Labels(ctx, pcp.LabelInstances, uint32(m.Desc.InDom))
	if err != nil {
		return
	}
	for _, s := range sets {
		d.own[s.Inst] = s
	}
}

func (x *openMetrics) write(ctx context.Context, s *sample) error {
	if x.about == nil {
		x.about = make(map[string]*described)
	}
	var b []byte
	var end []byte
	if x.times {
		end = strconv.AppendFloat([]byte{' '}, seconds(s.time), 'f', 3, 64)
	}
	end = append(end, '\n')
	for i := range s.metrics {
		m := &s.metrics[i]
		if m.Desc.Type == pcp.TypeString {
			continue // OpenMetrics has numbers only
		}
		d := x.about[m.Name]
		if d == nil {
			d = describe(ctx, x.c, m)
			d.name = names.Metric(m.Name)
			x.about[m.Name] = d
		}
		if !d.seen || x.url != "" {
			b = x.header(b, m, d)
			d.seen = true
		}
		for j := range m.values {
			v := &m.values[j]
			line, ok := d.line[v.Inst]
			if !ok {
				line = x.line(ctx, m, d, v)
				d.line[v.Inst] = line
			}
			b = append(b, line...)
			b = append(b, openNumber(v.Value, m.Precision)...)
			b = append(b, end...)
		}
	}
	return x.put(ctx, s.stamp, b)
}

func (x *openMetrics) header(b []byte, m *metric, d *described) []byte {
	if !x.noComment {
		b = fmt.Appendf(b, "# PCP5 %s %s %s %s %s %s\n", d.name, m.Desc.PMID, exposition.TypeName(m.Desc.Type), m.Desc.InDom, m.Desc.Sem, m.Desc.Units)
	}
	return names.AppendHelp(names.AppendType(b, d.name, &m.Desc), d.name, d.help)
}

// line is the series of a value, and a blank.
func (x *openMetrics) line(ctx context.Context, m *metric, d *described, v *pmrep.Value) string {
	name := d.name
	if m.Desc.Sem == pcp.SemCounter {
		name += "_total"
	}
	var own *pcp.LabelSet
	if set, ok := d.own[v.Inst]; ok && !single(v) {
		own = &set
	} else if !single(v) {
		d.instances(ctx, x.c, m) // a new one
		if set, ok := d.own[v.Inst]; ok {
			own = &set
		}
	}
	return string(exposition.AppendSeries(nil, name, d.sets, own, v.Inst, v.Name))
}

// openNumber is a value in OpenMetrics.
func openNumber(v pcp.Value, precision int) string {
	s := text(v, precision)
	switch s {
	case "nan":
		return "NaN"
	case "inf":
		return "+Inf"
	case "-inf":
		return "-Inf"
	}
	return s
}

func (x *openMetrics) end(ctx context.Context) bool {
	if x.url == "" {
		x.emit([]byte("# EOF\n"))
	}
	return x.document.end(ctx)
}

// openTelemetry writes samples as requests of OTLP in JSON, one for each.
type openTelemetry struct {
	document
	about map[string]*described
}

func (x *openTelemetry) write(ctx context.Context, s *sample) error {
	if x.about == nil {
		x.about = make(map[string]*described)
	}
	var b []byte
	nanos := strconv.AppendInt(nil, micros(s.time)*1000, 10)
	first := true
	for i := range s.metrics {
		m := &s.metrics[i]
		if m.Desc.Type == pcp.TypeString {
			continue // the points of OTLP are numbers
		}
		d := x.about[m.Name]
		if d == nil {
			d = describe(ctx, x.c, m)
			x.about[m.Name] = d
		}
		if first {
			b = exposition.AppendBegin(b, contextSets(d.sets))
			first = false
		} else {
			b = append(b, ',')
		}
		desc := m.Desc
		if !m.Raw && desc.Sem == pcp.SemCounter {
			desc.Sem = pcp.SemInstant // a rate rises and falls
		}
		desc.Units = m.Units
		b = exposition.AppendHead(b, &desc, m.Name, d.help)
		for j := range m.values {
			v := &m.values[j]
			if j > 0 {
				b = append(b, ',')
			}
			b = x.point(ctx, b, m, d, v)
			b = append(b, nanos...)
			b = exposition.AppendValue(b, rounded(v.Value, m.Precision))
		}
		b = append(b, "]}}"...)
	}
	if first {
		return nil
	}
	b = append(b, "]}]}]}\n"...)
	return x.put(ctx, s.stamp, b)
}

func (x *openTelemetry) point(ctx context.Context, b []byte, m *metric, d *described, v *pmrep.Value) []byte {
	line, ok := d.line[v.Inst]
	if !ok {
		var own *pcp.LabelSet
		if !single(v) {
			if _, known := d.own[v.Inst]; !known {
				d.instances(ctx, x.c, m)
			}
			if set, known := d.own[v.Inst]; known {
				own = &set
			}
		}
		line = string(exposition.AppendPoint(nil, &m.Desc, d.sets, own, v.Inst, v.Name))
		d.line[v.Inst] = line
	}
	return append(b, line...)
}

// contextSets are the labels of the source.
func contextSets(sets []pcp.LabelSet) []pcp.LabelSet {
	n := 0
	for n < len(sets) && len(sets[n].Index) > 0 && sets[n].Index[0].Flags.Level() == pcp.LabelContext {
		n++
	}
	return sets[:n]
}
