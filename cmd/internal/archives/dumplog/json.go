package dumplog

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/pcpjson"
)

// A jsonRecord is the line of a record with --json.
type jsonRecord struct {
	Time    string       `json:"time"`
	Mark    bool         `json:"mark,omitempty"` // values are unknown from here to the next record
	Metrics []jsonMetric `json:"metrics,omitempty"`
}

type jsonMetric struct {
	Metric string `json:"metric,omitempty"` // unless the archive has no name for it
	PMID   string `json:"pmid"`
	Error  string `json:"error,omitempty"`
	pcpjson.Desc
	pcpjson.Values
}

// jsonRecord appends the line of a record.
func (d *dumper) jsonRecord(res *pcp.Result) {
	d.now = res.Time
	line := jsonRecord{Time: pcpjson.Time(res.Time), Mark: len(res.Sets) == 0}
	for i := range res.Sets {
		line.Metrics = append(line.Metrics, d.jsonMetric(&res.Sets[i]))
	}
	d.b = append(d.b, pcpjson.Line(&line)...)
}

func (d *dumper) jsonMetric(vs *pcp.ValueSet) jsonMetric {
	m := d.metric(vs.PMID)
	j := jsonMetric{PMID: m.id.String()}
	if names := d.names(m.id); len(names) > 0 {
		j.Metric = names[0]
	}
	if m.known {
		j.Desc = pcpjson.Describe(&m.desc)
	} else {
		j.Error = pcp.ErrPMID.Error()
		return j
	}
	if vs.Err != 0 {
		j.Error = vs.Err.Error()
	}
	for k := range vs.Values {
		v := vs.Values[k]
		if v.Type() != pcp.TypeUnknown {
			v = archive.Retype(v, m.desc.Type)
		}
		value := pcpjson.Value(v, m.desc.Type, func(id pcp.PMID) (string, pcp.Type) {
			p := d.metric(id)
			if names := d.names(id); len(names) > 0 && p.known {
				return names[0], p.desc.Type
			}
			return "", p.desc.Type
		})
		if m.insts == nil {
			j.Value = value
			break
		}
		name, _ := d.view(m.insts).Name(v.Inst)
		j.Instances = append(j.Instances, pcpjson.Instance{Inst: v.Inst, Instance: name, Value: value})
	}
	return j
}
