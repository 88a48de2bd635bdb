package chart

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// A screen can be read while it is written to.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func testEnv(out, errs io.Writer, vars map[string]string, args ...string) *cli.Env {
	return &cli.Env{
		Name: "pcp chart", Args: args, Stdin: strings.NewReader(""), Stdout: out, Stderr: errs, Version: "test", Command: Command,
		Getenv: func(name string) string { return vars[name] },
	}
}

func call(t *testing.T, vars map[string]string, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	status = run(ctx, testEnv(&o, &e, vars, args...))
	return status, o.String(), e.String()
}

// start runs the command until stop, and returns the address that it prints.
func start(t *testing.T, vars map[string]string, args ...string) (address string, stop func()) {
	t.Helper()
	out, errs := new(screen), new(screen)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() { done <- run(ctx, testEnv(out, errs, vars, args...)) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if status := <-done; status != 0 {
				t.Errorf("%v: exit status %d: %s", args, status, errs)
			}
		})
	}
	t.Cleanup(stop)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if s := out.String(); strings.Contains(s, "until ctrl-C.\n") {
			return strings.Split(s, "\n")[0], stop
		}
		if time.Now().After(deadline) || errs.String() != "" {
			t.Fatalf("%v: %s%s", args, out, errs)
		}
	}
}

// get asks for a path of the page's server, with the token or without.
func get(t *testing.T, address, path string, known bool) (int, string) {
	t.Helper()
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest("GET", "http://"+u.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if known {
		r.Header.Set("Authorization", "Bearer "+u.Query().Get("token"))
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// collector serves two metrics to the user of this process, at a socket.
func collector(t *testing.T) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "chart") // a short name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	one := func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(1), nil }
	lns, err := pmcd.Listen(t.Context(), pmcd.ListenConfig{Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{
		Listeners: lns,
		Agents: []pmcd.AgentSpec{{Name: "test", Domain: 400, Open: func(*pmcd.Server) (pmda.Agent, error) {
			return pmda.NewTable(pmda.Config{Name: "test", Domain: 400, Metrics: []pmda.Metric{
				{Name: "test.b", Item: 1, Type: pcp.TypeU32, Value: one},
				{Name: "test.a", Item: 2, Type: pcp.TypeU32, Value: one},
			}})
		}}},
	})
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
	return socket
}

// TestRunning opens the page of the collector that "pcp up" runs.
func TestRunning(t *testing.T) {
	socket := collector(t)
	vars := map[string]string{"HOME": t.TempDir()}
	env := testEnv(io.Discard, io.Discard, vars)
	remove, err := env.Announce(&cli.Running{PID: 1, Socket: socket, Addresses: []string{"127.0.0.1:44399"}, Page: "http://localhost:44323/", Token: "TOKEN"})
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	f := func(want string, args ...string) {
		t.Helper()
		n, out, errs := call(t, vars, append([]string{"--no-open"}, args...)...)
		if n != 0 || errs != "" || out != "http://localhost:44323/?token=TOKEN"+want+"\n" {
			t.Errorf("%v: %d %s%s", args, n, out, errs)
		}
	}
	f("#/overview")
	f("#/charts?chart=test.a", "test.a")
	f("#/charts?chart=test.a&chart=test.b", "test")
	f("#/charts?chart=test.b%5Bx%2Cy%5D&chart=test.a", "test.b[x,y]", "test.a")
	f("#/charts?chart=test.a&step=10&zone=Europe%2FOslo", "-t", "10", "-Z", "Europe/Oslo", "test.a")
	f("#/overview", "-h", "localhost:44399")
	f("#/overview?font=DejaVu+Sans&kept=600&size=14", "-f", "DejaVu Sans", "-F", "14", "-s", "600")
	f("#/overview?window=120.000", "-v", "120")
	f("#/overview?step=10&window=300.000", "-v", "30", "-t", "10")
	view := filepath.Join(vars["HOME"], ".pcp", "pmchart", "Mine")
	if err := os.MkdirAll(filepath.Dir(view), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(view, []byte("#kmchart\nversion 1\nchart\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f("#/charts?name=Mine&view=%23kmchart%0Aversion+1%0Achart%0A", "-c", "Mine")
	f("#/charts?name=Mine&view=%23kmchart%0Aversion+1%0Achart%0A", "-c", view)
	if n, _, errs := call(t, vars, "no.such"); n != 1 || !strings.Contains(errs, "no.such: Unknown metric name") {
		t.Errorf("%d %s", n, errs)
	}
	// The file of the collector, which has the token, is this user's.
	list, err := filepath.Glob(filepath.Join(vars["HOME"], ".local/state/pcp/collectors/*"))
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if info, err := os.Stat(list[0]); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestBrowser opens a browser by a file that is this user's, since all users see the arguments of programs.
func TestBrowser(t *testing.T) {
	socket := collector(t)
	dir := t.TempDir()
	vars := map[string]string{"HOME": dir, "PATH": dir, "BROWSER": "missing:browse --new"}
	remove, err := testEnv(io.Discard, io.Discard, vars).Announce(&cli.Running{PID: 1, Socket: socket, Page: "http://localhost:44323/", Token: "TOKEN"})
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	seen := filepath.Join(dir, "seen")
	if err := os.WriteFile(filepath.Join(dir, "browse"), []byte("#!/bin/sh\necho \"$@\" >"+seen+".new && mv "+seen+".new "+seen+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", os.Getenv("PATH")) // that of the shell
	if n, _, errs := call(t, vars, "test.a"); n != 0 || errs != "" {
		t.Fatalf("%d %s", n, errs)
	}
	var args string
	for deadline := time.Now().Add(time.Minute); args == "" && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		b, _ := os.ReadFile(seen)
		args = string(b)
	}
	option, path, _ := strings.Cut(strings.TrimSpace(args), " ")
	if option != "--new" || strings.Contains(args, "TOKEN") {
		t.Fatalf("the browser got %q", args)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if b, _ := os.ReadFile(path); !strings.Contains(string(b), `content="0;url=http://localhost:44323/?token=TOKEN#/charts?chart=test.a"`) {
		t.Errorf("it has\n%s", b)
	}
}

// TestServeHost serves another collector to clients with the token.
func TestServeHost(t *testing.T) {
	socket := collector(t)
	address, stop := start(t, map[string]string{"HOME": t.TempDir()}, "-h", "unix:"+socket, "--no-open", "test.a")
	if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/\?token=[A-Z2-7]{26}#/charts\?chart=test\.a$`).MatchString(address) {
		t.Errorf("address %s", address)
	}
	if n, body := get(t, address, "/pmapi/fetch?names=test.a", true); n != 200 || !strings.Contains(body, `"value":1`) {
		t.Errorf("fetch: %d %s", n, body)
	}
	if n, body := get(t, address, "/pmapi/fetch?names=test.a", false); n != 403 || strings.Contains(body, `"value"`) {
		t.Errorf("another user: %d %s", n, body)
	}
	if n, body := get(t, address, "/", false); n != 200 || strings.Contains(body, "data-past") {
		t.Errorf("page: %d %s", n, body)
	}
	stop()
	if _, err := http.Get(address); err == nil {
		t.Error("it is served after the end")
	}
}

// TestServeArchive serves an archive, in the time window of the options.
func TestServeArchive(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	im, err := importer.Start(base, importer.Options{Host: "www", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := im.NewMetric("test.a", importer.Spec{Type: pcp.TypeDouble})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 61 {
		m.PutDouble(float64(i))
		if err := im.Write(time.Unix(1_700_000_000+60*int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"HOME": t.TempDir(), "TZ": "UTC"}
	address, stop := start(t, vars, "-a", base, "--no-open", "test")
	_, hash, _ := strings.Cut(address, "#")
	if hash != "/charts?chart=test.a&end=1700003600.000&host=www&step=7&window=3600.000" {
		t.Errorf("shows %s", hash)
	}
	if n, body := get(t, address, "/", false); n != 200 || !strings.Contains(body, "data-past") {
		t.Errorf("page: %d %s", n, body)
	}
	if n, body := get(t, address, "/series/query?expr=test.a[samples:2]", true); n != 200 || strings.Count(body, "timestamp") != 2 {
		t.Errorf("query: %d %s", n, body)
	}
	if n, body := get(t, address, "/series/query?expr=test.a", false); n != 403 {
		t.Errorf("another user: %d %s", n, body)
	}
	stop()
	address, stop = start(t, vars, "-a", base, "-S", "@22:23:20", "-T", "@22:33:20", "-t", "1min", "--no-open")
	_, hash, _ = strings.Cut(address, "#")
	if hash != "/overview?end=1700001200.000&host=www&step=60&window=600.000" {
		t.Errorf("shows %s", hash)
	}
	stop()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"/overview?end=1700003600.000&host=www&window=600.000", []string{"-O", "50min"}},
		{"/overview?end=1700003600.000&host=www&step=6&window=3560.000&zone=UTC", []string{"-A", "1min", "-z"}},
		{"/overview?end=1700001200.000&host=www&step=60&window=600.000", []string{"-S", "@22:23:20", "-v", "10", "-t", "1min"}},
		{"/overview?end=1700003600.000&host=www", []string{"-O", "-0"}},
	} {
		address, stop := start(t, vars, append([]string{"-a", base, "--no-open"}, c.args...)...)
		if _, hash, _ := strings.Cut(address, "#"); hash != c.want {
			t.Errorf("%v shows %s, want %s", c.args, hash, c.want)
		}
		stop()
	}
}

// TestZoneName has zones as archives have them.
func TestZoneName(t *testing.T) {
	for tz, want := range map[string]string{
		":Europe/Oslo": "Europe/Oslo", "UTC": "UTC", "UTC0": "UTC", "AEST-10": "Etc/GMT-10", "EST+5": "Etc/GMT+5", "EST5:00": "Etc/GMT+5",
		"CET-1CEST": "", "EST5EDT4,M3": "", "X-1": "", "IST-5:30": "", "ABC-15": "", "": "", "../etc": "",
	} {
		if got, ok := zoneName(tz); got != want || ok != (want != "") {
			t.Errorf("zoneName(%q) = %q, %t, want %q", tz, got, ok, want)
		}
	}
}

// TestCheck checks views.
func TestCheck(t *testing.T) {
	socket, home := collector(t), t.TempDir()
	view := func(text string) string {
		path := filepath.Join(home, "v")
		if err := os.WriteFile(path, []byte("#kmchart\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ text, want, deep string }{
		{"version 1\n\nglobal width 3\n# x\nchart title \"a \\\"b\" style plot scale from 0 to 1.5\n\tplot color #-cycle metric test.a\n\toptional-plot metric no.such\n", "", ""},
		{"version 1\nchart style line\nplot metric test.a instance sda\nplot metric no.such\n", "", "line 5: no.such: Unknown metric name"},
		{"chart style line\n", "line 2: a chart before the version", ""},
		{"version 1\nplot metric a\n", "line 3: a plot before the first chart", ""},
		{"version 1\nchart style round\n", `line 3: "round" is not a style`, ""},
		{"version 1\nchart scale 0 x\n", `line 3: "x" is not a number`, ""},
		{"version 1\nchart\nplot legend x\n", "line 4: a plot without a metric", ""},
		{"version 1\nchart title\n", "line 3: the title is missing", ""},
		{"version 1\nchart\nplot metric a matching\n", "line 4: the matching is missing", ""},
		{"version 1\nchart colour x\n", `line 3: "colour" is unknown in a chart`, ""},
		{"version 1\nfoo\n", `line 3: "foo" is unknown`, ""},
		{"version 1\n", "no chart", ""},
	} {
		path := view(c.text)
		for _, k := range []struct {
			want string
			args []string
		}{
			{c.want, []string{"-C", "-c", path}},
			{c.want + c.deep, []string{"-CC", "-c", path, "-h", "unix:" + socket}},
		} {
			n, out, errs := call(t, map[string]string{"HOME": home}, k.args...)
			if (n == 0) != (k.want == "") || !strings.Contains(errs, k.want) || out != "" {
				t.Errorf("%v, %q: %d %s%s, want %q", k.args, c.text, n, out, errs, k.want)
			}
		}
	}
}

// TestErrors compares error messages.
func TestErrors(t *testing.T) {
	home := t.TempDir()
	text := filepath.Join(home, "text")
	hosts := filepath.Join(home, "hosts")
	for path, b := range map[string]string{text: "no view", hosts: "# ours\nwww\n"} {
		if err := os.WriteFile(path, []byte(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{`"a b" is not a metric`, []string{"a b"}},
		{`"a[x" is not a metric`, []string{"a[x"}},
		{`"1" is not a metric`, []string{"1"}},
		{`"" is not a metric`, []string{""}},
		{"a view and metrics cannot be shown at once", []string{"-c", text, "a"}},
		{"-S and -T need an archive", []string{"-S", "@10:00", "a"}},
		{`-Z needs the name of a zone that browsers know`, []string{"-Z", "EST5EDT4,M3", "a"}},
		{`--port needs the number of a port, not "x"`, []string{"--port", "x"}},
		{"the first line is not #kmchart", []string{"-c", text}},
		{"there is no such view", []string{"-c", "none"}},
		{"not a file", []string{"-c", home}},
		{"no collector answers", []string{"-h", "unix:" + home + "/none"}},
		{"none", []string{"-a", filepath.Join(home, "none")}},
		{`-o makes files with the extensions png, jpg, jpeg, gif and pdf, not "x.tiff"`, []string{"-o", "x.tiff", "a"}},
		{"-g and -W are for the picture that -o makes", []string{"--white", "a"}},
		{"-g and -W are for the picture that -o makes", []string{"-g", "800x600", "a"}},
		{`-g needs a size such as 800x600, from 100 to 8192, not "10x10"`, []string{"-g", "10x10"}},
		{"-o makes a picture, and serves no page at a port", []string{"-o", "x", "--port", "0", "a"}},
		{"too many hosts requested: b", []string{"-h", "a", "-h", "b", "c"}},
		{"-s is for live values", []string{"-s", "30", "-a", "x"}},
		{`-s needs a number of samples, from 2 to 100000, not "1"`, []string{"-s", "1"}},
		{"-v 40 is more than the 30 samples of -s", []string{"-v", "40", "-s", "30"}},
		{"-p (--guiport) of pmchart is not supported: it names the port of a pmtime", []string{"-p", "3"}},
		{"-geometry of pmchart is not supported: the browser places its windows", []string{"-geometry", "800x600"}},
		{`-f needs the name of a font, not "x;y"`, []string{"-f", "x;y"}},
		{`-F needs a size from 6 to 24 points, not "80"`, []string{"-F", "80"}},
		{"-H: stat " + home + "/none: no such file", []string{"-H", home + "/none"}},
		{`/text, line 1: "no view" is not a host`, []string{"-H", text}},
		{"-H is for collectors", []string{"-H", hosts, "-L"}},
		{"-C checks a view; name it with -c", []string{"-C", "a"}},
		{`-v needs a number of samples, 2 or more, not "1"`, []string{"-v", "1", "a"}},
		{"-v 5: 5 seconds; a page shows from 10 seconds to 366 days", []string{"-v", "5", "a"}},
		{"use of timezone from metric source requires a source", []string{"-z", "a"}},
	} {
		n, out, errs := call(t, map[string]string{"HOME": home}, append(c.args, "--no-open")...)
		if n != 1 || !strings.Contains(out+errs, c.want) {
			t.Errorf("%v: %d %s%s, want %q", c.args, n, out, errs, c.want)
		}
	}
}

// TestNoBrowser makes a picture where there is no browser.
func TestNoBrowser(t *testing.T) {
	socket := collector(t)
	dir := t.TempDir()
	status, out, errs := call(t, map[string]string{"HOME": dir, "PATH": dir}, "-h", "unix:"+socket, "-o", filepath.Join(dir, "x.png"), "test.a")
	if want := "neither is in $PATH, nor named by $BROWSER"; status != 1 || out != "" || !strings.Contains(errs, want) {
		t.Errorf("%d %q %q, want %q", status, out, errs, want)
	}
}

// TestSeveralViews shows two views at once.
func TestSeveralViews(t *testing.T) {
	socket := collector(t)
	dir := t.TempDir()
	views := []string{filepath.Join(dir, "one"), filepath.Join(dir, "two")}
	for i, path := range views {
		text := fmt.Sprintf("#kmchart\nversion 1\nchart title %d style plot\n\tplot metric test.a\n", i)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address, stop := start(t, map[string]string{"HOME": dir}, "-h", "unix:"+socket, "--no-open", "-c", views[0], "-c", views[1])
	defer stop()
	_, hash, _ := strings.Cut(address, "#/charts?")
	q, err := url.ParseQuery(hash)
	if err != nil || q.Get("name") != "one, two" || strings.Count(q.Get("view"), "chart title") != 2 {
		t.Errorf("%s: %v, %v", address, q, err)
	}
}
