package api_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/prom/api"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// A message is a message of protobuf: a sequence of fields.
type message []byte

func (m message) num(field protowire.Number, n int64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), uint64(n))
}

func (m message) text(field protowire.Number, s string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

func (m message) sub(field protowire.Number, s message) message { return m.text(field, string(s)) }

// matcher returns a LabelMatcher.
func matcher(kind int64, name, value string) message {
	return message{}.num(1, kind).text(2, name).text(3, value)
}

// readQuery returns a ReadRequest with one query.
func readQuery(start, end int64, types []int64, matchers ...message) message {
	q := message{}.num(1, start).num(2, end)
	for _, m := range matchers {
		q = q.sub(3, m)
	}
	req := message{}.sub(1, q)
	for _, t := range types {
		req = req.num(2, t)
	}
	return req
}

// read sends a request for remote read.
func read(h http.Handler, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/api/v1/read", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("Content-Encoding", "snappy")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// each calls f for each field of a message of the tests' own: the number, an integer or the bits of a double, and bytes.
func each(t *testing.T, b []byte, f func(num protowire.Number, n uint64, p []byte)) {
	t.Helper()
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatalf("tag: %x", b)
		}
		b = b[n:]
		var v uint64
		var p []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		default:
			p, n = protowire.ConsumeBytes(b)
		}
		if n < 0 {
			t.Fatalf("field %d: %x", num, b)
		}
		b = b[n:]
		f(num, v, p)
	}
}

// labelText returns a Label as text.
func labelText(t *testing.T, b []byte) string {
	var parts [3]string
	each(t, b, func(num protowire.Number, _ uint64, p []byte) { parts[num] = string(p) })
	return parts[1] + "=" + parts[2] + " "
}

// decodeSamples returns a response of type SAMPLES as text, a line for each query and series.
func decodeSamples(t *testing.T, body []byte) string {
	t.Helper()
	b, err := s2.Decode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	query := 0
	each(t, b, func(_ protowire.Number, _ uint64, result []byte) {
		each(t, result, func(_ protowire.Number, _ uint64, series []byte) {
			fmt.Fprintf(&out, "%d: ", query)
			each(t, series, func(num protowire.Number, _ uint64, p []byte) {
				if num == 1 {
					out.WriteString(labelText(t, p))
					return
				}
				var v, at uint64
				each(t, p, func(num protowire.Number, n uint64, _ []byte) {
					if num == 1 {
						v = n
					} else {
						at = n
					}
				})
				fmt.Fprintf(&out, "%g@%d ", math.Float64frombits(v), at)
			})
			out.WriteString("\n")
		})
		query++
	})
	return out.String()
}

// decodeChunks returns a response of type STREAMED_XOR_CHUNKS in the same form; frames is their number.
func decodeChunks(t *testing.T, body []byte) (text string, frames int) {
	t.Helper()
	var out strings.Builder
	before := ""
	for len(body) > 0 {
		size, n := binary.Uvarint(body)
		if n <= 0 || uint64(len(body)-n-4) < size {
			t.Fatalf("a frame of %d bytes in %d", size, len(body))
		}
		sum, m := binary.BigEndian.Uint32(body[n:]), body[n+4:n+4+int(size)]
		body = body[n+4+int(size):]
		if crc32.Checksum(m, crc32.MakeTable(crc32.Castagnoli)) != sum {
			t.Fatalf("frame %d has another checksum", frames)
		}
		frames++
		var series []byte
		query := uint64(0)
		each(t, m, func(num protowire.Number, n uint64, p []byte) {
			if num == 1 {
				series = p
			} else {
				query = n
			}
		})
		head := fmt.Sprintf("%d: ", query)
		var values strings.Builder
		each(t, series, func(num protowire.Number, _ uint64, p []byte) {
			if num == 1 {
				head += labelText(t, p)
				return
			}
			var lo, hi int64
			each(t, p, func(num protowire.Number, n uint64, p []byte) {
				switch num {
				case 1:
					lo = int64(n)
				case 2:
					hi = int64(n)
				case 3:
					if n != uint64(chunkenc.EncXOR) {
						t.Errorf("a chunk of type %d", n)
					}
				case 4:
					c, err := chunkenc.FromData(chunkenc.EncXOR, p)
					if err != nil {
						t.Fatal(err)
					}
					it := c.Iterator(nil)
					first, last := int64(math.MaxInt64), int64(0)
					for it.Next() != chunkenc.ValNone {
						at, v := it.At()
						first, last = min(first, at), at
						fmt.Fprintf(&values, "%g@%d ", v, at)
					}
					if it.Err() != nil || first != lo || last != hi {
						t.Errorf("a chunk from %d to %d has samples from %d to %d, %v", lo, hi, first, last, it.Err())
					}
				}
			})
		})
		if head != before {
			if before != "" {
				out.WriteString("\n")
			}
			out.WriteString(head)
			before = head
		}
		out.WriteString(values.String())
	}
	if before != "" {
		out.WriteString("\n")
	}
	return out.String(), frames
}

// TestRead reads series in both types of responses.
func TestRead(t *testing.T) {
	h := newHandler(api.Config{})
	const (
		sdb  = "__name__=disk_dev_read hostname=www instid=1 instname=sdb "
		ncpu = "__name__=hinv_ncpu hostname=www "
	)
	f := func(want string, req func(types ...int64) message) {
		t.Helper()
		for _, types := range [][]int64{nil, {0}, {0, 1}, {7, 0}} {
			w := read(h, s2.EncodeSnappy(nil, req(types...)))
			if w.Code != 200 || w.Header().Get("Content-Type") != "application/x-protobuf" || w.Header().Get("Content-Encoding") != "snappy" {
				t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
			}
			if got := decodeSamples(t, w.Body.Bytes()); got != want {
				t.Errorf("%v:\n%swant\n%s", types, got, want)
			}
		}
		for _, types := range [][]int64{{1}, {1, 0}, {7, 1}} {
			w := read(h, s2.EncodeSnappy(nil, req(types...)))
			if w.Code != 200 || w.Header().Get("Content-Type") != "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse" || w.Header().Get("Content-Encoding") != "" {
				t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
			}
			if got, _ := decodeChunks(t, w.Body.Bytes()); got != want {
				t.Errorf("%v:\n%swant\n%s", types, got, want)
			}
		}
	}
	f("0: "+ncpu+"4@1020000 4@1030000 \n", func(types ...int64) message {
		return readQuery(1_015_000, 1_030_000, types, matcher(0, "__name__", "hinv_ncpu"))
	})
	f("0: "+sdb+"7@1000000 \n", func(types ...int64) message {
		return readQuery(0, 1_000_000, types, matcher(2, "__name__", "disk.*"), matcher(1, "instname", "sda"), matcher(3, "instid", "[02-9]"))
	})
	f("", func(types ...int64) message { return readQuery(0, 1_000_000, types, matcher(0, "__name__", "none")) })
	f("0: "+ncpu+"4@1000000 \n2: "+sdb+"7@1000000 \n", func(types ...int64) message {
		m := readQuery(0, 1_000_000, nil, matcher(0, "__name__", "hinv_ncpu"))
		m = append(m, readQuery(0, 10, nil, matcher(0, "__name__", "hinv_ncpu"))...)
		return append(m, readQuery(0, 1_000_000, types, matcher(0, "instname", "sdb"))...)
	})
	// Hints restrict the times.
	hints := message{}.num(1, 15000).text(2, "rate").num(3, 1_050_000).num(4, 1_060_000).text(5, "instname").num(6, 1)
	f("0: "+ncpu+"4@1050000 4@1060000 \n", func(types ...int64) message {
		q := message{}.num(1, 0).num(2, 2_000_000).sub(3, matcher(0, "__name__", "hinv_ncpu")).sub(4, hints)
		m := message{}.sub(1, q)
		for _, kind := range types {
			m = m.num(2, kind)
		}
		return m
	})
}

// TestReadLong reads a series of several frames.
func TestReadLong(t *testing.T) {
	s := seriestest.New()
	id := s.AddMetric("a.b", pcp.Desc{PMID: pcp.NewPMID(60, 0, 4), Type: pcp.TypeDouble, InDom: pcp.InDomNull}, `{"hostname":"www"}`, "/a/www", "www")
	random := rand.New(rand.NewPCG(1, 2))
	var want strings.Builder
	want.WriteString("0: __name__=a_b hostname=www ")
	for i := range int64(200_000) {
		v := random.Float64()
		s.Append(id, pcp.Timestamp{Sec: 1000 + i}, series.InstValue{Value: pcp.DoubleValue(v).WithInst(pcp.InNull)})
		fmt.Fprintf(&want, "%g@%d ", v, (1000+i)*1000)
	}
	want.WriteString("\n")
	h := api.New(api.Config{Store: store.New(s, store.Config{})})
	w := read(h, s2.EncodeSnappy(nil, readQuery(0, 1<<40, []int64{1}, matcher(0, "__name__", "a_b"))))
	if got, frames := decodeChunks(t, w.Body.Bytes()); got != want.String() || frames < 2 || frames > 4 {
		t.Errorf("%d bytes in %d frames, want %d bytes", len(got), frames, want.Len())
	}
	if got := decodeSamples(t, read(h, s2.EncodeSnappy(nil, readQuery(0, 1<<40, nil, matcher(0, "__name__", "a_b")))).Body.Bytes()); got != want.String() {
		t.Errorf("%d bytes, want %d", len(got), want.Len())
	}
	// The limit of the store is one of the response.
	h = api.New(api.Config{Store: store.New(s, store.Config{MaxSamples: 1000})})
	for _, types := range [][]int64{{0}, {1}} {
		if w := read(h, s2.EncodeSnappy(nil, readQuery(0, 1<<40, types, matcher(0, "__name__", "a_b")))); w.Code != 400 || !strings.HasPrefix(w.Body.String(), "exceeded sample limit") {
			t.Errorf("%d %.200s", w.Code, w.Body)
		}
	}
}

// TestReadErrors sends requests that are refused.
func TestReadErrors(t *testing.T) {
	h := newHandler(api.Config{})
	good := readQuery(0, 1, nil, matcher(0, "a", "b"))
	f := func(status int, want string, body []byte) {
		t.Helper()
		w := read(h, body)
		if w.Code != status || !strings.Contains(w.Body.String(), want) || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%d %s, want %d %q", w.Code, w.Body, status, want)
		}
	}
	encoded := func(m message) []byte { return s2.EncodeSnappy(nil, m) }
	f(400, "not compressed by snappy", nil)
	f(400, "not compressed by snappy", []byte("\xff\xff\xff\xff\xff\xff"))
	f(400, "not compressed by snappy", good)
	f(400, "has 1048577 bytes, more than 1048576", encoded(make(message, api.MaxReadRequest+1)))
	f(400, "request body too large", make([]byte, api.MaxReadRequest+1))
	f(400, "server does not support any of the requested response types", encoded(append(good, message{}.num(2, 5)...)))
	f(400, "invalid matcher type", encoded(readQuery(0, 1, nil, matcher(4, "a", "b"))))
	f(400, "invalid matcher type", encoded(readQuery(0, 1, nil, matcher(-1, "a", "b"))))
	f(400, "missing closing )", encoded(readQuery(0, 1, nil, matcher(2, "a", "("))))
	f(400, "more than 65536", encoded(readQuery(0, 1, nil, matcher(0, "a", strings.Repeat("x", api.MaxExpr+1)))))
	f(400, "more than 100 matchers", encoded(readQuery(0, 1, nil, make([]message, api.MaxMatchers+1)...)))
	var many message
	for range api.MaxReadQueries + 1 {
		many = append(many, good...)
	}
	f(400, "more than 100 queries", encoded(many))
	f(400, "offset 0: field 1 has wire type 0, want 2", encoded(message{}.num(1, 5)))
	f(400, "offset 6: unexpected EOF", encoded(append(message{}.sub(1, message{}.num(1, 5).num(2, 6)), 0x0a, 0xff)))
	r := httptest.NewRequest(http.MethodGet, "/api/v1/read", nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
		t.Errorf("GET: %d %v", w.Code, w.Header())
	}
}

// The archive of the tests has values of three disks and a load, every 10 seconds for an hour.
const (
	first   = 1_767_225_600 // 2026-01-01
	records = 360
)

// openArchive writes the archive, and returns a handler of it and the values of each series.
func openArchive(t *testing.T) (*api.Handler, map[string][]float64) {
	t.Helper()
	dir := t.TempDir()
	w, err := archive.Create(filepath.Join(dir, "a"), archive.WriterConfig{Label: archive.Label{
		Version: archive.Version3, PID: 1, Host: "www", TimeZone: "UTC", Start: pcp.Timestamp{Sec: first},
	}})
	if err != nil {
		t.Fatal(err)
	}
	disks := pcp.NewInDom(60, 1)
	read := pcp.Desc{PMID: pcp.NewPMID(60, 0, 4), Type: pcp.TypeU64, InDom: disks, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}}
	load := pcp.Desc{PMID: pcp.NewPMID(60, 2, 0), Type: pcp.TypeDouble, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
	names := []string{"sda", "sdb", "sdc"}
	var insts []pcp.Instance
	for i, name := range names {
		insts = append(insts, pcp.Instance{Inst: int32(i), Name: name})
	}
	for _, err := range []error{
		w.Desc(read, "disk.dev.read"), w.Desc(load, "kernel.all.load"),
		w.InDom(pcp.Timestamp{Sec: first}, disks, insts),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	want := map[string][]float64{}
	counts := make([]uint64, len(names))
	var res pcp.Result
	for i := range int64(records) {
		res.Reset()
		res.Time = pcp.Timestamp{Sec: first + 10*i}
		res.AddSet(read.PMID)
		for d, name := range names {
			counts[d] += uint64(random.IntN(1000))
			if i == 200 {
				counts[d] = 0 // a reset
			}
			res.Add(pcp.Uint64Value(counts[d]).WithInst(int32(d)))
			want[name] = append(want[name], float64(counts[d]))
		}
		res.AddSet(load.PMID)
		v := random.Float64() * 8
		res.Add(pcp.DoubleValue(v).WithInst(pcp.InNull))
		want["load"] = append(want["load"], v)
		if err := w.WriteResult(&res); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := archives.Open(context.Background(), archives.Config{Dirs: []string{dir}, Interval: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return api.New(api.Config{Store: store.New(s, store.Config{}), Now: func() time.Time { return time.Unix(first+10*records, 0) }}), want
}

// freeAddress returns an address of this host that is free.
func freeAddress(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// startPrometheus starts Debian's Prometheus with a configuration, and returns its URL.
func startPrometheus(t *testing.T, conf string) string {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("SKIPPED: prometheus is not installed (Debian's package prometheus has it)")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "p.yml")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := freeAddress(t)
	out := new(bytes.Buffer)
	cmd := exec.Command(path, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+addr, "--web.enable-remote-write-receiver", "--storage.tsdb.retention.time=100y")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%.4000s", out)
		}
	})
	await.Until(t, "prometheus answers", func() bool {
		w, err := http.Get("http://" + addr + "/-/ready")
		if err != nil {
			return false
		}
		w.Body.Close()
		return w.StatusCode == 200
	})
	return "http://" + addr
}

// get requests a URL and returns the data of the JSON.
func get(t *testing.T, url string) any {
	t.Helper()
	w, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	var reply struct {
		Status string
		Data   any
	}
	if err := json.Unmarshal(b, &reply); err != nil || reply.Status != "success" {
		t.Fatalf("%s: %v\n%.1000s", url, err, b)
	}
	return reply.Data
}

// TestReadPrometheus has Debian's Prometheus read our archive by remote read: queries there give its values.
func TestReadPrometheus(t *testing.T) {
	h, want := openArchive(t)
	srv := httptest.NewServer(h)
	defer srv.Close()
	// The configuration is that of docs/prometheus.md.
	page, err := os.ReadFile("../../../../docs/prometheus.md")
	if err != nil {
		t.Fatal(err)
	}
	conf := regexp.MustCompile(`(?m)^    remote_read:\n(    .*\n)+`).FindString(string(page))
	if strings.Count(conf, host) != 1 {
		t.Fatalf("the page has no configuration for %s: %q", host, conf)
	}
	prom := startPrometheus(t, strings.ReplaceAll(strings.ReplaceAll(conf, host, srv.URL), "\n    ", "\n")[4:])

	// The values as they are.
	answer := get(t, prom+"/api/v1/query?time="+fmt.Sprint(first+10*records)+"&query="+url.QueryEscape(`{__name__=~"disk_dev_read|kernel_all_load"}[2h]`))
	list := answer.(map[string]any)["result"].([]any)
	if len(list) != len(want) {
		t.Fatalf("%d series, want %d", len(list), len(want))
	}
	for _, one := range list {
		s := one.(map[string]any)
		key, ok := s["metric"].(map[string]any)["instname"].(string)
		if !ok {
			key = "load"
		}
		values := s["values"].([]any)
		if len(values) != records {
			t.Fatalf("%s: %d values", key, len(values))
		}
		for i, pair := range values {
			p := pair.([]any)
			if got := p[1].(string); p[0].(float64) != float64(first+10*i) || got != fmt.Sprint(want[key][i]) && got != fmt.Sprintf("%.0f", want[key][i]) {
				t.Fatalf("%s: value %d is %v, want %v", key, i, p, want[key][i])
			}
		}
	}

	// Expressions give the same here and there. No sample is at an edge of a range: Prometheus 2 has those at its start, too.
	for _, expr := range []string{
		`disk_dev_read`, `sum by (instname) (rate(disk_dev_read[1m]))`, `increase(disk_dev_read{instname!="sda"}[5m])`,
		`max_over_time(kernel_all_load[10m:30s])`, `topk(1, disk_dev_read) / on() group_left() kernel_all_load`,
		`resets(disk_dev_read[1h])`, `absent(nothing)`, `kernel_all_load offset 10m`,
	} {
		q := fmt.Sprintf("/api/v1/query_range?start=%d&end=%d&step=40&query=%s", first-103, first+10*records+400, url.QueryEscape(expr))
		ours, theirs := get(t, srv.URL+q), get(t, prom+q)
		if a, b := canonical(t, ours), canonical(t, theirs); a != b {
			t.Errorf("%s:\n%.2000s\nPrometheus:\n%.2000s", expr, a, b)
		} else if expr == "disk_dev_read" && len(a) < 1000 {
			t.Errorf("%s: %s", expr, a)
		}
	}
	// Prometheus asks for series by hints.
	q := fmt.Sprintf("/api/v1/series?match[]=disk_dev_read&start=%d&end=%d", first, first+10*records)
	if a, b := canonical(t, get(t, srv.URL+q)), canonical(t, get(t, prom+q)); a != b || strings.Count(a, "__name__") != 3 {
		t.Errorf("%s: %s, Prometheus: %s", q, a, b)
	}
}

// canonical returns JSON of a value. The order of series does not count.
func canonical(t *testing.T, v any) string {
	t.Helper()
	if m, ok := v.(map[string]any); ok {
		if list, ok := m["result"].([]any); ok {
			m["result"] = sorted(t, list)
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// FuzzRead sends requests for remote read. The only errors are those of clients.
func FuzzRead(f *testing.F) {
	hints := message{}.num(1, 15000).text(2, "series").num(3, 0).num(4, 1<<62).text(5, "x").num(6, 1).num(7, 9)
	for _, m := range []message{
		readQuery(0, 2_000_000, nil, matcher(0, "__name__", "hinv_ncpu")),
		readQuery(math.MinInt64, math.MaxInt64, []int64{1}, matcher(2, "__name__", ".*"), matcher(3, "a", "(x|y)*")),
		append(readQuery(5, -5, []int64{0, 1}), readQuery(1, 1, nil, matcher(1, "", ""))...),
		message{}.sub(1, message{}.num(1, 0).num(2, 2_000_000).sub(3, matcher(0, "__name__", "hinv_ncpu")).sub(4, hints)),
		message{}.text(2, "\x01\x00\x80"),
		{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f},
		{0x0b, 0x0b, 0x0b, 0x0b},
	} {
		f.Add([]byte(m), true)
		f.Add([]byte(s2.EncodeSnappy(nil, m)), false)
	}
	h := newHandler(api.Config{Engine: store.EngineConfig{Timeout: time.Second}})
	f.Fuzz(func(t *testing.T, b []byte, compress bool) {
		if compress {
			b = s2.EncodeSnappy(nil, b)
		}
		w := read(h, b)
		if w.Code != 200 && w.Code != 400 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if w.Code == 200 && w.Header().Get("Content-Encoding") == "" {
			decodeChunks(t, w.Body.Bytes())
		} else if w.Code == 200 {
			decodeSamples(t, w.Body.Bytes())
		}
	})
}

// sorted returns a list in the order of the JSON of its elements.
func sorted(t *testing.T, list []any) []any {
	t.Helper()
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(text(a), text(b)) })
	return list
}
