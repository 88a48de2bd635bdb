package redis

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/internal/testing/servicetest"
)

func newValkey(t testing.TB, cfg Config) *service.Agent {
	t.Helper()
	a, err := NewValkey(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func TestValkeyDescriptors(t *testing.T) {
	servicetest.Facts(t, newValkey(t, Config{}), "testdata/valkey.txt")
}

// TestValkeyServer reads a server, which may be a Redis: its fields have the same names except for the version.
func TestValkeyServer(t *testing.T) {
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
	cli("-n", "3", "set", "a", "1")
	cli("nonsense")
	v := servicetest.Read(t, newValkey(t, Config{Servers: []string{s.Address()}}))
	info := servicetest.Lines(cli("info"), ":")
	for name, key := range map[string]string{
		"server.process_id": "process_id", "server.run_id": "run_id", "clients.maxclients": "maxclients", "memory.total_system": "total_system_memory",
		"memory.maxmemory_policy": "maxmemory_policy", "replication.role": "role", "persistence.rdb_changes_since_save": "rdb_changes_since_last_save",
		"stats.keyspace_hits": "keyspace_hits", "persistence.rdb_last_bgsave_time_sec": "rdb_last_bgsave_time_sec",
	} {
		if got := strings.Trim(v["valkey."+name][""], `"`); got != info[key] || got == "" {
			t.Errorf("valkey.%s is %q, redis-cli has %q", name, got, info[key])
		}
	}
	for name, want := range map[string]string{
		"keyspace.keys": "map[db0:1 db3:1]", "errorstats.count": "map[ERR:1]", "persistence.rdb_last_bgsave_status": "map[:1]",
	} {
		if got := fmt.Sprint(v["valkey."+name]); got != want {
			t.Errorf("valkey.%s is %s, want %s", name, got, want)
		}
	}
	if got := v["valkey.memory.used_peak_perc"][""]; got == "" {
		t.Error("valkey.memory.used_peak_perc has no value")
	}
}

// FuzzValkey reads an answer of any text.
func FuzzValkey(f *testing.F) {
	f.Add("# Server\r\nvalkey_version:8.0.1\r\ndb0:keys=1,expires=0,avg_ttl=0\r\nerrorstat_ERR:count=1\r\nmodule:name=json,ver=10002,api=1\r\n")
	f.Add("db:keys=1\ndb99999999999:keys=1\ndb0:keys=x\nmodule:\nerrorstat_:count=\nused_memory_peak_perc:%\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, list := newValkeyIndoms()
		a, err := service.New(service.Config{Name: "valkey", Domain: ValkeyDomain, Metrics: valkeyMetrics(d), InDoms: list})
		if err != nil {
			t.Fatal(err)
		}
		decodeValkey(text, d, a.Blank())
	})
}
