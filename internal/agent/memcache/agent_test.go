package memcache

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

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

// TestServer stores and reads items, and compares values with the answers of the server.
func TestServer(t *testing.T) {
	s := servicetest.Start(t, "memcached", func(s *servicetest.Server) []string {
		return []string{"-p", strconv.Itoa(s.Port), "-l", "127.0.0.1", "-U", "0", "-m", "32"}
	})
	s.Await(t, "tcp", s.Address())
	a := newAgent(t, Config{Servers: []string{s.Address()}})
	servicetest.Read(t, a) // its connection counts
	c, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	ask := func(q, last string) map[string]string {
		t.Helper()
		io.WriteString(c, q+"\r\n")
		m := make(map[string]string)
		for {
			line, err := service.Line(r)
			if err != nil {
				t.Fatal(err)
			}
			if line == last {
				return m
			}
			if f := strings.Fields(line); len(f) == 3 && f[0] == "STAT" {
				m[f[1]] = f[2]
			}
		}
	}
	ask("set a 0 0 3\r\nabc", "STORED")
	ask("get a", "END")
	ask("get b", "END")
	stats, slabs := ask("stats", "END"), ask("stats slabs", "END")
	v := servicetest.Read(t, a)
	for name, want := range map[string]string{
		"pid": stats["pid"], "current_items": "1", "total_items": "1", "bytes": stats["bytes"], "current_connections": stats["curr_connections"],
		"total_connections": stats["total_connections"], "connection_structures": stats["connection_structures"], "gets": "2", "sets": "1", "hits": "1", "misses": "1",
		"limit_maxbytes": fmt.Sprint(32 << 20), "active_slabs": slabs["active_slabs"], "total_malloced": slabs["total_malloced"],
	} {
		if got := v["memcache."+name][s.Address()]; got != want || got == "" {
			t.Errorf("memcache.%s is %s, want %s", name, got, want)
		}
	}
	servicetest.Hammer(t, a)
}

// FuzzDecode reads two answers of any bytes.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("STAT pid 1\r\nSTAT bytes 99999999999999999999\r\nEND\r\nSTAT active_slabs 1\r\nEND\r\n"))
	f.Add([]byte("ERROR\r\n"))
	f.Add([]byte("STAT\r\nSTAT \r\nSTAT a\r\nEND\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		indom := &service.InDom{Members: []string{"x"}}
		a, err := service.New(service.Config{
			Name: "memcache", Domain: Domain, Metrics: metrics(indom), InDoms: []*service.InDom{indom},
			Servers: []service.Server{{Name: "x", Read: func(_ context.Context, a *service.Answer) error {
				return ask(io.Discard, bufio.NewReader(bytes.NewReader(b)), a.Row(indom, "x"))
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		servicetest.Read(t, a)
	})
}
