package elasticsearch

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/servicetest"
)

// answers are those of a server of version 7, in part.
func answers() map[string]string {
	return map[string]string{
		"/_cluster/health":         `{"cluster_name":"logs","status":"yellow","timed_out":false,"number_of_nodes":1,"number_of_data_nodes":1,"active_primary_shards":3,"active_shards":3,"unassigned_shards":2,"task_max_waiting_in_queue_millis":0,"active_shards_percent_as_number":60.0}`,
		"/":                        `{"name":"n1","version":{"number":"7.17.9","build_snapshot":false},"tagline":"x"}`,
		"/_nodes/stats":            `{"nodes":{"Xy":{"name":"n1","timestamp":1,"indices":{"docs":{"count":42,"deleted":1},"store":{"size_in_bytes":4096},"indexing":{"is_throttled":true}},"process":{"cpu":{"percent":3}},"breakers":{"parent":{"overhead":1.03,"tripped":2}},"thread_pool":{"search":{"queue":7,"completed":99}},"roles":["master"],"jvm":{"mem":{"pools":{"old":{"used_in_bytes":77}}}}},"Z":{"name":""},"W":3}}`,
		"/_nodes":                  `{"nodes":{"Xy":{"name":"n1","jvm":{"pid":1234,"version":"17","mem":{"heap_max_in_bytes":1073741824}},"process":{"refresh_interval_in_millis":1}}}}`,
		"/_cat/master":             `[{"id":"Xy","host":"127.0.0.1","ip":"127.0.0.1","node":"n1"}]`,
		"/_stats/search":           `{"_shards":{"total":5,"successful":4,"failed":1},"_all":{"primaries":{"search":{"query_total":10}},"total":{"search":{"fetch_time_in_millis":12}}},"indices":{"web":{"primaries":{"search":{"query_total":9,"open_contexts":1}},"total":{"search":{"fetch_total":8}}}}}`,
		"/_cluster/state/metadata": `{"metadata":{"indices":{"web":{"settings":{"index":{"number_of_shards":"3","number_of_replicas":"1","version":{"created":"7170999"}}}}}}}`,
	}
}

func newAgent(t testing.TB, cfg Config) *service.Agent {
	t.Helper()
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// serve answers as a server, without the pages named.
func serve(t *testing.T, without ...string) *httptest.Server {
	pages := answers()
	for _, path := range without {
		delete(pages, path)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		switch user, password, _ := r.BasicAuth(); {
		case user != "monitor" || password != "secret":
			http.Error(w, "", http.StatusUnauthorized)
		case !ok:
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, page)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestFacts(t *testing.T) {
	a := newAgent(t, Config{URL: "http://localhost:1"})
	servicetest.Facts(t, a, "testdata/upstream.txt")
	agenttest.HelpTexts(t, a)
}

func TestValues(t *testing.T) {
	s := serve(t)
	a := newAgent(t, Config{URL: s.URL + "/", User: "monitor", Password: "secret"})
	v := servicetest.Read(t, a)
	for name, want := range map[string]string{
		"cluster.cluster_name": `map[:"logs"]`, "cluster.status.colour": `map[:"yellow"]`, "cluster.status.code": "map[:1]", "cluster.timed_out": "map[:0]", "cluster.unassigned_shards": "map[:2]",
		"version.number": `map[:"7.17.9"]`, "cluster.master_node": `map[:"n1"]`,
		"nodes.indices.docs.count": "map[n1:42]", "nodes.indices.size_in_bytes": "map[n1:4096]", "nodes.indices.store.size_in_bytes": "map[n1:4096]", "nodes.indices.indexing.is_throttled": "map[n1:1]",
		"nodes.process.cpu.percent": "map[n1:3]", "nodes.breakers.parent.tripped": "map[n1:2]", "nodes.thread_pool.search.completed": "map[n1:99]", "nodes.jvm.mem.pools.old.used_in_bytes": "map[n1:77]",
		"nodes.jvm.pid": "map[n1:1234]", "nodes.jvm.mem.heap_max_in_bytes": "map[n1:1073741824]", "nodes.process.timestamp": "map[]",
		"search.shards.failed": "map[:1]", "search.all.primaries.search.query_total": "map[:10]", "search.all.total.fetch_time_in_millis": "map[:12]", "search.all.total.search.fetch_time_in_millis": "map[:12]",
		"search.perindex.primaries.search.query_total": "map[web:9]", "search.perindex.total.search.fetch_total": "map[web:8]",
		"index.settings.number_of_shards": "map[web:3]", "index.settings.version_created": "map[web:7170999]", "index.settings.version.created": "map[web:7170999]",
	} {
		if got := fmt.Sprint(v["elasticsearch."+name]); got != want {
			t.Errorf("elasticsearch.%s is %s, want %s", name, got, want)
		}
	}
	servicetest.Hammer(t, a)
	if err := newAgent(t, Config{URL: s.URL}).Try(t.Context()); !errors.Is(err, service.ErrCredentials) {
		t.Errorf("without a password: %v", err)
	}
	// A missing page leaves only its metrics without values; without the first page it is another program.
	s = serve(t, "/_cat/master", "/_stats/search")
	if v := servicetest.Read(t, newAgent(t, Config{URL: s.URL, User: "monitor", Password: "secret"})); len(v["elasticsearch.cluster.status.code"]) != 1 || len(v["elasticsearch.search.shards.total"]) != 0 {
		t.Errorf("without two pages: %v", v["elasticsearch.search.shards.total"])
	}
	s = serve(t, "/_cluster/health")
	if err := newAgent(t, Config{URL: s.URL, User: "monitor", Password: "secret"}).Try(t.Context()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("another program: %v", err)
	}
}

// TestTry has a Java machine with another program, and servers.
func TestTry(t *testing.T) {
	home := t.TempDir()
	env := builtin.Env{Config: config.New(func(name string) string { return map[string]string{"HOME": home, "PCP_CONF": os.DevNull}[name] })}
	conf := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(home, ".config/pcp"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, ".config/pcp/elasticsearch.conf"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	if c, err := net.Dial("tcp", "localhost:9200"); err == nil {
		c.Close()
	} else if err := try(t.Context(), env); !errors.Is(err, service.ErrAbsent) {
		t.Errorf("without a server: %v", err)
	}
	conf("[pmda]\nbaseurl = " + closed.URL + "/\n")
	if err := try(t.Context(), env); err == nil || errors.Is(err, service.ErrAbsent) {
		t.Errorf("with the address of a server that has ended: %v", err)
	}
	s := serve(t)
	conf("baseurl = " + s.URL)
	if err := try(t.Context(), env); !errors.Is(err, service.ErrCredentials) {
		t.Errorf("without a password: %v", err)
	}
	conf("baseurl = " + s.URL + "\nauth = monitor\npassword = secret\n")
	if err := try(t.Context(), env); err != nil {
		t.Error(err)
	}
}

// FuzzDecode reads answers of any bytes.
func FuzzDecode(f *testing.F) {
	for _, page := range answers() {
		f.Add([]byte(page))
	}
	f.Add([]byte(`{"nodes":{"a":{"name":"n","x":` + strings.Repeat(`{"x":`, 50) + `1` + strings.Repeat(`}`, 50) + `}}}`))
	f.Add([]byte(`{"indices":{"":{},"a\u0000":{"total":null}},"_all":[],"status":7}`))
	f.Add([]byte(`[null]`))
	d := newDomains()
	a, err := service.New(service.Config{Name: "elasticsearch", Domain: Domain, Metrics: d.metrics(), InDoms: d.list()})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, r := range d.requests() {
			answer := a.Blank()
			if err := r.decode(b, answer); err == nil {
				answer.Text("status")
			}
		}
	})
}
