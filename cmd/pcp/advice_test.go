package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// offline are commands that take a host or are called through pcp, but do not read from a
// collector.
var offline = map[string]string{
	"doctor":   "reports it as a finding",
	"find":     "looks for collectors",
	"lc":       "speaks with pmlogger",
	"time":     "moves other tools through time",
	"trace":    "speaks with the agent",
	"search":   "asks a pmproxy first, which may be there",
	"series":   "asks a pmproxy",
	"atopsar":  "reads archives",
	"loglabel": "the host of a label", "logpush": "the host of a pmproxy", "import csv": "the host of an archive",
	"import prometheus": "the host of an archive",
}

// asks are the arguments that commands need before they connect.
var asks = map[string][]string{
	"val": {"kernel.all.load"}, "query": {"kernel_all_load"}, "event": {"kernel.all.load"}, "dumptext": {"kernel.all.load"}, "probe": {"kernel.all.load"},
	"rep": {"kernel.all.load"}, "2csv": {"kernel.all.load"}, "store": {"a.b", "1"}, "logconf": {"-"}, "repconf": {"x"},
	"stat": {"-s", "1", "-t", "0.1"}, "dstat": {"0.1", "1"}, "vmstat": {"0.1", "1"}, "cdwait": {"-t", "1"},
	"agent list": nil, "logger": {"-c", "/dev/null", "x"}, "ie": {"-c", "rules"}, "record": {"-d", "archives"},
	"export-graphite": {"-h", "local:", "kernel.all.load"}, "otlp": {"-n", "kernel.all.load"},
}

// TestNoCollector calls each command that reads metrics of a collector where there is none: under
// "pcp" each prints the same message, with what to do next. By its classic name it prints only the
// message of the C tool.
func TestNoCollector(t *testing.T) {
	dir, err := os.MkdirTemp("", "none") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "rules"), []byte("some_inst kernel.all.load > 0 -> print \"x\";\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	vars := []string{
		"PMCD_SOCKET=" + dir + "/none", "PMCD_PORT=1", "PCP_RUN_DIR=" + dir, "PCP_LOG_DIR=" + dir, "PCP_TMP_DIR=" + dir,
		"HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state", "PCP_CONF=/dev/null",
	}
	here := "  socket " + dir + "/none: no such file or directory\n"
	// The loopback may have no IPv6.
	tried := "  localhost:1: connection refused\n"
	const next = "Start one: pcp up\n"
	why := "no collector answers on this machine.\n" + here + tried + next
	special := map[string]string{
		"ss":     "no collector answers at localhost.\n" + tried + next,
		"cdwait": "no collector answers at unix:.\n" + here + next,
	}
	special["agent list"] = "what runs is not known: " + why
	const itself = "note: no collector answers on this machine; this command reads the values itself (pcp up starts a collector)\n"
	for _, name := range []string{"stat", "dstat", "vmstat"} {
		special[name] = itself
	}

	var list []*cli.Command
	each(commands(), func(c *cli.Command) {
		host := slices.ContainsFunc(c.OptionList(), func(o cli.Option) bool { return o.Long == "host" && o.Short == 'h' })
		if _, not := offline[c.Name]; !not && len(c.Sub) == 0 && (host || c.Through() || strings.HasPrefix(c.Name, "export-") || c.Name == "record" || c.Name == "genload") {
			list = append(list, c)
		}
	})
	if len(list) < 50 {
		t.Errorf("only %d commands read metrics", len(list))
	}
	slots := make(chan struct{}, 4)
	var all sync.WaitGroup
	for _, c := range list {
		args, known := asks[c.Name]
		if strings.HasPrefix(c.Name, "export-") && !known {
			args = []string{"kernel.all.load"}
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			want := "pcp " + c.Name + ": " + why
			if text := special[c.Name]; text != "" {
				want = "pcp " + c.Name + ": " + text
			}
			if got := stderrUntil(t, dir, vars, want, "pcp", slices.Concat(strings.Fields(c.Name), args)...); !strings.Contains(got, want) {
				t.Errorf("pcp %s: %q\nlacks %q", c.Name, got, want)
			}
			if c.Link == "" || c.Name == "logger" || c.Name == "ie" { // daemons log errors
				return
			}
			if got := stderrUntil(t, dir, vars, want, c.Link, args...); strings.Contains(got, "no collector answers") {
				t.Errorf("%s, as the C tool is called, explains: %q", c.Link, got)
			}
		})
	}
	all.Wait()
}

// stderrUntil runs our program until it ends, or has printed a text, and returns its standard
// error.
func stderrUntil(t *testing.T, dir string, vars []string, text, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t), args...)
	cmd.Args[0], cmd.Dir = name, dir
	cmd.Env = append(os.Environ(), vars...)
	cmd.WaitDelay = 10 * time.Second
	w := &watcher{text: text, found: cancel}
	cmd.Stderr = w
	cmd.Run()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// A watcher keeps the data written, and calls found once it has a text.
type watcher struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	text  string
	found func()
}

func (w *watcher) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(b)
	if strings.Contains(w.buf.String(), w.text) {
		w.found()
	}
	return len(b), nil
}

// TestNoRight asks for processes from a collector that does not know the user: each command prints
// the same message, and how to identify the user.
func TestNoRight(t *testing.T) {
	dir, err := os.MkdirTemp("", "up")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	port := strconv.Itoa(oracle.FreePort(t))
	vars := []string{"PMCD_PORT=1", "PCP_RUN_DIR=" + dir, "HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state", "PCP_CONF=/dev/null"}
	up := exec.CommandContext(t.Context(), program(t), "up", "--port", port, "--dir", dir+"/mine", "--no-record", "--no-web")
	up.Env = append(os.Environ(), vars...)
	ready := make(chan struct{})
	out := &watcher{text: "Ctrl-C", found: sync.OnceFunc(func() { close(ready) })}
	up.Stdout, up.Stderr = out, out
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		up.Process.Signal(os.Interrupt)
		up.Wait()
	}()
	select {
	case <-ready:
	case <-time.After(time.Minute):
		t.Fatalf("pcp up does not begin to serve: %s", out.buf.String())
	}
	out.mu.Lock()
	welcome := out.buf.String()
	out.mu.Unlock()
	socket := "unix:" + dir + "/mine/pmcd.socket"
	if want := "pcp top -h " + socket + " "; !strings.Contains(welcome, want) {
		t.Errorf("%s\nlacks %q", welcome, want)
	}
	if got := outcomeOf(t, dir, append(vars, "PCP_HOST="+socket), "pcp", "chart", "nosuch"); !strings.Contains(got.err, `nosuch: Unknown metric name ("pcp info" lists the names of all metrics)`) {
		t.Errorf("pcp chart nosuch: %s", got.err)
	}
	lines := map[string][]string{
		"ps": {}, "pidstat": {"-s", "1"}, "top": {"--once"}, "atop": {"1", "1"}, "info": {"-f", "proc.psinfo.pid"}, "val": {"-s", "1", "proc.psinfo.pid"},
		"probe": {"proc.psinfo.pid"}, "rep": {"-s", "1", "proc.psinfo.pid"}, "dumptext": {"-s", "1", "proc.psinfo.pid"}, "export-json": {"-s", "1", "proc.psinfo.pid"},
	}
	address := net.JoinHostPort("localhost", port)
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		want := fmt.Sprintf("pcp %s: the collector at %s does not know the user of this command, and so does not let it see or change all that was asked for: single processes, for example.\n"+
			"It knows the users of its socket: use -h %s\n", name, address, socket)
		got := outcomeOf(t, dir, append(vars, "PCP_HOST="+address), "pcp", slices.Concat([]string{name}, lines[name])...)
		if !strings.HasSuffix(got.err, want) {
			t.Errorf("pcp %s: %q\ndoes not end in %q", name, got.err, want)
		}
		got = outcomeOf(t, dir, append(vars, "PCP_HOST="+socket), "pcp", slices.Concat([]string{name}, lines[name])...)
		if strings.Contains(got.err, "does not") {
			t.Errorf("pcp %s by the socket: %s", name, got.err)
		}
	}
}

// TestWebServer connects to a web server, which waits for a request: the message is printed long
// before the connection times out.
func TestWebServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	address := server.Listener.Addr().String()
	begin := time.Now()
	for _, line := range []string{"info kernel", "ps", "rep kernel.all.load", "top --once"} {
		got := outcomeOf(t, t.TempDir(), []string{"PCP_HOST=" + address, "PMCD_CONNECT_TIMEOUT=30", "PMCD_REQUEST_TIMEOUT=30"}, "pcp", strings.Fields(line)...)
		want := "pcp " + strings.Fields(line)[0] + ": " + address + " answers as a web server does, and not as a collector.\nThe port of a collector is usually 44321.\n"
		if !strings.HasSuffix(got.err, want) {
			t.Errorf("pcp %s: %q\ndoes not end in %q", line, got.err, want)
		}
	}
	if d := time.Since(begin); d > 29*time.Second { // each would take 30
		t.Errorf("that took %v", d)
	}
}

// TestNothingRecorded asks for the past without any archives: the commands that then read
// pmlogger's archives of this host all print the same message.
func TestNothingRecorded(t *testing.T) {
	dir := t.TempDir()
	vars := []string{"PCP_LOG_DIR=" + dir, "PCP_ARCHIVE_DIR=" + dir + "/pmlogger", "HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state", "PCP_CONF=/dev/null"}
	for _, line := range []string{
		"stat -O -1h", "val -O -1h kernel.all.load", "atopsar", "replay top", "replay -1h ps",
		"info -O -1h kernel.all.load", "summary -O -1h", "top -O -1h",
	} {
		got := outcomeOf(t, dir, vars, "pcp", strings.Fields(line)...)
		const want = `nothing is recorded yet: "pcp up" collects and records, "pcp record" records a collector that runs` + "\n"
		if !strings.HasSuffix(got.err, want) {
			t.Errorf("pcp %s: %q\ndoes not end in %q", line, got.err, want)
		}
	}
}
