package rep

import (
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

// checkJSON reports whether the settings allow --json to print samples.
func (p *reporter) checkJSON() error {
	switch s := p.r.Settings; {
	case !p.json:
		return nil
	case p.output != outStdout:
		return errorf("--json is an output of its own, and not for %s.", p.output)
	case p.overall:
		return errorf("--json prints samples, of which overall ranking prints none.")
	default:
		s["header"], s["extheader"] = "0", "0"
	}
	return nil
}

// writeJSON writes the line of a sample. Metrics without values are left out.
func (p *reporter) writeJSON(s *pmrep.Sample) {
	line := jsonSample{Time: pcpjson.Time(s.Time), Host: p.r.HostName(p.ctx), Metrics: []jsonMetric{}}
	for i, m := range p.set.Metrics {
		if len(s.Results[i]) > 0 {
			line.Metrics = append(line.Metrics, p.jsonMetric(m, s.Results[i]))
		}
	}
	p.out.Write(pcpjson.Line(&line))
}

func (p *reporter) jsonMetric(m *pmrep.Metric, values []pmrep.Value) jsonMetric {
	j := jsonMetric{Metric: m.Name, Desc: pcpjson.Describe(&m.Desc), Rate: m.Desc.Sem == pcp.SemCounter && !m.Raw}
	if j.Type, j.Units = m.Type.String(), m.Units.String(); j.Rate && !strings.Contains(j.Units, "/") {
		j.Units = strings.TrimLeft(j.Units+" / sec", " ")
	}
	if p.labelled {
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
