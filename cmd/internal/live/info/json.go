package info

import (
	"context"
	"encoding/json"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcpjson"
)

// A jsonMetric is the line of a metric with --json. Apart from the name it has
// the requested fields: of -m or -M, -d, -t, -T, -l, -f, which includes -d. The reason for missing
// ones is in Error; missing texts are left out.
type jsonMetric struct {
	Metric string `json:"metric"`
	PMID   string `json:"pmid,omitempty"`
	Error  string `json:"error,omitempty"`
	pcpjson.Desc
	OneLine string          `json:"oneline,omitempty"`
	Help    string          `json:"help,omitempty"`
	Labels  json.RawMessage `json:"labels,omitempty"`
	Time    string          `json:"time,omitempty"`
	pcpjson.Values
}

// A jsonInDom is the line of an instance domain with --json.
type jsonInDom struct {
	InDom   string          `json:"indom"`
	OneLine string          `json:"oneline,omitempty"`
	Help    string          `json:"help,omitempty"`
	Labels  json.RawMessage `json:"labels,omitempty"`
}

// jsonMetric prints the line of a metric; err is why there is no descriptor.
func (r *reporter) jsonMetric(ctx context.Context, m *metric, err error) {
	w := &r.want
	line := jsonMetric{Metric: m.name}
	if w.pmid {
		line.PMID = m.id.String()
	}
	if err != nil {
		line.Error = cli.ErrText(err)
		r.out = append(r.out, pcpjson.Line(&line)...)
		return
	}
	if w.desc || w.value {
		line.Desc = pcpjson.Describe(&m.desc)
	}
	if w.oneline {
		line.OneLine, _ = r.c.LookupText(ctx, m.id, pcp.TextOneLine)
	}
	if w.help {
		line.Help, _ = r.c.LookupText(ctx, m.id, pcp.TextHelp)
	}
	if w.labels {
		line.Labels = jsonLabels(r.merge(r.metricSets(ctx, &m.desc), nil, "metric %s", m.id))
	}
	if w.value {
		line.Time = pcpjson.Time(r.at)
		r.jsonValues(ctx, m, &line)
	}
	r.out = append(r.out, pcpjson.Line(&line)...)
}

func (r *reporter) jsonValues(ctx context.Context, m *metric, line *jsonMetric) {
	if m.vs.Err != 0 {
		line.Error = m.vs.Err.Error()
		return
	}
	for i := range m.vs.Values {
		v := &m.vs.Values[i]
		value := pcpjson.Value(*v, m.desc.Type, r.cache.params.Namer(ctx, r.c))
		if m.desc.InDom == pcp.InDomNull {
			line.Value = value
			return
		}
		name, _ := r.cache.instances(ctx, r.c, m.desc.InDom).name(v.Inst)
		line.Instances = append(line.Instances, pcpjson.Instance{Inst: v.Inst, Instance: name, Value: value})
	}
}

func (r *reporter) jsonInDom(ctx context.Context, indom pcp.InDom) {
	line := jsonInDom{InDom: indom.String()}
	if r.want.oneline {
		line.OneLine, _ = r.c.LookupInDomText(ctx, indom, pcp.TextOneLine)
	}
	if r.want.help {
		line.Help, _ = r.c.LookupInDomText(ctx, indom, pcp.TextHelp)
	}
	if r.want.labels {
		line.Labels = jsonLabels(r.merge(r.inDomSets(ctx, indom), nil, "indom %s", indom))
	}
	r.out = append(r.out, pcpjson.Line(&line)...)
}

// jsonLabels returns labels from a collector as they are if they are JSON.
func jsonLabels(labels string) json.RawMessage {
	if !json.Valid([]byte(labels)) {
		return nil
	}
	return json.RawMessage(labels)
}
