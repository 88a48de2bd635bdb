package webapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/internal/agent/sample"
	"github.com/go-pcp/pcp/internal/testing/leak"
	"github.com/go-pcp/pcp/openmetrics"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

func TestMain(m *testing.M) { leak.Main(m) }

// A collector is a collector that the test can stop and restart.
type collector struct {
	socket string
	stop   func()
}

func (c *collector) spec() string { return "unix:" + c.socket }

// startCollector serves the metrics of sample, and some with odd texts and values.
func startCollector(t testing.TB) *collector {
	t.Helper()
	dir, err := os.MkdirTemp("", "webapi")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := &collector{socket: filepath.Join(dir, "s")}
	c.start(t)
	t.Cleanup(func() { c.stop() })
	return c
}

func (c *collector) start(t testing.TB) {
	t.Helper()
	ln, err := net.Listen("unix", c.socket)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{
		Listeners: []net.Listener{ln}, HostName: "web.example.com",
		Agents: []pmcd.AgentSpec{{Name: "sample", Domain: 29, Agent: sampleAgent(t)}, {Name: "odd", Domain: 400, Agent: oddAgent(t)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	c.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func sampleAgent(t testing.TB) pmda.Agent {
	t.Helper()
	a, err := sample.New(sample.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// oddAgent has values that are difficult to represent in JSON and text.
func oddAgent(t testing.TB) pmda.Agent {
	t.Helper()
	text := func(s string) func(int32, int) (pcp.Value, error) {
		return func(int32, int) (pcp.Value, error) { return pcp.StringValue(s), nil }
	}
	number := func(f float64) func(int32, int) (pcp.Value, error) {
		return func(int32, int) (pcp.Value, error) { return pcp.DoubleValue(f), nil }
	}
	d := pcp.TypeDouble
	a, err := pmda.NewTable(pmda.Config{Name: "odd", Domain: 400, Metrics: []pmda.Metric{
		{Name: "odd.quotes", Type: pcp.TypeString, Sem: pcp.SemDiscrete, OneLine: "say \"x\\y\"\nhere", Value: text("a\"b\\c\n\t\x01\u2028é")},
		{Name: "odd.bytes", Item: 1, Type: pcp.TypeString, Sem: pcp.SemDiscrete, Value: text("a\xff\xc3(")},
		{Name: "odd.nan", Item: 2, Type: d, Sem: pcp.SemInstant, OneLine: "back\\slash", Value: number(math.NaN())},
		{Name: "odd.inf", Item: 3, Type: d, Sem: pcp.SemInstant, Value: number(math.Inf(-1))},
		{Name: "odd.tiny", Item: 4, Type: d, Sem: pcp.SemInstant, Value: number(1.25e-300)},
		{Name: "odd.large", Item: 5, Type: d, Sem: pcp.SemInstant, Value: number(-123456789012)},
		{Name: "odd_nan", Item: 6, Type: d, Sem: pcp.SemInstant, Value: number(2)},
		{Name: "odd.max", Item: 7, Type: pcp.TypeU64, Sem: pcp.SemCounter, Value: func(int32, int) (pcp.Value, error) { return pcp.Uint64Value(math.MaxUint64), nil }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// serve returns a handler on a collector, for a peer.
func serve(t testing.TB, cfg Config) *Handler {
	t.Helper()
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// do sends a request of a peer.
func do(h http.Handler, peer rest.Peer, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", strings.NewReader(body))
	var err error
	if r.URL, err = r.URL.Parse(path); err != nil {
		panic(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(rest.WithPeer(r.Context(), &peer)))
	return w
}

var (
	trusted  = rest.Peer{Local: true, Trusted: true, Sockets: true}
	stranger = rest.Peer{Address: "192.0.2.1"}
)

// newContext creates a context and returns its number.
func newContext(t testing.TB, h http.Handler, query string) string {
	t.Helper()
	w := do(h, trusted, "GET", "/pmapi/context"+query, "")
	var c struct{ Context uint32 }
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || c.Context == 0 {
		t.Fatalf("context%s: %d %s", query, w.Code, w.Body)
	}
	return strconv.FormatUint(uint64(c.Context), 10)
}

// masked replaces the times in a body.
func masked(body, context string) string {
	body = strings.ReplaceAll(body, `"context":`+context, `"context":N`)
	body = regexp.MustCompile(`"timestamp":\d+\.\d{9}`).ReplaceAllString(body, `"timestamp":T`)
	body = regexp.MustCompile(`"s":\d+,"us":\d+`).ReplaceAllString(body, `"s":S,"us":U`)
	return strings.TrimSuffix(body, "\r\n")
}

// TestAnswers compares responses, byte for byte.
func TestAnswers(t *testing.T) {
	h := serve(t, Config{Host: startCollector(t).spec()})
	n := newContext(t, h, "?polltimeout=600")
	f := func(path string, code int, want string) {
		t.Helper()
		w := do(h, trusted, "GET", strings.ReplaceAll(path, "CTX", n), "")
		if got := masked(w.Body.String(), n); w.Code != code || got != want {
			t.Errorf("%s:\n%d %s, want\n%d %s", path, w.Code, got, code, want)
		}
	}
	f("/pmapi/CTX/fetch?names=sample.long.one,no.such,sample.string.hullo", 200, `{"context":N,"timestamp":T,"values":[{"pmid":"29.0.10","name":"sample.long.one","instances":[{"instance":null,"value":1}]},`+
		`{"pmid":"29.0.31","name":"sample.string.hullo","instances":[{"instance":null,"value":"hullo world!"}]}]}`)
	f("/pmapi/CTX/_fetch?name=sample.long.one", 200, `{"timestamp":{"s":S,"us":U},"values":[{"pmid":121634826,"name":"sample.long.one","instances":[{"instance":-1,"value":1}]}]}`)
	f("/pmapi/CTX/fetch?name=no.such", 400, `{"context":N,"message":"bad parameters passed","success":false}`)
	f("/pmapi/CTX/fetch?names=", 400, `{"context":N,"message":"Insufficient elements in list","success":false}`)
	f("/pmapi/CTX/fetch?client=me&names=odd.quotes", 200, `{"context":N,"client":"me","timestamp":T,"values":[{"pmid":"400.0.0","name":"odd.quotes","instances":[{"instance":null,"value":"a\u0022b\u005Cc\u000A\u0009\u0001\u2028é"}]}]}`)
	f("/pmapi/CTX/fetch?names=odd.bytes,odd.nan,odd.inf,odd.tiny,odd.large,odd.max", 200, `{"context":N,"timestamp":T,"values":[`+
		`{"pmid":"400.0.1","name":"odd.bytes","instances":[{"instance":null,"value":"a\uFFFD\uFFFD("}]},{"pmid":"400.0.2","name":"odd.nan","instances":[{"instance":null,"value":null}]},`+
		`{"pmid":"400.0.3","name":"odd.inf","instances":[{"instance":null,"value":null}]},{"pmid":"400.0.4","name":"odd.tiny","instances":[{"instance":null,"value":1.25e-300}]},`+
		`{"pmid":"400.0.5","name":"odd.large","instances":[{"instance":null,"value":-123456789012}]},{"pmid":"400.0.7","name":"odd.max","instances":[{"instance":null,"value":18446744073709551615}]}]}`)
	f("/pmapi/CTX/children?prefix=odd", 200, `{"context":N,"name":"odd","leaf":["quotes","bytes","nan","inf","tiny","large","max"],"nonleaf":[]}`)
	f("/pmapi/CTX/children?prefix=no.such", 400, `{"context":N,"message":"child traversal failed - Unknown metric name","success":false}`)
	f("/pmapi/CTX/metric?names=no.such,no.other", 200, `{"context":N,"metrics":[{"name":"no.such","message":"Unknown metric name","success":false},{"name":"no.other","message":"Unknown metric name","success":false}]}`)
	f("/pmapi/CTX/metric?name=no.such", 400, `{"context":N,"message":"no.such traversal failed - Unknown metric name","success":false}`)
	f("/pmapi/CTX/indom?name=sample.long.one", 400, `{"context":N,"message":"sample.long.one - metric has null indom","success":false}`)
	f("/pmapi/CTX/indom?name=sample.bin&iname=*&match=regex", 400, `{"context":N,"message":"* - error parsing regexp: missing argument to repetition operator: `+"`*`"+`","success":false}`)
	f("/pmapi/CTX/profile?expr=add&name=sample.bin&match=regex&iname=(", 400, `{"context":N,"message":"( - error parsing regexp: missing closing ): `+"`(`"+`","success":false}`)
	f("/pmapi/CTX/profile?expr=x", 400, `{"context":N,"message":"x - invalid 'expr' parameter value","success":false}`)
	f("/pmapi/1/fetch?name=sample.long.one", 400, `{"context":1,"message":"unknown context identifier: 1","success":false}`)
	f("/pmapi/fetch?context=abc&name=sample.long.one", 400, `{"context":"abc","message":"invalid context identifier: abc","success":false}`)
	f("/pmapi/context?polltimeout=x", 400, `{"message":"invalid timeout requested in polltime","success":false}`)
	f("/pmapi/context?hostspec=127.0.0.1:1", 400, `{"message":"cannot connect to PMCD: Connection refused","success":false}`)
	f("/pmapi/CTX/metrics?names=no.such", 400, `{"context":N,"message":"'no.such' - Unknown metric name","success":false}`)
	f("/pmapi/CTX/metrics?names=sample.string.hullo", 200, "")
	f("/pmapi/CTX/_context", 200, `{"context":N}`)
	for _, path := range []string{"/pmapi/", "/pmapi/foo", "/pmapi/CTX/fetch", "/pmapi/1", "/other", "/pmapi/CTX/profile", "/pmapi/CTX/store?name=x", "/pmapi/CTX/indom", "/pmapi/fetch?names=%zz"} {
		r := httptest.NewRequest("GET", "/", nil)
		path, query, _ := strings.Cut(strings.ReplaceAll(path, "CTX", n), "?")
		r.URL.Path, r.URL.RawQuery = path, query
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 400 || w.Header().Get("Content-Type") != rest.TypeHTML {
			t.Errorf("%s: %d %s", path, w.Code, w.Header())
		}
	}
	for _, method := range []string{"HEAD", "OPTIONS", "TRACE"} {
		if w := do(h, trusted, method, "/pmapi/"+n+"/store?name=sample.write_me&value=1", ""); w.Code != 200 || w.Body.Len() > 0 {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
	}
	for _, method := range []string{"PUT", "DELETE", "PATCH", "POST"} {
		if w := do(h, trusted, method, "/pmapi/"+n+"/fetch?name=sample.long.one", "x"); w.Code != 200 || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
	}
}

// TestProfile chooses instances, in one context and not in others.
func TestProfile(t *testing.T) {
	h := serve(t, Config{Host: startCollector(t).spec()})
	a, b := newContext(t, h, "?polltimeout=600"), newContext(t, h, "?polltimeout=600")
	instances := func(n string) string {
		t.Helper()
		w := do(h, trusted, "GET", "/pmapi/"+n+"/fetch?names=sample.bin", "")
		var got struct {
			Values []struct{ Instances []struct{ Instance int } }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Values) == 0 {
			t.Fatalf("%v: %s", err, w.Body)
		}
		return fmt.Sprint(got.Values[0].Instances)
	}
	all := instances(a)
	set := func(query string) {
		t.Helper()
		if w := do(h, trusted, "GET", "/pmapi/"+a+"/profile?"+query, ""); w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"context":`+a+`,"success":true}` {
			t.Fatalf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	set("expr=add&name=sample.bin&iname=bin-*&match=glob")
	if got := instances(a); got != all {
		t.Errorf("all by a pattern: %s", got)
	}
	set("expr=del&name=sample.bin")
	set("expr=add&name=sample.bin&iname=bin-100,bin-300")
	set("expr=add&name=sample.bin&iname=no,such")
	if got := instances(a); got != "[{100} {300}]" {
		t.Errorf("two instances: %s", got)
	}
	if got := instances(b); got != all {
		t.Errorf("another context: %s", got)
	}
	set("expr=del")
	if w := do(h, trusted, "GET", "/pmapi/"+a+"/fetch?names=sample.bin", ""); !strings.Contains(w.Body.String(), `"instances":[]`) {
		t.Errorf("without instances: %s", w.Body)
	}
}

// TestRestart kills the collector while contexts are open, and starts it again.
func TestRestart(t *testing.T) {
	c := startCollector(t)
	h := serve(t, Config{Host: c.spec()})
	plain, own := newContext(t, h, "?polltimeout=600"), newContext(t, h, "?polltimeout=600")
	ask := func(path, want string) {
		t.Helper()
		if w := do(h, trusted, "GET", path, ""); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
	ask("/pmapi/"+own+"/derive?name=twice&expr=2*sample.long.hundred", `"success":true`)
	ask("/pmapi/"+own+"/profile?expr=add&name=sample.bin", `"success":true`)
	ask("/pmapi/"+own+"/profile?expr=del&name=sample.bin&iname=bin-100", `"success":true`)
	good := func() {
		t.Helper()
		ask("/pmapi/"+plain+"/fetch?name=sample.long.one", `"value":1}`)
		ask("/pmapi/"+own+"/fetch?name=twice", `"value":200}`)
		ask("/pmapi/"+own+"/fetch?name=sample.bin", `"instances":[{"instance":200,`)
		ask("/pmapi/"+plain+"/fetch?name=twice", "bad parameters passed")
	}
	good()
	c.stop()
	ask("/pmapi/"+plain+"/fetch?name=sample.long.one", `"success":false`)
	ask("/pmapi/"+own+"/fetch?name=twice", `cannot reconnect context: `)
	ask("/pmapi/fetch?name=sample.long.one", `cannot connect to PMCD: `)
	c.start(t)
	good()
}

// TestTrust checks that only authorised clients can change things.
func TestTrust(t *testing.T) {
	c := startCollector(t)
	h := serve(t, Config{Host: c.spec()})
	n := newContext(t, h, "?polltimeout=600")
	denied := `{"context":` + n + `,"message":"No permission to perform requested operation","success":false}` + "\r\n"
	store, derive := "/pmapi/"+n+"/store?name=sample.write_me&value=1", "/pmapi/"+n+"/derive?name=d.x&expr=sample.long.one"
	for _, path := range []string{store, derive} {
		for _, peer := range []rest.Peer{stranger, {}, {Local: true}} {
			if w := do(h, peer, "GET", path, ""); w.Code != 403 || w.Body.String() != denied {
				t.Errorf("%+v %s: %d %s", peer, path, w.Code, w.Body)
			}
		}
	}
	if w := do(h, trusted, "GET", store, ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(h, trusted, "GET", derive, ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(h, trusted, "GET", "/pmapi/context?hostspec=unix:"+c.socket, ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	h = serve(t, Config{Host: c.spec(), AllowHost: func(hs *pmapi.HostSpec) bool { return hs.Hosts[0].Name == "good" }})
	if w := do(h, trusted, "GET", "/pmapi/context?hostspec=unix:"+c.socket, ""); w.Code != 400 || !strings.Contains(w.Body.String(), "Connection refused") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(h, trusted, "GET", "/pmapi/context", ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestSockets checks that unknown clients cannot connect to the Unix socket of a
// collector, however they write the socket and whatever the request.
func TestSockets(t *testing.T) {
	c := startCollector(t)
	var opened []string
	h := serve(t, Config{Open: func(ctx context.Context, spec string) (*pmapi.Context, error) {
		opened = append(opened, spec)
		hs, err := pmapi.ParseHostSpec(spec)
		if err != nil || hs.Protocol == "" || hs.Protocol == "pcp" || hs.Protocol == "pcps" {
			return nil, -pcp.Error(111)
		}
		return pmapi.Dial(ctx, "unix:"+c.socket)
	}})
	escaped := ""
	for _, b := range []byte("unix:" + c.socket) {
		escaped += fmt.Sprintf("%%%02x", b)
	}
	specs := []string{
		"local:", "unix:", "unix:" + c.socket, "local:" + c.socket, "unix://" + c.socket, "local:?username=a%26password=b", "unix:?container=c", "local:?secure=relaxed",
		escaped, "%6cocal:", "local%3A", "unix%3a%2f%2f", "local:%00", "local:%3f", "local::1", "local:@localhost",
		c.socket, "/" + c.socket, "[" + c.socket + "]", "", "@", "?unix", "?local", "/",
		"[unix]:44321", "[local]:44321", "[unix]:44321?unix", "[local]:1,2", "pcp://[unix]:1", "[unix:]", "[local:]:44321", "localhost?unix", "localhost?unixsock", "localhost?local", "localhost?unix=" + c.socket,
		"localhost?uid=0%26gid=0", "pcp://localhost?unix", "pcp:local:", "pcp://unix:44321", "pcps://local:44321", "UNIX:", "Local:", "%20local:", "+unix:", "localhost@unix:", "a@local:",
	}
	ask := []string{
		"/pmapi/context?", "/pmapi/_context?", "/pmapi/fetch?names=sample.long.one&", "/pmapi/metric?name=sample.long.one&", "/pmapi/indom?name=sample.bin&", "/pmapi/children?prefix=sample&",
		"/pmapi/profile?expr=del&", "/pmapi/store?name=sample.write_me&value=1&", "/pmapi/derive?name=a.b&expr=1&", "/pmapi/metrics?names=sample.long.one&", "/metrics?names=sample.long.one&",
	}
	var id string
	for _, spec := range specs {
		socket := false
		for _, path := range ask {
			for _, name := range []string{"hostspec=", "hostname=", "hostspec=" + spec + "&hostspec=localhost&hostname="} {
				for _, peer := range []rest.Peer{{}, stranger, {Local: true}, {Local: true, Trusted: true}, {Trusted: true, User: "x"}} {
					opened = nil
					w := do(h, peer, "GET", path+name+spec, "")
					if w.Code == 200 {
						t.Errorf("%+v %s%s%s: %d %s", peer, path, name, spec, w.Code, w.Body)
					}
					for _, to := range opened {
						if hs, err := pmapi.ParseHostSpec(to); err != nil || hs.Protocol == "unix" || hs.Protocol == "local" || len(hs.Hosts) == 0 {
							t.Errorf("%+v %s%s%s: asks %q, %v", peer, path, name, spec, to, err)
						}
					}
				}
			}
		}
		opened = nil
		w := do(h, trusted, "GET", "/pmapi/context?polltimeout=600&hostspec="+spec, "")
		for _, to := range opened {
			socket = socket || strings.HasPrefix(to, "unix:") || strings.HasPrefix(to, "local:")
		}
		if socket && w.Code == 200 {
			var v struct{ Context uint32 }
			json.Unmarshal(w.Body.Bytes(), &v)
			id = strconv.FormatUint(uint64(v.Context), 10)
		}
	}
	if id == "" {
		t.Fatal("who may cannot name a socket")
	}
	// Its number is of no use to others.
	for _, path := range []string{"/pmapi/" + id + "/fetch?names=sample.long.one", "/pmapi/fetch?names=sample.long.one&context=" + id, "/metrics?names=sample.long.one&context=" + id} {
		if w := do(h, rest.Peer{Local: true, Trusted: true}, "GET", path, ""); w.Code != 403 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if w := do(h, trusted, "GET", path, ""); w.Code != 200 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestCredentials requires the user's password for each request in the context of a user.
func TestCredentials(t *testing.T) {
	var specs []string
	h := serve(t, Config{Host: "localhost", Open: func(ctx context.Context, spec string) (*pmapi.Context, error) {
		specs = append(specs, spec)
		return pmapi.OpenLocal(pmapi.LocalAgent{Name: "odd", Domain: 400, Agent: oddAgent(t)})
	}})
	ask := func(path string, code int, want string, auth ...string) string {
		t.Helper()
		r := httptest.NewRequest("GET", path, nil)
		if auth != nil {
			r.SetBasicAuth(auth[0], auth[1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != code || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s %v: %d %s, want %d %s", path, auth, w.Code, w.Body, code, want)
		}
		var c struct{ Context int }
		json.Unmarshal(w.Body.Bytes(), &c)
		return strconv.Itoa(c.Context)
	}
	n := ask("/pmapi/context", 200, "", "tom", "secret")
	if want := []string{"localhost?username=tom&password=secret"}; !slices.Equal(specs, want) {
		t.Errorf("connected to %q, want %q", specs, want)
	}
	ask("/pmapi/"+n+"/fetch?name=odd.large", 200, "-123456789012", "tom", "secret")
	ask("/pmapi/"+n+"/fetch?name=odd.large", 401, "authentication required")
	ask("/pmapi/"+n+"/fetch?name=odd.large", 403, "authentication failed", "tom", "other")
	ask("/pmapi/context?hostspec=localhost?username=tom%26password=secret", 401, "authentication required")
	ask("/pmapi/context?hostspec=localhost?username=tom%26password=secret", 200, "", "tom", "secret")
}

// TestExpiry checks that unused contexts expire, and no others.
func TestExpiry(t *testing.T) {
	agent := oddAgent(t)
	synctest.Test(t, func(t *testing.T) {
		h, err := New(Config{Open: func(ctx context.Context, spec string) (*pmapi.Context, error) {
			return pmapi.OpenLocal(pmapi.LocalAgent{Name: "odd", Domain: 400, Agent: agent})
		}})
		if err != nil {
			t.Fatal(err)
		}
		n := newContext(t, h, "")
		own := newContext(t, h, "?polltimeout=2")
		ask := func(n, want string) {
			t.Helper()
			if w := do(h, trusted, "GET", "/pmapi/"+n+"/fetch?name=odd.large", ""); !strings.Contains(w.Body.String(), want) {
				t.Errorf("%v: %s, want %s", time.Now(), w.Body, want)
			}
		}
		do(h, trusted, "GET", "/pmapi/"+own+"/derive?name=d.x&expr=odd.large", "")
		if h.owned.Load() != 1 {
			t.Errorf("%d contexts have a connection of their own", h.owned.Load())
		}
		time.Sleep(1900 * time.Millisecond)
		ask(own, "-123456789012")
		time.Sleep(1900 * time.Millisecond)
		ask(n, "-123456789012")
		ask(own, "-123456789012")
		time.Sleep(2100 * time.Millisecond)
		ask(own, "expired context identifier: "+own)
		ask(n, "-123456789012")
		time.Sleep(5 * time.Second)
		ask(own, "unknown context identifier: "+own)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		h.mu.Lock()
		contexts, peers := len(h.contexts), len(h.peers)
		h.mu.Unlock()
		if contexts != 0 || peers != 0 || h.owned.Load() != 0 {
			t.Errorf("%d contexts of %d peers are left, %d with a connection", contexts, peers, h.owned.Load())
		}
		time.Sleep(2 * idleLink)
		synctest.Wait()
		h.mu.Lock()
		if len(h.sources) != 0 {
			t.Errorf("%d collectors are left", len(h.sources))
		}
		h.mu.Unlock()
		h.Close()
		if w := do(h, trusted, "GET", "/pmapi/context", ""); w.Code != 503 {
			t.Errorf("after Close: %d %s", w.Code, w.Body)
		}
	})
}

// TestLimits checks that requests beyond the limits are refused.
func TestLimits(t *testing.T) {
	c := startCollector(t)
	h := serve(t, Config{Host: c.spec(), MaxContexts: 4, MaxPerPeer: 2, MaxOwn: 1, MaxSources: 2})
	ask := func(peer rest.Peer, path string, code int) string {
		t.Helper()
		w := do(h, peer, "GET", path, "")
		if w.Code != code {
			t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, code)
		}
		var c struct{ Context int }
		json.Unmarshal(w.Body.Bytes(), &c)
		return strconv.Itoa(c.Context)
	}
	a := ask(trusted, "/pmapi/context?polltimeout=600", 200)
	b := ask(trusted, "/pmapi/context?polltimeout=600", 200)
	ask(trusted, "/pmapi/context", 503)
	ask(stranger, "/pmapi/context?polltimeout=600", 200)
	ask(stranger, "/pmapi/fetch?name=sample.long.one", 200)
	ask(rest.Peer{Address: "::2"}, "/pmapi/fetch?name=sample.long.one", 503)
	ask(rest.Peer{Address: "::2"}, "/metrics?names=sample.long.one", 200) // it needs no number
	ask(trusted, "/pmapi/"+a+"/profile?expr=del", 200)
	ask(trusted, "/pmapi/"+b+"/profile?expr=del", 503)
	ask(trusted, "/pmapi/context?hostspec="+strings.Repeat("x", MaxHostSpec+1), 400)
	ask(trusted, "/pmapi/fetch?names="+strings.Repeat("x,", rest.MaxQuery/2), 400)
	if w := do(h, trusted, "POST", "/pmapi/"+a+"/derive", strings.Repeat("x", MaxBody+1)); w.Code != 413 {
		t.Errorf("large body: %d", w.Code)
	}
	ask(trusted, "/pmapi/"+a+"/indom?name=sample.bin&match=glob&iname="+strings.Repeat("x", maxPattern+1), 400)
}

// TestQueue limits the requests that wait for a context, and ends those of disconnected clients.
func TestQueue(t *testing.T) {
	c := startCollector(t)
	h := serve(t, Config{Host: c.spec()})
	n := newContext(t, h, "?polltimeout=600")
	id, _ := parseContext(n)
	wc := h.contexts[id]
	wc.turn <- struct{}{} // a slow request
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var refused atomic.Int32
	for range MaxQueued + 10 {
		wg.Go(func() {
			r := httptest.NewRequest("GET", "/pmapi/"+n+"/fetch?name=sample.long.one", nil).WithContext(ctx)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code == 503 {
				if refused.Add(1) == 9 {
					cancel()
				}
			}
		})
	}
	wg.Wait()
	if refused.Load() != 9 {
		t.Errorf("%d requests were refused, want 9", refused.Load())
	}
	<-wc.turn
	if w := do(h, trusted, "GET", "/pmapi/"+n+"/fetch?name=sample.long.one", ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestManyClients answers many clients at a time, each with its own response.
func TestManyClients(t *testing.T) {
	c := startCollector(t)
	h := serve(t, Config{Host: c.spec()})
	shared := newContext(t, h, "?polltimeout=600")
	paths := []string{
		"/pmapi/CTX/fetch?names=sample.long.one,sample.bin", "/pmapi/CTX/fetch?name=sample.long.hundred", "/pmapi/CTX/metric?prefix=sample.long",
		"/pmapi/CTX/indom?name=sample.bin", "/metrics?names=sample", "/pmapi/CTX/children?prefix=sample", "/pmapi/fetch?name=sample.double.one",
	}
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			own := newContext(t, h, "?polltimeout=600")
			if g%4 == 0 {
				do(h, trusted, "GET", "/pmapi/"+own+"/derive?name=d.x&expr=sample.long.one%2b"+strconv.Itoa(g), "")
			}
			for i := range 30 {
				n := shared
				if i%2 == 0 {
					n = own
				}
				w := do(h, trusted, "GET", strings.ReplaceAll(paths[(g+i)%len(paths)], "CTX", n), "")
				if w.Code != 200 || strings.HasPrefix(w.Header().Get("Content-Type"), rest.TypeJSON) && !json.Valid(w.Body.Bytes()) {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}
			if g%4 == 0 {
				want := fmt.Sprintf(`"value":%d}`, g+1)
				if w := do(h, trusted, "GET", "/pmapi/"+own+"/fetch?name=d.x", ""); !strings.Contains(w.Body.String(), want) {
					t.Errorf("%s, want %s", w.Body, want)
				}
			}
		})
	}
	wg.Wait()
}

// TestIdleContexts creates ten thousand contexts, which need no connections.
func TestIdleContexts(t *testing.T) {
	c := startCollector(t)
	var opened atomic.Int32
	dialer := new(pmapi.Dialer)
	h := serve(t, Config{Host: c.spec(), Open: func(ctx context.Context, spec string) (*pmapi.Context, error) {
		opened.Add(1)
		return dialer.Dial(ctx, spec)
	}})
	var last string
	for range 10_000 {
		last = newContext(t, h, "?polltimeout=3600")
	}
	if w := do(h, trusted, "GET", "/pmapi/"+last+"/fetch?name=sample.long.one", ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if len(h.contexts) != 10_000 || opened.Load() > DefaultConnections {
		t.Errorf("%d contexts, %d connections", len(h.contexts), opened.Load())
	}
}

// TestScrape reads the text of all metrics with the parser of package openmetrics.
func TestScrape(t *testing.T) {
	c := startCollector(t)
	h := serve(t, Config{Host: c.spec()})
	for _, path := range []string{"/metrics", "/metrics?times=true", "/pmapi/_metrics?prefix=sample", "/metrics?names=sample,odd&filter=sample.b*"} {
		for range 3 {
			w := do(h, stranger, "GET", path, "")
			if w.Code != 200 || w.Header().Get("Content-Type") != rest.TypeText {
				t.Fatalf("%s: %d %s", path, w.Code, w.Header())
			}
			checkText(t, path, w.Body.Bytes())
		}
	}
	if w := do(h, stranger, "GET", "/metrics?names=sample&filter=sample.b*", ""); strings.Contains(w.Body.String(), "sample_bin{") || !strings.Contains(w.Body.String(), "sample_long_one{") {
		t.Errorf("filter: %.300s", w.Body)
	}
	if w := do(h, stranger, "GET", "/metrics?names=odd&filter=x&match=y", ""); w.Code != 400 {
		t.Errorf("match: %d %s", w.Code, w.Body)
	}
	w := do(h, stranger, "GET", "/metrics?names=odd", "")
	for _, want := range []string{"# HELP odd_nan back\\\\slash\n", "odd_inf{", "} -Inf\n", "} NaN\n", "} 1.25e-300\n", "} -123456789012\n", "# TYPE odd_max counter\n"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %q in\n%s", want, w.Body)
		}
	}
}

// TestScrapeHistogram reads the text of metrics whose instances are ranges.
func TestScrapeHistogram(t *testing.T) {
	ranges := &pmda.InDom{Serial: 1, Instances: []pcp.Instance{{Inst: 0, Name: "0-1"}, {Inst: 1, Name: "2-3"}, {Inst: 2, Name: "4-7"}}}
	value := func(inst int32, _ int) (pcp.Value, error) { return pcp.Uint64Value(uint64(10 + inst)), nil }
	metric := func(item int, name string, indom *pmda.InDom) pmda.Metric {
		return pmda.Metric{Name: name, Item: item, Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: indom, OneLine: "help of " + name, Value: value}
	}
	a, err := pmda.NewTable(pmda.Config{Name: "runq", Domain: 401, Metrics: []pmda.Metric{
		metric(0, "runq.latency", ranges), metric(1, "runq.taken", ranges), metric(2, "runq.taken_bucket", nil),
	}})
	if err != nil {
		t.Fatal(err)
	}
	h := serve(t, Config{Open: func(context.Context, string) (*pmapi.Context, error) {
		return pmapi.OpenLocal(pmapi.LocalAgent{Name: "runq", Domain: 401, Agent: a})
	}})
	labels := regexp.MustCompile(`(agent|domainname|machineid|hostname|groupid|userid)="[^"]*",?`)
	get := func(path string) string {
		t.Helper()
		w := do(h, stranger, "GET", path, "")
		if w.Code != 200 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		return strings.ReplaceAll(labels.ReplaceAllString(w.Body.String(), ""), ",}", "}")
	}
	const want = `# PCP5 runq.latency 401.0.0 u64 401.1 counter none
# HELP runq_latency help of runq.latency
# TYPE runq_latency counter
runq_latency{instname="0-1",instid="0"} 10
runq_latency{instname="2-3",instid="1"} 11
runq_latency{instname="4-7",instid="2"} 12
# HELP runq_latency_bucket help of runq.latency
# TYPE runq_latency_bucket counter
runq_latency_bucket{le="1"} 10
runq_latency_bucket{le="3"} 21
runq_latency_bucket{le="7"} 33
runq_latency_bucket{le="+Inf"} 33
# HELP runq_latency_count help of runq.latency
# TYPE runq_latency_count counter
runq_latency_count{} 33
`
	for range 2 {
		if got := get("/metrics?names=runq.latency"); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
	ranges.Instances = append(ranges.Instances, pcp.Instance{Inst: 3, Name: "8-15"})
	if got := get("/metrics?names=runq.latency"); !strings.Contains(got, "{le=\"15\"} 46\n") || !strings.Contains(got, "{le=\"+Inf\"} 46\n") {
		t.Errorf("after a new range:\n%s", got)
	}
	for _, path := range []string{"/metrics", "/metrics?times=true"} {
		w := do(h, stranger, "GET", path, "")
		checkText(t, path, w.Body.Bytes())
		if !strings.Contains(w.Body.String(), "\nrunq_taken_bucket{") || strings.Contains(w.Body.String(), "\nrunq_taken_count") {
			t.Errorf("%s: a histogram has the name of a metric:\n%s", path, w.Body)
		}
	}
	if got := get("/pmapi/_metrics?names=runq.latency"); strings.Contains(got, "bucket") {
		t.Errorf("the old form has a histogram:\n%s", got)
	}
}

// checkText checks that a text is valid for Prometheus: each series appears once, after the only type line of its
// metric.
func checkText(t *testing.T, path string, text []byte) {
	t.Helper()
	s := openmetrics.NewScanner(bytes.NewReader(text), openmetrics.Limits{})
	types, series := make(map[string]bool), make(map[string]bool)
	current, n := "", 0
	for s.Next() {
		line := s.Line()
		if len(line) == 0 {
			continue
		}
		if line[0] == '#' {
			if keyword, name, _ := openmetrics.Comment(line); string(keyword) == "TYPE" {
				current = string(name)
				if types[current] {
					t.Errorf("%s: two types: %s", path, line)
				}
				types[current] = true
			}
			continue
		}
		one, size, err := openmetrics.ParseSeries(line, true)
		if err != nil {
			t.Fatalf("%s: %q: %v", path, line, err)
		}
		if one.Name != current {
			t.Errorf("%s: %q is not below its type, but that of %s", path, line, current)
		}
		if key := string(line[:size]); series[key] {
			t.Errorf("%s: two values: %s", path, key)
		} else {
			series[key] = true
		}
		value, rest := openmetrics.Field(line[size:])
		if _, ok := openmetrics.ParseFloat(value); !ok {
			t.Errorf("%s: %q: no value", path, line)
		}
		if stamp := strings.TrimSpace(string(rest)); strings.Contains(path, "times") {
			ms, err := strconv.ParseInt(stamp, 10, 64)
			if at := time.UnixMilli(ms); err != nil || time.Since(at).Abs() > time.Hour {
				t.Errorf("%s: time %q", path, stamp)
			}
		} else if stamp != "" {
			t.Errorf("%s: %q: what is behind the value?", path, line)
		}
		n++
	}
	if s.Err() != nil || n < 5 {
		t.Errorf("%s: %d values: %v", path, n, s.Err())
	}
}

// TestTelemetry reads metrics as JSON of OpenTelemetry.
func TestTelemetry(t *testing.T) {
	h := serve(t, Config{Host: startCollector(t).spec()})
	for range 2 {
		w := do(h, stranger, "GET", "/metrics", "", "Accept", "application/json")
		type attribute struct {
			Key   string
			Value map[string]any
		}
		var got struct {
			ResourceMetrics []struct {
				Resource     struct{ Attributes []attribute }
				ScopeMetrics []struct {
					Metrics []struct {
						Name, Description, Unit string
						Sum                     *struct {
							IsMonotonic            bool
							AggregationTemporality int
						}
						Gauge *struct {
							DataPoints []struct {
								Attributes   []attribute
								TimeUnixNano string
								AsInt        *string
								AsDouble     any
							}
						}
					}
				}
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Header().Get("Content-Type") != rest.TypeJSON {
			t.Fatalf("%v\n%s", err, w.Body)
		}
		seen := make(map[string]int)
		for i, m := range got.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			seen[m.Name] = i + 1
			if m.Gauge == nil {
				continue
			}
			for _, p := range m.Gauge.DataPoints {
				ns, err := strconv.ParseInt(p.TimeUnixNano, 10, 64)
				if err != nil || time.Since(time.Unix(0, ns)).Abs() > time.Hour || p.AsInt == nil == (p.AsDouble == nil) {
					t.Errorf("%s: %+v", m.Name, p)
				}
			}
		}
		m := got.ResourceMetrics[0].ScopeMetrics[0].Metrics[seen["sample.bin"]-1]
		if len(m.Gauge.DataPoints) != 9 || *m.Gauge.DataPoints[1].AsInt != "200" || fmt.Sprint(m.Gauge.DataPoints[1].Attributes[4:]) == "[]" {
			t.Errorf("sample.bin: %+v", m)
		}
		if m := got.ResourceMetrics[0].ScopeMetrics[0].Metrics[seen["odd.max"]-1]; m.Sum == nil || !m.Sum.IsMonotonic || m.Sum.AggregationTemporality != 2 {
			t.Errorf("odd.max: %+v", m)
		}
		if len(got.ResourceMetrics[0].Resource.Attributes) == 0 {
			t.Error("the resource has no attributes")
		}
	}
	if w := do(h, stranger, "GET", "/metrics?names=sample.string", "", "Accept", "application/json"); !json.Valid(w.Body.Bytes()) {
		t.Errorf("no metrics: %s", w.Body)
	}
	for accept, want := range map[string]string{
		"text/plain, application/json": rest.TypeText, "application/json;q=1, */*": rest.TypeJSON, "": rest.TypeText,
		"application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1": rest.TypeText,
	} {
		if w := do(h, stranger, "GET", "/metrics?names=sample.long", "", "Accept", accept); w.Header().Get("Content-Type") != want {
			t.Errorf("%s: %s", accept, w.Header())
		}
	}
}

// TestPlaces checks that the order of endpoints whose names begin differently does not matter.
func TestPlaces(t *testing.T) {
	before := endpoints
	defer func() { endpoints = before }()
	endpoints = slices.Concat([]endpoint{{name: "other", contentType: rest.TypeJSON}}, before)
	for path, want := range map[string]string{"/metrics": "metrics", "/pmapi/metrics": "metrics", "/pmapi/context": "context", "/pmapi/other": "other"} {
		e, _, _, _ := find(path)
		if e == nil || e.name != want || e.makes != (want == "context") || e.scrapes != (want == "metrics") {
			t.Errorf("find(%q) = %+v, want %s", path, e, want)
		}
	}
	endpoints = endpoints[:1]
	if e, _, _, _ := find("/metrics"); e != nil {
		t.Errorf("without metrics /metrics is %s", e.name)
	}
}

// TestOpenAPI compares the description with the code: it names each endpoint, and each parameter that is
// read.
func TestOpenAPI(t *testing.T) {
	h := serve(t, Config{Host: "localhost"})
	w := do(h, stranger, "GET", "/pmapi/openapi.json", "")
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || doc.OpenAPI == "" {
		t.Fatal(err)
	}
	ids := make(map[string]bool)
	for _, item := range doc.Paths {
		for method, raw := range item {
			var op struct {
				OperationID string
				Parameters  []struct{ Name, Description string }
			}
			if json.Unmarshal(raw, &op) != nil || method == "parameters" {
				continue
			}
			if ids[op.OperationID] || op.OperationID == "" {
				t.Errorf("operation %q is there twice", op.OperationID)
			}
			ids[op.OperationID] = true
		}
	}
	for i := range endpoints {
		e := &endpoints[i]
		if got, _, _, _ := find("/pmapi/" + e.name); got != e {
			t.Errorf("%s is not found", e.name)
		}
		for _, path := range []string{"/pmapi/" + e.name, "/pmapi/{context}/" + e.name} {
			if doc.Paths[path]["get"] == nil || (doc.Paths[path]["post"] != nil) != e.post {
				t.Errorf("%s is not described", path)
			}
		}
	}
	described := make(map[string]bool)
	for _, p := range hostParams {
		described[p.name] = true
	}
	for _, e := range endpoints {
		for _, p := range e.params {
			described[p.name] = true
		}
	}
	for _, p := range streamParams {
		described[p.name] = true
	}
	read := paramsRead(t)
	for name := range read {
		if !described[name] {
			t.Errorf("parameter %s is read, but not described", name)
		}
	}
	for name := range described {
		if !read[name] {
			t.Errorf("parameter %s is described, but never read", name)
		}
	}
}

// paramsRead returns the parameters that this package reads from rest.Params.
func paramsRead(t *testing.T) map[string]bool {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	read := make(map[string]bool)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if list, ok := n.(*ast.RangeStmt); ok && name == "scrape.go" {
				if lit, ok := list.X.(*ast.CompositeLit); ok {
					for _, e := range lit.Elts {
						if s, ok := e.(*ast.BasicLit); ok && s.Kind == token.STRING {
							v, _ := strconv.Unquote(s.Value)
							read[v] = true
						}
					}
				}
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Get" && sel.Sel.Name != "Value" {
				return true
			}
			if x, ok := sel.X.(*ast.SelectorExpr); ok && x.Sel.Name == "Header" {
				return true
			}
			if lit, ok := call.Args[0].(*ast.BasicLit); ok {
				s, _ := strconv.Unquote(lit.Value)
				read[s] = true
			}
			return true
		})
	}
	return read
}

// TestPipelined sends two requests of one context on a connection before it reads an answer.
func TestPipelined(t *testing.T) {
	h := serve(t, Config{Host: startCollector(t).spec()})
	n := newContext(t, h, "?polltimeout=600")
	srv := httptest.NewServer(h)
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	one := "GET /pmapi/" + n + "/fetch?name=sample.long.one HTTP/1.1\r\nHost: x\r\n\r\n"
	two := "GET /pmapi/" + n + "/fetch?name=sample.long.hundred HTTP/1.1\r\nHost: x\r\n\r\n"
	if _, err := conn.Write([]byte(one + two + "POST /pmapi/store HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n" + one)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for i, want := range []string{`"value":1}`, `"value":100}`, "servlet", `"value":1}`} {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		b.ReadFrom(resp.Body)
		resp.Body.Close()
		if !strings.Contains(b.String(), want) {
			t.Errorf("answer %d: %d %s", i, resp.StatusCode, b.String())
		}
	}
}

// TestGlob compares patterns with the names that they match.
func TestGlob(t *testing.T) {
	f := func(pattern, name string, want bool) {
		t.Helper()
		match, err := matcher([]string{pattern}, "glob")
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		} else if match(name) != want {
			t.Errorf("%s matches %q: %v", pattern, name, !want)
		}
	}
	f("*", "", true)
	f("a*c", "abbc", true)
	f("a*c", "abbcd", false)
	f("a?c", "abc", true)
	f("a?c", "ac", false)
	f("[a-c]x", "bx", true)
	f("[!a-c]x", "bx", false)
	f("[]x]", "]", true)
	f("[a", "[a", true)
	f("[[:digit:]]", "7", true)
	f(`\*`, "*", true)
	f(`\*`, "x", false)
	f("a.b", "axb", false)
	f("[a-]", "-", true)
	f("[^a]", "a", false)
	f(`a\`, "a", false)
}
