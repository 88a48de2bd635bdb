package otlptest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	service "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// start is the time of the first record of the archive that the tests of package otlp write.
var start = time.Date(2026, 11, 20, 10, 0, 0, 123_456_789, time.UTC)

// TestRecorded decodes the recorded request of package otlp, and compares it with the recorded text.
func TestRecorded(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "testdata", "archive.bin"))
	if err != nil {
		t.Fatal(err)
	}
	var req service.ExportMetricsServiceRequest
	if err := (proto.UnmarshalOptions{}).Unmarshal(b, &req); err != nil {
		t.Fatal(err)
	}
	if n := len(req.ProtoReflect().GetUnknown()); n > 0 {
		t.Errorf("%d bytes of unknown fields", n)
	}
	text, err := os.ReadFile(filepath.Join("..", "testdata", "archive.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := dump(t, &req), string(text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// The library writes fields in the order of their numbers; the size does not depend on the order.
	if got := proto.Size(&req); got != len(b) {
		t.Errorf("%d bytes, the library makes %d of them", len(b), got)
	}
}

func dump(t *testing.T, req *service.ExportMetricsServiceRequest) string {
	var out strings.Builder
	for _, rm := range req.ResourceMetrics {
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				var points []*metrics.NumberDataPoint
				kind := "gauge"
				if sum := m.GetSum(); sum != nil {
					kind, points = "sum", sum.DataPoints
					if !sum.IsMonotonic || sum.AggregationTemporality != metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
						t.Errorf("%s: monotonic %t, %v", m.Name, sum.IsMonotonic, sum.AggregationTemporality)
					}
				} else {
					points = m.GetGauge().DataPoints
				}
				for _, p := range points {
					fmt.Fprintf(&out, "%s{%s} %s %s %s %s %s {%s}\n", m.Name, attributes(rm.Resource.Attributes), sm.Scope.Name, sm.Scope.Version, m.Unit, kind, point(p), attributes(p.Attributes))
				}
			}
		}
	}
	return out.String()
}

func attributes(list []*common.KeyValue) string {
	var words []string
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			words = append(words, fmt.Sprintf("%s=%q", kv.Key, v.StringValue))
		case *common.AnyValue_IntValue:
			words = append(words, fmt.Sprintf("%s=%d", kv.Key, v.IntValue))
		default:
			words = append(words, fmt.Sprintf("%s=%v", kv.Key, v))
		}
	}
	return strings.Join(words, " ")
}

func point(p *metrics.NumberDataPoint) string {
	since := func(n uint64) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(time.Unix(0, int64(n)).Sub(start))
	}
	value := ""
	switch v := p.Value.(type) {
	case *metrics.NumberDataPoint_AsInt:
		value = fmt.Sprint(v.AsInt)
	case *metrics.NumberDataPoint_AsDouble:
		value = fmt.Sprintf("%g", v.AsDouble)
	}
	if p.Flags != 0 {
		value += fmt.Sprintf("flags=%d", p.Flags)
	}
	return fmt.Sprintf("[%s..%s] %s", since(p.StartTimeUnixNano), since(p.TimeUnixNano), value)
}
