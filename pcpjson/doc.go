// Package pcpjson is for programs that write values, descriptors, event records and times as JSON, in the format of
// the tools' --json, which docs/json.md describes.
//
//	line := struct {
//		Metric string `json:"metric"`
//		pcpjson.Desc
//		pcpjson.Values
//	}{Metric: name, Desc: pcpjson.Describe(&desc)}
//	line.Value = pcpjson.Value(v, desc.Type, nil)
//	os.Stdout.Write(pcpjson.Line(&line))
package pcpjson
