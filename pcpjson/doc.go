// Package pcpjson writes values, descriptors, event records and times as JSON: the
// objects that the tools print with --json and that docs/json.md describes.
//
//	line := struct {
//		Metric string `json:"metric"`
//		pcpjson.Desc
//		pcpjson.Values
//	}{Metric: name, Desc: pcpjson.Describe(&desc)}
//	line.Value = pcpjson.Value(v, desc.Type, nil)
//	os.Stdout.Write(pcpjson.Line(&line))
package pcpjson
