package opentelemetry_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/agent/opentelemetry"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmda"
)

// TestPrometheus has a real Prometheus scrape itself, and write that to the agent.
func TestPrometheus(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		oracle.Missing(t, "prometheus")
	}
	b := newBench(t, opentelemetry.Config{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, dir := ln.Addr().String(), t.TempDir()
	ln.Close()
	config := filepath.Join(dir, "prometheus.yml")
	err = os.WriteFile(config, fmt.Appendf(nil, `global: {scrape_interval: 1s}
scrape_configs: [{job_name: self, static_configs: [{targets: ['%s']}]}]
remote_write: [{url: 'http://%s/api/v1/write', metadata_config: {send_interval: 1s}}]
`, address, b.agent.Addr()), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Signal(syscall.SIGTERM)
	name, client := "opentelemetry.self.prometheus_http_request_duration_seconds_bucket", &pmda.Client{}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if _, err := b.run.LookupName(context.Background(), client, name); err == nil {
			break
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("%s does not appear; its log: %s", name, text)
		}
	}
	if got := b.dump(name); !strings.Contains(got, `double counter "count" [`) || !strings.Contains(got, "le:+Inf") {
		t.Errorf("%s", got)
	}
	if got := b.dump("opentelemetry.self.up"); !strings.HasPrefix(got, `self.up double instant "" [0 instance:127.0.0.1`) {
		t.Errorf("%s", got)
	}
	for line := range strings.Lines(b.dump("opentelemetry.control.rejected")) {
		if strings.Contains(line, "[malformed]=0") && strings.Contains(line, "[series]=0") {
			return
		}
	}
	t.Errorf("rejected: %s", b.dump("opentelemetry.control"))
}
