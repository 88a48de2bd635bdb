package chrony

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/internal/testing/longtest"
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

const report = "7F7F0101,127.127.1.1,10,1764265000.123456789,-0.000000010,0.000000000,0.000000001,-4.5,0.000,0.001,0.000000000,0.000000000,16.1,Normal\n" +
	"^,*,192.0.2.1,2,6,377,21,0.000012,-0.000020,0.000300\n^,?,192.0.2.2,0,7,0,4294967295,0.000000000,0.000000000,0.000000000\n" +
	"192.0.2.1,11,6,612,0.010,0.200,0.000001,0.000050\n"

func TestValues(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "chronyc")
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncat <<'X'\n"+report+"X\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	v := servicetest.Read(t, newAgent(t, Config{Program: path}))
	for name, want := range map[string]string{
		"tracking.ref_id": "map[:2139029761]", "tracking.ref_id_ip": `map[:"127.127.1.1"]`, "tracking.leap_status": `map[:"Normal"]`, "tracking.stratum": "map[:10]",
		"sources.reach": "map[192.0.2.1:255 192.0.2.2:0]", "sources.s": `map[192.0.2.1:"*" 192.0.2.2:"?"]`, "sources.last_rx": "map[192.0.2.1:21 192.0.2.2:4294967295]",
		"sourcestats.np": "map[192.0.2.1:11]", "sourcestats.span": "map[192.0.2.1:612]",
	} {
		if got := fmt.Sprint(v["chrony."+name]); got != want {
			t.Errorf("chrony.%s is %s, want %s", name, got, want)
		}
	}
	if err := newAgent(t, Config{Program: "false"}).Try(t.Context()); err == nil {
		t.Error("a program that fails is no error")
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncat <<'X'\n"+report+"X\nyes , | head -c 9000000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := newAgent(t, Config{Program: path}).Try(t.Context()); err == nil {
		t.Error("too many bytes are no error")
	}
	if err := newAgent(t, Config{Program: filepath.Join(dir, "none")}).Try(t.Context()); err == nil {
		t.Error("a missing program is no error")
	}
}

// TestServer reads a chronyd that controls no clock. Its package removes that of other daemons that control it.
func TestServer(t *testing.T) {
	if !longtest.Enabled() {
		t.Skip("SKIPPED: PCP_TEST_LONG is not set: chronyd is not installed for each test")
	}
	s := servicetest.Start(t, "chronyd", func(s *servicetest.Server) []string {
		path := filepath.Join(s.Dir, "conf")
		text := fmt.Sprintf("local stratum 7\nserver 127.0.0.1 port 9\nbindcmdaddress 127.0.0.1\nbindcmdaddress %s/sock\ncmdport %d\nport 0\npidfile %[1]s/pid\n", s.Dir, s.Port)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return []string{"-d", "-x", "-U", "-u", "nobody", "-f", path}
	})
	cfg := Config{Program: servicetest.Program(t, "chronyc"), Args: []string{"-h", "127.0.0.1", "-p", strconv.Itoa(s.Port)}}
	a := newAgent(t, cfg)
	for end := time.Now().Add(time.Minute); a.Try(t.Context()) != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("chronyd does not answer: %v", a.Try(t.Context()))
		}
	}
	v := servicetest.Read(t, a)
	fields := strings.Split(strings.TrimSpace(s.Run(t, "chronyc", append(cfg.Args, "-c", "tracking")...)), ",")
	for name, i := range map[string]int{"ref_id_ip": 1, "stratum": 2, "leap_status": 13} {
		if got := strings.Trim(v["chrony.tracking."+name][""], `"`); got != fields[i] {
			t.Errorf("chrony.tracking.%s is %q, chronyc has %q", name, got, fields[i])
		}
	}
	if got := v["chrony.sources.m"]; len(got) != 1 || got["127.0.0.1"] != `"^"` {
		t.Errorf("modes of sources are %v", got)
	}
	servicetest.Hammer(t, a)
}

// FuzzDecode reads a report of any bytes.
func FuzzDecode(f *testing.F) {
	f.Add(report)
	f.Add(",,,,,,,\n,,,,,,,,,\n,,,,,,,,,,,,,\n")
	f.Add("506 Cannot talk to daemon\n")
	f.Fuzz(func(t *testing.T, text string) {
		sources := &service.InDom{}
		a, err := service.New(service.Config{
			Name: "chrony", Domain: Domain, Metrics: metrics(sources), InDoms: []*service.InDom{sources},
			Servers: []service.Server{{Name: "x", Read: func(_ context.Context, a *service.Answer) error { return decode(text, sources, a) }}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		servicetest.Read(t, a)
	})
}
