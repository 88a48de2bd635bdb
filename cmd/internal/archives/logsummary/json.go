package logsummary

import (
	"encoding/json"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pcpjson"
)

// A jsonSummary is the line of a metric, or one instance of it, with --json. It has all
// columns regardless of the options.
type jsonSummary struct {
	Metric   string `json:"metric"`
	Inst     *int32 `json:"inst,omitempty"`
	Instance string `json:"instance,omitempty"`
	Error    string `json:"error,omitempty"`
	pcpjson.Desc
	Rate        bool            `json:"rate,omitempty"`    // of a counter, in Units
	Partial     bool            `json:"partial,omitempty"` // values for at most a tenth of the window
	Average     json.RawMessage `json:"average,omitempty"` // of the values
	TimeAverage json.RawMessage `json:"time_average,omitempty"`
	Sum         json.RawMessage `json:"sum,omitempty"`
	Minimum     json.RawMessage `json:"minimum,omitempty"`
	MinimumTime string          `json:"minimum_time,omitempty"`
	Maximum     json.RawMessage `json:"maximum,omitempty"`
	MaximumTime string          `json:"maximum_time,omitempty"`
	Count       uint32          `json:"count,omitempty"`
}

// jsonInstance appends the line of an instance whose averages are made.
func (t *tool) jsonInstance(m *metric, i *instance, name, instName string, partial bool) {
	count := i.count
	if m.desc.Sem == pcp.SemDiscrete {
		count -= i.marks + 1 // the ends that were added
	}
	line := jsonSummary{
		Metric: name, Instance: instName, Desc: pcpjson.Describe(&m.desc), Rate: m.counter, Partial: partial,
		Average: pcpjson.Float(i.stochastic), TimeAverage: pcpjson.Float(i.timed), Sum: pcpjson.Float(i.sum),
		Minimum: pcpjson.Float(i.min), MinimumTime: pcpjson.Time(absolute(t.base, i.minTime)),
		Maximum: pcpjson.Float(i.max), MaximumTime: pcpjson.Time(absolute(t.base, i.maxTime)),
		Count: count,
	}
	if m.desc.InDom != pcp.InDomNull {
		line.Inst = &i.inst
	}
	t.b = append(t.b, pcpjson.Line(&line)...)
}
