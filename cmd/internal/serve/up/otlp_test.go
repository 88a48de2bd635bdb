package up

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
)

// freePort returns an address of this host that is free.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// startReceiver runs pcp up with --otlp, and returns the address of its collector.
func startReceiver(t *testing.T, dir, otlp string) (host string, stop func()) {
	t.Helper()
	out, stop := start(t, map[string]string{"HOME": dir, "PCP_RUN_DIR": dir}, "--port", "0", "--dir", dir, "--no-web", "--no-record", "--otlp="+otlp)
	if want := "otlp     http://" + otlp + "\n"; !strings.Contains(out.String(), want) {
		t.Fatalf("no %q in\n%s", want, out)
	}
	m := regexp.MustCompile(`address  127\.0\.0\.1:(\d+)`).FindStringSubmatch(out.String())
	return "localhost:" + m[1], stop
}

func pushValues(t *testing.T, otlp string, n int) {
	t.Helper()
	body := fmt.Sprintf(`{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeMetrics":[{"metrics":[
		{"name":"orders","unit":"{order}","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[{"asInt":"%d","attributes":[{"key":"state","value":{"stringValue":"paid"}}]}]}}]}]}]}`, n)
	resp, err := http.Post("http://"+otlp+"/v1/metrics", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %s", resp.Status)
	}
}

// orders returns the PMID of the metric and its value.
func orders(t *testing.T, c *pmapi.Context) (pcp.PMID, uint64) {
	t.Helper()
	ctx := context.Background()
	ids, err := c.LookupName(ctx, "opentelemetry.shop.orders")
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil || len(res.Sets[0].Values) != 1 {
		t.Fatalf("fetch: %+v, %v", res, err)
	}
	desc, err := c.LookupDesc(ctx, ids[0])
	if err != nil || desc.Sem != pcp.SemCounter {
		t.Fatalf("descriptor %v, %v", desc, err)
	}
	return ids[0], res.Sets[0].Values[0].As(desc.Type).Uint64()
}

// TestOTLP pushes to a collector, restarts it, and has a real pmlogger record the values.
func TestOTLP(t *testing.T) {
	dir, otlp := tempDir(t), freePort(t)
	ctx := context.Background()
	read := func(host string, want uint64) pcp.PMID {
		t.Helper()
		c, err := pmapi.Dial(ctx, host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		id, n := orders(t, c)
		if n != want {
			t.Errorf("value %d, want %d", n, want)
		}
		return id
	}
	host, stop := startReceiver(t, dir, otlp)
	pushValues(t, otlp, 5)
	id := read(host, 5)
	stop()

	host, _ = startReceiver(t, dir, otlp)
	pushValues(t, otlp, 7)
	if again := read(host, 7); again != id {
		t.Errorf("PMID %v, and %v before the restart", again, id)
	}

	logger, err := exec.LookPath("pmlogger")
	if err != nil {
		oracle.Missing(t, "pmlogger")
	}
	conf, base := filepath.Join(dir, "conf"), filepath.Join(dir, "archive")
	if err := os.WriteFile(conf, []byte("log mandatory on 100 msec { opentelemetry }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, logger, "-h", host, "-c", conf, "-l", filepath.Join(dir, "log"), "-s", "10", base)
	cmd.WaitDelay = time.Second
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pmlogger: %v: %s", err, text)
	}
	c, err := pmapi.OpenArchive(base)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if recorded, n := orders(t, c.Context); recorded != id || n != 7 {
		t.Errorf("the archive has %v = %d, want %v = 7", recorded, n, id)
	}
}
