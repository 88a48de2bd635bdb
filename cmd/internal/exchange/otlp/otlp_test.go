package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pmapi"
)

var start = time.Date(2026, 11, 20, 10, 0, 0, 123_456_789, time.UTC)

// generate writes an archive with counters that fall, instances that vanish, processes and a mark, and returns its base.
func generate(t testing.TB) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	base := filepath.Join(t.TempDir(), "a")
	im, err := importer.Start(base, importer.Options{Host: "www", TimeZone: "UTC"})
	must(err)
	disks, procs := im.NewInDom(), pcp.NewInDom(procDomain, procSerial)
	reads, err := im.NewMetric("disk.dev.read", importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: disks, Units: pcp.Units{DimCount: 1}})
	must(err)
	free, err := im.NewMetric("mem.free", importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemInstant, Units: pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}})
	must(err)
	load, err := im.NewMetric("load", importer.Spec{Type: pcp.TypeDouble, Sem: pcp.SemInstant})
	must(err)
	sys, err := im.NewMetric(unameSysname, importer.Spec{Type: pcp.TypeString, Sem: pcp.SemDiscrete})
	must(err)
	rss, err := im.NewMetric("proc.psinfo.rss", importer.Spec{Type: pcp.Type32, Sem: pcp.SemInstant, InDom: procs, Units: pcp.Units{DimSpace: 1}})
	must(err)
	groups, err := im.NewMetric(cgroupsOfProcs, importer.Spec{Type: pcp.TypeString, Sem: pcp.SemInstant, InDom: procs})
	must(err)
	must(im.AddInstance(procs, "000042 /bin/sh -c true", 42))
	for i := range 4 {
		for j, name := range []string{"sda", "sdb"} {
			if i == 2 && j == 1 {
				continue // sdb is gone
			}
			h, err := reads.Instance(name)
			must(err)
			v := uint64(100*i + j)
			if i == 1 && j == 0 {
				v = math.MaxUint64 // not a signed number; the counter falls after it
			}
			must(h.PutUint(v))
		}
		must(free.PutUint(uint64(i)))
		must(load.PutDouble(float64(i) / 4))
		must(sys.PutString("Linux"))
		h, err := rss.Instance("000042 /bin/sh -c true")
		must(err)
		must(h.PutInt(int64(-i)))
		if h, err = groups.Instance("000042 /bin/sh -c true"); err == nil {
			err = h.PutString("0::/system.slice/docker-" + strings.Repeat("ab", 32) + ".scope")
		}
		must(err)
		must(im.Write(start.Add(time.Duration(i) * 10 * time.Second)))
		if i == 2 {
			must(im.PutMark())
		}
	}
	must(im.End())
	return base
}

func environment(args []string, out, errs io.Writer) *cli.Env {
	return &cli.Env{
		Name: "pcp otlp", Args: args, Stdin: strings.NewReader(""), Stdout: out, Stderr: errs, Version: "test", Command: Command,
		Getenv: func(string) string { return "" },
	}
}

func call(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), environment(args, &o, &e))
	return status, o.String(), e.String()
}

// A collector takes requests. reply, if it is not nil, answers the nth.
type collector struct {
	mu     sync.Mutex
	bodies [][]byte
	header http.Header
	path   string
}

func collect(t testing.TB, reply func(n int, w http.ResponseWriter)) (*collector, string) {
	c := new(collector)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		b, err := io.ReadAll(z)
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies = append(c.bodies, b)
		c.header, c.path = r.Header, r.URL.Path
		if reply != nil {
			reply(len(c.bodies), w)
		}
	}))
	t.Cleanup(srv.Close)
	return c, srv.URL
}

// dump decodes a request into lines, one for each data point. Package otlptest makes the same ones with the library of the protocol.
func dump(t *testing.T, b []byte) (lines []string) {
	t.Helper()
	sub := func(b []byte, f func(field int, n uint64, p []byte)) {
		t.Helper()
		if err := fields(b, f); err != nil {
			t.Fatalf("%x: %v", b, err)
		}
	}
	attribute := func(b []byte) (text string) {
		sub(b, func(field int, _ uint64, p []byte) {
			if field == keyValueKey {
				text = string(p)
				return
			}
			sub(p, func(field int, n uint64, p []byte) {
				switch field {
				case anyString:
					text += fmt.Sprintf("=%q", p)
				case anyInt:
					text += fmt.Sprintf("=%d", int64(n))
				case anyBool:
					text += fmt.Sprintf("=%t", n == 1)
				default:
					t.Errorf("attribute %s has field %d", text, field)
				}
			})
		})
		return text
	}
	sub(b, func(_ int, _ uint64, b []byte) {
		var res []string
		sub(b, func(field int, _ uint64, b []byte) {
			if field == resourceMetricsResource {
				sub(b, func(_ int, _ uint64, b []byte) { res = append(res, attribute(b)) })
				return
			}
			scope := ""
			sub(b, func(field int, _ uint64, b []byte) {
				if field == scopeMetricsScope {
					sub(b, func(_ int, _ uint64, b []byte) { scope += string(b) + " " })
					return
				}
				name, unit, kind := "", "", ""
				sub(b, func(field int, _ uint64, b []byte) {
					switch field {
					case metricName:
						name = string(b)
					case metricUnit:
						unit = string(b)
					case metricGauge, metricSum:
						kind = map[int]string{metricGauge: "gauge", metricSum: "sum"}[field]
						sub(b, func(field int, _ uint64, b []byte) {
							if field != dataPoints {
								return
							}
							var list []string
							sub(b, func(field int, _ uint64, b []byte) {
								if field == pointAttributes {
									list = append(list, attribute(b))
								}
							})
							lines = append(lines, fmt.Sprintf("%s{%s} %s%s %s %s {%s}", name, strings.Join(res, " "), scope, unit, kind, pointText(t, b), strings.Join(list, " ")))
						})
					}
				})
			})
		})
	})
	return lines
}

// pointText returns the times, from start in seconds, and the value of a data point.
func pointText(t *testing.T, b []byte) string {
	var from, at, value, none string
	since := func(p []byte) string {
		return fmt.Sprint(time.Unix(0, int64(binary.LittleEndian.Uint64(p))).Sub(start))
	}
	for len(b) > 0 {
		field, kind := int(b[0]>>3), b[0]&7
		b = b[1:]
		switch kind {
		case fixed64:
			switch field {
			case pointStart:
				from = since(b)
			case pointTime:
				at = since(b)
			case pointInt:
				value = fmt.Sprint(int64(binary.LittleEndian.Uint64(b)))
			case pointDouble:
				value = fmt.Sprintf("%g", math.Float64frombits(binary.LittleEndian.Uint64(b)))
			}
			b = b[8:]
		case varint:
			none = fmt.Sprintf("flags=%d", b[0])
			b = b[1:]
		case length:
			n, w := binary.Uvarint(b)
			b = b[w+int(n):]
		default:
			t.Fatalf("wire type %d", kind)
		}
	}
	return fmt.Sprintf("[%s..%s] %s", from, at, value+none)
}

// TestArchive sends an archive and compares the bytes and their meaning with recorded ones.
func TestArchive(t *testing.T) {
	base := generate(t)
	c, url := collect(t, nil)
	status, out, errs := call(t, "--to", url, "--attribute", "service.name=shop", "-a", base)
	if status != 0 || errs != "" {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	if want := base + ": sent 24 data points in 1 request, "; !strings.HasPrefix(out, want) || !strings.Contains(out, ": left out 2 metrics without numbers\n") {
		t.Errorf("%s", out)
	}
	if c.path != "/v1/metrics" || c.header.Get("Content-Type") != "application/x-protobuf" || c.header.Get("User-Agent") != "pcp-otlp/test" {
		t.Errorf("%s %v", c.path, c.header)
	}
	golden(t, "archive.txt", []byte(strings.Join(dump(t, c.bodies[0]), "\n")+"\n"))
	golden(t, "archive.bin", c.bodies[0])
}

// golden compares with a file, or writes it if UPDATE is set.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// TestReplies sends to servers that do not take everything.
func TestReplies(t *testing.T) {
	base := generate(t)
	// message has a field 1 with a number and a field 2 with a text, as Status and ExportMetricsPartialSuccess have.
	message := func(n int, text string) []byte {
		return appendString(append([]byte{1<<3 | varint}, byte(n)), 2, text)
	}
	f := func(status int, out, errs string, requests int, reply func(n int, w http.ResponseWriter)) {
		t.Helper()
		c, url := collect(t, reply)
		s, o, e := call(t, "--to", url+"/otlp", "--retry", "1s", "-a", base)
		o = strings.ReplaceAll(o, base, "ARCHIVE")
		if s != status || !strings.Contains(o, out) || !strings.Contains(e, errs) || errs == "" && e != "" || len(c.bodies) < requests || c.path != "/otlp" {
			t.Errorf("status %d, %d requests to %s\n%s%s", s, len(c.bodies), c.path, o, e)
		}
	}
	write := func(code int, body []byte) func(int, http.ResponseWriter) {
		return func(_ int, w http.ResponseWriter) {
			w.WriteHeader(code)
			w.Write(body)
		}
	}
	f(0, "ARCHIVE: sent 24 data points in 1 request", "", 1, write(200, nil))
	f(0, "sent 24 data points in 1 request", "", 1, write(202, appendBytes(nil, 1, message(0, "a warning"))))
	f(1, "sent 21 data points in 1 request", "", 1, write(200, appendBytes(nil, 1, message(3, "too\nold"))))
	f(1, "ARCHIVE: rejected 3 data points: too old\n", "", 1, write(200, appendBytes(nil, 1, message(3, "too\nold"))))
	f(1, "", "not a message of OTLP", 1, write(200, []byte("<html>")))
	f(1, "ARCHIVE: rejected 24 data points: 400 Bad Request: bad units\n", "", 1, write(400, message(3, "bad units")))
	f(1, "ARCHIVE: rejected 24 data points: 500 Internal Server Error\n", "", 1, write(500, []byte("x")))
	f(1, "", "refuses requests: 401 Unauthorized", 1, write(401, nil))
	f(1, "", "redirects are not followed", 1, write(307, nil))
	f(1, "", "given up after", 2, write(503, nil))
	f(0, "sent 24 data points in 1 request", "429 Too Many Requests; trying again in", 2, func(n int, w http.ResponseWriter) {
		if n == 1 {
			w.WriteHeader(429)
		}
	})
}

// TestOptions calls with mistakes.
func TestOptions(t *testing.T) {
	base := generate(t)
	f := func(errs string, args ...string) {
		t.Helper()
		status, out, e := call(t, args...)
		if status != 1 || out != "" || !strings.Contains(e, errs) {
			t.Errorf("%q: status %d\n%s%s", args, status, out, e)
		}
	}
	f("--to is needed", "-a", base)
	f("name the metrics", "--to", "http://h")
	f("belong together", "-n", "--user", "u", "-a", base)
	f("--key needs --cert", "-n", "--key", "k", "-a", base)
	f("as it was recorded", "-n", "-t", "1s", "-a", base)
	f("supported for archives only", "-n", "-S", "@10:00", "disk")
	f("NAME=VALUE", "-n", "--attribute", "x", "-a", base)
	f("NAME:VALUE", "-n", "--header", "x", "-a", base)
	f("with secrets in files", "-n", "--header", "Authorization: x", "-a", base)
	f("--retry needs", "-n", "--retry", "x", "-a", base)
	f("no metric has this name", "-n", "-a", base, "nosuch")
	f("has numbers", "-n", "-a", base, unameSysname)
	f("the URL of a server is", "--to", "h:4318", "-a", base)
	f("no such file", "--to", "http://h", "--token", base+".missing", "-a", base)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f("only over https", "--to", "http://192.0.2.1", "--token", token, "-a", base)
	status, out, errs := call(t, "-n", "-s", "1", "-a", base, "disk")
	if status != 0 || errs != "" || !strings.Contains(out, "to send 2 data points in 1 request") {
		t.Errorf("one record: status %d\n%s%s", status, out, errs)
	}
	status, out, errs = call(t, "-n", "-Z", "UTC", "-S", "@2026-11-20 10:00:25", "-a", base, "disk", "load")
	if status != 0 || !strings.Contains(out, "to send 3 data points in 1 request") {
		t.Errorf("a part: status %d\n%s%s", status, out, errs)
	}
}

// live is a run of the program with the agent simple in this process.
func live(t *testing.T, args ...string) (x *sending, out, errs *bytes.Buffer) {
	t.Helper()
	spec, ok := agent.Named("simple")
	if !ok {
		t.Fatal("there is no agent simple")
	}
	a, err := spec.Open(builtin.Env{})
	if err != nil {
		t.Fatal(err)
	}
	local, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: spec.Name, Domain: spec.Domain, Agent: a})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { local.Close() })
	out, errs = new(bytes.Buffer), new(bytes.Buffer)
	x = &sending{env: environment(args, out, errs), req: new(request)}
	x.o = source.Parse(x.env, cli.ParseConfig{Own: x.own, Archives: true})
	x.Config.Warn = func(err error, _ time.Duration) { x.warn(err.Error()) }
	if x.client, err = remote.New(x.Config); err != nil {
		t.Fatal(err)
	}
	x.s = newSampler(local, x.o.Args, x.emit)
	return x, out, errs
}

// TestLive sends samples to a server that is busy at first.
func TestLive(t *testing.T) {
	c, url := collect(t, func(n int, w http.ResponseWriter) {
		if n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	x, out, errs := live(t, "--to", url, "-s", "3", "-t", "10msec", "simple")
	if err := x.live(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.bodies) != 4 || !strings.Contains(errs.String(), "503") || !strings.Contains(out.String(), " in 3 requests") || !x.sum.complete() {
		t.Fatalf("%d requests\n%s%s", len(c.bodies), out, errs)
	}
	lines := dump(t, c.bodies[3])
	if !slices.ContainsFunc(lines, func(s string) bool {
		return strings.HasPrefix(s, "simple.color{") && strings.Contains(s, `instname="red"`) && strings.Contains(s, "instid=")
	}) {
		t.Errorf("%q", lines)
	}
}

// TestLiveRefused sends samples to a server that refuses them.
func TestLiveRefused(t *testing.T) {
	_, url := collect(t, func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) })
	x, _, _ := live(t, "--to", url, "-t", "10msec", "simple.numfetch")
	if err := x.live(t.Context()); err == nil || !strings.Contains(err.Error(), "403 Forbidden") {
		t.Errorf("live: %v", err)
	}
}

// TestLiveInterrupted interrupts a run.
func TestLiveInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, url := collect(t, func(n int, _ http.ResponseWriter) {
		if n == 2 {
			cancel()
		}
	})
	x, out, _ := live(t, "--to", url, "-t", "10msec", "simple.numfetch")
	if err := x.live(ctx); err != nil || !x.sum.complete() || x.sum.points < 2 {
		t.Errorf("live: %v\n%s", err, out)
	}
}

func TestOutbox(t *testing.T) {
	o := newOutbox()
	big := make([]byte, maxHeld/2+1)
	for i := range 3 {
		o.put(batch{big, i + 1})
	}
	o.close()
	if b, ok := o.next(t.Context()); !ok || b.points != 3 || o.dropped != 3 || o.bytes != 0 {
		t.Errorf("next: %d, %t; dropped %d, %d bytes held", b.points, ok, o.dropped, o.bytes)
	}
	if _, ok := o.next(t.Context()); ok {
		t.Error("next after the last one")
	}
}

func TestResources(t *testing.T) {
	text := func(list []names.Pair) string {
		var words []string
		for _, l := range list {
			words = append(words, l.Name+"="+l.Text())
		}
		return strings.Join(words, " ")
	}
	id, uid := strings.Repeat("0123456789abcdef", 4), "8d23a5b9-0f1e-4b44-9c0d-0123456789ab"
	f := func(path, want string) {
		t.Helper()
		if got := text(containerAttributes(path)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	f("/", "")
	f("/system.slice/sshd.service", "")
	f("/docker/"+id, "container.id="+id)
	f("/system.slice/docker-"+id+".scope", "container.id="+id)
	f("/machine.slice/libpod-"+id+".scope/container", "container.id="+id)
	f("/kubepods/besteffort/pod"+uid+"/"+id, "k8s.pod.uid="+uid+" container.id="+id)
	f("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"+strings.ReplaceAll(uid, "-", "_")+".slice/cri-containerd-"+id+".scope", "k8s.pod.uid="+uid+" container.id="+id)
	f("/kubepods.slice/kubepods-pod"+id[:32]+".slice", "k8s.pod.uid="+id[:32])
	f("/docker/"+id[1:], "")
	f("/docker/"+strings.ToUpper(id), "")
	f("/kubepods/pod"+strings.ReplaceAll(uid, "-", "x"), "")
	if got, want := text(processAttributes(7, "000007 /bin/sh -c x", "11:cpu:/;0::/docker/"+id)), "process.pid=7 process.command=/bin/sh process.command_line=/bin/sh -c x container.id="+id; got != want {
		t.Errorf("process: %s, want %s", got, want)
	}
	if got := text(processAttributes(7, "000007", "")); got != "process.pid=7" {
		t.Errorf("process without a command: %s", got)
	}
	set, err := pcp.ParseLabels(`{"hostname":"www","machineid":"m","groupid":7,"ok":true}`, pcp.LabelContext)
	if err != nil {
		t.Fatal(err)
	}
	got := text(hostAttributes([]pcp.LabelSet{set}, "other", map[string]string{unameSysname: "Linux", unameMachine: "x86_64", unameRelease: "6.1"}))
	if want := "groupid=7 host.name=www host.id=m ok=true host.arch=amd64 os.type=linux os.version=6.1"; got != want {
		t.Errorf("host: %s, want %s", got, want)
	}
	if got := text(hostAttributes(nil, "h", nil)); got != "host.name=h" {
		t.Errorf("host without labels: %s", got)
	}
}

// FuzzReply decodes replies of servers.
func FuzzReply(f *testing.F) {
	f.Add([]byte{})
	f.Add(appendBytes(nil, 1, appendString([]byte{1<<3 | varint, 3}, 2, "too old")))
	f.Add([]byte{1<<3 | length, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{1<<3 | 3, 0, 2<<3 | 5, 1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		n, text, err := partial(b)
		if n < 0 || len(text) > maxReason || err != nil && (n != 0 || text != "") {
			t.Errorf("partial = %d, %q, %v", n, text, err)
		}
		if text := status(b); len(text) > maxReason {
			t.Errorf("status = %q", text)
		}
	})
}

// BenchmarkRequest measures the encoding of 1,000 series, without compression.
func BenchmarkRequest(b *testing.B) {
	m := &metric{head: head("disk.dev.read", "", &pcp.Desc{}), counter: true}
	res := newResource(nil)
	attributes := appendAttributes(nil, pointAttributes, names.Instance(nil, 1, "sda"))
	b.ReportAllocs()
	for b.Loop() {
		r := new(request)
		for i := range 1000 {
			r.add(res, m, &point{attributes: attributes, start: 1, time: 2, value: pcp.Uint64Value(uint64(i))})
		}
		r.bytes("test")
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "points/s")
}
