package logsize

import "github.com/go-pcp/pcp/pcpjson"

// A jsonFile is the line of a file with --json.
type jsonFile struct {
	File       string       `json:"file"`
	Version    int          `json:"version"`
	Size       int64        `json:"size"`              // uncompressed
	Compressed int64        `json:"size_on_disk"`      // on disk
	Overhead   int64        `json:"overhead"`          // labels, and headers and trailers of records
	Parts      []jsonPart   `json:"parts"`             // parts of the file
	Metrics    []jsonMetric `json:"metrics,omitempty"` // of a volume, with -d
}

type jsonPart struct {
	Part    string `json:"part"`
	Bytes   int64  `json:"bytes"`
	Records int    `json:"records"`
}

type jsonMetric struct {
	Metric  string `json:"metric,omitempty"` // unless the archive has no name for it
	PMID    string `json:"pmid"`
	Bytes   int64  `json:"bytes"`
	Records int    `json:"records"`
	Values  int    `json:"values"`
}

// begin starts the line of a file.
func (t *tool) begin(path string, size, onDisk int64, version int) {
	if t.line != nil {
		*t.line = jsonFile{File: path, Version: version, Size: size, Compressed: onDisk, Parts: []jsonPart{}}
	}
}

// end writes the line of a file.
func (t *tool) end() {
	if t.line != nil {
		t.env.Stdout.Write(pcpjson.Line(t.line))
	}
}

func (t *tool) add(part string, bytes int64, records int) {
	if t.line != nil {
		t.line.Parts = append(t.line.Parts, jsonPart{part, bytes, records})
	}
}

func (t *tool) addMetrics(metrics []*metric) {
	if t.line == nil {
		return
	}
	for _, m := range metrics {
		j := jsonMetric{PMID: m.id.String(), Bytes: m.bytes, Records: m.records, Values: m.values}
		if len(m.names) > 0 {
			j.Metric = m.names[0]
		}
		t.line.Metrics = append(t.line.Metrics, j)
	}
}
