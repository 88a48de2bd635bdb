package logdiff

import (
	"encoding/json"
	"strings"

	"github.com/go-pcp/pcp/pcpjson"
)

// A jsonDiff is the line of a metric, or one instance of it, with --json: its averages
// in both archives, or the archive that lacks it.
type jsonDiff struct {
	Metric   string          `json:"metric"`
	Instance string          `json:"instance,omitempty"`
	Before   json.RawMessage `json:"before,omitempty"`
	After    json.RawMessage `json:"after,omitempty"`
	Ratio    json.RawMessage `json:"ratio,omitempty"`   // after divided by before, unless one is zero
	Missing  int             `json:"missing,omitempty"` // from archive 1 or 2
}

// writeJSON writes the subject of the report.
func (t *tool) writeJSON(pairs []string, missing [2][]string) {
	put := func(d *jsonDiff, name string) {
		name = strings.TrimSpace(strings.TrimPrefix(name, "*"))
		d.Metric = name
		if metric, inst, ok := strings.Cut(name, " ["); ok {
			d.Metric, d.Instance = metric, strings.Trim(strings.TrimSuffix(inst, "]"), `"`)
		}
		t.env.Stdout.Write(pcpjson.Line(d))
	}
	for i, names := range missing {
		for _, name := range names {
			if !t.skipMissing {
				put(&jsonDiff{Missing: i + 1}, name)
			}
		}
	}
	for _, pair := range pairs {
		fields := strings.Split(pair, "|")
		if len(fields) < 3 || t.line(fields[0], fields[1], fields[2]) == "" {
			continue
		}
		a, b := leading(fields[1]), leading(fields[2])
		d := &jsonDiff{Before: pcpjson.Float(a), After: pcpjson.Float(b)}
		if a != 0 && b != 0 {
			d.Ratio = pcpjson.Float(b / a)
		}
		put(d, fields[0])
	}
}
