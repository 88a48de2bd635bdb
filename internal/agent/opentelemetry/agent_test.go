package opentelemetry_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/opentelemetry"
	"github.com/go-pcp/pcp/internal/agent/pushed"
	"github.com/go-pcp/pcp/pmda"
)

// A bench is an agent, and a host that calls it.
type bench struct {
	t     testing.TB
	agent *opentelemetry.Agent
	run   *pmda.Runner
}

func newBench(t testing.TB, cfg opentelemetry.Config) *bench {
	t.Helper()
	cfg.Listen = "127.0.0.1:0"
	a, err := opentelemetry.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return &bench{t, a, pmda.NewRunner(a, pmda.RunnerOptions{Name: "opentelemetry"})}
}

// post sends a request. Headers are pairs of name and value.
func (b *bench) post(path string, body []byte, headers ...string) (status int, text string) {
	b.t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://"+b.agent.Addr().String()+path, bytes.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

func (b *bench) postJSON(text string) (int, string) {
	b.t.Helper()
	return b.post("/v1/metrics", []byte(text), "Content-Type", "application/json")
}

// dump returns the metrics below a name: semantics, units and values, by instance.
func (b *bench) dump(below string) string {
	b.t.Helper()
	ctx, client := context.Background(), &pmda.Client{}
	list, err := b.run.Children(ctx, client, below, true)
	if err != nil {
		b.t.Fatalf("%s: %v", below, err)
	}
	var out []string
	for _, c := range list {
		id, err := b.run.LookupName(ctx, client, c.Name)
		if err != nil {
			b.t.Fatal(err)
		}
		desc, err := b.run.Desc(ctx, client, id)
		if err != nil {
			b.t.Fatal(err)
		}
		instances, err := b.agent.Instances(ctx, desc.InDom)
		if err != nil {
			b.t.Fatal(err)
		}
		var res pcp.Result
		if err := b.agent.Fetch(ctx, &pmda.FetchRequest{Client: client, PMIDs: []pcp.PMID{id}, Result: &res}); err != nil {
			b.t.Fatal(err)
		}
		line := fmt.Sprintf("%s %s %v %q", strings.TrimPrefix(c.Name, "opentelemetry."), strings.ToLower(desc.Type.String()), desc.Sem, desc.Units)
		for i, v := range res.Sets[0].Values {
			text := v.String()
			if v.Type() == pcp.TypeDouble {
				text = strconv.FormatFloat(v.Double(), 'g', -1, 64)
			}
			line += fmt.Sprintf(" [%s]=%s", instances[i].Name, text)
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return strings.Join(out, "\n") + "\n"
}

func (b *bench) want(below, want string) {
	b.t.Helper()
	if got := b.dump(below); got != want {
		b.t.Errorf("%s:\n%swant\n%s", below, got, want)
	}
}

// message appends fields of protocol buffers: a field's number, then its value.
func message(fields ...any) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		field := uint64(fields[i].(int)) << 3
		switch v := fields[i+1].(type) {
		case string:
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, field|2), uint64(len(v))), v...)
		case []byte:
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, field|2), uint64(len(v))), v...)
		case int:
			b = binary.AppendUvarint(binary.AppendUvarint(b, field), uint64(v))
		case float64:
			b = binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, field|1), math.Float64bits(v))
		case uint64:
			b = binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, field|1), v)
		}
	}
	return b
}

func keyValue(key, value string) []byte { return message(1, key, 2, message(1, value)) }

func fixed(list ...uint64) (b []byte) {
	for _, n := range list {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

// request is a request of OTLP with a metric of each kind.
func request(now time.Time) []byte {
	at := uint64(now.UnixNano())
	sum := message(7, message(1, message(7, keyValue("method", "GET"), 3, at, 6, uint64(17)), 1, message(7, keyValue("method", "PUT"), 3, at, 6, uint64(3)), 2, 2, 3, 1))
	gauge := message(5, message(1, message(3, at, 4, 0.5)))
	hist := message(9, message(1, message(9, keyValue("route", "/"), 3, at, 4, uint64(6), 5, 1.5,
		6, fixed(1, 2, 3), 7, fixed(math.Float64bits(0.1), math.Float64bits(2.5)), 11, 0.05, 12, 9.0), 2, 2))
	// scale 3: eight buckets for each power of two, reduced to four
	exp := message(10, message(1, message(3, at, 4, uint64(10), 5, 20.5, 6, 6, 7, uint64(1), 8, message(1, 0, 2, []byte{1, 2, 0, 4}), 9, message(1, 1, 2, []byte{2})), 2, 2))
	sumry := message(11, message(1, message(3, at, 4, uint64(5), 5, 2.5, 6, message(1, 0.5, 2, 0.25), 6, message(1, 0.99, 2, 1.0))))
	metrics := message(1, message(1, "scope"),
		2, append(message(1, "http.server.requests", 2, "Requests.\nOf all methods.", 3, "{request}"), sum...),
		2, append(message(1, "queue-length", 3, "By/s"), gauge...),
		2, append(message(1, "http.server.duration", 3, "s"), hist...),
		2, append(message(1, "sizes", 3, "furlong"), exp...),
		2, append(message(1, "rpc"), sumry...))
	return message(1, message(1, message(1, keyValue("service.name", "shop"), 1, keyValue("service.instance.id", "a1"), 1, keyValue("os.type", "linux")), 2, metrics))
}

const wantShop = `shop.http.server.duration.bucket u64 counter "count" [0 service_instance_id:a1 route:/ le:0.1]=1 [1 service_instance_id:a1 route:/ le:2.5]=3 [2 service_instance_id:a1 route:/ le:+Inf]=6
shop.http.server.duration.count u64 counter "count" [0 service_instance_id:a1 route:/]=6
shop.http.server.duration.max double instant "sec" [0 service_instance_id:a1 route:/]=9
shop.http.server.duration.min double instant "sec" [0 service_instance_id:a1 route:/]=0.05
shop.http.server.duration.sum double counter "sec" [0 service_instance_id:a1 route:/]=1.5
shop.http.server.requests u64 counter "count" [0 service_instance_id:a1 method:GET]=17 [1 service_instance_id:a1 method:PUT]=3
shop.queue_length double instant "byte / sec" [0 service_instance_id:a1]=0.5
shop.rpc.count u64 counter "count" [0 service_instance_id:a1]=5
shop.rpc.quantile double instant "" [0 service_instance_id:a1 quantile:0.5]=0.25 [1 service_instance_id:a1 quantile:0.99]=1
shop.rpc.sum double counter "" [0 service_instance_id:a1]=2.5
shop.sizes.bucket u64 counter "count" [0 service_instance_id:a1 le:-0.8408964152537145]=2 [1 service_instance_id:a1 le:0]=3 [2 service_instance_id:a1 le:1.189207115002721]=6 [3 service_instance_id:a1 le:1.4142135623730951]=10 [4 service_instance_id:a1 le:+Inf]=10
shop.sizes.count u64 counter "count" [0 service_instance_id:a1]=10
shop.sizes.sum double counter "" [0 service_instance_id:a1]=20.5
`

// TestOTLP pushes a metric of each kind by protocol buffers, plain and compressed, and reads them after a restart.
func TestOTLP(t *testing.T) {
	names := filepath.Join(t.TempDir(), "names")
	b := newBench(t, opentelemetry.Config{Names: names})
	status, text := b.post("/v1/metrics", request(time.Now()), "Content-Type", "application/x-protobuf")
	if status != 200 || text != "" {
		t.Fatalf("answer %d %q", status, text)
	}
	b.want("opentelemetry.shop", wantShop)
	id, err := b.run.LookupName(context.Background(), &pmda.Client{}, "opentelemetry.shop.http.server.requests")
	if err != nil {
		t.Fatal(err)
	}
	help, err := b.agent.Text(context.Background(), uint32(id), pcp.TextPMID|pcp.TextHelp)
	if help != "Requests.\nOf all methods." || err != nil {
		t.Errorf("help text %q, %v", help, err)
	}
	desc, _ := b.agent.Desc(context.Background(), id)
	sets, err := b.agent.Labels(context.Background(), uint32(desc.InDom), pcp.LabelInstances)
	const want = `{"method":"GET","os_type":"linux","otel_scope_name":"scope","service_instance_id":"a1","service_name":"shop"}`
	if err != nil || len(sets) != 2 || sets[0].JSON != want {
		t.Errorf("labels %v, %v, want first %s", sets, err, want)
	}
	if err := b.agent.Close(); err != nil {
		t.Fatal(err)
	}

	b = newBench(t, opentelemetry.Config{Names: names})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(request(time.Now()))
	z.Close()
	if status, text := b.post("/v1/metrics", packed.Bytes(), "Content-Type", "application/x-protobuf", "Content-Encoding", "gzip"); status != 200 || text != "" {
		t.Fatalf("answer %d %q", status, text)
	}
	b.want("opentelemetry.shop", wantShop)
	if again, _ := b.run.LookupName(context.Background(), &pmda.Client{}, "opentelemetry.shop.http.server.requests"); again != id {
		t.Errorf("PMID %v after the restart, and %v before", again, id)
	}
}

// number is a metric of OTLP in JSON.
func number(kind, more string, points ...string) string {
	return fmt.Sprintf(`{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"app"}}]},"scopeMetrics":[{"metrics":[{"name":"m","%s":{%s"dataPoints":[%s]}}]}]}]}`,
		kind, more, strings.Join(points, ","))
}

// TestJSON pushes by JSON: deltas, values that end, and values that are rejected.
func TestJSON(t *testing.T) {
	b := newBench(t, opentelemetry.Config{Limits: pushed.Limits{Series: 3}})
	send := func(text, want string) {
		t.Helper()
		if status, got := b.postJSON(text); status != 200 || got != want {
			t.Errorf("answer %d %s, want %s", status, got, want)
		}
	}
	at := time.Now().Add(-time.Second).UnixNano()
	delta := func(n string, at int64) string {
		return number("sum", `"aggregationTemporality":1,"isMonotonic":true,`, fmt.Sprintf(`{"timeUnixNano":"%d","asInt":%s}`, at, n))
	}
	send(delta(`"5"`, at), "{}")
	send(delta(`6`, at+1), "{}")
	send(delta(`6`, at+1), `{"partialSuccess":{"errorMessage":"old: metric app.m","rejectedDataPoints":"1"}}`)
	b.want("opentelemetry.app", "app.m u64 counter \"\" [0]=11\n")
	send(delta(`-6`, at+2), `{"partialSuccess":{"errorMessage":"value: metric app.m: a negative count","rejectedDataPoints":"1"}}`)
	send(number("gauge", "", `{"asDouble":"NaN"}`), `{"partialSuccess":{"errorMessage":"conflict: metric app.m is U64, counter, units \"\" already","rejectedDataPoints":"1"}}`)
	send(strings.ReplaceAll(number("gauge", "", `{"asDouble":"NaN"}`, `{"asDouble":2,"attributes":[{"key":"a","value":{"arrayValue":{"values":[{"intValue":"1"},{"boolValue":true}]}}}]}`), `"m"`, `"g"`), "{}")
	b.want("opentelemetry.app.g", "app.g double instant \"\" [0]=NaN [1 a:1,true]=2\n")
	send(strings.ReplaceAll(number("gauge", "", `{"flags":1}`, `{"asDouble":1,"attributes":[{"key":"a","value":{"stringValue":"x"}}]}`), `"m"`, `"g"`),
		`{"partialSuccess":{"errorMessage":"series: metric app.g, instance a:x","rejectedDataPoints":"1"}}`)
	b.want("opentelemetry.app.g", "app.g double instant \"\" [1 a:1,true]=2\n")
	send(number("exponentialHistogram", `"aggregationTemporality":1,`, `{"count":"1"}`),
		`{"partialSuccess":{"errorMessage":"unsupported: metric app.m: an exponential histogram with delta temporality","rejectedDataPoints":"1"}}`)
	if got := b.dump("opentelemetry.control.rejected"); !strings.Contains(got, "[2 series]=1") && !strings.Contains(got, "[series]=1") {
		t.Errorf("control.rejected: %s", got)
	}
}

// write1 makes a request of remote write 1.0 of series, each a list of pairs and then a value.
func write1(at int64, value float64, labels ...string) []byte {
	var series []byte
	for i := 0; i < len(labels); i += 2 {
		series = append(series, message(1, message(1, labels[i], 2, labels[i+1]))...)
	}
	series = append(series, message(2, message(1, value-1, 2, int(at-1)), 2, message(1, value, 2, int(at)))...)
	return message(1, series)
}

// TestRemoteWrite pushes by both versions of remote write, and ends a series.
func TestRemoteWrite(t *testing.T) {
	b := newBench(t, opentelemetry.Config{})
	now := time.Now().UnixMilli()
	post := func(body []byte, kind string, want int) {
		t.Helper()
		if status, text := b.post("/api/v1/write", s2.EncodeSnappy(nil, body), "Content-Type", kind, "Content-Encoding", "snappy"); status != want {
			t.Errorf("answer %d %q, want %d", status, text, want)
		}
	}
	const v1, v2 = "application/x-protobuf", "application/x-protobuf;proto=io.prometheus.write.v2.Request"
	body := append(write1(now, 5, "__name__", "http_seconds_count", "job", "api", "instance", "a:80"),
		write1(now, 7, "__name__", "temp", "job", "api", "instance", "a:80", "room", "kitchen")...)
	post(append(body, message(3, message(1, 3, 2, "http_seconds", 4, "Time of requests."))...), v1, 204)
	b.want("opentelemetry.api", `api.http_seconds_count double counter "count" [0 instance:a:80]=5
api.temp double instant "" [0 instance:a:80 room:kitchen]=7
`)
	post(write1(now+1, math.Float64frombits(0x7ff0000000000002), "__name__", "temp", "job", "api", "instance", "a:80", "room", "kitchen"), v1, 204)
	b.want("opentelemetry.api.temp", "api.temp double instant \"\"\n")
	post(write1(now-3_600_000, 1, "__name__", "temp", "job", "api"), v1, 204) // a sender that catches up

	second := message(4, "", 4, "__name__", 4, "x_bytes", 4, "job", 4, "control", 4, "Size.",
		5, message(1, []byte{1, 2, 3, 4}, 2, message(1, 9.0, 2, int(now)), 5, message(1, 1, 3, 5)))
	post(second, v2, 204)
	b.want("opentelemetry.control_", "control_.x_bytes double counter \"byte\" [0]=9\n")
	post(message(5, message(1, []byte{1, 2}, 2, message(1, 9.0))), v2, 400)
	post(write1(now, 1, "__name__", "", "job", "api"), v1, 400)
	post(message(1, message(1, message(1, "__name__", 2, "native"), 4, message(1, 1))), v1, 400)
	if status, _ := b.post("/api/v1/write", body, "Content-Type", v1); status != 415 {
		t.Errorf("without compression: %d", status)
	}
}

// TestRefused sends requests that are not taken.
func TestRefused(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, opentelemetry.Config{TokenFile: token})
	const proto, json, auth, good = "application/x-protobuf", "application/json", "Authorization", "Bearer secret"
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 32<<20))
	z.Close()
	for _, test := range []struct {
		name, path string
		body       []byte
		headers    []string
		want       int
	}{
		{"no token", "/v1/metrics", nil, []string{"Content-Type", proto}, 401},
		{"wrong token", "/v1/metrics", nil, []string{"Content-Type", proto, auth, "Bearer secre"}, 401},
		{"token", "/v1/metrics", nil, []string{"Content-Type", proto, auth, good}, 200},
		{"text", "/v1/metrics", nil, []string{"Content-Type", "text/plain", auth, good}, 415},
		{"traces", "/v1/traces", nil, []string{"Content-Type", proto, auth, good}, 404},
		{"broken", "/v1/metrics", []byte{10, 200}, []string{"Content-Type", proto, auth, good}, 400},
		{"broken JSON", "/v1/metrics", []byte("{"), []string{"Content-Type", json, auth, good}, 400},
		{"bomb", "/v1/metrics", bomb.Bytes(), []string{"Content-Type", proto, "Content-Encoding", "gzip", auth, good}, 413},
		{"long", "/v1/metrics", make([]byte, 5<<20), []string{"Content-Type", proto, auth, good}, 413},
		{"not gzip", "/v1/metrics", []byte("x"), []string{"Content-Type", proto, "Content-Encoding", "gzip", auth, good}, 400},
		{"deflate", "/v1/metrics", []byte("x"), []string{"Content-Type", proto, "Content-Encoding", "deflate", auth, good}, 415},
		{"length of 4 GB", "/api/v1/write", []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}, []string{"Content-Type", proto, "Content-Encoding", "snappy", auth, good}, 413},
	} {
		if status, text := b.post(test.path, test.body, test.headers...); status != test.want {
			t.Errorf("%s: answer %d %q, want %d", test.name, status, text, test.want)
		}
	}
	for _, cfg := range []opentelemetry.Config{
		{Listen: ":4318"}, {Listen: "0.0.0.0:4318"}, {Listen: "4318"}, {Listen: "127.0.0.1:0", TokenFile: "/dev/null/x"},
	} {
		if a, err := opentelemetry.New(cfg); err == nil {
			a.Close()
			t.Errorf("an agent with %+v listens", cfg)
		}
	}
}

// TestMemoryOfHostileBodies pushes a million series from a thousand senders: the table stays within its limits.
func TestMemoryOfHostileBodies(t *testing.T) {
	b := newBench(t, opentelemetry.Config{Limits: pushed.Limits{Memory: 1 << 20, Senders: 10}})
	for i := range 40 {
		var body []byte
		for j := range 500 {
			body = append(body, write1(time.Now().UnixMilli(), 1, "__name__", fmt.Sprintf("m%d", j), "job", fmt.Sprintf("job%d", i), "x", strings.Repeat("y", 100))...)
		}
		if status, text := b.post("/api/v1/write", s2.EncodeSnappy(nil, body), "Content-Type", "application/x-protobuf", "Content-Encoding", "snappy"); status != 204 && status != 400 {
			t.Fatalf("answer %d %q", status, text)
		}
	}
	var res pcp.Result
	id := pcp.NewPMID(opentelemetry.Domain, 0, 4)
	if err := b.agent.Fetch(context.Background(), &pmda.FetchRequest{PMIDs: []pcp.PMID{id}, Result: &res}); err != nil {
		t.Fatal(err)
	}
	total := uint64(0)
	for _, v := range res.Sets[0].Values {
		total += v.Uint64()
	}
	if total > 1<<20 || total < 1<<19 || len(res.Sets[0].Values) > 10 {
		t.Errorf("%d senders take %d bytes", len(res.Sets[0].Values), total)
	}
}
