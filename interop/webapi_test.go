package interop

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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

	"github.com/go-pcp/pcp/internal/oracle"
	"github.com/go-pcp/pcp/pmproxy/webapi"
)

// A webDifference is a difference that is meant.
type webDifference struct {
	words string         // with which docs/differences.md tells of it
	drop  *regexp.Regexp // what is left out of both answers, which are equal then; nil if they differ altogether
}

// webDifferences are the differences by name.
func webDifferences() map[string]webDifference {
	return map[string]webDifference{
		"port":     {words: "A port of more than 65535"},
		"novalue":  {words: "A metric without a value has the value `null`", drop: regexp.MustCompile(`"value": "?[^,\n]*`)},
		"unnamed":  {words: "Values of instances that have no name"},
		"context":  {words: "What is given as a context and is not a number"},
		"labels":   {words: "Labels are always those of all levels", drop: regexp.MustCompile(`(?s)"(labels": \{[^}]*\}|series": "[0-9a-f]*")|\[[a-z]+="[^\n]*\]`)},
		"text":     {words: "Text that is not ASCII"},
		"name":     {words: "A derived metric needs a name that a metric can have"},
		"lastline": {words: "The last definition of a body needs no newline"},
		"mixed":    {words: "A scrape of which a metric is unknown"},
	}
}

// webRequest is a request of both sides; {c} in it is the number of the context.
type webRequest struct {
	method, path, body string
}

// webAnswer is what came back.
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
	// The path goes out as it is written.
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

// startOurWeb serves our handler, to a client that may do everything.
func startOurWeb(t testing.TB, host string) *webSide {
	t.Helper()
	h, err := webapi.New(webapi.Config{Host: host, TrustAll: true})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(func() { srv.Close(); h.Close() })
	return &webSide{name: "ours", base: srv.URL, transport: &http.Transport{DisableCompression: true}}
}

// canonical returns an answer in a form in which two can be compared: objects of JSON with sorted members, without what
// differs from one request to the next.
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

// plain replaces what differs from one request to the next: numbers of contexts, times, and values that change.
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

// steady reports whether the values of a metric stay as they are.
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

// webCases reads testdata/webapi.txt.
func webCases(t *testing.T) []webCase {
	t.Helper()
	text, err := os.ReadFile("testdata/webapi.txt")
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
			if path, ok := strings.CutPrefix(word, "POST"); ok {
				q.method, word = http.MethodPost, path
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
	d := oracle.StartPMCD(t, oracle.Config{Agents: agents})
	real, ours := startRealProxy(t, d), startOurWeb(t, d.TCP)
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
	page, err := os.ReadFile(filepath.Join("..", "docs", "differences.md"))
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
