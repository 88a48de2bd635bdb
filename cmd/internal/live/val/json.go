package val

import (
	"context"
	"encoding/json"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pcpjson"
)

// A jsonSample is the line of a sample with --json. A counter's value is its
// rate in Units, unless -r asks for the counter itself; it is null where the
// counter went back.
type jsonSample struct {
	Time   string `json:"time"`
	Metric string `json:"metric"`
	pcpjson.Desc
	Rate bool `json:"rate,omitempty"` // converted, in Units
	pcpjson.Values
}

// jsonSample prints a sample, as rates since prev where the metric is a counter.
func (x *viewer) jsonSample(ctx context.Context, s, prev *sample) {
	line := jsonSample{Time: pcpjson.Time(s.at), Metric: x.metric, Desc: pcpjson.Describe(&x.desc), Rate: x.rates()}
	if line.Rate {
		line.Units = rateUnits(x.desc.Units).String()
		line.Type = pcp.TypeDouble.String()
	}
	var previous []pcp.Value
	if prev != nil {
		previous = prev.vs.Values
	}
	for i := range s.vs.Values {
		v := &s.vs.Values[i]
		var value json.RawMessage
		if x.rates() {
			before := take(&previous, v.Inst)
			if before == nil {
				continue
			}
			rate, err := x.rateOf(v, before, x.scale*(seconds(s.at)-seconds(prev.at)))
			value = pcpjson.Float(rate)
			if err != nil || rate < 0 {
				value = json.RawMessage("null")
			}
		} else {
			value = pcpjson.Value(*v, x.desc.Type, x.params.Namer(ctx, x.c))
		}
		if x.desc.InDom == pcp.InDomNull {
			line.Value = value
			break
		}
		column := x.column(v.Inst)
		switch {
		case column >= 0:
			line.Instances = append(line.Instances, pcpjson.Instance{Inst: v.Inst, Instance: x.insts[column].Name, Value: value})
		case len(x.chosen) == 0:
			line.Instances = append(line.Instances, pcpjson.Instance{Inst: v.Inst, Value: value})
		}
	}
	x.out = append(x.out, pcpjson.Line(&line)...)
}
