package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/internal/testing/servicetest"
)

func newAgent(t testing.TB, cfg Config) *service.Agent {
	t.Helper()
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func TestDescriptors(t *testing.T) {
	servicetest.Facts(t, newAgent(t, Config{}), "testdata/upstream.txt")
}

const answer = `[{"arguments":{"x-max-length":5},"auto_delete":false,"backing_queue_status":{"avg_ack_egress_rate":0.5,"delta":["delta","undefined",0,0,"undefined"],
"len":3,"mode":"default","next_seq_id":7,"q1":0,"target_ram_count":"infinity"},"consumer_utilisation":null,"consumers":2,"durable":true,"exclusive":false,
"garbage_collection":{"fullsweep_after":65535,"max_heap_size":0,"min_bin_vheap_size":46422,"min_heap_size":233,"minor_gcs":6},"idle_since":"2026-11-27 17:00:00",
"memory":14232,"message_bytes":30,"messages":3,"messages_details":{"rate":1.5},"messages_ready":3,"name":"work","node":"rabbit@vm","state":"running","type":"classic","vhost":"/"},
{"name":"idle","messages":0,"type":"quorum"},{"messages":1},{"name":7}]`

// serve answers as the management plugin.
func serve(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "monitor" || password != "secret" {
			http.Error(w, "", http.StatusUnauthorized)
			return
		}
		if r.URL.Path != "/api/queues" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestValues(t *testing.T) {
	s := serve(t)
	a := newAgent(t, Config{URL: s.URL, User: "monitor", Password: "secret"})
	v := servicetest.Read(t, a)
	for name, want := range map[string]string{
		"messages": "map[idle:0 work:3]", "type": `map[idle:"quorum" work:"classic"]`, "autodelete": `map[work:"False"]`, "durable": `map[work:"True"]`,
		"consumer_utilization": `map[work:"None"]`, "backing_queue_status.len": "map[work:3]", "garbage_collection.minor_gcs": "map[work:6]",
		"backing_queue_status.delta": `map[work:"["delta","undefined",0,0,"undefined"]"]`, "memory": "map[work:14232]", "vhost": `map[work:"/"]`,
		"arguments": `map[work:"{"x-max-length":5}"]`,
	} {
		if got := fmt.Sprint(v["rabbitmq.queue."+name]); got != want {
			t.Errorf("rabbitmq.queue.%s is %s, want %s", name, got, want)
		}
	}
	if got := v["rabbitmq.queue.messages_details.rate"]["work"]; !strings.HasPrefix(got, "1.5") {
		t.Errorf("the rate is %s", got)
	}
	sets, err := a.Labels(t.Context(), uint32(pcp.NewInDom(Domain, 0)), pcp.LabelInstances)
	if err != nil || len(sets) != 2 || !strings.Contains(fmt.Sprint(sets), `"queue":"`) {
		t.Errorf("labels are %v, %v", sets, err)
	}
	servicetest.Hammer(t, a)
	if err := newAgent(t, Config{URL: s.URL}).Try(t.Context()); !errors.Is(err, service.ErrCredentials) {
		t.Errorf("as guest: %v", err)
	}
	if err := newAgent(t, Config{URL: s.URL + "/x", User: "monitor", Password: "secret"}).Try(t.Context()); err == nil || !strings.Contains(err.Error(), "rabbitmq_management") {
		t.Errorf("without the plugin: %v", err)
	}
}

// FuzzDecode reads an answer of any bytes.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(answer))
	f.Add([]byte(`[{"name":"a","x":` + strings.Repeat(`{"x":`, 50) + `1` + strings.Repeat(`}`, 50) + `}]`))
	f.Add([]byte(`[null,{"name":"a","memory":-1,"messages":1e400}]`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		queues := &service.InDom{}
		a, err := service.New(service.Config{
			Name: "rabbitmq", Domain: Domain, Metrics: metrics(queues), InDoms: []*service.InDom{queues},
			Servers: []service.Server{{Name: "x", Read: func(_ context.Context, a *service.Answer) error { return decode(b, queues, a) }}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		servicetest.Read(t, a)
	})
}

// TestTry has a program of Erlang that is not RabbitMQ, and RabbitMQ without its plugin.
func TestTry(t *testing.T) {
	if c, err := net.Dial("tcp", "localhost:15672"); err == nil {
		c.Close()
		t.Skip("SKIPPED: there is a server at the port of RabbitMQ's management plugin")
	}
	home := t.TempDir()
	env := builtin.Env{Config: config.New(func(name string) string { return map[string]string{"HOME": home, "PCP_CONF": os.DevNull}[name] })}
	ln, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := try(t.Context(), env, ln.Addr().String()); errors.Is(err, service.ErrAbsent) || err == nil || !strings.Contains(err.Error(), "rabbitmq_management") {
		t.Errorf("without the plugin: %v", err)
	}
	ln.Close()
	if err := try(t.Context(), env, ln.Addr().String()); !errors.Is(err, service.ErrAbsent) {
		t.Errorf("another program: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(home, ".config/pcp"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".config/pcp/rabbitmq.conf"), []byte("url = http://"+ln.Addr().String()+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := try(t.Context(), env, ln.Addr().String()); err == nil || errors.Is(err, service.ErrAbsent) {
		t.Errorf("with a configuration: %v", err)
	}
}
