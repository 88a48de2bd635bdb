package otlp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestVictoriaMetrics sends an archive to VictoriaMetrics and reads it there, where it is installed:
//
//	go install github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics@v1.151.0
func TestVictoriaMetrics(t *testing.T) {
	path, err := exec.LookPath("victoria-metrics")
	if err != nil {
		t.Log("victoria-metrics is not installed: nothing is tested with it")
		return
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	cmd, log := exec.Command(path, "-storageDataPath="+t.TempDir(), "-httpListenAddr="+addr, "-retentionPeriod=100y"), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%.4000s", log)
		}
	})
	await.Until(t, "VictoriaMetrics answers", func() bool {
		w, err := http.Get("http://" + addr + "/health")
		if err != nil {
			return false
		}
		w.Body.Close()
		return w.StatusCode == 200
	})
	status, out, errs := call(t, "--to", "http://"+addr+"/opentelemetry/v1/metrics", "-a", generate(t))
	if status != 0 || errs != "" {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	want := []string{ // it stores about 15 digits
		`disk.dev.read host.name=www instid=0 instname=sda os.type=linux: 0 18446744073709548000 200 none 300`,
		`disk.dev.read host.name=www instid=1 instname=sdb os.type=linux: 1 101 none 301`,
		`load host.name=www os.type=linux: 0 0.25 0.5 none 0.75`,
		`mem.free host.name=www os.type=linux: 0 1 2 none 3`,
		`proc.psinfo.rss container.id=` + strings.Repeat("ab", 32) + ` host.name=www os.type=linux process.command=/bin/sh process.command_line=/bin/sh -c true process.pid=42: 0 -1 -2 none -3`,
	}
	var got []string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		http.Get("http://" + addr + "/internal/force_flush")
		if got = exported(t, addr); slices.Equal(got, want) {
			return
		}
	}
	t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

// exported returns a line for each series that the server has.
func exported(t *testing.T, addr string) (lines []string) {
	t.Helper()
	w, err := http.Get("http://" + addr + "/api/v1/export?" + url.Values{"match[]": {`{__name__!=""}`}, "reduce_mem_usage": {"1"}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	for in := bufio.NewScanner(w.Body); in.Scan(); {
		var a struct {
			Metric map[string]string
			Values []*json.Number
		}
		if err := json.Unmarshal(in.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		var words []string
		for name, value := range a.Metric {
			if name != "__name__" && !strings.HasPrefix(name, "scope.") {
				words = append(words, name+"="+value)
			}
		}
		slices.Sort(words)
		line := a.Metric["__name__"] + " " + strings.Join(words, " ") + ":"
		for _, v := range a.Values {
			if v == nil {
				line += " none"
			} else {
				line += fmt.Sprintf(" %s", *v)
			}
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}
