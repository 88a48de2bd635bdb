package prom

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// liveMetrics are recorded by a live, and may be scraped.
var liveMetrics = []string{
	"disk", "filesys", "hinv.ncpu", "kernel.all", "kernel.percpu.cpu", "kernel.percpu.interrupts", "mem.physmem", "mem.util", "mem.vmstat.pgfault", "mem.vmstat.pgmajfault", "network.interface", "network.tcp",
	"proc.nprocs", "proc.psinfo.utime", "proc.psinfo.rss", "sample.bin", "sample.colour", "sample.control", "sample.seconds", "sample.byte_ctr", "sample.kbyte_ctr", "sample.float", "sample.double",
}

// A live is a collector of this host, pcp up, whose metrics are recorded.
type live struct {
	dir   string
	env   []string
	port  string // of the collector
	page  string // the URL below which /api/v1 and /metrics are
	token string // of the page: its clients see processes
	pid   int    // of the collector
}

// startLive starts a collector, with further options, and a recorder with an interval.
func startLive(t *testing.T, interval time.Duration, more ...string) *live {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the metrics are those of Linux")
	}
	dir, err := os.MkdirTemp("", "prom") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	l := &live{dir: dir, port: fmt.Sprint(oracle.FreePort(t))}
	l.env = append(oracle.Env(), "HOME="+dir, "XDG_STATE_HOME="+dir, "PCP_RUN_DIR="+dir, "PCP_TMP_DIR="+dir, "PCP_LOG_DIR="+filepath.Join(dir, "log"), "PCP_CONF=/dev/null", "PCP_USER="+me.Username,
		"PMCD_SOCKET="+filepath.Join(dir, "pcp", "pmcd.socket"), "PMCD_PORT="+l.port)
	state := filepath.Join(dir, "pcp") // where commands look for it
	web := fmt.Sprint(oracle.FreePort(t))
	out := new(syncBuffer)
	l.pid = l.start(t, out, append([]string{"up", "--port", l.port, "--web-port", web, "--dir", state, "--no-record", "--sample"}, more...)...)
	page := regexp.MustCompile(`http://(\S+)/\?token=(\S+)`)
	await.Until(t, "the collector prints its page", func() bool { return page.MatchString(out.String()) })
	m := page.FindStringSubmatch(out.String())
	l.page, l.token = "http://127.0.0.1:"+web, m[2]
	conf := filepath.Join(dir, "config")
	text := fmt.Sprintf("log mandatory on %d msec {\n%s\n}\n", interval.Milliseconds(), strings.Join(liveMetrics, "\n"))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l.start(t, new(syncBuffer), "record", "-c", conf, "-d", filepath.Join(state, "pmlogger"), "unix:"+filepath.Join(state, "pmcd.socket"))
	return l
}

// start runs a command of ours until the end of the test, and returns its process.
func (l *live) start(t *testing.T, out *syncBuffer, args ...string) (pid int) {
	t.Helper()
	cmd := exec.Command(twin.Tool(t, "pcp"), args...)
	cmd.Env, cmd.Dir = l.env, l.dir
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		await.Exit(t, cmd)
		if t.Failed() {
			t.Logf("pcp %s:\n%.3000s", strings.Join(args, " "), out.String())
		}
	})
	return cmd.Process.Pid
}

// recorded waits until a query has a result.
func (l *live) recorded(t *testing.T, expr string) {
	t.Helper()
	await.Until(t, expr+" has a result", func() bool {
		r := ask(t, l.page, "query", url.Values{"query": {expr}})
		return r.Status == "success" && !strings.Contains(string(r.Data), `"result":[]`)
	})
}

// A syncBuffer is a buffer that can be read while a process writes to it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// get requests a page, and returns its text.
func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return send(t, r)
}

// send makes a request, and returns the text of the reply.
func send(t *testing.T, r *http.Request) string {
	t.Helper()
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(w.Body); err != nil || w.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v\n%.300s", r.URL, w.Status, err, &b)
	}
	return b.String()
}
