package opentelemetry_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/go-pcp/pcp/internal/agent/opentelemetry"
	"github.com/go-pcp/pcp/internal/agent/pushed"
)

// serve has the agent answer a request without a connection. An answer that is not one of a broken request is an error.
func serve(t *testing.T, a *opentelemetry.Agent, path string, body []byte, headers ...string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(body)))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	switch w.Code {
	case 200, 204, 400, 413:
	default:
		t.Errorf("answer %d", w.Code)
	}
}

func fuzzed(f *testing.F) *opentelemetry.Agent {
	return newBench(f, opentelemetry.Config{Limits: pushed.Limits{Senders: 20, Memory: 1 << 20}}).agent
}

func FuzzOTLP(f *testing.F) {
	f.Add(request(time.Now()))
	f.Add([]byte{10, 200})
	f.Add(message(1, message(2, message(2, message(1, "m", 10, message(1, message(6, 63, 8, message(1, 1<<31, 2, []byte{1, 2})), 2, 2))))))
	a := fuzzed(f)
	f.Fuzz(func(t *testing.T, b []byte) { serve(t, a, "/v1/metrics", b, "Content-Type", "application/x-protobuf") })
}

func FuzzOTLPJSON(f *testing.F) {
	f.Add([]byte(number("sum", `"aggregationTemporality":1,"isMonotonic":true,`, `{"asInt":"5"}`)))
	f.Add([]byte(number("exponentialHistogram", `"aggregationTemporality":2,`, `{"count":"3","scale":-5,"positive":{"offset":-2147483648,"bucketCounts":["1"]}}`)))
	f.Add([]byte(number("summary", "", `{"quantileValues":[{"quantile":0.5,"value":"Infinity"}]}`)))
	a := fuzzed(f)
	f.Fuzz(func(t *testing.T, b []byte) { serve(t, a, "/v1/metrics", b, "Content-Type", "application/json") })
}

func FuzzRemoteWrite(f *testing.F) {
	f.Add(write1(time.Now().UnixMilli(), 1, "__name__", "a_total", "job", "b"), false)
	f.Add(message(4, "", 4, "__name__", 4, "x", 5, message(1, []byte{1, 2}, 2, message(1, 9.0, 2, 1), 5, message(1, 1, 3, 2))), true)
	a := fuzzed(f)
	f.Fuzz(func(t *testing.T, b []byte, second bool) {
		kind := "application/x-protobuf"
		if second {
			kind += ";proto=io.prometheus.write.v2.Request"
		}
		serve(t, a, "/api/v1/write", s2.EncodeSnappy(nil, b), "Content-Type", kind, "Content-Encoding", "snappy")
	})
}
