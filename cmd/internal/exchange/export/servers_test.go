package export

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/version"
	"github.com/go-pcp/pcp/openmetrics"
)

// record makes an archive of n seconds.
func record(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a")
	im, err := importer.Start(path, importer.Options{Host: "host", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	reads, err := im.NewMetric("disk.reads", importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: im.NewInDom(), Units: pcp.Units{DimCount: 1}})
	must(err)
	load, err := im.NewMetric("load", importer.Spec{Type: pcp.TypeFloat, Sem: pcp.SemInstant})
	must(err)
	name, err := im.NewMetric("os.name", importer.Spec{Type: pcp.TypeString, Sem: pcp.SemDiscrete})
	must(err)
	must(im.PutLabel(pcp.LabelContext, 0, 0, "hostname", `a \"host\"`))
	for i := range n {
		for k, name := range []string{"sda", "sd \"b\""} {
			disk, err := reads.Instance(name)
			must(err)
			disk.PutInt(int64(10 * (k + 1) * i))
		}
		load.PutDouble(float64(i) / 4)
		name.PutString("Linux\n")
		must(im.Write(time.Unix(1_700_000_000+int64(i), 0)))
	}
	must(im.End())
	return path
}

// export runs a program and returns its output.
func export(ctx context.Context, t *testing.T, tool string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	for _, c := range Commands() {
		if c.Link != tool {
			continue
		}
		getenv := func(name string) string {
			if name == "TZ" {
				return "UTC"
			}
			return ""
		}
		status = c.Run(ctx, &cli.Env{
			Name: tool, Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: getenv, Version: version.Number, Command: c,
		})
		return out.String(), errs.String(), status
	}
	t.Fatalf("no %s", tool)
	return
}

// zabbixServer answers each request with a word.
func zabbixServer(word string) func(net.Conn, *bytes.Buffer) {
	return func(c net.Conn, got *bytes.Buffer) {
		head := make([]byte, 13)
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		body := make([]byte, binary.LittleEndian.Uint64(head[5:]))
		if _, err := io.ReadFull(c, body); err != nil {
			return
		}
		got.Write(head)
		got.Write(body)
		reply := fmt.Sprintf(`{"response":%q,"info":"processed"}`, word)
		_, _ = c.Write(append(binary.LittleEndian.AppendUint64([]byte("ZBXD\x01"), uint64(len(reply))), reply...))
	}
}

// TestServerComesBack has an HTTP server refuse at first: each sample arrives once, in order.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	var got []string
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls <= attempts+1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		b, _ := io.ReadAll(r.Body)
		got = append(got, string(b))
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	_, errs, status := export(t.Context(), t, "pcp2influxdb", "-g", server.URL, "-a", record(t, 5), "-t", "1", "load")
	if status != 0 || len(got) != 5 {
		t.Fatalf("status %d, %d samples: %s", status, len(got), errs)
	}
	for i, s := range got {
		if want := fmt.Sprintf("load value=%s %d000000000", pytext.Float(float64(i)/4), 1_700_000_000+i); s != want {
			t.Errorf("sample %d is %q, want %q", i, s, want)
		}
	}
	if !strings.Contains(errs, "failed with code 503") {
		t.Errorf("messages %q", errs)
	}
}

// TestServerAway has no server at all: the loss is reported, and sets the exit
// status.
func TestServerAway(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
	ln.Close()
	a := record(t, 3)
	for _, args := range [][]string{
		{"pcp2graphite", "-g", "127.0.0.1", "-p", port},
		{"pcp2zabbix", "-g", "127.0.0.1", "-p", port},
		{"pcp2influxdb", "-g", "http://127.0.0.1:" + port},
		{"pcp2elasticsearch", "-g", "http://127.0.0.1:" + port},
		{"pcp2openmetrics", "-u", "http://127.0.0.1:" + port},
		{"pcp2opentelemetry", "-u", "http://127.0.0.1:" + port},
	} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			_, errs, status := export(t.Context(), t, args[0], append(args[1:], "-a", a, "load")...)
			if status != 1 || !strings.Contains(errs, " samples were not delivered\n") || !strings.Contains(strings.ToLower(errs), "refused") && args[0] != "pcp2elasticsearch" {
				t.Errorf("status %d: %s", status, errs)
			}
		})
	}
}

// TestSlowServer interrupts a program whose server does not answer.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	began := time.Now()
	_, errs, _ := export(ctx, t, "pcp2openmetrics", "-u", server.URL, "-o", "0.3", "-a", record(t, 3), "load")
	if !strings.Contains(errs, "not delivered") || time.Since(began) > time.Minute {
		t.Errorf("after %v: %s", time.Since(began), errs)
	}
}

// TestRefused sends to servers that refuse all messages.
func TestRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }))
	defer server.Close()
	a := record(t, 2)
	for _, args := range [][]string{
		{"pcp2influxdb", "-g", server.URL}, {"pcp2elasticsearch", "-g", server.URL}, {"pcp2openmetrics", "-u", server.URL}, {"pcp2opentelemetry", "-u", server.URL},
	} {
		_, errs, status := export(t.Context(), t, args[0], append(args[1:], "-a", a, "load")...)
		if status != 1 || !strings.Contains(errs, "2 samples were not delivered") {
			t.Errorf("%s: status %d: %s", args[0], status, errs)
		}
	}
	l := listen(t, zabbixServer("failed"))
	_, errs, status := export(t.Context(), t, "pcp2zabbix", "-g", "127.0.0.1", "-p", l.port(), "-a", a, "load")
	if l.all(); status != 1 || !strings.Contains(errs, "Error response from Zabbix") {
		t.Errorf("zabbix: status %d: %s", status, errs)
	}
	l = listen(t, func(c net.Conn, _ *bytes.Buffer) { _, _ = c.Write([]byte("ZBXD\x01\xff\xff\xff\xff\xff\xff\xff\xff")) })
	_, errs, status = export(t.Context(), t, "pcp2zabbix", "-g", "127.0.0.1", "-p", l.port(), "-a", a, "load")
	if l.all(); status != 1 {
		t.Errorf("zabbix with a reply without end: status %d: %s", status, errs)
	}
}

// TestHostileServer has hostile servers: they redirect elsewhere, answer without end, pack a bomb,
// drip.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer other.Close()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 64 {
		z.Write(make([]byte, 1<<20))
	}
	z.Close()
	rounds := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		switch path := r.URL.Path; path {
		case "/301", "/302", "/303", "/307", "/308":
			code, _ := strconv.Atoi(path[1:])
			http.Redirect(w, r, other.URL+"/steal", code)
		case "/name":
			http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusTemporaryRedirect)
		case "/loop":
			rounds++
			http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
		case "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusTemporaryRedirect)
		case "/moved":
			http.Redirect(w, r, "/ok", http.StatusTemporaryRedirect)
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		case "/endless":
			for b := make([]byte, 1<<20); r.Context().Err() == nil; {
				if _, err := w.Write(b); err != nil {
					return
				}
			}
		case "/headers":
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for line := "X: " + strings.Repeat("y", 1<<16) + "\r\n"; ; {
				if _, err := io.WriteString(c, line); err != nil {
					return
				}
			}
		case "/continue":
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			for {
				if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\n\r\n"); err != nil {
					return
				}
			}
		}
	}))
	defer server.Close()
	for path, want := range map[string]bool{
		"/301": false, "/302": false, "/303": false, "/307": false, "/308": false, "/name": false, "/loop": false, "/file": false, "/headers": false, "/continue": false,
		"/moved": true, "/ok": true, "/bomb": true, "/endless": true,
	} {
		p := newPoster(20 * time.Second)
		p.user, p.password = "me", "secret"
		err := p.do(t.Context(), http.MethodPost, server.URL+path, "text/plain", []byte("x"), success)
		p.client.CloseIdleConnections()
		if (err == nil) != want || os.IsTimeout(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if stolen.Load() != 0 || rounds > maxRedirects+1 {
		t.Errorf("%d requests went to another server, %d in a circle", stolen.Load(), rounds)
	}
}

// TestCutReply has servers end the connection within their replies.
func TestCutReply(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]bool{
		"HTTP/1.1 201 Created\n": true, "HTTP/1.1 200 OK\r\nServer: x\r\n": true, "HTTP/1.1 204 No Content\r\n\r\n": true,
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n": true, "HTTP/1.1 404 Not Found\n": false,
		"": false, "HTTP/1.1 2": false, "HTTP/1.1 200 OK\r\nServ": false, "H\n": false, "\n": false,
	} {
		l := listen(t, func(c net.Conn, to *bytes.Buffer) {
			req, err := http.ReadRequest(bufio.NewReader(c))
			if err != nil {
				return
			}
			_, _ = to.ReadFrom(req.Body)
			_, _ = c.Write([]byte(reply))
		})
		p := newPoster(time.Minute)
		err := p.do(t.Context(), http.MethodPost, "http://127.0.0.1:"+l.port(), "text/plain", []byte("x"), success)
		p.client.CloseIdleConnections()
		if l.all(); (err == nil) != want {
			t.Errorf("reply %q: %v", reply, err)
		}
	}
}

// TestGraphite has the server end connections. A sample is lost if it is sent before the end has arrived,
// which depends on the scheduler: of some exports, one at least has all samples.
func TestGraphite(t *testing.T) {
	t.Parallel()
	var got string
	for range 10 {
		l := listen(t, func(c net.Conn, to *bytes.Buffer) {
			b := make([]byte, 4096)
			n, _ := c.Read(b)
			to.Write(b[:n])
		})
		_, errs, status := export(t.Context(), t, "pcp2graphite", "-g", "127.0.0.1", "-E", l.port(), "-x", "p.", "-a", record(t, 4), "-t", "1", "disk.reads", "load", "os.name")
		got = l.all()
		if status != 0 || strings.Count(got, "p.load ") < 2 {
			t.Fatalf("status %d: %s%s", status, got, errs)
		}
		if strings.Count(got, "p.load ") == 4 && strings.Contains(got, "p.disk.reads._sd__b_ 20.0 1700000001\n") && strings.Contains(got, "p.os.name Linux  1700000003\n") {
			return
		}
	}
	t.Errorf("no export has all samples; the last one:\n%s", got)
}

// TestSpark reads lines as a job does, and leaves early.
func TestSpark(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
	ln.Close()
	read := make(chan string)
	go func() {
		for {
			c, err := net.Dial("tcp4", "127.0.0.1:"+port)
			if err != nil {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			b, _ := io.ReadAll(c)
			c.Close()
			read <- string(b)
			return
		}
	}()
	out, errs, status := export(t.Context(), t, "pcp2spark", "-p", port, "-m", "-a", record(t, 2), "-t", "1", "load")
	got := <-read
	if status != 0 || !strings.HasPrefix(out, "Awaiting connection...\n") ||
		!strings.HasPrefix(got, `{"@host-id": "host","@timestamp": 1700000000000,"load": [0.0,"{'hostname':'a "host"'}"]}`+"\n") && strings.Count(got, "\n") != 2 {
		t.Errorf("status %d: %s%s%s", status, out, errs, got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, errs, status = export(ctx, t, "pcp2spark", "-p", port, "-a", record(t, 2), "load"); status != 0 {
		t.Errorf("interrupted: status %d: %s", status, errs)
	}
}

// TestOpenMetrics reads the output back.
func TestOpenMetrics(t *testing.T) {
	out, errs, status := export(t.Context(), t, "pcp2openmetrics", "-a", record(t, 2), "disk.reads", "load", "os.name")
	want := []string{
		`# TYPE disk_reads counter`, `disk_reads_total{hostname="a \"host\"",instname="sd \"b\"",instid="1"} 20 1700000001.000`,
		`load{hostname="a \"host\""} 0.250 1700000001.000`, "# EOF",
	}
	for _, w := range want {
		if !strings.Contains(out, w+"\n") {
			t.Errorf("status %d: no line %q in:\n%s%s", status, w, out, errs)
		}
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if _, _, err := openmetrics.ParseSeries([]byte(line), true); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	if out, _, _ := export(t.Context(), t, "pcp2openmetrics", "-x", "-a", record(t, 2), "load"); strings.Contains(out, "# PCP5") {
		t.Errorf("-x: %s", out)
	}
}

// TestOpenTelemetry writes counters and rates.
func TestOpenTelemetry(t *testing.T) {
	a := record(t, 2)
	for _, c := range []struct{ arg, want string }{
		{"-r", `"name":"disk.reads","description":"","unit":"{count}","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[`},
		{"-R", `"asInt":"20"`},
		{"-P2", `"name":"disk.reads","description":"","unit":"{count}","gauge":{"dataPoints":[`},
		{"-P2", `{"key":"hostname","value":{"stringValue":"a \"host\""}}`},
		{"-P2", `"timeUnixNano":"1700000001000000000","asDouble":20`},
	} {
		out, errs, status := export(t.Context(), t, "pcp2opentelemetry", c.arg, "-a", a, "disk.reads", "load", "os.name")
		if status != 0 || !strings.Contains(out, c.want) {
			t.Errorf("%s: status %d, no %s in:\n%s%s", c.arg, status, c.want, out, errs)
		}
	}
}

func TestTemplate(t *testing.T) {
	out, errs, status := export(t.Context(), t, "pcp2template", "-a", record(t, 2), "-P", "1", "disk.reads", "load", "os.name")
	const want = `Metric load details (last fetch: 1700000000):
	id: 1027604482	type: 4
	sem: 3		indom: 4294967295
metric 'load' has value '0.0'!
Metric os.name details (last fetch: 1700000000):
	id: 1027604483	type: 6
	sem: 4		indom: 4294967295
metric 'os.name' has value 'Linux
'!
Metric disk.reads details (last fetch: 1700000001):
	id: 1027604481	type: 3
	sem: 1		indom: 1027604481
metric 'disk.reads' instance 'sda' has value '10.0'!
metric 'disk.reads' instance 'sd "b"' has value '20.0'!
Metric load details (last fetch: 1700000001):
	id: 1027604482	type: 4
	sem: 3		indom: 4294967295
metric 'load' has value '0.2'!
Metric os.name details (last fetch: 1700000001):
	id: 1027604483	type: 6
	sem: 4		indom: 4294967295
metric 'os.name' has value 'Linux
'!
`
	if status != 0 || errs != "" || out != want {
		t.Errorf("status %d: %s\n%s", status, errs, cmp.Diff(want, out))
	}
}

// TestFiles writes to files that cannot be written.
func TestFiles(t *testing.T) {
	a, dir := record(t, 2), t.TempDir()
	for _, tool := range []string{"pcp2json", "pcp2xml", "pcp2xlsx", "pcp2template", "pcp2openmetrics", "pcp2opentelemetry"} {
		if _, errs, status := export(t.Context(), t, tool, "-a", a, "-F", filepath.Join(dir, "no", "such"), "load"); status != 1 || !strings.Contains(errs, "No such file or directory") {
			t.Errorf("%s into no directory: status %d: %s", tool, status, errs)
		}
		file := filepath.Join(dir, tool)
		if _, errs, status := export(t.Context(), t, tool, "-a", a, "-F", file, "load"); status != 0 || errs != "" {
			t.Errorf("%s: status %d: %s", tool, status, errs)
		}
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", tool, err)
		}
		if _, errs, status := export(t.Context(), t, tool, "-a", a, "-F", file, "load"); status != 1 || errs != "File "+file+" already exists.\n" {
			t.Errorf("%s again: status %d: %s", tool, status, errs)
		}
	}
	if _, errs, status := export(t.Context(), t, "pcp2arrow", "-a", a, "-o", filepath.Join(dir, "x"), "load"); status != 1 || !strings.Contains(errs, "go -C cmd/pcp2arrow build") {
		t.Errorf("pcp2arrow: status %d: %s", status, errs)
	}
}

// rows is a Table in memory.
type rows struct{ text []string }

func (r *rows) Append(at pcp.Timestamp, row []*pcp.Value) error {
	s := fmt.Sprint(at.Sec)
	for _, v := range row {
		if v == nil {
			s += " -"
			continue
		}
		s += " " + str(*v)
	}
	r.text = append(r.text, s)
	return nil
}

func (r *rows) Close() error { return nil }

func TestArrow(t *testing.T) {
	var table rows
	var columns []Column
	c := Arrow(func(_ string, list []Column) (Table, error) {
		columns = list
		return &table, nil
	})
	var errs bytes.Buffer
	status := c.Run(t.Context(), &cli.Env{
		Name: "pcp2arrow", Args: []string{"-a", record(t, 3), "-t", "1", "-o", filepath.Join(t.TempDir(), "x"), "disk.reads", "os.name"},
		Stdout: io.Discard, Stderr: &errs, Getenv: func(string) string { return "" }, Command: c,
	})
	want := "1700000000 - - Linux\n|1700000001 10.0 20.0 Linux\n|1700000002 10.0 20.0 Linux\n"
	if got := strings.Join(table.text, "|"); status != 0 || got != want || len(columns) != 3 || columns[0] != (Column{"disk.reads[sda]", pcp.TypeDouble}) {
		t.Errorf("status %d, columns %v, rows %q: %s", status, columns, got, errs.String())
	}
}

// TestWrongSettings has invalid settings.
func TestWrongSettings(t *testing.T) {
	a := record(t, 2)
	for _, args := range [][]string{
		{"pcp2graphite", "-p", "x"},
		{"pcp2graphite", "-p", "70000"},
		{"pcp2graphite", "-X", "9"},
		{"pcp2zabbix", "-p", "-1"},
		{"pcp2zabbix", "-E", "x"},
		{"pcp2openmetrics", "-o", "x"},
		{"pcp2openmetrics", "-o", "-1"},
		{"pcp2spark", "-p", "1x"},
	} {
		_, errs, status := export(t.Context(), t, args[0], append(args[1:], "-a", a, "load")...)
		if status != 1 || errs == "" {
			t.Errorf("%q: status %d: %s", args, status, errs)
		}
	}
}

// BenchmarkJSON renders a sample of 1,000 instances.
func BenchmarkJSON(b *testing.B) {
	m := metric{Metric: &pmrep.Metric{Name: "disk.dev.read", Unit: "count / s", Precision: 3}}
	for i := range 1000 {
		m.values = append(m.values, pmrep.Value{Inst: int32(i), Name: "disk" + strconv.Itoa(i), Value: pcp.DoubleValue(float64(i) / 3)})
	}
	s := &sample{stamp: "2026-11-24 10:00:00", metrics: []metric{m}}
	j := &jsonWriter{}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = j.append(buf[:0], s)
	}
	b.SetBytes(int64(len(buf)))
}
