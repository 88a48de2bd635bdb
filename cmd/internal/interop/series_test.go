package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/query"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/seriesapi"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// seriesArchives are loaded on both sides: two hosts, one with disks and
// processors.
var seriesArchives = []string{"proc", "pcp-mpstat"}

// A seriesPair is the real pmseries with its key server, and ours, over the
// same archives.
type seriesPair struct {
	t      *testing.T
	port   string // of the key server
	config string
	dir    string
	engine *query.Engine
	api    *httptest.Server
	store  *archives.Store
}

func startSeries(t *testing.T) *seriesPair {
	t.Helper()
	oracle.Require(t)
	for _, tool := range []string{"redis-server", "redis-cli"} {
		if _, err := exec.LookPath(tool); err != nil {
			oracle.Missing(t, "no "+tool)
		}
	}
	if oracle.Path("pmseries") == "" {
		oracle.Missing(t, "no pmseries")
	}
	const suite = "/var/lib/pcp/testsuite/archives"
	s := &seriesPair{t: t, port: fmt.Sprint(oracle.FreePort(t)), dir: t.TempDir()}
	s.config = filepath.Join(s.dir, "pmproxy.conf")
	conf := "[pmseries]\nenabled = true\n[pmproxy]\npcp.enabled = true\nhttp.enabled = true\nredis.enabled = true\n[discover]\nenabled = false\n[redis]\nservers = localhost:" + s.port + "\n"
	if err := os.WriteFile(s.config, []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	s.start("redis-server", "--port", s.port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "")
	s.until("redis-server", func() bool {
		out, err := exec.Command("redis-cli", "-p", s.port, "ping").Output()
		return err == nil && bytes.HasPrefix(out, []byte("PONG"))
	})
	var dirs []string
	for _, name := range seriesArchives {
		path := filepath.Join(suite, name)
		if found, _ := filepath.Glob(path + ".meta*"); len(found) == 0 {
			oracle.Missing(t, "no archive "+path)
		}
		dirs = append(dirs, path)
		if out, _ := s.real("--load", path); !strings.Contains(out, "processed ") {
			t.Fatalf("pmseries --load %s: %s", path, out)
		}
	}
	store, err := archives.Open(t.Context(), archives.Config{Dirs: dirs, Index: filepath.Join(s.dir, "series.db"), Interval: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if err := store.GC(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := seriesapi.New(seriesapi.Config{Store: store, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	s.store, s.engine, s.api = store, &query.Engine{Store: store, Zone: time.UTC}, httptest.NewServer(h)
	t.Cleanup(s.api.Close)
	return s
}

// start runs a program until the end of the test.
func (s *seriesPair) start(program string, args ...string) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, args...)
	if err := cmd.Start(); err != nil {
		cancel()
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cancel(); await.Exit(s.t, cmd) })
}

// until waits until a condition holds.
func (s *seriesPair) until(what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s does not answer", what)
		}
	}
}

// real runs the real pmseries. Its error is that of the process: it may die.
func (s *seriesPair) real(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, oracle.Path("pmseries"), append([]string{"-c", s.config, "-p", s.port}, args...)...)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// ours answers a query in the layout of pmseries -t.
func (s *seriesPair) ours(text string) string {
	r, err := s.engine.Query(s.t.Context(), text, false)
	if err != nil {
		return "pmseries: [Error] " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, id := range r.Series {
		fmt.Fprintln(&b, id)
	}
	last := ""
	for v, err := range r.Values() {
		if err != nil {
			return "pmseries: [Error] " + err.Error() + "\n"
		}
		if id := v.Series.String(); id != last {
			last = id
			fmt.Fprintf(&b, "\n%s\n", id)
		}
		us := v.Time.Sec*1e6 + int64(v.Time.Nsec/1000)
		fmt.Fprintf(&b, "    [%d.%03d] %s", us/1000, us%1000, v.Text)
		switch {
		case v.Instance.IsZero():
			b.WriteString(" ")
		case v.Instance != v.Series:
			fmt.Fprintf(&b, " %s", v.Instance)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// inOrder sorts series, which have no order, but not the values of one.
func inOrder(text string) string {
	blocks := strings.Split(strings.TrimSpace(text), "\n\n")
	if !strings.Contains(text, "[") {
		blocks = strings.Split(strings.TrimSpace(text), "\n")
	}
	slices.Sort(blocks)
	return strings.Join(blocks, "\n\n")
}

// TestSeriesSyntax compares messages, and accepted texts, for texts made of
// tokens at random.
func TestSeriesSyntax(t *testing.T) {
	s := startSeries(t)
	tokens := []string{
		"a", "b.c", "rate(", "max(", "log(", "topk_inst(", "rescale(", "nth_percentile_sample(", ")", ")", "{", "}", "[", "]", ",", "+", "-", " * ", "/",
		"a == \"x\"", "b =~ \"y\"", "c ~~ d", "e : 3", "f == 2.5", "&&", "||", "samples:2", "interval:10", "start:5", "finish:100", "offset:1",
		"2", "3.5", "\"Kbyte\"", "\"s\"", " ", "=", "<", "type", "count", "5min", "a[samples:1]", "a{b==c}", "(", "~", "!", ";", "count(",
	}
	rnd := rand.New(rand.NewPCG(7, 16))
	n := 200
	if longtest.Enabled() {
		n = 5000
	}
	accepted := 0
	for range n {
		var b strings.Builder
		for range 1 + rnd.IntN(8) {
			b.WriteString(tokens[rnd.IntN(len(tokens))])
		}
		text := b.String()
		_, err := query.Parse(text, time.Now(), time.UTC)
		out, _ := s.real("-q", "--", text)
		msg, refused := strings.CutPrefix(out, "pmseries: [Error] ")
		if strings.TrimSpace(text) == "" {
			continue
		}
		if err == nil {
			accepted++
			if refused && strings.HasPrefix(msg, "cannot parse") {
				t.Errorf("%q: real %s; ours takes it", text, out)
			}
			continue
		}
		if !refused || strings.TrimRight(msg, "\n") != strings.TrimRight(err.Error(), "\n") {
			t.Errorf("%q: real %s; ours %s", text, out, err)
		}
	}
	t.Logf("%d of %d texts accepted", accepted, n)
}

// TestSeriesQueries compares answers to queries.
func TestSeriesQueries(t *testing.T) {
	s := startSeries(t)
	host := `{hostname == "bozo-laptop"}`
	for _, text := range []string{
		"kernel.all.load", "kernel.all.*", `*{hostname == "bozo-laptop"}`, "nosuch", `kernel.all.load{hostname =~ "^b"}`, `kernel.all.load{hostname !~ "^b"}`,
		`kernel.all.load{hostname : "b*", instance.name == "1 minute"}`, `{metric.name == kernel.all.load || m.name == "hinv.ncpu"}`, `{hostname == "bozo-laptop" && metric.name ~~ "disk.*"}`,
		`kernel.all.load{source.path ~~ "*proc"}`, `kernel.all.load{hostname == bozo}`, `{instance.name =~ "^sda?"}`, "x = kernel.all.load",
		"kernel.all.load[samples:3]", "kernel.all.load[samples:0]", "kernel.all.load" + host + "[samples:2,start:1]", "kernel.all.load" + host + "[interval:1]",
		"kernel.all.load" + host + "[start:1317633023,finish:1317633024]", "kernel.all.load" + host + "[finish:1317633024]", "kernel.all.load" + host + "[interval:0.4,start:1317633023]",
		"rate(kernel.all.cpu.user)", "rate(kernel.all.cpu.user[samples:4])", "max(kernel.all.load[samples:3])", "min_inst(kernel.all.load[samples:3])",
		"max_sample(kernel.all.load[samples:3])", "min_sample(kernel.all.load[samples:3])", "sum(kernel.all.load[samples:3])", "sum_sample(kernel.all.load[samples:3])",
		"avg(kernel.all.load[samples:3])", "avg_sample(kernel.all.load[samples:3])", "stdev_inst(kernel.all.load[samples:3])", "stdev_sample(kernel.all.load[samples:3])",
		"topk_sample(kernel.percpu.cpu.user" + host + "[samples:2], 1)", "nth_percentile_inst(mem.util.free[samples:4], 50)", "topk_inst(mem.util.free[samples:4], 2)",
		"abs(kernel.all.load[samples:2])", "floor(kernel.all.load[samples:2])", "round(kernel.all.load[samples:2])", "sqrt(kernel.all.cpu.user[samples:2])", "log(kernel.all.cpu.user[samples:2])",
		"log(kernel.all.cpu.user[samples:2], 10)", "3 * kernel.all.cpu.user[samples:2]", "kernel.all.load[samples:2] * 2.5", `rescale(mem.util.free[samples:2], "Mbyte")`,
		"kernel.all.cpu.user" + host + "[samples:2] + kernel.all.cpu.sys" + host + "[samples:2]", "kernel.all.cpu.user" + host + "[samples:2] - kernel.all.cpu.nice" + host + "[samples:2]",
		"mem.util.free" + host + "[samples:2] / mem.util.used" + host + "[samples:2]",
		"rate(kernel.all.cpu.user" + host + "[samples:3]) + rate(kernel.all.cpu.sys" + host + "[samples:3])", "max(rate(kernel.all.cpu.user" + host + "[samples:5]))",
		`kernel.all.cpu.user + kernel.all.cpu.sys`, `rescale(rate(disk.dev.read_bytes), "Mbyte/s")`, `topk_inst(kernel.all.load{hostname == "x"}, 2)`,
	} {
		real, err := s.real("-t", text)
		if err != nil && !strings.Contains(real, "[Error]") && real != "" {
			t.Errorf("%s: the real one ends: %v %s", text, err, real)
			continue
		}
		real = strings.ReplaceAll(real, "] -0.000000", "] 0.000000")
		if d := cmp.Diff(inOrder(real), inOrder(s.ours(text))); d != "" {
			t.Errorf("%s: real -, ours +:\n%s", text, d)
		}
	}
}

// TestSeriesExpressions compares the values of expressions made at random, of one
// host and with one window.
func TestSeriesExpressions(t *testing.T) {
	s := startSeries(t)
	const host = `{hostname == "bozo-laptop"}`
	metrics := []string{"kernel.all.cpu.user", "kernel.all.cpu.sys", "kernel.all.load", "kernel.percpu.cpu.user", "mem.util.free", "mem.util.used", "disk.dev.read_bytes", "hinv.ncpu"}
	windows := []string{"samples:1", "samples:2", "samples:3", "samples:4", "start:1317633023", "finish:1317633024", "start:1"}
	one := []string{"rate", "max", "max_inst", "max_sample", "min", "min_sample", "sum", "sum_inst", "sum_sample", "avg", "avg_sample", "stdev_inst", "stdev_sample", "abs", "floor"}
	rnd := rand.New(rand.NewPCG(19, 70))
	n := 150
	if longtest.Enabled() {
		n = 3000
	}
	compared, died := 0, 0
	for range n {
		w := windows[rnd.IntN(len(windows))]
		var expr func(depth int) string
		expr = func(depth int) string {
			switch k := rnd.IntN(10); {
			case depth == 0 || k < 3:
				return metrics[rnd.IntN(len(metrics))] + host + "[" + w + "]"
			case k < 8:
				return one[rnd.IntN(len(one))] + "(" + expr(depth-1) + ")"
			}
			return expr(depth-1) + [...]string{" + ", " - ", " / ", " * "}[rnd.IntN(4)] + expr(depth-1)
		}
		text := expr(2)
		ours := s.ours(text)
		real, err := s.real("-t", "--", text)
		real = strings.ReplaceAll(real, "] -0.000000", "] 0.000000")
		if strings.HasPrefix(ours, "pmseries: [Error]") {
			// An error here kills the real one, or it continues with partial data; it has no valid
			// answer.
			died++
			continue
		}
		if err != nil {
			died++ // a product with a metric that is not there, a function of a sum of instances
			continue
		}
		if reason := expressionDiffers(text, ours); reason != "" {
			continue
		}
		compared++
		if d := cmp.Diff(inOrder(real), inOrder(ours)); d != "" {
			t.Errorf("%s: real -, ours +:\n%s", text, d)
		}
	}
	t.Logf("%d of %d compared, %d are errors, or kill the real one", compared, n, died)
	if compared < n/4 {
		t.Errorf("only %d of %d expressions compared", compared, n)
	}
}

// expressionDiffers returns why an answer is another one on purpose, or "": these
// are in docs/differences.md.
func expressionDiffers(text, ours string) string {
	switch {
	case strings.Contains(ours, "no value"):
		return "overflows are no value"
	case strings.ContainsAny(text, "+*/-") && strings.Contains(text, "mem.util"):
		return "C does not convert scales"
	}
	return ""
}

// TestSeriesRequests compares answers to requests.
func TestSeriesRequests(t *testing.T) {
	s := startSeries(t)
	base := s.startProxy()
	ids, err := s.engine.Query(t.Context(), "kernel.all.load", false)
	if err != nil || len(ids.Series) == 0 {
		t.Fatal(ids, err)
	}
	load := ids.Series[0].String()
	user, err := s.engine.Query(t.Context(), `kernel.all.cpu.user{hostname == "bozo-laptop"}`, false)
	if err != nil || len(user.Series) != 1 {
		t.Fatal(user, err)
	}
	one := user.Series[0].String()
	// Without parameters, /series/metrics has more here: metrics that are known and have no values.
	for _, request := range []string{
		"ping",
		"ping?client=a+b",
		"pingpong",
		"query?expr=kernel.all.load",
		"queryx?expr=kernel.all.load&client=7",
		"query?expr=nosuch",
		"query?expr=nosuch&client=7",
		"query?expr=kernel.all.load%5Bsamples:2%5D",
		"query?expr=a%20b",
		"query?expr=a%20b&client=%22",
		"query?expr=a%5Bsamples:1,samples:2%5D",
		"query?expr=a%5Binterval:%22x%22%5D",
		"query",
		"query?expr=",
		"query?x=1",
		"query?expr=%zz",
		"values?series=" + one,
		"values?series=" + one + "," + load,
		"values?series=" + one + "&client=x",
		"values?series=" + one + "&samples=2",
		"values?series=" + one + "&count=2",
		"values?series=" + one + "&samples=2&start=1",
		"values?series=" + one + "&start=1317633023&finish=1317633024",
		"values?series=" + one + "&begin=1317633023&end=1317633024",
		"values?series=" + one + "&interval=1",
		"values?series=" + one + "&delta=0.5&start=1317633023",
		"values?series=" + one + "&range=10min",
		"values?series=abc",
		"values?series=zz&client=7",
		"values?series=0000000000000000000000000000000000000000",
		"values?series=" + one + "&samples=x",
		"values?series=" + one + "&interval=x",
		"values?series=" + one + "&start=x",
		"values?series=" + one + "&finish=x",
		"values?series=" + one + "&range=x",
		"values",
		"values?series=",
		"descs?series=" + load + "," + one,
		"descs?series=abc",
		"descs?client=3",
		"descs",
		"metrics?series=" + load + "," + one,
		"metrics?series=abc",
		"metrics?match=kernel.all.*",
		"metrics?match=nosuch",
		"metrics?match=%5Bk%5D*.load",
		"instances?series=" + load,
		"instances?series=" + one,
		"instances?match=*minute",
		"labels?series=" + one,
		"labels?series=abc",
		"labels?names=hostname",
		"labels?name=nosuch",
		"labels?name=nosuch&client=1",
		"labels?match=host*",
		"sources?match=*",
		"sources?match=bozo*",
		"sources?source=abc",
		"sources",
		"nosuch",
	} {
		status, kind, body := get(base+"/series/"+request, nil)
		ours, ourKind, ourBody := get(s.api.URL+"/series/"+request, nil)
		if strings.HasPrefix(kind, "text/html") {
			body, ourBody = "", ""
		}
		if d := cmp.Diff(fmt.Sprint(status, " ", kind, "\n", canonicalJSON(t, body)), fmt.Sprint(ours, " ", ourKind, "\n", canonicalJSON(t, ourBody))); d != "" {
			t.Errorf("%s: real -, ours +:\n%s", request, d)
		}
	}
	// By POST, with the parameters in the body.
	for _, form := range []url.Values{{"expr": {"kernel.all.load"}}, {"expr": {"a b"}, "client": {"1"}}} {
		status, _, body := get(base+"/series/query", form)
		ours, _, ourBody := get(s.api.URL+"/series/query", form)
		if d := cmp.Diff(fmt.Sprint(status, canonicalJSON(t, body)), fmt.Sprint(ours, canonicalJSON(t, ourBody))); d != "" {
			t.Errorf("POST %v: real -, ours +:\n%s", form, d)
		}
	}
}

// get makes a request on a connection of its own: the real pmproxy may leave one
// unanswered after an error.
func get(target string, form url.Values) (status int, kind, body string) {
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	method, reader := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, reader = http.MethodPost, strings.NewReader(form.Encode())
	}
	r, err := http.NewRequest(method, target, reader)
	if err != nil {
		return 0, "", err.Error()
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	// net/http asks for the end of the connection, which the real pmproxy takes as leave to cut answers.
	r.Header.Set("Connection", "keep-alive")
	client.Transport.(*http.Transport).DisableKeepAlives = false
	defer client.CloseIdleConnections()
	resp, err := client.Do(r)
	if err != nil {
		return 0, "", err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return resp.StatusCode, "", err.Error()
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(text)
}

// canonicalJSON sorts the elements of lists, which have no order between series;
// values of one series stay in theirs.
func canonicalJSON(t *testing.T, text string) string {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return ""
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return "not JSON: " + text
	}
	b, err := json.MarshalIndent(sortLists(v), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func sortLists(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = sortLists(v[k])
		}
	case []any:
		slices.SortStableFunc(v, func(a, b any) int { return strings.Compare(sortKey(a), sortKey(b)) })
	}
	return v
}

// sortKey is the series of a value, and the whole of any other element.
func sortKey(v any) string {
	if m, ok := v.(map[string]any); ok {
		if _, ok := m["timestamp"]; ok {
			return fmt.Sprint(m["series"])
		}
	}
	b, _ := json.Marshal(v)
	return string(b)
}
