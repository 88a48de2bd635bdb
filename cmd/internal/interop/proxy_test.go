package interop

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
)

// startOurProxy runs our proxy at addresses until the test ends, and returns their
// ports.
func startOurProxy(t *testing.T, cfg pmproxy.Config, addresses ...string) (ports []string) {
	t.Helper()
	for _, a := range addresses {
		ln, err := net.Listen("tcp", net.JoinHostPort(a, "0"))
		if err != nil {
			t.Fatal(err)
		}
		cfg.Listeners = append(cfg.Listeners, ln)
		_, port, _ := net.SplitHostPort(ln.Addr().String())
		ports = append(ports, port)
	}
	s, err := pmproxy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return ports
}

// startRealForwarder runs the real pmproxy with directories of its own, and returns
// its port.
func startRealForwarder(t *testing.T, env []string) (port string) {
	t.Helper()
	path := oracle.Path("pmproxy")
	if path == "" {
		for _, p := range []string{"/usr/lib/pcp/bin/pmproxy", "/usr/libexec/pcp/bin/pmproxy"} {
			if _, err := os.Stat(p); err == nil {
				path = p
			}
		}
	}
	if path == "" {
		oracle.Missing(t, "the real pmproxy is not installed")
	}
	dir, err := os.MkdirTemp("", "proxy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.MkdirAll(filepath.Join(dir, "pmproxy"), 0o777); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "pmproxy.conf")
	if err := os.WriteFile(conf, []byte("[pmproxy]\npcp.enabled = true\nhttp.enabled = false\nredis.enabled = false\n[discover]\nenabled = false\n[redis]\nenabled = false\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	port = strconv.Itoa(oracle.FreePort(t))
	cmd := exec.Command(path, "-f", "-A", "-c", conf, "-i", "127.0.0.1", "-p", port, "-s", filepath.Join(dir, "s"), "-l", filepath.Join(dir, "log"))
	cmd.Env = append(append(oracle.Env(), env...), "PCP_TMP_DIR="+dir, "PCP_RUN_DIR="+dir)
	if err := oracle.StartWith(cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		await.Exit(t, cmd)
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
			return port
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("the real pmproxy does not answer: %v\n%s", err, log)
		}
	}
}

// TestProxies has both kinds of tools read a collector through both proxies, and
// compares that with the direct view of the real tools.
func TestProxies(t *testing.T) {
	oracle.Require(t)
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	ours := startOurProxy(t, pmproxy.Config{}, "127.0.0.1", "::1")
	theirs := startRealForwarder(t, d.Env)
	port := strconv.Itoa(d.Port)
	tools := [][]string{
		{"pminfo", "-dfmtT", "sample.long", "sample.bin", "sample.string"},
		{"pmval", "-s", "2", "-t", "0.1", "sample.long.one"},
		{"pmprobe", "-v", "sample.bin"},
	}
	direct := make([]oracle.Output, len(tools))
	for i, args := range tools {
		direct[i] = maskHost(oracle.RunEnv(t, d.Env, args[0], append([]string{"-h", d.TCP}, args[1:]...)...))
	}
	for _, w := range []struct {
		name, spec string
		env        []string
	}{
		{"ours, named", d.TCP + "@localhost:" + ours[0], nil},
		{"ours, by name", "localhost:" + port + "@127.0.0.1:" + ours[0], nil},
		{"ours, IPv6", d.TCP + "@[::1]:" + ours[1], nil},
		{"ours, from the environment", d.TCP, []string{"PMPROXY_HOST=localhost", "PMPROXY_PORT=" + ours[0]}},
		{"the real one, named", d.TCP + "@localhost:" + theirs, nil},
		{"the real one, from the environment", d.TCP, []string{"PMPROXY_HOST=127.0.0.1", "PMPROXY_PORT=" + theirs}},
	} {
		for _, cl := range []client{realTools, ourTools} {
			for i, args := range tools {
				out := maskHost(cl.run(t, append(d.Env, w.env...), args[0], append([]string{"-h", w.spec}, args[1:]...)...))
				if diff := cmp.Diff(direct[i], out); diff != "" {
					t.Errorf("%s, %s of %s: -direct +this\n%s", w.name, args[0], cl.name, diff)
				}
			}
		}
	}
}

// maskHost removes the name of the collector in pmval's output.
func maskHost(out oracle.Output) oracle.Output {
	var keep []string
	for line := range strings.Lines(out.Stdout) {
		if !strings.HasPrefix(line, "host:") {
			keep = append(keep, line)
		}
	}
	out.Stdout = strings.Join(keep, "")
	return out
}

// TestProxyFails compares the messages of both kinds of tools where a proxy, or
// a collector behind it, cannot be reached.
func TestProxyFails(t *testing.T) {
	oracle.Require(t)
	ours := startOurProxy(t, pmproxy.Config{Collectors: []string{"127.0.0.1"}}, "127.0.0.1")
	closed := strconv.Itoa(oracle.FreePort(t))
	for _, spec := range []string{
		"127.0.0.1:" + closed + "@127.0.0.1:" + ours[0], // no collector
		"localhost:" + closed + "@127.0.0.1:" + ours[0], // not permitted
		"127.0.0.1:" + closed + "@127.0.0.1:" + closed,  // no proxy
	} {
		theirs := oracle.Run(t, "pminfo", "-h", spec, "-f", "pmcd.version")
		mine := runOurs(t, oracle.Env(), "pminfo", "-h", spec, "-f", "pmcd.version")
		if theirs.Exit == 0 {
			t.Errorf("%s: it works: %+v", spec, theirs)
		}
		if diff := cmp.Diff(theirs, mine); diff != "" {
			t.Errorf("%s: -real +ours\n%s", spec, diff)
		}
	}
}

// TestProxySecure has TLS go through the proxy, from the client to the collector.
func TestProxySecure(t *testing.T) {
	oracle.Require(t)
	ca := tlstest.NewCA(t, "CA")
	cert := ca.Cert(t, tlstest.Server())
	theirs, mine := startSecure(t, conf(t, cert, "tls-ca-cert-file", ca.File))
	ours := startOurProxy(t, pmproxy.Config{}, "127.0.0.1")
	for _, at := range []collector{theirs, mine} {
		for _, cl := range []client{realTools, ourTools} {
			env := append(at.env, "PCP_TLSCONF_PATH="+tlstest.Conf(t, "tls-ca-cert-file", ca.File, "tls-verify-clients", "true"))
			out := cl.run(t, env, "pminfo", "-h", "pcps://"+at.tcp+"@127.0.0.1:"+ours[0], "-f", "sample.long.one")
			if out.Exit != 0 || !strings.Contains(out.Stdout, "value 1") {
				t.Errorf("%s at %s: %+v", cl.name, at.name, out)
			}
		}
	}
}

// TestProxyLogger records through our proxy with the real pmlogger.
func TestProxyLogger(t *testing.T) {
	oracle.Require(t)
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	ours := startOurProxy(t, pmproxy.Config{}, "127.0.0.1")
	dir := t.TempDir()
	config := filepath.Join(dir, "config")
	if err := os.WriteFile(config, []byte("log mandatory on 100 msec { sample.long.one }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, "archive")
	out := oracle.RunEnv(t, append(d.Env, "PMLOGGER_PORT="+strconv.Itoa(oracle.FreePort(t))), "pmlogger", "-h", d.TCP+"@127.0.0.1:"+ours[0], "-c", config, "-l", filepath.Join(dir, "log"), "-s", "4", base)
	if out.Exit != 0 {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		t.Fatalf("%+v\n%s", out, log)
	}
	if got := oracle.Run(t, "pminfo", "-a", base, "-f", "sample.long.one"); !strings.Contains(got.Stdout, "value 1") {
		t.Errorf("%+v", got)
	}
}
