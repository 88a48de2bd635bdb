package probe

import (
	"encoding/json"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcpjson"
)

// A jsonLine is the line of a metric with --json: the number of values, or the
// status if there are none.
type jsonLine struct {
	Metric string         `json:"metric"`
	Count  *int           `json:"count,omitempty"`
	Status int32          `json:"status,omitempty"`
	Error  string         `json:"error,omitempty"`
	Values []jsonInstance `json:"instances,omitempty"` // with -i, -I or -v
}

type jsonInstance struct {
	Inst  *int32          `json:"inst,omitempty"`     // with -i
	Name  string          `json:"instance,omitempty"` // with -I
	Value json.RawMessage `json:"value,omitempty"`    // with -v
}

func (p *prober) jsonError(name string, err error) {
	p.out = append(p.out, pcpjson.Line(&jsonLine{Metric: name, Status: int32(pcp.Code(err)), Error: cli.ErrText(err)})...)
}

func (p *prober) jsonInstances(name string, insts []pcp.Instance) {
	n := len(insts)
	line := jsonLine{Metric: name, Count: &n}
	for i := range insts {
		if insts[i].Inst != pcp.InNull {
			line.Values = append(line.Values, p.jsonInstance(insts, insts[i].Inst))
		}
	}
	p.out = append(p.out, pcpjson.Line(&line)...)
}

func (p *prober) jsonValues(name string, vs *pcp.ValueSet, desc *pcp.Desc, insts []pcp.Instance) {
	n := len(vs.Values)
	line := jsonLine{Metric: name, Count: &n}
	for i := range vs.Values {
		v := vs.Values[i]
		switch {
		case p.values:
			line.Values = append(line.Values, jsonInstance{Value: pcpjson.Value(v, desc.Type, nil)})
		case (p.internal || p.external) && desc.InDom != pcp.InDomNull:
			line.Values = append(line.Values, p.jsonInstance(insts, v.Inst))
		}
	}
	p.out = append(p.out, pcpjson.Line(&line)...)
}

func (p *prober) jsonInstance(insts []pcp.Instance, id int32) jsonInstance {
	var j jsonInstance
	if p.internal {
		j.Inst = &id
	}
	for i := range insts {
		if p.external && insts[i].Inst == id {
			j.Name = insts[i].Name
		}
	}
	return j
}
