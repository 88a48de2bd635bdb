package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/docpage"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// An exception is a command of a page that TestPages does not run to its end.
type exception struct {
	page    string // "docs/web.md"
	command string // how it begins, or the expression that it matches; "" for all of the page
	reason  string
}

// elsewhere are the commands that other tests run: those in the package and with the name of the reason.
var elsewhere = []exception{
	{"README.md", "(echo|printf|promtool|pcp (up|top|replay|alerts|query))", "cmd/pcp TestFiveMinutes"},
	{"docs/tutorial.md", "", "cmd/pcp TestTutorial"},
	{"docs/agents.md", "", "pmda TestGuideOurs"},
	{"docs/alerts.md", "", "cmd/pcp TestAlertsPage"},
	{"docs/bpf.md", "", "cmd/pcp TestKernelLatencyPage"},
	{"docs/diagnose.md", "", "cmd/pcp TestDiagnosePage"},
	{"docs/engine.md", "", "cmd/internal/interop/prom TestEngine"},
	{"docs/fleet.md", "", "cmd/internal/interop/prom TestFleetPage"},
	{"docs/from-opentelemetry.md", "", "cmd/internal/interop/prom TestPushed"},
	{"docs/from-prometheus.md", "", "cmd/internal/interop/prom TestFromPrometheus"},
	{"docs/grafana.md", "", "cmd/internal/interop/prom TestGrafana"},
	{"docs/instrumenting.md", "pminfo -dfT mmv.shop", "examples TestFirstProgram"},
	{"docs/instrumenting.md", "pmval -f1 .*mmv.shop.orders", "examples TestFirstProgram"},
	{"docs/acme.md", "pminfo", "examples TestAcme"},
	{"docs/acme.md", "pmval", "examples TestAcme"},
	{"docs/acme.md", "kill", "examples TestAcme"},
	{"docs/security.md", "(mkdir -p /etc/pcp/tls|openssl|printf|chown pcp pcp.key)", "cmd/pcp TestCertificatePage"},
	{"docs/security.md", "pminfo -f -h pcps://", "cmd/pcp TestCertificatePage"},
	{"docs/statsd.md", "echo", "cmd/internal/interop/prom TestPushed"},
	{"docs/statsd.md", "pminfo -f statsd.shop.orders", "cmd/internal/interop/prom TestPushed"},
	{"docs/web.md", "curl .*44322/(pmapi|metrics)", "cmd/internal/pmproxy/webapi TestPage"},
	{"docs/web.md", "curl .*44322/api/v1", "cmd/internal/prom/api TestPage"},
	{"docs/web.md", "curl .*44322/diagnose", "cmd/internal/pmproxy/diagnose TestPage"},
	{"docs/web.md", "promtool", "cmd/internal/prom/api TestPage"},
}

// notRun are commands that no test runs, with the reason. Their number may only fall.
var notRun = []exception{
	{"CONTRIBUTING.md", "", "it is for developers, and runs all tests"},
	{"README.md", "make", "it is for developers"},
	{"README.md", ".* /var/log/pcp/pmlogger|pmval -a /var", "the archives are examples"},
	{"docs/debugging.md", "pminfo -D context -h web:4000", "it shows a connection that fails"},
	{"docs/debugging.md", "pminfo -D auth -h 'web", "it shows a user who is refused"},
	{"docs/instrumenting.md", "make run", "it is for developers"},
	{"docs/instrumenting.md", "pminfo -f trace.transact", "it needs the program of the example before it"},
	{"docs/instrumenting.md", "pminfo -f mmv.shop.http_requests_total", "it needs the program of the example before it"},
	{"docs/opentelemetry.md", "pcp otlp --to https://otel.example.com", "it needs a server with a certificate"},
	{"docs/page.md", "pcp chart( -c Overview|.* -c ./view)", "it needs a view of pmchart"},
	{"docs/prometheus.md", "pcp push --to", "it needs a database"},
	{"docs/recording.md", ".*(s3://|https?://|-f hosts|--hosts-dns)", "it needs a bucket or servers"},
	{"docs/recording.md", "pcp replay 14:30", "it depends on the time of day"},
	{"docs/security.md", "pminfo", "it needs a server with accounts or a certificate"},
	{"docs/security.md", "pcp passwd (add|change|remove)", "it asks for a password"},
	{"docs/security.md", "mkdir|chown|sudo", "it is not of ours"},
	{"docs/statsd.md", "pcp up|pcp agent|pminfo -f statsd.pmda", "it takes the port of the machine"},
	{"docs/web.md", "curl .*(8080/series|/fleet/)", "it needs archives of many hosts"},
	{"docs/web.md", "(pmseries|pmproxy) .*6379|pmproxy -h localhost -r 6379", "it needs a key server"},
	{"docs/web.md", "pmlogpush|printf", "it needs a server with a certificate and tokens"},
	{"docs/web.md", "rm ", "it is not of ours"},
}

// maxNotRun is the number of commands that no test runs. Lower it when it falls.
const maxNotRun = 70

// ownMachine are pages about changes of the machine, on which tests in chroots have the same commands. Here only the options are checked.
var ownMachine = []string{"docs/install.md", "docs/releasing.md", "docs/containers.md", "docs/kubernetes.md"}

// endless match commands that run until they are interrupted.
var endless = regexp.MustCompile(`^(pcp (up|record [^-]\S*|record -f|chart|proxy|top( -[^-]\S* \S+)*$|replay -1h top|top --text|otlp .*-[th])\b|(pmlogger|pmproxy)\b|pcp val [^-])`)

// assignments match variables before a command.
var assignments = regexp.MustCompile(`^([A-Z_]+=\S* )+`)

// documented returns the commands of README and docs.
func documented(t *testing.T) []docpage.Command {
	t.Helper()
	names := map[string]bool{"pcp": true, "bin/pcp": true}
	for _, name := range strings.Fields("make sudo curl promtool openssl mkdir printf rm cd go go-get apt dnf rpm docker podman helm kubectl systemctl echo git tar timeout") {
		names[name] = true
	}
	each(commands(), func(c *cli.Command) { names[c.Link] = c.Link != "" })
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []docpage.Command
	for _, path := range append([]string{"../../README.md", "../../CONTRIBUTING.md"}, pages...) {
		name, err := filepath.Rel("../..", path)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, docpage.Read(t, name).Typed(func(name string) bool { return names[name] })...)
	}
	return list
}

// uncommented returns a command without the explanation after it.
func uncommented(c docpage.Command) string {
	text := regexp.MustCompile(` +#( .*)?$`).ReplaceAllString(c.Text, "")
	if c.Page == "docs/top.md" || c.Page == "README.md" {
		text, _, _ = strings.Cut(text, "   ") // a column
	}
	return strings.TrimSpace(text)
}

// in returns the row of a table for a command, or nil.
func in(table []exception, c docpage.Command) *exception {
	for i, s := range table {
		if s.page == c.Page && (s.command == "" || strings.HasPrefix(c.Text, s.command) || regexp.MustCompile(`^`+s.command).MatchString(c.Text)) {
			return &table[i]
		}
	}
	return nil
}

// TestPageOptions checks that each command of ours on the pages exists, and has the options that it has there.
func TestPageOptions(t *testing.T) {
	table, n := commands(), 0
	for _, c := range documented(t) {
		words := strings.Fields(uncommented(c))
		for len(words) > 0 && (words[0] == "sudo" || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
		if len(words) > 1 && (words[0] == "pcp" || words[0] == "bin/pcp") && !strings.HasPrefix(words[1], "-") {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		command := cli.Find(table, words[0])
		if command == nil {
			if words[0] != "pcp" && words[0] != "bin/pcp" && (strings.HasPrefix(uncommented(c), "pcp ") || strings.HasPrefix(c.Text, "sudo pcp ")) {
				t.Errorf("%s:%d: %s: there is no such command", c.Page, c.Line, c.Text)
			}
			continue
		}
		words = words[1:]
		for len(words) > 0 && len(command.Sub) > 0 {
			sub := cli.Find(table, command.Name+" "+words[0])
			if sub == nil {
				break
			}
			command, words = sub, words[1:]
		}
		n++
		if command.Name == "agent test" {
			continue // the options are the agent's
		}
		for _, w := range words {
			if w == "|" || strings.ContainsAny(w, ">`'\"") || command.Name == "replay" && !strings.HasPrefix(w, "-") {
				break // another program, a text, or the command of a replay
			}
			long, isLong := strings.CutPrefix(w, "--")
			long, _, _ = strings.Cut(long, "=")
			if isLong && long != "" && !slices.ContainsFunc(command.OptionList(), func(o cli.Option) bool { return o.Long == long }) {
				t.Errorf("%s:%d: %s: pcp %s has no option --%s", c.Page, c.Line, c.Text, command.Name, long)
			}
			if short := []rune(w); !isLong && len(short) > 1 && short[0] == '-' && (short[1] < '0' || short[1] > '9') &&
				!slices.ContainsFunc(command.OptionList(), func(o cli.Option) bool { return o.Short == short[1] }) {
				t.Errorf("%s:%d: %s: pcp %s has no option -%c", c.Page, c.Line, c.Text, command.Name, short[1])
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d commands were found on the pages", n)
	}
}

// TestPages runs the commands of README and docs that no other test runs, on a collector of its own, with archives of the names on the
// pages and a server that accepts everything.
func TestPages(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the pages are about metrics of Linux")
	}
	w := newPageWorld(t)
	w.serve(t)
	used, left := map[*exception]bool{}, 0
	var todo []docpage.Command
	for _, c := range documented(t) {
		c.Text = uncommented(c)
		if slices.Contains(ownMachine, c.Page) {
			continue
		}
		if s := in(elsewhere, c); s != nil {
			used[s] = true
			continue
		}
		if s := in(notRun, c); s != nil {
			used[s] = true
			left++
			continue
		}
		if name, _, _ := strings.Cut(assignments.ReplaceAllString(c.Text, ""), " "); name != "pcp" && cli.Find(commands(), name) == nil {
			t.Errorf("%s:%d: %s: a command that is not ours needs a row of notRun or elsewhere", c.Page, c.Line, c.Text)
			continue
		}
		todo = append(todo, c)
	}
	if left > maxNotRun {
		t.Errorf("%d commands of pages are not run, and %d are allowed", left, maxNotRun)
	} else if left < maxNotRun-5 {
		t.Errorf("%d commands of pages are not run: lower maxNotRun", left)
	}
	for _, table := range [][]exception{elsewhere, notRun} {
		for i := range table {
			if s := &table[i]; !used[s] {
				t.Errorf("%s has no command %q any more", s.page, s.command)
			}
		}
	}
	for _, s := range elsewhere {
		dir, name, _ := strings.Cut(s.reason, " ")
		if !hasTest(t, dir, name) {
			t.Errorf("%s: there is no test %s", s.page, s.reason)
		}
	}
	var wg sync.WaitGroup
	limit := make(chan struct{}, 4)
	for _, c := range todo {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			w.run(t, c)
		})
	}
	wg.Wait()
}

// hasTest reports whether a folder of the repository has a test of this name.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(path string) bool {
		b, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(b), "\nfunc "+name+"(")
	})
}

// A pageWorld is where TestPages runs commands.
type pageWorld struct {
	dir     string
	port    string // of the collector
	socket  string
	env     []string
	replace *strings.Replacer
}

func newPageWorld(t *testing.T) *pageWorld {
	t.Helper()
	dir, err := os.MkdirTemp("", "pages") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	accept := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	t.Cleanup(accept.Close)
	port, socket := strconv.Itoa(oracle.FreePort(t)), filepath.Join(dir, "s")
	w := &pageWorld{dir: dir, port: port, socket: socket}
	w.env = append(covered(), "HOME="+dir, "TMPDIR="+dir, "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "PCP_CONF=/dev/null", "PCP_RUN_DIR="+dir, "PCP_TMP_DIR="+dir,
		"PCP_SYSCONF_DIR="+filepath.Join(dir, "etc"), "PCP_LOG_DIR="+filepath.Join(dir, "log"), "PMCD_SOCKET="+socket, "PMCD_PORT="+port, "TZ=UTC", "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	w.replace = strings.NewReplacer("-h www", "-h unix:"+socket, "-h web1", "-h unix:"+socket, "http://localhost:4318", accept.URL, "| ts", "| cat", "pcp up ", "pcp up --port 0 --web-port 0 --socket ./N ",
		"/etc/pcp", filepath.Join(dir, "etc"), "/var/log/pcp/pmlogger/www", filepath.Join(dir, "state/pcp/pmlogger/*"), "/var/log/pcp/pmlogger", filepath.Join(dir, "state/pcp/pmlogger"),
		"/data/", dir+"/data/", "/mnt/shared", filepath.Join(dir, "shared"), "/net/", dir+"/net/", "alpha beta", "unix:"+socket, "http://localhost:8428", accept.URL, "http://localhost:9090", accept.URL,
		"~/.pcp/token", filepath.Join(dir, "token"))
	w.must(t, program(t)+" links bin")
	var table strings.Builder
	table.WriteString("time,kernel.all.load,disk.dev.read,kernel.all.cpu.user\n")
	for i := range 12 * 60 {
		fmt.Fprintf(&table, "2026-11-21T%02d:%02d:00Z,%d,%d,%d\n", 8+i/60, i%60, i%7, 10*i, 100*i)
	}
	if err := os.WriteFile(filepath.Join(dir, "table.csv"), []byte(table.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	w.must(t, "mkdir -p data net shared etc log")
	for name, text := range map[string]string{"token": "secret\n", "config": "log mandatory on 1sec { kernel.all.load }\n", "hosts": "unix:" + socket + "\n", "etc/targets.yml": "remote_write:\n- url: " + accept.URL + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.must(t, "pcp import csv table.csv 20261121; for a in 20261124 20261125; do pcp logcp 20261121 $a; done")
	return w
}

// serve starts a collector and a recorder for the commands.
func (w *pageWorld) serve(t *testing.T) {
	t.Helper()
	up := w.start(t, "pcp up --sample --port "+w.port+" --socket "+w.socket+" --web-port 0")
	t.Cleanup(func() { w.stop(t, up, "pcp up") })
	await.Until(t, "pcp up serves and records", func() bool {
		return w.command(t.Context(), "pcp info -f pmcd.numclients && pcp replay | grep -q .").Run() == nil
	})
	recorder := w.start(t, "pcp record unix:"+w.socket)
	t.Cleanup(func() { w.stop(t, recorder, "pcp record") })
	await.Until(t, "pcp record records", func() bool { return w.command(t.Context(), "pcp record --status").Run() == nil })
}

// command returns a command for the shell.
func (w *pageWorld) command(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.WaitDelay = w.dir, w.env, time.Second
	return cmd
}

func (w *pageWorld) must(t *testing.T, line string) {
	t.Helper()
	if out, err := w.command(t.Context(), line).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// A started command runs until it is stopped.
type startedCommand struct {
	cmd *exec.Cmd
	out string // the file with its output
}

func (w *pageWorld) start(t *testing.T, line string) *startedCommand {
	t.Helper()
	f, err := os.CreateTemp(w.dir, "out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := w.command(context.Background(), "exec "+line)
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	return &startedCommand{cmd, f.Name()}
}

// stop interrupts a command, which must still run, and end without an error.
func (w *pageWorld) stop(t *testing.T, s *startedCommand, line string) {
	t.Helper()
	gone := s.cmd.Process.Signal(syscall.SIGINT)
	err := await.Exit(t, s.cmd)
	if status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus); gone != nil || err != nil && !(ok && status.Signaled() && status.Signal() == syscall.SIGINT) {
		text, _ := os.ReadFile(s.out)
		t.Errorf("%s: %v %v\n%.2000s", line, gone, err, text)
	}
}

// run runs a command of a page.
func (w *pageWorld) run(t *testing.T, c docpage.Command) {
	own := fmt.Sprintf("%s-%d", strings.TrimSuffix(filepath.Base(c.Page), ".md"), c.Line) // a state directory of its own
	line := strings.ReplaceAll(w.replace.Replace(c.Text+" "), "--socket ./N", "--socket ./"+own+".s --dir ./"+own)
	if strings.HasPrefix(line, "pcp record ") && !strings.Contains(line, " -d ") && !strings.Contains(line, "--status") {
		line += "-d ./" + own
	}
	if endless.MatchString(c.Text) {
		s := w.start(t, line)
		time.Sleep(time.Second) // wrong options show at once
		w.stop(t, s, fmt.Sprintf("%s:%d: %s", c.Page, c.Line, line))
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := w.command(ctx, line).CombinedOutput(); err != nil {
		t.Errorf("%s:%d: %s: %v\n%.1500s", c.Page, c.Line, line, err, out)
	}
}

// TestFiveMinutes follows README as a person who has never seen PCP: it collects, shows the busiest processes, replays the past, sets an alert
// that reaches a web hook, and has Prometheus scrape it.
func TestFiveMinutes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the page is about metrics of Linux")
	}
	posted := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		posted <- string(b)
	}))
	defer hook.Close()
	w := newPageWorld(t)
	page, web := docpage.Read(t, "README.md"), strconv.Itoa(oracle.FreePort(t))
	at := strings.NewReplacer("http://localhost:8000/", hook.URL, "> 4 ->", "> 0 ->", "pcp up", "pcp up --port "+w.port+" --socket "+w.socket+" --web-port "+web, "localhost:44323", "127.0.0.1:"+web)
	config := at.Replace(page.File(t, "prometheus.yml"))
	if err := os.WriteFile(filepath.Join(w.dir, "prometheus.yml"), []byte("global: {scrape_interval: 1s}\n"+config), 0o600); err != nil {
		t.Fatal(err)
	}
	_, promtool := exec.LookPath("promtool")
	want := map[string]string{"pcp top": "PID", "pcp replay": "pcp top", "pcp query": "{", "pcp alerts": "hook"}
	var up *startedCommand
	n := 0
	for _, c := range page.Typed(func(string) bool { return false }) {
		if e := in(elsewhere, c); e == nil || e.reason != "cmd/pcp TestFiveMinutes" {
			continue
		}
		n++
		line := at.Replace(c.Text)
		switch {
		case strings.HasPrefix(c.Text, "pcp up"):
			if up != nil {
				w.stop(t, up, "pcp up")
			}
			up = w.start(t, line)
			await.Until(t, "pcp up serves and records", func() bool {
				return w.command(t.Context(), "pcp info -f pmcd.numclients && pcp replay | grep -q .").Run() == nil
			})
		case promtool != nil && strings.HasPrefix(c.Text, "promtool"):
			t.Log("SKIPPED: promtool is not installed: apt-get install prometheus")
		default:
			out, err := w.command(t.Context(), line).CombinedOutput()
			if err != nil {
				t.Errorf("README.md:%d: %s: %v\n%s", c.Line, line, err, out)
			}
			for begin, text := range want {
				if strings.HasPrefix(c.Text, begin) && !strings.Contains(string(out), text) {
					t.Errorf("README.md:%d: %s: no %q in\n%s", c.Line, line, text, out)
				}
			}
		}
	}
	if n != 9 || up == nil {
		t.Fatalf("README has %d commands of the first minutes", n)
	}
	defer w.stop(t, up, "pcp up")
	for _, rule := range []string{"", `"rule":"busy"`} { // that of pcp alerts send, and the rule's
		select {
		case text := <-posted:
			if !strings.Contains(text, rule) {
				t.Errorf("the web hook gets %s", text)
			}
		case <-time.After(time.Minute):
			t.Fatal("nothing reaches the web hook")
		}
	}
	prometheus, err := exec.LookPath("prometheus")
	if err != nil {
		t.Log("SKIPPED: prometheus is not installed: apt-get install prometheus")
		return
	}
	address := "127.0.0.1:" + strconv.Itoa(oracle.FreePort(t))
	scraping := w.start(t, prometheus+" --config.file=prometheus.yml --storage.tsdb.path=tsdb --web.listen-address="+address)
	defer func() {
		scraping.cmd.Process.Kill()
		await.Exit(t, scraping.cmd)
	}()
	await.Until(t, "Prometheus has scraped it", func() bool {
		out, _ := w.command(t.Context(), "curl -s http://"+address+"/api/v1/query --data-urlencode query=kernel_all_load").Output()
		return strings.Contains(string(out), `"instname":"15 minute"`)
	})
}

// TestTutorial runs the commands of docs/tutorial.md in their order.
func TestTutorial(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the page is about metrics of Linux")
	}
	w := newPageWorld(t)
	var up *startedCommand
	n := 0
	for _, c := range documented(t) {
		if c.Page != "docs/tutorial.md" {
			continue
		}
		n++
		line := c.Text
		if background, ok := strings.CutSuffix(line, "&"); ok {
			load := w.start(t, background)
			defer func() { load.cmd.Process.Signal(syscall.SIGTERM); await.Exit(t, load.cmd) }()
			continue
		}
		if line == "pcp up" {
			up = w.start(t, line+" --port "+w.port+" --socket "+w.socket+" --web-port 0")
			await.Until(t, "pcp up serves and records", func() bool {
				return w.command(t.Context(), "pcp info -f pmcd.numclients && pcp replay | grep -q .").Run() == nil
			})
			continue
		}
		out, err := w.command(t.Context(), line).CombinedOutput()
		for end := time.Now().Add(time.Minute); err != nil && strings.HasPrefix(line, "pcp replay ") && time.Now().Before(end); {
			time.Sleep(time.Second) // the past is still short
			out, err = w.command(t.Context(), line).CombinedOutput()
		}
		if err != nil || len(out) == 0 && strings.HasPrefix(line, "pcp ") {
			t.Errorf("docs/tutorial.md:%d: %s: %v\n%s", c.Line, line, err, out)
		}
	}
	if n < 12 || up == nil {
		t.Fatalf("the tutorial has %d commands", n)
	}
	w.stop(t, up, "pcp up")
}
