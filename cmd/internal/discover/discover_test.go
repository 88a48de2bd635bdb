package discover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
)

// listen accepts connections at an address until the test ends, and returns the port.
func listen(t *testing.T, address string) string {
	t.Helper()
	ln, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip("SKIPPED: cannot listen:", err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}

// settings returns the settings of an environment: names and values.
func settings(pairs ...string) *config.Config {
	return config.New(func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	})
}

// find searches and returns the URLs found and the messages.
func find(t *testing.T, service string, o Options) (urls, warnings []string) {
	t.Helper()
	o.Warn = func(msg string) { warnings = append(warnings, msg) }
	urls, err := Services(t.Context(), service, o)
	if err != nil {
		t.Errorf("Services(%s, %s): %v", service, o.Mechanism, err)
	}
	return urls, warnings
}

func TestProbe(t *testing.T) {
	port := listen(t, "127.0.0.1:0")
	other := listen(t, "127.0.0.3:"+port) // the same port at another address, on Linux
	cfg := settings("PMCD_PORT", port+",1,"+port, "PMPROXY_PORT", port)
	f := func(service, mechanism string, want ...string) {
		t.Helper()
		got, warnings := find(t, service, Options{Mechanism: mechanism + ",timeout=2", Config: cfg})
		if diff := cmp.Diff(want, got); diff != "" || warnings != nil {
			t.Errorf("%s %s: (-want +got)\n%s%q", service, mechanism, diff, warnings)
		}
	}
	f(PMCD, "probe=127.0.0.1/32", "pcp://127.0.0.1:"+port)
	f(PMCD, "probe=127.0.0.2/30", "pcp://127.0.0.1:"+port, "pcp://127.0.0.3:"+other)
	f(PMProxy, "probe=127.0.0.2/0x1e,maxThreads=1", "proxy://127.0.0.1:"+port, "proxy://127.0.0.3:"+other)
	f(PMCD, "probe=127.0.0.128/25")
	f(PMWebAPI, "probe=127.0.0.1/32")

	// An address that resolves has a name.
	if got, _ := find(t, PMCD, Options{Mechanism: "probe=127.0.0.1/32", Resolve: true, Config: cfg}); len(got) != 1 || !strings.HasSuffix(got[0], ":"+port) {
		t.Errorf("resolved: %q", got)
	}

	// Few file descriptors make it slower only.
	if got, _ := find(t, PMCD, Options{Mechanism: "probe=127.0.0.0/22,maxThreads=500,timeout=5", Config: cfg}); len(got) != 2 {
		t.Errorf("a large subnet: %q", got)
	}
}

func TestProbeIPv6(t *testing.T) {
	port := listen(t, "[::1]:0")
	got, warnings := find(t, PMCD, Options{Mechanism: "probe=::1/128,timeout=2", Config: settings("PMCD_PORT", port)})
	if want := "pcp://[::1]:" + port; len(got) != 1 || got[0] != want || warnings != nil {
		t.Errorf("%q, %q, want %q", got, warnings, want)
	}
}

// TestMistakes checks the messages about invalid mechanisms, which find nothing.
func TestMistakes(t *testing.T) {
	const probe, shell = "__pmSubnetProbeDiscoverServices: ", "__pmShellProbeDiscoverServices: "
	f := func(mechanism string, want ...string) {
		t.Helper()
		got, warnings := find(t, PMCD, Options{Mechanism: mechanism, Config: settings("PMCD_PORT", "1", "PCP_BINADM_DIR", "/no/such")})
		if diff := cmp.Diff(want, warnings); diff != "" || got != nil {
			t.Errorf("%s: %q (-want +got)\n%s", mechanism, got, diff)
		}
	}
	f("probe", probe+"No argument provided")
	f("probe=", probe+"No argument provided")
	f("probe=1.2.3.4", probe+"No subnet mask provided")
	f("probe=1.2.3.4/", probe+"No subnet mask provided")
	f("probe=1.2.3.4/33", probe+"Inet subnet mask must be <= 32 bits")
	f("probe=::/129", probe+"Inet subnet mask must be <= 128 bits")
	f("probe=1.2.3.4/-1", probe+"Inet subnet mask must be >= 0 bits")
	f("probe=1.2.3.4/x,timeout=1", probe+"Subnet mask 'x,timeout=1' is not valid")
	f("probe=1.2.3/8", probe+"Address '1.2.3' is not valid")
	f("probe=fe80::1%eth0/8", probe+"Address 'fe80::1%eth0' is not valid")
	f("probe=127.0.0.1/32,", probe+"Missing option after ','")
	f("probe=127.0.0.1/32,bad", probe+"option 'bad' is not valid")
	f("probe=127.0.0.1/32,maxThreads=0", probe+"maxThreads value 0 must be positive")
	f("probe=127.0.0.1/32,maxThreads=1024", probe+"maxThreads value 1024 must not exceed 1023")
	f("probe=127.0.0.1/32,maxThreads=x,timeout=y", probe+"maxThreads value 'x,timeout=y' is not valid", "the timeout argument 'y' is not valid")
	f("probe=127.0.0.1/32,timeout=-1", "the timeout argument '-1' is not valid")
	f("shell")
	f("shellish")
	f("shell,bad", shell+"option 'bad' is not valid")
	f("shell,path=/no/such,timeout=nan", "the timeout argument 'nan' is not valid")
	f("avahi,bad", "__pmAvahiDiscoverServices: option 'bad' is not valid")
	f("avahi,timeout=x", "the timeout argument 'x' is not valid")
	f("")

	_, warnings := find(t, "unknown", Options{Mechanism: "probe=127.0.0.1/32", Config: settings()})
	if want := probe + "could not find ports for service 'unknown'"; len(warnings) != 1 || warnings[0] != want {
		t.Errorf("unknown service: %q, want %q", warnings, want)
	}
	if _, err := Services(t.Context(), PMCD, Options{Mechanism: "unknown", Config: settings()}); !errors.Is(err, -pcp.Error(syscall.EOPNOTSUPP)) {
		t.Errorf("unknown mechanism: %v", err)
	}
}

func TestShell(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("SKIPPED: there is no /bin/sh")
	}
	port := listen(t, "127.0.0.1:0")
	dir := filepath.Join(t.TempDir(), "a,b")
	os.Mkdir(dir, 0o777)
	for name, text := range map[string]string{
		"one":     "echo ' 127.0.0.1 '; echo no.such.host.invalid; echo; echo 127.0.0.2",
		"two":     "echo 127.0.0.1; exit 3",
		".hidden": "echo 127.0.0.1",
		"slow":    "echo 127.0.0.1; exec sleep 60",
		"flood":   "exec yes 127.0.0.4",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(dir, "plain"), []byte("not a program\n"), 0o666)
	cfg := settings("PMCD_PORT", port)
	path := ",path=" + strings.ReplaceAll(dir, ",", `\,`)
	for _, command := range []string{"one", "two"} {
		got, warnings := find(t, PMCD, Options{Mechanism: "shell" + path + ",command=" + command + ",timeout=1,maxThreads=3", Config: cfg})
		if want := "pcp://127.0.0.1:" + port; len(got) != 1 || got[0] != want || warnings != nil {
			t.Errorf("%s: %q, %q, want %q", command, got, warnings, want)
		}
	}
	for _, command := range []string{"plain", "nosuch", ".hidden"} {
		if got, _ := find(t, PMCD, Options{Mechanism: "shell" + path + ",command=" + command, Config: cfg}); got != nil {
			t.Errorf("%s: %q", command, got)
		}
	}
	// A script that never ends is stopped with the search.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := Services(ctx, PMCD, Options{Mechanism: "shell" + path + ",command=slow", Config: cfg}); err != nil || time.Since(start) > 10*time.Second {
		t.Errorf("a slow script: %v after %v", err, time.Since(start))
	}
	if hosts := script(t.Context(), filepath.Join(dir, "flood"), 100); len(hosts) != 100 {
		t.Errorf("a script that prints for ever: %d hosts", len(hosts))
	}
}

// TestEnds checks that a search in a vast network ends with its context, and keeps the
// services found.
func TestEnds(t *testing.T) {
	port := listen(t, "127.0.0.1:0")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	got, err := Services(ctx, PMCD, Options{Mechanism: "probe=127.0.0.1/8,maxThreads=50", Config: settings("PMCD_PORT", port)})
	if took := time.Since(start); err != nil || took > 10*time.Second {
		t.Errorf("%v after %v", err, took)
	}
	if want := "pcp://127.0.0.1:" + port; len(got) == 0 || got[0] != want {
		t.Errorf("%q, want %q first", got, want)
	}
}

func TestPorts(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("1,2,", maxPorts), ",")
	for i := range 2 * maxPorts {
		many += "," + strconv.Itoa(1000+i)
	}
	for list, want := range map[string]string{
		"": "[44321]", "5": "[5]", "5,6,5": "[5 6]", "5,x": "[44321]", "70000": "[44321]", "-1": "[44321]", many: "[44321]",
	} {
		k, _ := kindOf(PMCD)
		if got := fmt.Sprint(k.listPorts(func(string) string { return list })); got != want {
			t.Errorf("PMCD_PORT=%.20s: %s, want %s", list, got, want)
		}
	}
}

func FuzzMechanism(f *testing.F) {
	for _, s := range []string{"probe=1.2.3.4/8,maxThreads=3,timeout=.5", "shell,path=a\\,b,command=c", "avahi,timeout=1e400", "probe=::/0,,", "shell,,timeout="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, mechanism string) {
		s := &search{Options: Options{Mechanism: mechanism, Config: settings()}, service: PMCD, known: true}
		c := connection{workers: maxWorkers}
		subnet, ok := s.parseProbe(&c)
		if ok && !subnet.IsValid() {
			t.Errorf("%q: an invalid subnet", mechanism)
		}
		s.parseShell(&c)
		s.parseAvahi()
		if c.workers < 1 || c.workers > maxWorkers || c.timeout < 0 {
			t.Errorf("%q: %+v", mechanism, c)
		}
	})
}
