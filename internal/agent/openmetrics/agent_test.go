package openmetrics_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/openmetrics"
	text "github.com/go-pcp/pcp/openmetrics"
	"github.com/go-pcp/pcp/pmda"
)

// A bench is an agent with a folder, and a host that calls it.
type bench struct {
	t     testing.TB
	dir   string
	state string
	log   *syncBuffer
	agent *openmetrics.Agent
	run   *pmda.Runner
}

type syncBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func newBench(t testing.TB, cfg openmetrics.Config, files ...string) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), state: t.TempDir(), log: new(syncBuffer)}
	for i := 0; i < len(files); i += 2 {
		b.write(files[i], files[i+1])
	}
	b.start(cfg)
	return b
}

func (b *bench) start(cfg openmetrics.Config) {
	b.t.Helper()
	cfg.Dirs, cfg.State, cfg.Log = []string{b.dir}, cmp.Or(cfg.State, b.state), slog.New(slog.NewTextHandler(b.log, nil))
	a, err := openmetrics.New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { a.Close() })
	b.agent, b.run = a, pmda.NewRunner(a, pmda.RunnerOptions{Name: "openmetrics"})
}

func (b *bench) write(name, content string) {
	b.t.Helper()
	mode := os.FileMode(0o644)
	if strings.HasPrefix(content, "#!") {
		mode = 0o755
	}
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	write(b.t, path, content, mode)
}

// text puts a text into a file and a source that reads it.
func (b *bench) text(source, content string) {
	b.t.Helper()
	path := filepath.Join(b.state, source+".txt")
	write(b.t, path, content, 0o644)
	if _, err := os.Stat(filepath.Join(b.dir, source+".url")); err != nil {
		b.write(source+".url", "file://"+path+"\n")
	}
}

// names returns the names below one, without openmetrics.
func (b *bench) names(below string) (names []string) {
	b.t.Helper()
	list, err := b.run.Children(context.Background(), &pmda.Client{}, strings.TrimSuffix("openmetrics."+below, "."), true)
	if err != nil && !errors.Is(err, pcp.ErrName) {
		b.t.Fatal(err)
	}
	for _, c := range list {
		names = append(names, strings.TrimPrefix(c.Name, "openmetrics."))
	}
	slices.Sort(names)
	return names
}

func (b *bench) id(name string) pcp.PMID {
	b.t.Helper()
	id, err := b.run.LookupName(context.Background(), &pmda.Client{}, "openmetrics."+name)
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", name, err, b.log)
	}
	return id
}

// fetch returns the values of metrics as text: "0=1 2=3.5", or why there are none.
func (b *bench) fetch(names ...string) []string {
	b.t.Helper()
	var ids []pcp.PMID
	for _, name := range names {
		ids = append(ids, b.id(name))
	}
	return b.fetchIDs(ids)
}

func (b *bench) fetchIDs(ids []pcp.PMID) (values []string) {
	b.t.Helper()
	var res pcp.Result
	if _, err := b.run.Fetch(context.Background(), &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: &res}); err != nil {
		b.t.Fatal(err)
	}
	for _, set := range res.Sets {
		var words []string
		if set.Err != 0 {
			words = append(words, set.Err.Error())
		}
		for _, v := range set.Values {
			text := string(v.AppendText(nil))
			if v.Type() == pcp.TypeDouble {
				text = fmt.Sprint(v.Double())
			}
			if v.Inst != pcp.InNull {
				text = fmt.Sprintf("%d=%s", v.Inst, text)
			}
			words = append(words, text)
		}
		values = append(values, strings.Join(words, " "))
	}
	return values
}

func (b *bench) want(name, want string) {
	b.t.Helper()
	if got := b.fetch(name)[0]; got != want {
		b.t.Errorf("%s = %q, want %q\n%s", name, got, want, b.log)
	}
}

const again = "Try again. Information not currently available"

func TestValues(t *testing.T) {
	b := newBench(t, openmetrics.Config{})
	b.text("a", `# HELP one it counts\nin two lines
# TYPE one counter
one 1
# PCP5 two 1.2.3 u32 PM_INDOM_NULL instant Kbyte
two 18446744073709551615 1395066363000
# PCP5 three 1.2.3 string PM_INDOM_NULL discrete none
three word
# PCP5 four 1.2.3 32 PM_INDOM_NULL discrete none
four 2147483648
# a comment
five{b="x y",a="1"} NaN
five{b="é\"\\",a="2"} -Inf
five{a="3"} 1e3 # {id="1"} 5 6
five 4
six:seven_seconds_total 1.5
# EOF
`)
	for name, want := range map[string]string{
		"a.one": "1", "a.two": "4294967295", "a.three": `"word"`, "a.four": "Invalid argument", "a.five": "0=NaN 1=-Inf 2=1000 3=4", "a.six.seven_seconds_total": "1.5",
	} {
		got := b.fetch(name)[0]
		if strings.Trim(got, `"`) != strings.Trim(want, `"`) {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	desc, err := b.run.Desc(context.Background(), &pmda.Client{}, b.id("a.six.seven_seconds_total"))
	if err != nil || desc.Sem != pcp.SemCounter || desc.Type != pcp.TypeDouble || desc.Units.String() != "sec" || desc.InDom != pcp.InDomNull {
		t.Errorf("desc = %+v, %v", desc, err)
	}
	for kind, want := range map[pcp.TextKind]string{pcp.TextOneLine: "it counts", pcp.TextHelp: "in two lines"} {
		if got, err := b.run.Text(context.Background(), &pmda.Client{}, uint32(b.id("a.one")), kind|pcp.TextPMID); got != want || err != nil {
			t.Errorf("text %v = %q, %v, want %q", kind, got, err, want)
		}
	}
	desc, _ = b.run.Desc(context.Background(), &pmda.Client{}, b.id("a.five"))
	list, err := b.run.Instances(context.Background(), &pmda.Client{}, desc.InDom, pcp.InNull, "")
	var names []string
	for _, in := range list {
		names = append(names, in.Name)
	}
	if want := []string{"0 a:1 b:x y", `1 a:2 b:é"\`, "2 a:3", "3 "}; err != nil || !slices.Equal(names, want) {
		t.Errorf("instances = %q, %v, want %q", names, err, want)
	}
	sets, err := b.run.Labels(context.Background(), &pmda.Client{}, uint32(desc.InDom), pcp.LabelInstances, nil)
	if want := `{"a":"2","b":"é\"\\","instname":"1 a:2 b:é\"\\"}`; err != nil || len(sets) != 4 || sets[1].JSON != want {
		t.Errorf("labels = %+v, %v, want %s", sets, err, want)
	}
}

func TestExtraUnits(t *testing.T) {
	b := newBench(t, openmetrics.Config{})
	b.text("a", `room_temperature_celsius{room="1"} 21.5
outside_fahrenheit 70
# TYPE psu_volts gauge
# UNIT psu_volts volts
psu_volts 12
# UNIT psu_load amperes
psu_load 3
other_load 4
# TYPE energy_watts counter
energy_watts_total 5
draw_milliwatts 6
change_per_celsius 7
watts_of_all 8
celsius_seconds 9
`)
	for name, want := range map[string]string{
		"room_temperature_celsius": "temperature (C)", "outside_fahrenheit": "temperature (F)", "psu_volts": "voltage (V)",
		"psu_load": "current (A)", "other_load": "", "energy_watts_total": "power (W)", "draw_milliwatts": "power (mW)",
		"change_per_celsius": "", "watts_of_all": "", "celsius_seconds": "sec",
	} {
		desc, err := b.run.Desc(context.Background(), &pmda.Client{}, b.id("a."+name))
		if err != nil || desc.Units.String() != want {
			t.Errorf("%s has the units %q (%v), want %q", name, desc.Units, err, want)
		}
	}
}

// TestChanges has series come, go and change their order, files come, change and go, and the agent
// start again: numbers stay.
func TestChanges(t *testing.T) {
	b := newBench(t, openmetrics.Config{})
	b.text("a", "m{x=\"1\"} 1\nm{x=\"2\"} 2\nn 3\n")
	b.want("a.m", "0=1 1=2")
	b.text("a", "n 30\nm{x=\"2\"} 20\nm{x=\"3\"} 40\nm{x=\"1\"} 10\n")
	b.want("a.m", "0=10 1=20 2=40")
	b.text("a", "m{x=\"3\"} 4\n")
	b.want("a.m", "2=4")
	b.want("a.n", again)
	m := b.id("a.m")
	b.text("a", "o 1\nbad{ 2\nn 3\n")
	b.want("a.n", again)
	b.want("a.o", "1")
	if n := strings.Count(b.log.String(), "line 2"); n != 1 {
		t.Errorf("the bad line is logged %d times, want 1:\n%s", n, b.log)
	}
	b.text("b.c", "p 1\n")
	b.write("d/e.url", "file://"+filepath.Join(b.state, "b.c.txt")+"\nFILTER: EXCLUDE METRIC q\n")
	if got, want := b.names("b"), []string{"b.c.p"}; !slices.Equal(got, want) {
		t.Errorf("names = %q, want %q", got, want)
	}
	if names, _ := b.agent.Changes(); !names {
		t.Error("Changes: the names have not changed")
	}
	if names, _ := b.agent.Changes(); names {
		t.Error("Changes: the names have changed twice")
	}
	b.want("d.e.p", "1")
	b.agent.Close()
	b.start(openmetrics.Config{})
	if got := b.id("a.o"); got.Item() != 2 || got.Cluster() != m.Cluster() {
		t.Errorf("after a restart a.o is %v", got)
	}
	b.text("a", "m{x=\"9\"} 1\nm{x=\"1\"} 2\n")
	b.want("a.o", again)
	b.want("a.m", "0=2 3=1")
	if b.id("a.m") != m {
		t.Errorf("a.m was %v, is %v", m, b.id("a.m"))
	}
	if err := os.Remove(filepath.Join(b.dir, "a.url")); err != nil {
		t.Fatal(err)
	}
	if got := b.names("a"); len(got) != 0 {
		t.Errorf("names of a file that has gone: %q", got)
	}
	if got := b.fetchIDs([]pcp.PMID{m})[0]; got != pcp.ErrPMID.Error() {
		t.Errorf("value of a file that has gone: %q", got)
	}
	b.text("a", "m{x=\"1\"} 7\n")
	b.want("a.m", "0=7")
	if b.id("a.m") != m {
		t.Errorf("a.m was %v, is %v", m, b.id("a.m"))
	}
}

func serve(t testing.TB, h http.HandlerFunc) string {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestReplies has servers send odd things.
func TestReplies(t *testing.T) {
	stop := make(chan struct{})
	pack := func(text []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(text)
		w.Close()
		return b.Bytes()
	}
	var elsewhere, seen http.Header
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		elsewhere = r.Header.Clone()
		io.WriteString(w, "m 5\n")
	})
	bomb := pack(bytes.Repeat([]byte("m 1\n"), 1<<20))
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			seen = r.Header.Clone()
			io.WriteString(w, "m 1\n")
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(pack([]byte("m 2\n")))
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb)
		case "/notgzip":
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "m 1\n")
		case "/silent":
			<-stop
		case "/endless":
			for {
				if _, err := io.WriteString(w, "m 1\n"); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				select {
				case <-time.After(time.Millisecond):
				case <-stop:
					return
				}
			}
		case "/huge":
			for range 1 << 12 {
				if _, err := w.Write(bytes.Repeat([]byte("m 1\n"), 1<<10)); err != nil {
					return
				}
			}
		case "/longline":
			w.Write(bytes.Repeat([]byte("m"), 2<<20))
		case "/garbage":
			w.Write(bytes.Repeat([]byte{0, 0xff, '{', '\n', '"'}, 1000))
		case "/html":
			io.WriteString(w, "<html>\n<p>m 1\n")
		case "/elsewhere":
			http.Redirect(w, r, other, http.StatusFound)
		case "/round":
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		case "/cut":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "m 1\n")
		default:
			http.Error(w, "m 1", http.StatusServiceUnavailable)
		}
	})
	t.Cleanup(func() { close(stop) })
	const secret = "s3cret"
	b := newBench(t, openmetrics.Config{Timeout: 5 * time.Second, Limits: text.Limits{Bytes: 1 << 20}})
	paths := strings.Fields("good gzip bomb notgzip silent endless huge longline garbage html elsewhere round cut missing")
	for _, p := range paths {
		b.write(p+".url", url+"/"+p+"\nHEADER: Authorization:  Bearer   "+secret+"\nHEADER: X-Token: "+secret+"\nHEADER: bad\n")
	}
	b.write("refused.url", "http://127.0.0.1:1/\n")
	b.names("")
	b.agent.Prepare(context.Background(), func() (ids []pcp.PMID) {
		for c := range len(paths) + 2 {
			ids = append(ids, pcp.NewPMID(openmetrics.Domain, c, 0))
		}
		return ids
	}())
	b.want("good.m", "1")
	b.want("gzip.m", "2")
	b.want("elsewhere.m", "5")
	status := strings.Fields(b.fetch("control.status_code")[0])
	if len(status) != len(paths)+2 {
		t.Errorf("status codes: %q", status)
	}
	id := b.id("control.status")
	indom := pcp.NewInDom(openmetrics.Domain, 0)
	for path, want := range map[string]string{
		"good": "success", "gzip": "success", "elsewhere": "success", "garbage": "success", "html": "success",
		"bomb": "more than 1048576 bytes", "huge": "more than 1048576 bytes", "longline": "more than 1048576 bytes", "silent": "no answer within 5s", "endless": "no answer within 5s",
		"notgzip": "gzip: ", "round": "redirects", "cut": "unexpected EOF", "missing": "503 Service Unavailable", "refused": "refused",
	} {
		inst, err := b.agent.LookupInstance(context.Background(), indom, path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		var res pcp.Result
		b.agent.Fetch(context.Background(), &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: []pcp.PMID{id}, Result: &res})
		for _, v := range res.Sets[0].Values {
			if got, _ := v.Text(); v.Inst == inst && !strings.Contains(got, want) {
				t.Errorf("status of %s = %q, want one with %q", path, got, want)
			}
		}
	}
	if seen.Get("Authorization") != "Bearer "+secret || seen.Get("X-Token") != secret {
		t.Errorf("headers sent: %v", seen)
	}
	if elsewhere.Get("Authorization") != "" || elsewhere.Get("X-Token") != "" {
		t.Errorf("headers sent to another host: %v", elsewhere)
	}
	b.run.Store(context.Background(), &pmda.Client{}, &pcp.Result{Sets: []pcp.ValueSet{{PMID: b.id("control.debug"), Values: []pcp.Value{pcp.Uint32Value(1)}}}})
	b.want("good.m", "1")
	b.want("control.debug", "1")
	if log := b.log.String(); strings.Contains(log, secret) || !strings.Contains(log, "control.debug is set") {
		t.Errorf("log:\n%s", log)
	}
}

// TestSlow has one of many clients ask for a source that hangs: the others get their values meanwhile.
func TestSlow(t *testing.T) {
	hangs, entered := make(chan struct{}), make(chan struct{}, 10)
	good := true
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" && !good {
			entered <- struct{}{}
			<-hangs
		}
		io.WriteString(w, "m 1\n")
	})
	b := newBench(t, openmetrics.Config{Timeout: time.Hour}, "slow.url", url+"/slow\n", "quick.url", url+"/quick\n")
	slow := []pcp.PMID{b.id("slow.m")}
	b.want("slow.m", "1")
	good = false
	ctx, cancel := context.WithCancel(context.Background())
	waits := make(chan struct{})
	go func() {
		b.run.Prepare(ctx, slow)
		close(waits)
	}()
	<-entered
	for range 10 {
		b.want("quick.m", "1")
		b.names("slow")
	}
	select {
	case <-waits:
		t.Error("the fetch of the slow source did not wait for it")
	default:
	}
	cancel()
	<-waits
	close(hangs)
}

// TestManySources reads 500 sources at once.
func TestManySources(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "m{path=%q} 7\n", r.URL.Path) })
	b := newBench(t, openmetrics.Config{Timeout: time.Minute, Wait: true, State: "-"}, func() (files []string) {
		for i := range 500 {
			files = append(files, fmt.Sprintf("s%d.url", i), fmt.Sprintf("%s/%d\n", url, i))
		}
		return files
	}()...)
	names := slices.DeleteFunc(b.names(""), func(s string) bool { return strings.HasPrefix(s, "control.") })
	if len(names) != 500 {
		t.Fatalf("%d names, want 500", len(names))
	}
	for i, got := range b.fetch(names...) {
		if got != "0=7" {
			t.Errorf("%s = %s", names[i], got)
		}
	}
	if got := b.fetch("control.calls")[0]; !strings.HasPrefix(got, "0=1000 1=2 ") {
		t.Errorf("calls = %.40s", got)
	}
}

func TestScripts(t *testing.T) {
	b := newBench(t, openmetrics.Config{Timeout: time.Second},
		"good.sh", "#!/bin/sh\necho 'm{a=\"1\"} 5'\necho to the log >&2\n",
		"fails", "#!/bin/sh\necho m 1\nexit 3\n",
		"hangs", "#!/bin/sh\necho m 1\nsleep 1000 & wait\n",
		"open", "#!/bin/sh\necho m 1\n",
	)
	if err := os.Chmod(filepath.Join(b.dir, "open"), 0o777); err != nil {
		t.Fatal(err)
	}
	b.want("good.m", "0=5")
	if got := b.names("fails"); len(got) > 0 {
		t.Errorf("names of a script that fails: %q", got)
	}
	if got := b.names("open"); len(got) > 0 {
		t.Errorf("names of a script that others may write to: %q", got)
	}
	b.agent.Prepare(context.Background(), []pcp.PMID{pcp.NewPMID(openmetrics.Domain, 3, 0), pcp.NewPMID(openmetrics.Domain, 4, 0)})
	for _, want := range []string{"to the log", "exit status 3", "other users may write to it", "still running after 2s"} {
		if !strings.Contains(b.log.String(), want) {
			t.Errorf("the log does not have %q:\n%s", want, b.log)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	b.write("whoami", "#!/bin/sh\necho \"m $(id -u)\"\n")
	path := filepath.Join(b.dir, "whoami")
	for dir := b.dir; dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o005 != 0o005 {
			os.Chmod(dir, info.Mode().Perm()|0o055)
		}
	}
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	b.want("whoami.m", "65534")
}

func TestURLFiles(t *testing.T) {
	b := newBench(t, openmetrics.Config{})
	b.text("a", "m1{x=\"1\",y=\"2\",z=\"3\"} 1\nm2{z=\"3\"} 2\nn 3\n")
	path := filepath.Join(b.state, "a.txt")
	b.write("a.url", "file://"+path+`
# a comment

FILTER: INCLUDE METRIC m|k
FILTER: EXCLUDE METRIC .*
FILTER: OPTIONAL LABEL y
FILTER: EXCLUDE LABEL z
METADATA: m1 u32 things counter Mbyte / sec
FILTER: NONSENSE
OTHER: x
FILTER: INCLUDE METRIC (
`)
	if got, want := b.names("a"), []string{"a.m1", "a.m2"}; !slices.Equal(got, want) {
		t.Errorf("names = %q, want %q\n%s", got, want, b.log)
	}
	b.want("a.m1", "0=1")
	b.want("a.m2", "2")
	desc, err := b.run.Desc(context.Background(), &pmda.Client{}, b.id("a.m1"))
	if err != nil || desc.Type != pcp.TypeU32 || desc.Sem != pcp.SemCounter || desc.Units.String() != "Mbyte / sec" {
		t.Errorf("desc = %+v, %v", desc, err)
	}
	sets, err := b.run.Labels(context.Background(), &pmda.Client{}, uint32(b.id("a.m1")), pcp.LabelItem, nil)
	if want := `{"x":"1","y":"2"}`; err != nil || len(sets) != 1 || sets[0].JSON != want {
		t.Errorf("labels = %+v, %v, want %s", sets, err, want)
	}
	for _, want := range []string{"line 9: FILTER:", "line 10: the keyword", `line 11: regular expression \"(\": missing`} {
		if !strings.Contains(b.log.String(), want) {
			t.Errorf("the log does not have %q:\n%s", want, b.log)
		}
	}
	b.write("bad.url", "ftp://x/\n")
	b.write("empty.url", "")
	b.write("control.url", "file:///x\n")
	b.write("1a.url", "file:///x\n")
	b.write("password.url", "http://me:s3cret@127.0.0.1:1/x\n")
	b.names("")
	if log := b.log.String(); strings.Contains(log, "s3cret") || !strings.Contains(log, "control is the name") || !strings.Contains(log, "1a.url") {
		t.Errorf("log:\n%s", log)
	}
	sets, _ = b.run.Labels(context.Background(), &pmda.Client{}, uint32(pcp.NewPMID(openmetrics.Domain, 4, 0)), pcp.LabelCluster, nil)
	if len(sets) != 1 || strings.Contains(sets[0].JSON, "s3cret") {
		t.Errorf("labels of a URL with a password: %+v", sets)
	}
}
