// Package keystest runs private key servers for tests, and compares their keys.
//
//	server := keystest.Start(t)
//	store, err := keys.Open(ctx, keys.Config{Servers: []string{server.Address}})
package keystest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"

	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// A Server is a key server with nothing on disk. It ends with its test.
type Server struct {
	Address string
	Port    string
	Dir     string

	cmd    *exec.Cmd
	cancel context.CancelFunc
	client valkey.Client
}

// Require skips the test if there is no key server.
func Require(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		oracle.Missing(t, "no redis-server")
	}
}

// Start starts a key server on a port of its own, with more arguments of redis-server.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return StartAt(t, fmt.Sprint(oracle.FreePort(t)), args...)
}

// StartAt is Start with a port.
func StartAt(t testing.TB, port string, args ...string) *Server {
	t.Helper()
	Require(t)
	s := &Server{Address: net.JoinHostPort("127.0.0.1", port), Port: port, Dir: t.TempDir()}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.cmd = exec.CommandContext(ctx, "redis-server", append([]string{
		"--port", port, "--bind", "127.0.0.1", "--dir", s.Dir, "--save", "", "--appendonly", "no",
		"--rdbcompression", "no", // so that equal keys have equal dumps
	}, args...)...)
	if err := oracle.StartWith(s.cmd, syscall.SIGKILL); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Kill(t) })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", s.Address)
		if err == nil {
			c.Close()
			return s
		}
		if time.Now().After(deadline) {
			t.Fatal("redis-server does not answer")
		}
	}
}

// Kill ends the server at once, if it runs.
func (s *Server) Kill(t testing.TB) {
	if s.client != nil {
		s.client.Close()
		s.client = nil
	}
	if s.cancel != nil {
		s.cancel()
		await.Exit(t, s.cmd)
		s.cancel = nil
	}
}

// Running reports whether the server was not killed.
func (s *Server) Running() bool { return s.cancel != nil }

// Client returns a connection to this server alone.
func (s *Server) Client(t testing.TB) valkey.Client {
	t.Helper()
	if s.client == nil {
		c, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{s.Address}, ForceSingleClient: true, AlwaysRESP2: true, DisableCache: true})
		if err != nil {
			t.Fatal(err)
		}
		s.client = c
	}
	return s.client
}

// Do runs a command and returns its answer.
func (s *Server) Do(t testing.TB, args ...string) valkey.ValkeyResult {
	t.Helper()
	c := s.Client(t)
	return c.Do(context.Background(), c.B().Arbitrary(args...).Build())
}

// Dump returns all keys with their contents, in a form that does not depend on the order of hash tables, which differs from server to
// server. Small hashes are in the order and the bytes in which the server keeps them, streams in their order. Of the times to live it has whether there
// is one.
func (s *Server) Dump(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	cursor := "0"
	for {
		e, err := s.Do(t, "SCAN", cursor, "COUNT", "1000").AsScanEntry()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range e.Elements {
			all[key] = s.dumpKey(t, key)
		}
		if e.Cursor == 0 {
			return all
		}
		cursor = fmt.Sprint(e.Cursor)
	}
}

func (s *Server) dumpKey(t testing.TB, key string) string {
	t.Helper()
	text := func(r valkey.ValkeyResult) string {
		v, err := r.ToString()
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		return v
	}
	kind, encoding := text(s.Do(t, "TYPE", key)), text(s.Do(t, "OBJECT", "ENCODING", key))
	ttl, err := s.Do(t, "TTL", key).AsInt64()
	if err != nil {
		t.Fatal(err)
	}
	var body string
	switch {
	case kind == "hash" && encoding == "hashtable":
		m, err := s.Do(t, "HGETALL", key).AsStrMap()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			body += fmt.Sprintf("%q=%q\n", k, m[k])
		}
	case kind == "set":
		list, err := s.Do(t, "SMEMBERS", key).AsStrSlice()
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(list)
		body = fmt.Sprintf("%q", list)
	case kind == "string":
		body = text(s.Do(t, "GET", key))
	case kind == "zset":
		list, err := s.Do(t, "ZRANGE", key, "0", "-1", "WITHSCORES").AsStrSlice()
		if err != nil {
			t.Fatal(err)
		}
		body = fmt.Sprintf("%q", list)
	case kind == "stream":
		// The bytes of a node depend on the memory that a large value left behind it.
		list, err := s.Do(t, "XRANGE", key, "-", "+").AsXRangeSlices()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			body += fmt.Sprintf("%s %q\n", e.ID, e.FieldValues)
		}
	default:
		body = text(s.Do(t, "DUMP", key))
	}
	return fmt.Sprintf("%s %s expires=%v\n%s", kind, encoding, ttl >= 0, body)
}

// Compare reports the keys that differ.
func Compare(t testing.TB, want, got map[string]string) (same int) {
	t.Helper()
	shown := 0
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if g, ok := got[key]; !ok || g != want[key] {
			if shown++; shown <= 10 {
				at := 0
				for at < min(len(g), len(want[key])) && g[at] == want[key][at] {
					at++
				}
				from := max(0, at-40)
				t.Errorf("key %s, from %d of %d bytes on, is %.300q, want %.300q", key, from, len(want[key]), g[min(from, len(g)):], want[key][from:])
			}
			continue
		}
		same++
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			if shown++; shown <= 10 {
				t.Errorf("key %s is %.600q, want none", key, got[key])
			}
		}
	}
	if shown > 10 {
		t.Errorf("%d more keys differ", shown-10)
	}
	return same
}

// LoadC has the C implementation load an archive, and returns its output. Missing tools skip the test. Config is the path of a pmseries.conf.
func (s *Server) LoadC(t testing.TB, config, archive string) string {
	t.Helper()
	oracle.Require(t)
	if _, err := exec.LookPath(oracle.Path("pmseries")); err != nil {
		oracle.Missing(t, "no pmseries")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, oracle.Path("pmseries"), "-c", config, "-p", s.Port, "--load", archive).CombinedOutput()
	if !strings.Contains(string(out), "processed ") {
		t.Logf("pmseries --load %s: %v\n%s", archive, err, out)
	}
	return string(out)
}

// StartCluster starts a cluster of three masters, each with a replica, that notices within two seconds if a node is gone.
func StartCluster(t testing.TB) []*Server {
	t.Helper()
	if _, err := exec.LookPath("redis-cli"); err != nil {
		oracle.Missing(t, "no redis-cli")
	}
	const nodes = 6
	var list []*Server
	var addresses []string
	for range nodes {
		bus := fmt.Sprint(oracle.FreePort(t))
		s := Start(t, "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0")
		list, addresses = append(list, s), append(addresses, s.Address)
	}
	args := append(append([]string{"--cluster", "create"}, addresses...), "--cluster-replicas", "1", "--cluster-yes")
	if out, err := exec.Command("redis-cli", args...).CombinedOutput(); err != nil {
		t.Fatalf("redis-cli %q: %v\n%s", args, err, out)
	}
	await.Until(t, "the cluster is complete", func() bool {
		for _, s := range list {
			info, err := s.Do(t, "CLUSTER", "INFO").ToString()
			if err != nil || !strings.Contains(info, "cluster_state:ok") {
				return false
			}
			repl, err := s.Do(t, "INFO", "replication").ToString()
			if err != nil || !strings.Contains(repl, "connected_slaves:1") && !strings.Contains(repl, "master_link_status:up") {
				return false
			}
		}
		return true
	})
	return list
}

// Master reports whether the server is a master of a cluster.
func (s *Server) Master(t testing.TB) bool {
	t.Helper()
	info, err := s.Do(t, "INFO", "replication").ToString()
	return err == nil && strings.Contains(info, "role:master")
}
