package stat

import (
	"context"
	"encoding/json"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcpjson"
)

// A jsonSample is the line of a host with --json.
type jsonSample struct {
	Time    string       `json:"time"`
	Host    string       `json:"host"`
	Error   string       `json:"error,omitempty"`
	Metrics []jsonMetric `json:"metrics,omitempty"` // those that the host has
}

type jsonMetric struct {
	Metric   string          `json:"metric"`
	Instance string          `json:"instance,omitempty"`
	Units    string          `json:"units,omitempty"`
	Rate     bool            `json:"rate,omitempty"`
	Value    json.RawMessage `json:"value"`
}

// jsonLine is line with --json.
func (r *reporter) jsonLine(ctx context.Context, s *host) bool {
	line := jsonSample{Host: s.hostName(ctx)}
	if s.group == nil {
		return false
	}
	err := s.fetch(ctx)
	line.Time = pcpjson.Time(s.at)
	if err == nil {
		s.seen = true
		line.Metrics = s.jsonMetrics()
	} else {
		line.Error = cli.ErrText(err)
	}
	r.out = append(r.out, pcpjson.Line(&line)...)
	if err == nil {
		return true
	}
	switch code := pcp.Code(err); {
	case !r.archive && (code == pcp.ErrIPC || code == pcp.ErrTimeout):
		_ = s.group.Context().Reconnect(ctx) // the next fetch reports a failure
	case r.archive && code == pcp.ErrEOL && !s.seen: // nothing yet, perhaps
	default:
		s.close()
	}
	return false
}

func (s *host) jsonMetrics() []jsonMetric {
	var list []jsonMetric
	for i := range items {
		v, ok := s.value(i)
		if !ok {
			continue
		}
		m := jsonMetric{Metric: s.names[i], Instance: items[i].inst, Value: pcpjson.Value(v, items[i].typ, nil)}
		switch {
		case items[i].scale != "":
			m.Units = "Kbyte"
		case i == loadAvg:
		case i >= cpuNice:
			m.Units, m.Rate = "millisec / sec", true
		default:
			m.Units, m.Rate = "count / sec", true
		}
		list = append(list, m)
	}
	return list
}
