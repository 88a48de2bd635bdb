package opentelemetry_test

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/agent/opentelemetry"
)

// sdkBody is a body, compressed by gzip, that the Go SDK of OpenTelemetry 1.43.0 sent at sdkTime with its exporter otlpmetrichttp: a
// counter, a gauge, an explicit histogram with the bounds 0.1 and 1, and an exponential one of the values 1, 2, 3 and 1000.
const sdkBody = "" +
	"H4sIAAAAAAAA/+I6yMwlwSXGxVOcWlSWmZyql5eYmyrExsVSkpmTI7SEmYuTiz21IjG3ICdVyI+LLb8oJbWoWIjdH0zrSbFXg0VqrYy4dAR1GP" +
	"uTrQ+/lpDcZ7ARzLDi52ItLkksARtYkJiZYsjKAAECTBKMQjpc3CWpuQWpRYklpUWpWrJc0oLZahMgRhhMhhihCFbeYOogVMLFnpNYkpqXXCnF" +
	"WOyVxpUk6DkfqjhrIVQxI9R4TQj1wN5IAirCAJOCASuBWTNBYKc9hP/BPhKmKRHGEGASWsTIxZxaUSDF5FQZNI2RayKjoNszqK2bv0NtZUGxta" +
	"DfwYDNKZSDUSiQEdludAeQARi9GBJhrs0E0w79DgJMgAAAAP//OynUiMQBAAA="

func sdkTime() time.Time { return time.Date(2026, 11, 27, 1, 39, 0, 0, time.UTC) }

// TestSDK takes bytes of a real client.
func TestSDK(t *testing.T) {
	body, err := base64.StdEncoding.DecodeString(sdkBody)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, opentelemetry.Config{Now: sdkTime})
	status, text := b.post("/v1/metrics", body, "Content-Type", "application/x-protobuf", "Content-Encoding", "gzip")
	if status != 200 || text != "" {
		t.Fatalf("answer %d %q", status, text)
	}
	b.want("opentelemetry.till", `till.exp.bucket u64 counter "count" [0 le:1]=1 [1 le:2]=2 [2 le:3.363585661014858]=3 [3 le:1024]=4 [4 le:+Inf]=4
till.exp.count u64 counter "count" [0]=4
till.exp.max double instant "byte" [0]=1000
till.exp.min double instant "byte" [0]=1
till.exp.sum double counter "byte" [0]=1006
till.latency.bucket u64 counter "count" [0 le:0.1]=0 [1 le:1]=1 [2 le:+Inf]=1
till.latency.count u64 counter "count" [0]=1
till.latency.max double instant "sec" [0]=0.5
till.latency.min double instant "sec" [0]=0.5
till.latency.sum double counter "sec" [0]=0.5
till.orders u64 counter "count" [0 state:paid]=5
till.temperature double instant "" [0]=21.5
`)
}
