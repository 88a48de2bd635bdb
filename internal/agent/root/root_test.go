package root

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// A tree is the files of engines.
type tree struct {
	t   testing.TB
	dir string
	log bytes.Buffer
}

func newTree(t testing.TB) *tree {
	tr := &tree{t: t, dir: t.TempDir()}
	for _, sub := range []string{"docker/containers", "lxc", "data", "run", "cgroup/memory", "cgroup/unified"} {
		if err := os.MkdirAll(filepath.Join(tr.dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

func (tr *tree) write(name, text string) {
	tr.t.Helper()
	path := filepath.Join(tr.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) config() Config {
	return Config{
		Docker: tr.dir + "/docker", LXC: tr.dir + "/lxc", LXCInfo: tr.dir + "/lxc-info",
		PodmanData: tr.dir + "/data", PodmanRun: tr.dir + "/run",
		CGroup: tr.dir + "/cgroup", CGroupCheck: tr.dir + "/none", Sockets: tr.dir,
		Log: slog.New(slog.NewTextHandler(&tr.log, nil)),
	}
}

func (tr *tree) agent() *Agent {
	tr.t.Helper()
	a, err := New(tr.config())
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.t.Cleanup(func() { a.Close() })
	return a
}

func (tr *tree) docker(id, name string, pid int) {
	tr.t.Helper()
	tr.write("docker/containers/"+id+"/config.v2.json", fmt.Sprintf(`{"State":{"Running":%v,"Pid":%d},"Name":%q}`, pid != 0, pid, name))
}

// values are the values of a metric by instance.
func values(t testing.TB, a *Agent, name string) map[string]string {
	t.Helper()
	id, err := a.NameSpace().Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Refresh(t.Context(), []pcp.PMID{id}); err != nil {
		t.Fatal(err)
	}
	req := &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
	if err := a.Fetch(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	insts, err := a.Instances(t.Context(), pcp.NewInDom(Domain, 0))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, v := range req.Result.Sets[0].Values {
		for _, in := range insts {
			if in.Inst == v.Inst {
				if v.Type() == pcp.TypeString {
					found[in.Name] = string(v.Bytes())
				} else {
					found[in.Name] = fmt.Sprint(v.Uint32())
				}
			}
		}
	}
	return found
}

func TestContainers(t *testing.T) {
	tr := newTree(t)
	tr.docker("d1", "/web", 77)
	tr.docker("d2", "", 0)
	tr.write("docker/containers/d3/config.v2.json", `{"State":{"Paused":true},"Name":"halted"}`)
	tr.write("docker/containers/d4/config.json", `{"State":{"Restarting":true,"Pid":0},"Name":"/old"}`)
	tr.write("docker/containers/d5/config.v2.json", `{"State":`)
	tr.write("docker/containers/d6/other", "")
	tr.write("data/containers.json", `[{"id":"p1","names":["a","pod"]},{"id":"p2"}]`)
	tr.write("run/p1/userdata/pidfile", fmt.Sprintf("%d\n", os.Getpid()))
	tr.write("lxc/crate/x", "")
	tr.write("lxc-info", "#!/bin/sh\n[ \"$1 $2\" = '-n crate' ] && printf 'Name: crate\\nState:   RUNNING\\nPID:  88\\nnonsense\\n'\n")
	tr.write("cgroup/memory/docker/d1/tasks", "")
	tr.write("cgroup/unified/machine.slice/libpod-p1.scope/x", "")
	a := tr.agent()
	check := func(metric string, want map[string]string) {
		t.Helper()
		if d := cmp.Diff(want, values(t, a, metric)); d != "" {
			t.Errorf("%s (-want +got):\n%s", metric, d)
		}
	}
	check("containers.engine", map[string]string{"d1": "docker", "d2": "docker", "d3": "docker", "d4": "docker", "p1": "podman", "p2": "podman", "crate": "lxc"})
	check("containers.name", map[string]string{"d1": "web", "d2": "?", "d3": "halted", "d4": "old", "p1": "pod", "p2": "?", "crate": "crate"})
	check("containers.pid", map[string]string{"d1": "77", "p1": fmt.Sprint(os.Getpid()), "crate": "88"})
	check("containers.state.running", map[string]string{"d1": "1", "d2": "0", "d3": "0", "d4": "0", "p1": "1", "p2": "0", "crate": "1"})
	check("containers.state.paused", map[string]string{"d1": "0", "d2": "0", "d3": "1", "d4": "0", "p1": "0", "p2": "0", "crate": "0"})
	check("containers.state.restarting", map[string]string{"d1": "0", "d2": "0", "d3": "0", "d4": "1", "p1": "0", "p2": "0", "crate": "0"})
	check("containers.cgroup", map[string]string{"d1": "/docker/d1", "p1": "/machine.slice/libpod-p1.scope", "crate": "/lxc/crate"})

	// Immediate changes are seen immediately.
	tr.docker("d1", "/web2", 78)
	tr.docker("d9", "/new", 79)
	if err := os.RemoveAll(filepath.Join(tr.dir, "docker/containers/d3")); err != nil {
		t.Fatal(err)
	}
	check("containers.pid", map[string]string{"d1": "78", "d9": "79", "p1": fmt.Sprint(os.Getpid()), "crate": "88"})
	if got := values(t, a, "containers.name"); got["d1"] != "web2" || got["d3"] != "" {
		t.Errorf("names are %v", got)
	}
}

// TestFind finds containers as clients do.
func TestFind(t *testing.T) {
	tr := newTree(t)
	tr.docker("deadbeef01", "/web", 1)
	tr.docker("dead00", "/deadbeef", 2)
	tr.docker("0123", "plain", 3)
	a := tr.agent()
	f := func(query string, want int) {
		t.Helper()
		c, err := a.containers.find(t.Context(), query)
		if want == 0 {
			if !errors.Is(err, pcp.ErrNoContainer) {
				t.Errorf("%q finds %+v, %v", query, c, err)
			}
			return
		}
		if err != nil || c.pid != want {
			t.Errorf("%q finds %+v, %v; want process %d", query, c, err, want)
		}
	}
	f("web", 1)
	f("/web", 1)
	f("deadbeef01", 1)
	f("deadbeef0", 1)
	f("deadbeef", 2) // a name takes precedence over the start of an id
	f("plain", 3)
	f("/plain", 0)
	f("01", 3)
	f("", 0)
	f("w", 0)
	f("db", 0) // the real agent returns deadbeef01
	f("deadbeef012", 0)
	f("../docker/containers/0123", 0)
	f("0123/../0123", 0)
	f(strings.Repeat("a", 1<<16), 0)
}

// TestHostileTree has names and files that must not be trusted.
func TestHostileTree(t *testing.T) {
	tr := newTree(t)
	secret := filepath.Join(tr.dir, "secret.json")
	tr.write("secret.json", `{"State":{"Running":true,"Pid":1},"Name":"/secret"}`)
	// An id with a path to another directory, an id that is an option of lxc-info, and
	// others.
	tr.write("data/containers.json", `[{"id":"../../etc","names":["x"]},{"id":"..","names":["y"]},{"id":"","names":["z"]},
		{"id":"a\u0000b","names":["n"]},{"id":"`+strings.Repeat("f", 5000)+`"},{"id":"ok","names":["fine"]}]`)
	tr.write("etc/userdata/pidfile", "1")
	tr.write("lxc/--help/x", "")
	tr.write("lxc/a b;c/x", "")
	tr.write("lxc-info", "#!/bin/sh\nprintf '%s\\n' \"$*\" >>"+tr.dir+"/calls\nyes | head -c 10000000\n")
	tr.write("lxc/good/x", "")
	if err := os.MkdirAll(filepath.Join(tr.dir, "docker/containers/link"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(tr.dir, "docker/containers/link/config.v2.json")); err != nil {
		t.Fatal(err)
	}
	tr.write("docker/containers/huge/config.v2.json", `{"Name":"`+strings.Repeat("x", maxStateFile)+`"}`)
	tr.write("docker/containers/negative/config.v2.json", `{"State":{"Running":true,"Pid":-1},"Name":"/negative"}`)
	tr.write("docker/containers/large/config.v2.json", `{"State":{"Running":true,"Pid":99999999999},"Name":"/large"}`)
	// A directory that contains itself.
	if err := os.Symlink(tr.dir+"/cgroup/memory", tr.dir+"/cgroup/memory/loop"); err != nil {
		t.Fatal(err)
	}
	a := tr.agent()
	want := map[string]string{"ok": "fine", "good": "good", "negative": "negative", "large": "large"}
	if d := cmp.Diff(want, values(t, a, "containers.name")); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
	if got := values(t, a, "containers.pid"); len(got) != 0 {
		t.Errorf("processes are %v", got)
	}
	calls, err := os.ReadFile(tr.dir + "/calls")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(calls)) {
		if line != "-n good\n" {
			t.Errorf("lxc-info was called with %q", line)
		}
	}
	if n := strings.Count(tr.log.String(), "container left out"); n < 5 || n > 20 {
		t.Errorf("told %d times:\n%s", n, &tr.log)
	}
}

// TestFIFO has a pipe in place of a file, on which a reader could wait.
func TestFIFO(t *testing.T) {
	tr := newTree(t)
	for _, path := range []string{"docker/containers/d1/config.v2.json", "data/containers.json"} {
		tr.write(path, "")
		if err := os.Remove(filepath.Join(tr.dir, path)); err != nil {
			t.Fatal(err)
		}
		if err := makePipe(filepath.Join(tr.dir, path)); err != nil {
			t.Skipf("SKIPPED: %v", err)
		}
	}
	if got := values(t, tr.agent(), "containers.name"); len(got) != 0 {
		t.Errorf("names are %v", got)
	}
}

func TestNothingThere(t *testing.T) {
	dir := t.TempDir() + "/none"
	a, err := New(Config{Docker: dir, LXC: dir, PodmanData: dir, PodmanRun: dir, CGroup: dir, CGroupCheck: dir, Sockets: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if got := values(t, a, "containers.name"); len(got) != 0 {
		t.Errorf("names are %v", got)
	}
	for item := range 7 {
		id := pcp.NewPMID(Domain, 0, item)
		for _, kind := range []pcp.TextKind{pcp.TextOneLine, pcp.TextHelp} {
			if text, err := a.Text(t.Context(), uint32(id), kind|pcp.TextPMID); err != nil || text == "" {
				t.Errorf("%v has no text: %v", id, err)
			}
		}
	}
	if _, err := readFile(dir, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func FuzzStateFiles(f *testing.F) {
	f.Add([]byte(`{"State":{"Running":true,"Paused":false,"Restarting":false,"Pid":17},"Name":"/web"}`))
	f.Add([]byte(`[{"id":"abc","names":["a","b"],"flags":{"x":[1]}},{"id":1}]`))
	f.Add([]byte("Name:  x\nState:          RUNNING\nPID:            17297\n"))
	f.Add([]byte("  17\n"))
	f.Add([]byte(`{"State":{"Pid":1e400}}`))
	f.Add([]byte(strings.Repeat("[", 20000)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, parse := range []func(*container) error{
			func(c *container) error { return c.parseDocker(b) },
			func(c *container) error { c.parseLXC(b); return nil },
			func(c *container) error {
				pid, ok := parsePID(b)
				if ok {
					c.pid = pid
				}
				return nil
			},
		} {
			c := &container{}
			if err := parse(c); err == nil && (c.pid > maxPID || c.pid < -1 || c.state < stopped || c.state > restarting) {
				t.Errorf("%+v", c)
			}
		}
		list, err := parsePodman(b)
		if err != nil {
			return
		}
		for _, e := range list {
			if validID(e.ID) && (strings.ContainsAny(e.ID, "/\x00 ") || e.ID[0] == '-' || e.ID[0] == '.') {
				t.Errorf("%q is taken", e.ID)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	tr := newTree(b)
	for i := range 100 {
		tr.docker(fmt.Sprintf("%064x", i), fmt.Sprintf("/name%d", i), 1)
	}
	a := tr.agent()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.containers.find(context.Background(), "name77"); err != nil {
			b.Fatal(err)
		}
	}
}
