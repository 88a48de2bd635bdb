package redis

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
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

func start(t testing.TB, args ...string) *servicetest.Server {
	s := servicetest.Start(t, "redis-server", func(s *servicetest.Server) []string {
		return append([]string{"--port", strconv.Itoa(s.Port), "--bind", "127.0.0.1", "--dir", s.Dir, "--save", "", "--unixsocket", s.Dir + "/s"}, args...)
	})
	s.Await(t, "tcp", s.Address())
	return s
}

// TestServer compares values with those that the server's own client prints.
func TestServer(t *testing.T) {
	s := start(t)
	cli := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("redis-cli", append([]string{"-p", strconv.Itoa(s.Port)}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("redis-cli: %v: %s", err, out)
		}
		return string(out)
	}
	cli("set", "a", "1")
	cli("get", "a")
	cli("get", "b")
	a := newAgent(t, Config{Servers: []string{s.Address()}})
	v := servicetest.Read(t, a)
	info := servicetest.Lines(cli("info"), ":")
	at := func(name string) string { t.Helper(); return strings.Trim(v[name][s.Address()], `"`) }
	for _, name := range []string{
		"redis_version", "redis_mode", "os", "arch_bits", "process_id", "run_id", "tcp_port", "hz", "config_file", "keyspace_hits", "keyspace_misses",
		"role", "connected_slaves", "mem_allocator", "rdb_changes_since_last_save", "rdb_last_bgsave_time_sec", "aof_enabled", "expired_keys",
	} {
		if got := at("redis." + name); got != info[name] || got == "" && name != "config_file" {
			t.Errorf("redis.%s is %s, redis-cli has %q", name, got, info[name])
		}
	}
	if keys := at("redis.db0_keys"); keys != "1" {
		t.Errorf("redis.db0_keys is %s", keys)
	}
	if n, err := strconv.Atoi(at("redis.used_memory")); err != nil || n < 100_000 {
		t.Errorf("redis.used_memory is %s", at("redis.used_memory"))
	}
	servicetest.Hammer(t, a)

	socket := newAgent(t, Config{Servers: []string{s.Dir + "/s"}})
	if got := servicetest.Read(t, socket)["redis.db0_keys"][s.Dir+"/s"]; got != "1" {
		t.Errorf("by the socket redis.db0_keys is %s", got)
	}
	s.Stop(t)
	if err := socket.Try(t.Context()); err == nil {
		t.Error("a stopped server answers")
	}
}

func TestPassword(t *testing.T) {
	s := start(t, "--requirepass", "secret")
	if err := newAgent(t, Config{Servers: []string{s.Address()}}).Try(t.Context()); !errors.Is(err, service.ErrCredentials) {
		t.Errorf("without a password: %v", err)
	}
	if err := newAgent(t, Config{Servers: []string{s.Address()}, Password: "wrong"}).Try(t.Context()); !errors.Is(err, service.ErrCredentials) {
		t.Errorf("with a wrong password: %v", err)
	}
	for _, user := range []string{"", "default"} {
		if err := newAgent(t, Config{Servers: []string{s.Address()}, User: user, Password: "secret"}).Try(t.Context()); err != nil {
			t.Errorf("as user %q: %v", user, err)
		}
	}
}

// TestNoServer checks that the instance stays, and that values are put off.
func TestNoServer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	a := newAgent(t, Config{Servers: []string{ln.Addr().String()}})
	if v := servicetest.Read(t, a)["redis.hz"]; v["!"] != pcp.ErrAgain.Error() {
		t.Errorf("redis.hz is %v, want %v", v, pcp.ErrAgain)
	}
	insts, err := a.Instances(t.Context(), pcp.NewInDom(Domain, 0))
	if err != nil || len(insts) != 1 || insts[0].Inst != 0 || insts[0].Name != ln.Addr().String() {
		t.Errorf("instances are %v, %v", insts, err)
	}
}

// FuzzAnswer reads an answer of any bytes.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"$48\r\n# Server\r\nredis_version:7.0.15\r\nuptime_in_days:1\r\n\r\n", "$31\r\ndb0:keys=1,expires=0,avg_ttl=0\n\r\n", "+OK\r\n", "-NOAUTH Authentication required.\r\n",
		"$-1\r\n", "$99999999999\r\n", "$2147483647\r\nx", "*1\r\n", "", "$3\r\nabcd\r\n", "$20\r\nused_memory:1e308\r\n:\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		client, server := net.Pipe()
		go func() {
			bufio.NewReader(server).ReadString('O')
			server.Write(b)
			server.Close()
		}()
		defer client.Close()
		text, err := ask(client, bufio.NewReader(client), "INFO")
		if err != nil && text != "" {
			t.Errorf("a text with the error %v", err)
		}
		indom := &service.InDom{Members: []string{"x"}}
		a, err := service.New(service.Config{
			Name: "redis", Domain: Domain, Metrics: metrics(indom, "db0"), InDoms: []*service.InDom{indom},
			Servers: []service.Server{{Name: "x", Read: func(_ context.Context, a *service.Answer) error { decode(text, a.Row(indom, "x")); return nil }}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		servicetest.Read(t, a)
	})
}
