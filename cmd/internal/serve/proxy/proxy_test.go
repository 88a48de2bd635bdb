package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/push"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
)

// A buffer can be read while it is written to.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func testEnv(dir string, vars map[string]string, out, errs io.Writer, args ...string) *cli.Env {
	return &cli.Env{
		Name: "pcp proxy", Args: args, Stdin: strings.NewReader(""), Stdout: out, Stderr: errs, Version: "test", Command: Command,
		Getenv: func(name string) string {
			if v, ok := vars[name]; ok {
				return v
			}
			switch name {
			case "PCP_RUN_DIR", "PCP_SYSCONF_DIR", "PCP_TMP_DIR", "PCP_LOG_DIR", "PCP_ARCHIVE_DIR", "PCP_VAR_DIR", "HOME":
				return dir
			}
			return ""
		},
	}
}

// start runs the command until the test ends, and returns the URL that it prints.
func start(t *testing.T, dir string, vars map[string]string, args ...string) (url string, errs *buffer) {
	t.Helper()
	out, errs := new(buffer), new(buffer)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	args = append([]string{"-p", strconv.Itoa(oracle.FreePort(t)), "-i", "127.0.0.1"}, args...)
	go func() { done <- run(ctx, testEnv(dir, vars, out, errs, args...)) }()
	t.Cleanup(func() {
		cancel()
		if status := <-done; status != 0 {
			t.Errorf("exit status %d: %s", status, errs)
		}
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if m := regexp.MustCompile(`http://\S+`).FindString(out.String()); m != "" {
			return m, errs
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not start: %s", errs)
		}
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	r, err := (&http.Client{Transport: tr}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// TestServe serves the page and the interfaces, and logs the settings that it
// ignores.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "pmproxy"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pmproxy", "pmproxy.conf"), []byte("[pmproxy]\nchunksize = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, errs := start(t, dir, map[string]string{"PMPROXY_MAXPENDING": "1", "PMPROXY_PORT": "x"}, "--host", "127.0.0.1:1", "-A", "-f", "-t")
	if status, body := get(t, url); status != 200 || !strings.Contains(strings.ToLower(body), "<!doctype html>") {
		t.Errorf("page: %d %.100q", status, body)
	}
	if status, body := get(t, url+"/pmapi/context"); status != 400 || !strings.Contains(body, `"success":false`) {
		t.Errorf("context of no collector: %d %q", status, body)
	}
	if status, body := get(t, url+"/search/info"); status != 200 || !strings.HasPrefix(body, `{"docs":0,`) {
		t.Errorf("search: %d %q", status, body)
	}
	if status, body := get(t, url+"/series/query?expr=x"); status != 200 || body != "[]\r\n" {
		t.Errorf("series: %d %q", status, body)
	}
	if status, body := get(t, url+"/api/v1/query?query=1%2B1&time=5"); status != 200 || body != `{"status":"success","data":{"resultType":"scalar","result":[5,"2"]}}` {
		t.Errorf("PromQL: %d %q", status, body)
	}
	if status, body := get(t, url+"/diagnose"); status != 503 || body != `{"message":"cannot connect to the collector","success":false}`+"\r\n" {
		t.Errorf("diagnosis without a collector: %d %q", status, body)
	}
	if status, body := get(t, url+"/diagnose?host=web1&start=1&end=2"); status != 404 || !strings.Contains(body, "nothing is recorded of web1 at that time") {
		t.Errorf("diagnosis without archives: %d %q", status, body)
	}
	if status, body := get(t, url+"/fleet/hosts?count"); status != 200 || body != "{\"count\":0,\"success\":true}\r\n" {
		t.Errorf("hosts: %d %q", status, body)
	}
	if status, body := get(t, url+"/fleet/hosts"); status != 200 || !strings.Contains(body, `"hosts":[],`) {
		t.Errorf("no hosts: %d %q", status, body)
	}
	// Without a collector there is a warning.
	if status, body := get(t, url+"/api/v1/query?query=kernel_all_load"); status != 200 || !strings.Contains(body, `"result":[],`) && !strings.Contains(body, `"result":[]},"warnings":[`) {
		t.Errorf("PromQL without a collector: %d %q", status, body)
	}
	// An empty request for remote read, of streamed chunks, compressed.
	if r, err := http.Post(url+"/api/v1/read", "application/x-protobuf", strings.NewReader("\x02\x04\x10\x01")); err != nil {
		t.Error(err)
	} else if r.Body.Close(); r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-streamed-protobuf") {
		t.Errorf("remote read: %s %v", r.Status, r.Header)
	}
	if status, body := get(t, url+"/logger/ping"); status != 200 || !strings.Contains(body, `"success":true`) {
		t.Errorf("logger: %d %q", status, body)
	}
	if status, _ := get(t, url+"/-/ready"); status != 200 {
		t.Errorf("ready: %d", status)
	}
	for _, want := range []string{"chunksize is ignored", "maxpending=1 from PMPROXY_MAXPENDING", "bad PMPROXY_PORT", "serving on="} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("log lacks %q: %s", want, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pmproxy", "server")); err != nil {
		t.Errorf("no metrics: %v", err)
	}
}

// TestErrors keep it from starting.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.conf")
	if err := os.WriteFile(bad, []byte("[pmproxy]\npcp.enabled = perhaps\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	noCert := filepath.Join(dir, "cert.conf")
	if err := os.WriteFile(noCert, []byte("[pmproxy]\ncertificates = "+dir+"/none\nprivate_key = x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-c", bad}, "line 2: pcp.enabled"},
		{[]string{"-c", bad + ".missing"}, "bad.conf.missing"},
		{[]string{"-c", noCert}, "TLS of pmproxy.conf"},
		{[]string{"-p", "x"}, "-p requires"},
		{[]string{"-T", "x"}, "bad -T interval"},
		{[]string{"extra"}, "unexpected argument"},
		{[]string{"-i", "nowhere", "-s", dir + "/no/such/dir/s"}, "not an IP address"},
		{[]string{"-l", dir + "/no/such/dir/log"}, "cannot open log"},
		{[]string{"-f", "-F"}, "at most one of -f and -F"},
		{[]string{"-L", "0"}, "-L requires"},
		{[]string{"-r", "x"}, "-r requires"},
		{[]string{"-D", "nonsense"}, "unrecognized debug options"},
	} {
		var out, errs buffer
		if status := run(t.Context(), testEnv(dir, nil, &out, &errs, c.args...)); status == 0 || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%q: %d, %s", c.args, status, &errs)
		}
	}
}

// TestEnds ends after -T, without HTTP and with a log and TLS.
func TestEnds(t *testing.T) {
	dir := t.TempDir()
	ca := tlstest.NewCA(t, "CA")
	cert := ca.Cert(t, tlstest.Server())
	var out, errs buffer
	log := filepath.Join(dir, "log")
	vars := map[string]string{"PCP_TLSCONF_PATH": tlstest.Conf(t, "tls-cert-file", cert.File, "tls-key-file", cert.Key), "PMPROXY_LOCAL": "1", "PMPROXY_SOCKET": filepath.Join(dir, "sock")}
	status := run(t.Context(), testEnv(dir, vars, &out, &errs, "-d", "-T", "0.05", "-l", log, "-p", strconv.Itoa(oracle.FreePort(t))))
	b, _ := os.ReadFile(log)
	if status != 0 || out.String() != "" || !strings.Contains(string(b), "localhost only") || !strings.Contains(string(b), "pmproxy Shutdown") {
		t.Errorf("%d: %q %s\n%s", status, &out, &errs, b)
	}
}

// TestPush receives an archive from a client of this host into the configured directory, and
// refuses those of other hosts.
func TestPush(t *testing.T) {
	dir := t.TempDir()
	conf, pushed := filepath.Join(dir, "push.conf"), filepath.Join(dir, "pushed")
	if err := os.WriteFile(conf, []byte("[pmlogger]\nhosts = www*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := start(t, dir, map[string]string{"PCP_REMOTE_ARCHIVE_DIR": pushed}, "--host", "127.0.0.1:1", "-c", conf)
	p, err := push.New(push.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for host, ok := range map[string]bool{"www1": true, "db": false} {
		im, err := importer.Start(filepath.Join(dir, host), importer.Options{Host: host, TimeZone: "UTC"})
		if err != nil {
			t.Fatal(err)
		}
		m, err := im.NewMetric("a.b", importer.Spec{})
		if err == nil {
			m.PutInt(1)
			err = im.Write(time.Unix(1_700_000_000, 0))
		}
		if err = errors.Join(err, im.End()); err != nil {
			t.Fatal(err)
		}
		err = p.Push(t.Context(), filepath.Join(dir, host))
		list, _ := filepath.Glob(filepath.Join(pushed, host, "*.0"))
		if (err == nil) != ok || len(list) == 1 != ok {
			t.Errorf("%s: %v, %v", host, err, list)
		}
	}
}
