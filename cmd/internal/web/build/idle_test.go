package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/longtest"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A usage is the processor time of the processes of a browser, by their kind, and of the server.
type usage map[string]time.Duration

// usageOf adds up the time of a process and its children. The kind of a browser's process is in its arguments.
func usageOf(pid int, kind string, u usage) {
	dir := fmt.Sprintf("/proc/%d", pid)
	args, _ := os.ReadFile(dir + "/cmdline")
	if _, after, ok := strings.Cut(string(args), "--type="); ok {
		kind = strings.FieldsFunc(after+" ", func(r rune) bool { return r == 0 || r == ' ' })[0]
	}
	stat, _ := os.ReadFile(dir + "/stat")
	if i := strings.LastIndex(string(stat), ") "); i >= 0 {
		if f := strings.Fields(string(stat)[i+2:]); len(f) > 12 {
			user, _ := strconv.ParseInt(f[11], 10, 64)
			system, _ := strconv.ParseInt(f[12], 10, 64)
			u[kind] += time.Duration(user+system) * 10 * time.Millisecond
		}
	}
	children, _ := filepath.Glob(dir + "/task/*/children")
	for _, path := range children {
		list, _ := os.ReadFile(path)
		for _, s := range strings.Fields(string(list)) {
			if child, err := strconv.Atoi(s); err == nil {
				usageOf(child, kind, u)
			}
		}
	}
}

// percent writes the share of a processor of each kind.
func (u usage) percent(before usage, d time.Duration) string {
	var all time.Duration
	var parts []string
	for kind, t := range u {
		used := t - before[kind]
		all += used
		parts = append(parts, fmt.Sprintf("%s %.2f %%", kind, 100*used.Seconds()/d.Seconds()))
	}
	slices.Sort(parts)
	return fmt.Sprintf("%.2f %% of a processor (%s)", 100*all.Seconds()/d.Seconds(), strings.Join(parts, ", "))
}

// clockPage changes one text each second: the least that a live page costs this browser.
const clockPage = `<!doctype html><title>floor</title><p>0</p><script>setInterval(() => document.querySelector('p').firstChild.data = Date.now(), 1000)</script>`

// TestIdle leaves the first view of "pcp up" alone for some minutes, and reports the processor time of the browser and of the server,
// bytes, and the heap; beside them those of a page that changes one text each second. In the long form only, since it takes minutes.
func TestIdle(t *testing.T) {
	if !longtest.Enabled() {
		t.Skip("SKIPPED: it takes minutes; set PCP_TEST_LONG")
	}
	chrome(t)
	address, page, server := up(t, t.TempDir())
	d := time.Duration(longtest.N(30, 120)) * time.Second
	if s, err := time.ParseDuration(os.Getenv("PCP_TEST_IDLE")); err == nil {
		d = s
	}
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, clockPage) }))
	defer empty.Close()
	floor := open(t, &fake{Server: empty}, "", 1440, 900)
	time.Sleep(5 * time.Second)
	t.Logf("a page with a clock: %s", measure(floor, d, 0))
	chromedp.Cancel(floor.ctx)

	p := open(t, &fake{Server: &httptest.Server{URL: address}}, page, 1440, 900)
	p.until("document.querySelectorAll('.uplot canvas').length >= 6 && document.querySelectorAll('[aria-label=Processes] tbody tr').length >= 4")
	t.Logf("first paint after %.0f ms", eval[float64](p, "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"))
	time.Sleep(10 * time.Second)
	t.Logf("the first view: %s", measure(p, d/4, server))
	// After a minute without input, the page is drawn less often.
	time.Sleep(max(0, time.Minute-d/4))
	t.Logf("the first view, idle: %s", measure(p, d, server))
	p.shot("idle")
}

// up starts "pcp up" with a home directory, and returns the address of its server, the rest of that of its page, and its process.
func up(t *testing.T, home string) (address, page string, pid int) {
	t.Helper()
	dir := t.TempDir()
	pcp := os.Getenv("PCP_TEST_BINARY")
	if pcp == "" {
		pcp = filepath.Join(dir, "pcp")
		build := exec.Command("go", "build", "-o", pcp, "./pcp")
		build.Dir = "../../.."
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building pcp: %v\n%s", err, text)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	ln.Close()
	cmd := exec.Command(pcp, "up", "--port", port, "--dir", filepath.Join(dir, "state"))
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=")
	out := child(t, cmd)
	find := regexp.MustCompile(`page +(http://localhost:\d+)/(\S+)`)
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if m := find.FindStringSubmatch(out.String()); m != nil {
			return m[1], m[2], cmd.Process.Pid
		}
		if time.Now().After(end) {
			t.Fatalf("pcp up prints no address of the page in %v:\n%s", patience, out)
		}
	}
}

// measure reports the costs of a page for a while.
func measure(p *tab, d time.Duration, server int) string {
	p.t.Helper()
	browser := chromedp.FromContext(p.ctx).Browser.Process().Pid
	var bytes float64
	if err := chromedp.Listen(p.ctx, func(ev any) {
		switch e := ev.(type) {
		case *network.EventDataReceived:
			p.mu.Lock()
			bytes += float64(max(e.EncodedDataLength, e.DataLength))
			p.mu.Unlock()
		case *network.EventResponseReceived:
			p.mu.Lock()
			bytes += e.Response.EncodedDataLength
			p.mu.Unlock()
		}
	}); err != nil {
		p.t.Fatal(err)
	}
	heap := func() float64 {
		if _, err := chromedp.Call(p.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
			p.t.Fatal(err)
		}
		u, err := chromedp.Call(p.ctx, runtime.GetHeapUsage, cdp.Empty{})
		if err != nil {
			p.t.Fatal(err)
		}
		return float64(u.UsedSize) / 1e6
	}
	first := heap()
	before, beforeServer := usage{}, usage{}
	usageOf(browser, "browser", before)
	if server > 0 {
		usageOf(server, "server", beforeServer)
	}
	p.mu.Lock()
	bytes = 0
	p.mu.Unlock()
	began := time.Now()
	time.Sleep(d)
	took := time.Since(began)
	p.mu.Lock()
	got := bytes
	p.mu.Unlock()
	now := usage{}
	usageOf(browser, "browser", now)
	s := fmt.Sprintf("%s, %.0f bytes/s", now.percent(before, took), got/took.Seconds())
	if server > 0 {
		nowServer := usage{}
		usageOf(server, "server", nowServer)
		s += fmt.Sprintf("; server %s", nowServer.percent(beforeServer, took))
	}
	return s + fmt.Sprintf("; heap %.1f MB, before %.1f MB", heap(), first)
}
