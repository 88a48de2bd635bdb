package pcpjson_test

import (
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pcpjson"
)

func Example() {
	desc := pcp.Desc{
		PMID: pcp.NewPMID(60, 2, 0), InDom: pcp.NewInDom(60, 2),
		Type: pcp.TypeFloat, Sem: pcp.SemInstant,
	}
	line := struct {
		Metric string `json:"metric"`
		pcpjson.Desc
		pcpjson.Values
	}{Metric: "kernel.all.load", Desc: pcpjson.Describe(&desc)}
	line.Instances = []pcpjson.Instance{
		{Inst: 1, Instance: "1 minute", Value: pcpjson.Value(pcp.FloatValue(0.25), desc.Type, nil)},
	}
	os.Stdout.Write(pcpjson.Line(&line))
	// Output: {"metric":"kernel.all.load","type":"FLOAT","indom":"60.2","semantics":"instant","instances":[{"inst":1,"instance":"1 minute","value":0.25}]}
}
