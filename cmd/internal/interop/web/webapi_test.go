package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/webapi"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/testdir"
)

// A webDifference is a difference that is meant.
type webDifference struct {
	words string         // the words in docs/differences.md about it
	drop  *regexp.Regexp // the parts left out of both answers, which are equal then; nil if they differ altogether
}

// webDifferences are the differences by name.
func webDifferences() map[string]webDifference {
	return map[string]webDifference{
		"port":     {words: "A port of more than 65535"},
		"novalue":  {words: "A metric without a value has the value `null`", drop: regexp.MustCompile(`"value": "?[^,\n]*`)},
		"unnamed":  {words: "Values of instances that have no name"},
		"context":  {words: "A context that is not a number"},
		"labels":   {words: "Labels are always those of all levels", drop: regexp.MustCompile(`(?s)"(labels": \{[^}]*\}|series": "[0-9a-f]*")|\[[a-z]+="[^\n]*\]`)},
		"text":     {words: "Text that is not ASCII"},
		"name":     {words: "A derived metric needs a name that a metric can have"},
		"lastline": {words: "The last definition of a body needs no newline"},
		"mixed":    {words: "A scrape with an unknown metric"},
	}
}

// webRequest is a request of both sides; {c} in it is the number of the context.
type webRequest struct {
	method, path, body string
}

// webAnswer is an answer.
type webAnswer struct {
	status int
	kind   string // content type
	body   []byte
}

// webSide is one of the two servers.
type webSide struct {
	name, base string
	transport  *http.Transport
	context    string
}

// ask sends a request on a connection of its own: the real one is not up to more.
func (s *webSide) ask(t *testing.T, q webRequest) webAnswer {
	t.Helper()
	path := strings.ReplaceAll(q.path, "{c}", s.context)
	req, err := http.NewRequest(q.method, s.base, strings.NewReader(q.body))
	if err != nil {
		t.Fatal(err)
	}
	// The path is sent unchanged.
	req.URL.Opaque = path
	client := http.Client{Transport: s.transport, Timeout: 30 * time.Second}
	defer s.transport.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return webAnswer{kind: err.Error()}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return webAnswer{kind: err.Error()}
	}
	return webAnswer{resp.StatusCode, resp.Header.Get("Content-Type"), body}
}

// newContext makes a context for the requests that follow.
func (s *webSide) newContext(t *testing.T, host string) {
	t.Helper()
	a := s.ask(t, webRequest{method: "GET", path: "/pmapi/context?polltimeout=600&hostspec=" + url.QueryEscape(host)})
	var c struct{ Context uint64 }
	if err := json.Unmarshal(a.body, &c); err != nil || c.Context == 0 {
		t.Fatalf("%s: context: %d %s %q", s.name, a.status, a.kind, a.body)
	}
	s.context = strconv.FormatUint(c.Context, 10)
}

// startRealProxy starts the real pmproxy without a key server and returns it as a side.
func startRealProxy(t testing.TB, d *oracle.PMCD) *webSide {
	t.Helper()
	pmproxy := oracle.Path("pmproxy")
	if pmproxy == "" {
		oracle.Missing(t, "no pmproxy")
	}
	dir, err := os.MkdirTemp("", "proxy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	conf := filepath.Join(dir, "pmproxy.conf")
	text := "[pmproxy]\npcp.enabled = true\nhttp.enabled = true\nredis.enabled = false\nsecure.enabled = false\n" +
		"[redis]\nenabled = false\n[discover]\nenabled = false\n[pmsearch]\nenabled = false\n[pmseries]\nenabled = false\n"
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	port := oracle.FreePort(t)
	cmd := exec.Command(pmproxy, "-f", "-A", "-U", "root", "-c", conf, "-i", "127.0.0.1", "-p", strconv.Itoa(port),
		"-s", filepath.Join(dir, "pmproxy.socket"), "-l", filepath.Join(dir, "pmproxy.log"), "-x", filepath.Join(dir, "fatal"))
	cmd.Env = append(oracle.Env(), d.Env...)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { cmd.Wait(); close(exited) }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(10 * time.Second):
			cmd.Process.Kill()
			<-exited
		}
	})
	addr := "127.0.0.1:" + strconv.Itoa(port)
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(end) {
			log, _ := os.ReadFile(filepath.Join(dir, "pmproxy.log"))
			t.Fatalf("pmproxy does not answer: %v\n%s", err, log)
		}
	}
	return &webSide{name: "real", base: "http://" + addr, transport: &http.Transport{DisableCompression: true}}
}

// startOurs serves our handler as pmproxy does, to clients of this host, which may do everything.
func startOurs(t testing.TB, host string) *webSide {
	t.Helper()
	h, err := webapi.New(webapi.Config{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	s, err := pmproxy.New(pmproxy.Config{
		Listeners: []net.Listener{ln}, TrustLocal: true, Handlers: map[string]http.Handler{"/pmapi": h, "/metrics": h},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		h.Close()
	})
	return &webSide{name: "ours", base: "http://" + addr, transport: &http.Transport{DisableCompression: true}}
}

// canonical returns an answer in a form in which two can be compared: objects of JSON with sorted
// members, without the parts that differ between requests.
func canonical(a webAnswer, context string) string {
	kind, _, _ := strings.Cut(a.kind, ";")
	head := fmt.Sprintf("%d %s\n", a.status, kind)
	switch {
	case kind == "text/html":
		return head
	case kind == "text/plain":
		lines := strings.Split(string(a.body), "\n")
		for i, line := range lines {
			if name, labels, ok := strings.Cut(line, "{"); ok && line[0] != '#' {
				// Values of labels have no commas here.
				labels, value, _ := strings.Cut(labels, "}")
				list := strings.Split(labels, ",")
				slices.Sort(list)
				if !steady(strings.NewReplacer("_", ".", ":", ".").Replace(name)) {
					value = ""
				}
				lines[i] = name + fmt.Sprint(list) + value
			}
		}
		slices.Sort(lines)
		return head + strings.Join(lines, "\n")
	case kind != "application/json":
		return head + string(a.body)
	}
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return head + "not JSON: " + err.Error() + "\n" + string(a.body)
	}
	if rest, _ := io.ReadAll(io.MultiReader(d.Buffered())); strings.TrimSpace(string(rest)) != "" {
		head += "and more behind it: " + string(rest) + "\n"
	}
	v = plain(v, "", context)
	out, _ := json.MarshalIndent(v, "", " ")
	return head + string(out)
}

// plain replaces the parts that differ between requests: numbers of contexts, times, and values
// that change.
func plain(v any, key, context string) any {
	switch v := v.(type) {
	case map[string]any:
		name, _ := v["name"].(string)
		for k, x := range v {
			switch {
			case k == "context":
				if fmt.Sprint(x) == context || len(fmt.Sprint(x)) > 6 {
					v[k] = "CONTEXT"
				}
			case (k == "text-help" || k == "text-oneline") && strings.HasPrefix(name, "event."):
				v[k] = "our own"
			case k == "timestamp":
				v[k] = fmt.Sprintf("%T", x)
			case k == "instances" && !steady(name):
				if list, ok := x.([]any); ok && v["pmid"] != nil {
					for _, one := range list {
						if m, ok := one.(map[string]any); ok {
							m["value"] = fmt.Sprintf("%T", m["value"])
						}
					}
				}
				v[k] = plain(x, k, context)
			default:
				v[k] = plain(x, k, context)
			}
		}
		return v
	case []any:
		for i := range v {
			v[i] = plain(v[i], key, context)
		}
		if key == "instances" || key == "leaf" || key == "nonleaf" {
			slices.SortFunc(v, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		return v
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(string(v), ".eE") {
			return f
		}
		return string(v)
	case string:
		return strings.ReplaceAll(v, context, "CONTEXT")
	}
	return v
}

// steady reports whether the values of a metric are constant.
func steady(name string) bool {
	switch name {
	case "sample.long.one", "sample.long.hundred", "sample.long.million", "sample.float.one", "sample.float.hundred", "sample.float.million",
		"sample.double.one", "sample.double.hundred", "sample.double.million", "sample.longlong.one", "sample.longlong.million", "sample.ulonglong.one",
		"sample.string.hullo", "sample.string.null", "sample.string.write_me", "sample.aggregate.hullo", "sample.aggregate.null",
		"sample.bin", "sample.dupnames.two.bin", "sample.dupnames.three.bin", "sample.dupnames.five.bin", "sample.dupnames.five.long.bin", "hinv.ncpu", "kernel.uname.sysname", "d.x":
		return true
	}
	return false
}

// webCase is a sequence of requests in one new context.
type webCase struct {
	requests []webRequest
	differs  string // a name of webDifferences
}

// webCases reads testdata/requests.txt.
func webCases(t *testing.T) []webCase {
	t.Helper()
	text, err := os.ReadFile("testdata/requests.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []webCase
	for line := range strings.SplitSeq(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		var c webCase
		for word := range strings.FieldsSeq(line) {
			if name, ok := strings.CutPrefix(word, "!"); ok {
				c.differs = name
				continue
			}
			q := webRequest{method: http.MethodGet}
			for _, method := range []string{http.MethodPost, http.MethodOptions, http.MethodHead} {
				if path, ok := strings.CutPrefix(word, method); ok {
					q.method, word = method, path
				}
			}
			q.path, q.body, _ = strings.Cut(word, "<<")
			q.body = strings.ReplaceAll(q.body, `\n`, "\n")
			c.requests = append(c.requests, q)
		}
		list = append(list, c)
	}
	return list
}

// TestWebAPI compares our answers with those of the real pmproxy over the same collector.
func TestWebAPI(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd", "linux", "simple", "sample"},
		// Names of a missing agent.
		PMNS: "root {\n\tnobody 411:*:*\n\tmssql\n}\nmssql {\n\ta\n\tb 119:0:1\n}\nmssql.a {\n\tx 119:0:0\n}\n",
	})
	real, ours := startRealProxy(t, d), startOurs(t, d.TCP)
	used := make(map[string]bool)
	for _, c := range webCases(t) {
		compareWeb(t, d, real, ours, c, used)
	}
	for name, diff := range webDifferences() {
		if !used[name] {
			t.Errorf("difference %q is nowhere seen", name)
		}
		documented(t, name, diff.words)
	}
}

// TestStoreNothing stores an empty value for a number, which both refuse. The real one then refuses
// valid numbers too, ours does not.
func TestStoreNothing(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	real, ours := startRealProxy(t, d), startOurs(t, d.TCP)
	store := func(s *webSide, name, value string) string {
		t.Helper()
		s.newContext(t, d.TCP)
		return canonical(s.ask(t, webRequest{method: http.MethodGet, path: "/pmapi/{c}/store?name=" + name + "&value=" + value}), s.context)
	}
	const name = "sample.float.write_me"
	want, got := store(real, name, ""), store(ours, name, "")
	if want != got || !strings.HasPrefix(got, "400 ") {
		t.Errorf("the real one answers %s\nours %s", want, got)
	}
	for _, name := range []string{"sample.write_me", "sample.float.write_me", "sample.double.write_me", "sample.longlong.write_me", "sample.ulonglong.write_me", "sample.ulong.write_me"} {
		if got := store(ours, name, ""); !strings.HasPrefix(got, "400 ") || !strings.Contains(got, "Numerical result out of range") {
			t.Errorf("%s: %s", name, got)
		}
		if got := store(ours, name, "2"); !strings.HasPrefix(got, "200 ") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := store(ours, "sample.string.write_me", ""); !strings.HasPrefix(got, "200 ") {
		t.Errorf("a string: %s", got)
	}
	documented(t, "empty", "An empty value for a number is refused")
}

func compareWeb(t *testing.T, d *oracle.PMCD, real, ours *webSide, c webCase, used map[string]bool) {
	t.Helper()
	for _, s := range []*webSide{real, ours} {
		s.newContext(t, d.TCP)
	}
	same := true
	for _, q := range c.requests {
		want, got := canonical(real.ask(t, q), real.context), canonical(ours.ask(t, q), ours.context)
		if want == got {
			continue
		}
		same = false
		diff := webDifferences()[c.differs]
		if diff.drop != nil {
			want, got = diff.drop.ReplaceAllString(want, ""), diff.drop.ReplaceAllString(got, "")
		}
		if want != got && (c.differs == "" || diff.drop != nil) {
			t.Errorf("%s %s %q (-real +ours):\n%s", q.method, q.path, q.body, clip(gocmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))))
		}
	}
	if c.differs != "" {
		used[c.differs] = used[c.differs] || !same
	}
}

// documented checks that a line of docs/differences.md begins with these words.
func documented(t *testing.T, name, words string) {
	t.Helper()
	page, err := os.ReadFile(testdir.Repo(t, "docs/differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	if !strings.Contains(text, "- "+words) && !strings.Contains(text, ". "+words) {
		t.Errorf("difference %q: no sentence of docs/differences.md begins with %q", name, words)
	}
}

func clip(s string) string {
	if len(s) > 3000 {
		return s[:3000] + "…"
	}
	return s
}

// randomRequest returns a request that is drawn from good, odd and bad parts.
func randomRequest(r *rand.Rand) webRequest {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	value := func() string {
		name := func() string {
			return pick("sample.long.one", "sample.long.hundred", "sample.double.million", "sample.string.hullo", "sample.bin", "sample.float.one", "hinv.ncpu",
				"sample.long", "no.such", "sample", "", "x", "sample.dupnames.two.bin", "%20sample.long.one", "sample.long.one%0a", "29.0.10", "29.2", "bin-100", "100", "0x1d", "a%22b", "%25")
		}
		v := name()
		for r.IntN(3) == 0 {
			v += pick(",", ",", ";", "+") + name()
		}
		return v
	}
	path := "/pmapi/{c}/" + pick("", "", "", "_") + pick("fetch", "fetch", "indom", "children", "metric", "metric", "derive", "store", "context", "fetchx", "chil")
	n := r.IntN(4)
	for i := range n {
		sep := "&"
		if i == 0 {
			sep = "?"
		}
		key := pick("name", "names", "name", "names", "pmid", "pmids", "indom", "prefix", "iname", "instance", "client", "expr", "value", "target", "Name", "foo")
		v := value()
		if key == "prefix" || strings.Contains(path, "etric") {
			// Nodes and empty names mean hundreds of metrics, which takes the real one seconds.
			if v = strings.ReplaceAll(v, ",", ""); v == "" || strings.Contains(v, "sample") && !strings.Contains(v, ".") {
				v = "sample.long"
			}
		}
		path += sep + key + "=" + v
	}
	if strings.Contains(path, "etric") && !strings.Contains(path, "name") && !strings.Contains(path, "prefix=") {
		path += map[bool]string{true: "?", false: "&"}[n == 0] + "names=sample.long.one"
	}
	return webRequest{method: http.MethodGet, path: path}
}

// anyDifference matches the parts left out of answers to random requests: the differences that may
// be anywhere.
var anyDifference = regexp.MustCompile(`(?s)"(labels": \{[^}]*\}|series": "[0-9a-f]*"|value": "?[^,\n]*)|\[[a-z]+="[^\n]*\]`)

// TestRandomRequests sends requests that are drawn to both. (The differences of a scrape and in definitions on several lines are
// left to TestWebAPI.)
func TestRandomRequests(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "sample"}})
	real, ours := startRealProxy(t, d), startOurs(t, d.TCP)
	r := rand.New(rand.NewPCG(longtest.Seed(t), 16))
	for range longtest.N(30, 500) {
		real.newContext(t, d.TCP)
		ours.newContext(t, d.TCP)
		for range 10 {
			q := randomRequest(r)
			want, got := canonical(real.ask(t, q), real.context), canonical(ours.ask(t, q), ours.context)
			if strings.Contains(want, "not JSON") {
				continue // the real one sent an unreadable answer
			}
			if strings.Contains(q.path, "derive") && (strings.Contains(want, "incomplete expression") || strings.Contains(got, "Illegal derived metric name")) {
				continue // ours needs no newline at the end, and a name that a metric can have
			}
			want, got = anyDifference.ReplaceAllString(want, ""), anyDifference.ReplaceAllString(got, "")
			if want != got {
				t.Errorf("%s (-real +ours):\n%s", q.path, clip(gocmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))))
			}
		}
	}
}

// TestDeadly sends ours requests that end the real pmproxy, and has it answer the next
// client.
func TestDeadly(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	ours := startOurs(t, d.TCP)
	ours.newContext(t, d.TCP)
	for _, path := range []string{
		"/pmapi/{c}/indom?name=sample.bin&match=regex&iname=*", "/pmapi/{c}/indom?name=sample.bin&match=regex&iname=[", "/pmapi/{c}/profile?expr=add&name=sample.bin&match=regex&iname=*",
		"/pmapi/{c}/profile?expr=add&name=sample.bin&match=glob&iname=*", "/pmapi/{c}/profile?expr=add&name=sample.many.int&match=regex&iname=.", "POST/pmapi/store", "POST/pmapi/{c}/store", "POST/pmapi/derive",
		"/pmapi/{c}/fetch?names=sample.long.one,sample.long.one", "/pmapi/{c}/fetch?name=" + strings.Repeat("a.", 3000), "/pmapi/{c}/metric?names=" + strings.Repeat(",", 3000),
		"/pmapi/{c}/indom?name=sample.bin&match=regex&iname=" + strings.Repeat("(a*)*", 300), "/metrics?names=" + strings.Repeat("sample.long.one,", 400) + "sample.long.one",
		"/pmapi/context?hostspec=" + strings.Repeat("a", 3000), "/pmapi/context?polltimeout=1e308", "/pmapi/context?polltimeout=-1", "/pmapi/context?polltimeout=nan",
	} {
		q := webRequest{method: http.MethodGet}
		var post bool
		if q.path, post = strings.CutPrefix(path, "POST"); post {
			q.method = http.MethodPost
		}
		if a := ours.ask(t, q); a.status == 0 || a.status >= 500 || strings.HasPrefix(a.kind, "application/json") && !json.Valid(a.body) {
			t.Errorf("%s: %d %s %.200s", clip(path), a.status, a.kind, a.body)
		}
		if a := ours.ask(t, webRequest{method: http.MethodGet, path: "/pmapi/fetch?name=sample.long.one"}); a.status != 200 {
			t.Fatalf("after %s: %d %s", clip(path), a.status, a.body)
		}
	}
}

// TestGrafana makes the calls of the plugin for Grafana in its order, and looks for the fields and the words that it reads.
func TestGrafana(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "sample"}})
	host := url.QueryEscape(d.TCP)
	for _, s := range []*webSide{startRealProxy(t, d), startOurs(t, d.TCP)} {
		s.newContext(t, d.TCP)
		f := func(path string, status int, fields ...string) {
			t.Helper()
			a := s.ask(t, webRequest{method: http.MethodGet, path: path})
			if a.status != status {
				t.Errorf("%s: %s: %d %s", s.name, path, a.status, a.body)
			}
			for _, field := range fields {
				if !bytes.Contains(a.body, []byte(field)) {
					t.Errorf("%s: %s: no %s in %.400s", s.name, path, field, a.body)
				}
			}
		}
		f("/pmapi/metric?hostspec="+host+"&names=pmcd.version", 200, `"metrics":[{"name":"pmcd.version"`)
		f("/pmapi/context?hostspec="+host+"&polltimeout=30", 200, `"context":`, `"hostspec":"`, `"labels":{`)
		f("/pmapi/metric?context={c}&names=sample.long.one,no.such", 200, `"text-oneline":"`, `"text-help":"`, `"sem":"instant"`, `"units":"none"`, `"type":"32"`, `"series":"`,
			`{"name":"no.such","message":"Unknown metric name","success":false}`)
		f("/pmapi/indom?context={c}&name=sample.bin", 200, `"instances":[{"instance":`, `"name":"bin-100"`, `"labels":{`)
		f("/pmapi/indom?context={c}&name=sample.long.one", 400, "metric has null indom")
		f("/pmapi/indom?context={c}&name=no.such", 400, "failed to lookup metric")
		f("/pmapi/fetch?context={c}&names=sample.long.one,sample.bin", 200, `"timestamp":`, `"instance":null,"value":1}`, `{"instance":100,"value":100}`)
		f("/pmapi/derive?context={c}&name=derived.grafana&expr=2*sample.long.one", 200, `"success":true`)
		f("/pmapi/derive?context={c}&name=derived.grafana&expr=2*sample.long.one", 400, "Duplicate per-context derived metric name")
		f("/pmapi/derive?context={c}&name=derived.a&expr=2*", 400, "Syntax Error")
		f("/pmapi/derive?context={c}&name=derived.b&expr=sample.string.hullo%2b1", 400, "Semantic Error")
		f("/pmapi/fetch?context={c}&names=derived.grafana", 200, `"value":2}`)
		f("/pmapi/store?context={c}&name=sample.long.one&value=1", 400, "No permission to perform requested operation")
		f("/pmapi/store?context={c}&name=sample.write_me&value=2", 200, `"success":true`)
		f("/pmapi/children?context={c}&prefix=sample.long", 200, `"leaf":[`, `"nonleaf":[`)
		f("/pmapi/fetch?context=1&names=sample.long.one", 400, "unknown context identifier: 1")
	}
}

// TestPromtool has Prometheus' own program read the text of all metrics.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("SKIPPED: promtool is not installed (Debian's package prometheus has it)")
	}
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "proc", "sample"}})
	ours := startOurs(t, d.TCP)
	for _, path := range []string{"/metrics", "/metrics?times=true"} {
		a := ours.ask(t, webRequest{method: http.MethodGet, path: path})
		if a.status != 200 {
			t.Fatalf("%s: %d %s", path, a.status, a.body)
		}
		cmd := exec.Command(promtool, "check", "metrics")
		cmd.Stdin = bytes.NewReader(a.body)
		out, _ := cmd.CombinedOutput()
		for line := range strings.Lines(string(out)) {
			// promtool has opinions about the names of metrics and the lengths of texts, which are PCP's.
			// Unreadable text is an error.
			if strings.HasPrefix(line, "error while linting") || strings.Contains(line, "parse") || strings.Contains(line, "parsing") {
				t.Errorf("%s: %s", path, line)
			}
		}
		if cmd.ProcessState.ExitCode() == 1 {
			t.Errorf("%s: %s", path, clip(string(out)))
		}
	}
}
