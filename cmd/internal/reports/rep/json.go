package rep

import (
	"io"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/pcpjson"
)

// A jsonSample is the line of a sample with --json.
type jsonSample struct {
	Time    string       `json:"time"`
	Host    string       `json:"host,omitempty"`
	Metrics []jsonMetric `json:"metrics"`
}

// A jsonMetric is a metric of a sample, in the type and the units in which it is reported.
type jsonMetric struct {
	Metric string `json:"metric"`
	pcpjson.Desc
	Rate   bool              `json:"rate,omitempty"`
	Labels map[string]string `json:"labels,omitempty"` // with -m
	pcpjson.Values
}

// A jsonWriter writes a line of JSON for each sample.
type jsonWriter struct {
	out      io.Writer
	set      *pmrep.Set
	host     func() string
	labelled bool
}

// header implements writer. There is none.
func (w *jsonWriter) header(*pmrep.Sample, bool) {}

// finish implements writer.
func (w *jsonWriter) finish() error { return nil }

// sample implements writer. Metrics without values are left out.
func (w *jsonWriter) sample(s *pmrep.Sample) error {
	line := jsonSample{Time: pcpjson.Time(s.Time), Host: w.host(), Metrics: []jsonMetric{}}
	for i, m := range w.set.Metrics {
		if len(s.Results[i]) > 0 {
			line.Metrics = append(line.Metrics, w.metric(m, s.Results[i]))
		}
	}
	w.out.Write(pcpjson.Line(&line))
	return nil
}

func (w *jsonWriter) metric(m *pmrep.Metric, values []pmrep.Value) jsonMetric {
	j := jsonMetric{Metric: m.Name, Desc: pcpjson.Describe(&m.Desc), Rate: m.Desc.Sem == pcp.SemCounter && !m.Raw}
	if j.Type, j.Units = m.Type.String(), m.Units.String(); j.Rate && !strings.Contains(j.Units, "/") {
		j.Units = strings.TrimLeft(j.Units+" / sec", " ")
	}
	if w.labelled {
		for _, l := range m.Labels() {
			if j.Labels == nil {
				j.Labels = make(map[string]string)
			}
			j.Labels[l.Name] = l.Value
		}
	}
	for _, v := range values {
		value := pcpjson.Value(v.Value, v.Type(), nil)
		if m.Desc.InDom == pcp.InDomNull {
			j.Value = value
			break
		}
		j.Instances = append(j.Instances, pcpjson.Instance{Inst: v.Inst, Instance: v.Name, Value: value})
	}
	return j
}
