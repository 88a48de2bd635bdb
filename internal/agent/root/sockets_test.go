package root

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// hexID returns the identifier of the nth container.
func hexID(n int) string { return fmt.Sprintf("%064x", n+0xabc0000) }

// newHost returns the files of a host, below a directory whose name is short enough for sockets.
func newHost(t testing.TB) *tree {
	dir, err := os.MkdirTemp("", "host")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	tr := &tree{t: t, dir: dir}
	tr.write("sys/fs/cgroup/cgroup.controllers", "memory\n")
	return tr
}

// serve has a runtime answer at a socket, with what *body has.
func (tr *tree) serve(socket, path string, body *atomic.Pointer[string]) {
	tr.t.Helper()
	name := filepath.Join(tr.dir, socket)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	ln, err := net.Listen("unix", name)
	if err != nil {
		tr.t.Skipf("SKIPPED: %v", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.RequestURI() != path {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, *body.Load())
	})}
	go server.Serve(ln)
	tr.t.Cleanup(func() { server.Close() })
}

// process adds a process of a control group, whose number in its own name space is inner.
func (tr *tree) process(pid, inner int, group string) {
	tr.t.Helper()
	tr.write(fmt.Sprintf("proc/%d/cgroup", pid), "0::"+group+"\n")
	tr.write(fmt.Sprintf("proc/%d/status", pid), fmt.Sprintf("Name:\tx\nNSpid:\t%d\t%d\nNSpgid:\t1\n", pid, inner))
	path := filepath.Join(tr.dir, "sys/fs/cgroup", group, "cgroup.procs")
	old, _ := os.ReadFile(path)
	tr.write("sys/fs/cgroup"+group+"/cgroup.procs", fmt.Sprintf("%s%d\n", old, pid))
}

// hosted returns an agent whose host's root directory is the tree.
func (tr *tree) hosted() *Agent {
	tr.t.Helper()
	a, err := New(Config{HostRoot: tr.dir})
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.t.Cleanup(func() { a.Close() })
	return a
}

// answered waits until the runtimes were asked once more. A round that is under way does not count.
func (a *Agent) answered(t testing.TB) {
	t.Helper()
	asker := a.containers.sockets.asker
	before := asker.Rounds()
	await.Until(t, "the runtimes are asked", func() bool {
		asker.Ask()
		return asker.Rounds() >= before+2
	})
}

func body(s string) *atomic.Pointer[string] {
	p := new(atomic.Pointer[string])
	p.Store(&s)
	return p
}

// TestSockets has containers in files, at sockets and in both.
func TestSockets(t *testing.T) {
	tr := newHost(t)
	db, web, cron, files, gone := hexID(1), hexID(2), hexID(3), hexID(4), hexID(5)
	dockerBody := body(fmt.Sprintf(`[
		{"Id":%q,"Names":["/db"],"Image":"postgres:16","State":"running","Labels":{"com.example.tier":"back"}},
		{"Id":%q,"Names":["/k8s_nginx"],"Image":"nginx","State":"paused","Labels":{
			"io.kubernetes.container.name":"nginx","io.kubernetes.pod.name":"web-5d4f","io.kubernetes.pod.namespace":"shop","io.kubernetes.pod.uid":"u-1"}},
		{"Id":%q,"Names":["/other"],"Image":"busybox:2","State":"exited"},
		{"Id":%q,"Names":["/gone"],"Image":"x","State":"restarting"}]`, db, web, files, gone))
	tr.serve("run/docker.sock", "/containers/json?all=1", dockerBody)
	tr.serve("run/podman/podman.sock", "/v4.0.0/libpod/containers/json?all=true", body(fmt.Sprintf(
		`[{"Id":%q,"Names":["cron"],"Image":"cron:1","Pid":44,"State":"running"}]`, cron)))
	tr.process(31, 7, "/system.slice/docker-"+db+".scope")
	tr.process(32, 1, "/system.slice/docker-"+db+".scope")
	tr.process(41, 1, "/kubepods.slice/kubepods-burstable.slice/docker-"+web+".scope/init")
	tr.process(44, 1, "/machine.slice/libpod-"+cron+".scope/container")
	tr.process(43, 1, "/machine.slice/libpod-conmon-"+cron+".scope") // the monitor
	tr.process(66, 1, "/user.slice/docker-"+gone+".scope")           // made by a user
	// The files of docker take precedence, as they are what the C agent reads.
	tr.write("var/lib/docker/containers/"+files+"/config.v2.json", `{"State":{"Running":true,"Pid":51},"Name":"/named","Config":{"Image":"busybox:1"}}`)
	tr.process(51, 1, "/system.slice/docker-"+files+".scope")
	a := tr.hosted()
	a.answered(t)
	check := func(metric string, want map[string]string) {
		t.Helper()
		if d := cmp.Diff(want, values(t, a, metric)); d != "" {
			t.Errorf("%s (-want +got):\n%s", metric, d)
		}
	}
	check("containers.engine", map[string]string{db: "docker", web: "docker", cron: "podman", files: "docker", gone: "docker"})
	check("containers.name", map[string]string{db: "db", web: "nginx", cron: "cron", files: "named", gone: "gone"})
	check("containers.image", map[string]string{db: "postgres:16", web: "nginx", cron: "cron:1", files: "busybox:2", gone: "x"})
	check("containers.pid", map[string]string{db: "32", web: "41", cron: "44", files: "51"})
	check("containers.state.running", map[string]string{db: "1", web: "0", cron: "1", files: "1", gone: "0"})
	check("containers.state.paused", map[string]string{db: "0", web: "1", cron: "0", files: "0", gone: "0"})
	check("containers.state.restarting", map[string]string{db: "0", web: "0", cron: "0", files: "0", gone: "1"})
	check("containers.cgroup", map[string]string{
		db:   "/system.slice/docker-" + db + ".scope",
		web:  "/kubepods.slice/kubepods-burstable.slice/docker-" + web + ".scope",
		cron: "/machine.slice/libpod-" + cron + ".scope", files: "/system.slice/docker-" + files + ".scope",
	})
	sets, err := a.Labels(t.Context(), uint32(pcp.NewInDom(Domain, 0)), pcp.LabelInstances)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]map[string]any{}
	for i, set := range sets {
		m := map[string]any{}
		if err := json.Unmarshal([]byte(set.JSON), &m); err != nil {
			t.Fatal(err)
		}
		byName[a.insts[i].Name] = m
	}
	if d := cmp.Diff(map[string]map[string]any{
		db:    {"container": "db", "image": "postgres:16", "runtime": "docker", "container_label_com_example_tier": "back"},
		web:   {"container": "nginx", "image": "nginx", "pod": "web-5d4f", "pod_uid": "u-1", "namespace": "shop", "runtime": "docker"},
		cron:  {"container": "cron", "image": "cron:1", "runtime": "podman"},
		files: {"container": "other", "image": "busybox:2", "runtime": "docker"},
		gone:  {"container": "gone", "image": "x", "runtime": "docker"},
	}, byName); d != "" {
		t.Errorf("labels (-want +got):\n%s", d)
	}
	find := func(query, want string) {
		t.Helper()
		c, err := a.containers.find(t.Context(), query)
		if want == "" && !errors.Is(err, pcp.ErrNoContainer) || want != "" && (err != nil || c.id != want) {
			t.Errorf("%q finds %s, %v; want %s", query, c.id, err, want)
		}
	}
	find("db", db)
	find("nginx", web)
	find("web-5d4f/nginx", web)
	find("shop/web-5d4f/nginx", web)
	find("other/web-5d4f/nginx", "")
	find(cron, cron)
	find("named", files)
	find("other", "")

	// A process that ends is missed at once, and what the runtime lists no more with its next answer.
	if err := os.RemoveAll(filepath.Join(tr.dir, "proc/44")); err != nil {
		t.Fatal(err)
	}
	tr.write("sys/fs/cgroup/machine.slice/libpod-"+cron+".scope/container/cgroup.procs", "")
	tr.write("sys/fs/cgroup/system.slice/docker-"+db+".scope/cgroup.procs", "")
	tr.write("proc/32/cgroup", "0::/init.scope\n") // the number is that of another process now
	check("containers.pid", map[string]string{web: "41", files: "51"})
	check("containers.state.running", map[string]string{db: "0", web: "0", cron: "0", files: "1", gone: "0"})
	dockerBody.Store(new(string))
	*dockerBody.Load() = "[]"
	a.answered(t)
	check("containers.name", map[string]string{cron: "cron", files: "named"})
	check("containers.image", map[string]string{cron: "cron:1", files: "busybox:1"})
}

// TestHostileSockets has answers that must not be trusted.
func TestHostileSockets(t *testing.T) {
	tr := newHost(t)
	bad, odd, many := hexID(1), hexID(2), hexID(3)
	tr.serve("run/podman/podman.sock", "/v4.0.0/libpod/containers/json?all=true", body(fmt.Sprintf(
		`[{"Id":%q,"Names":["bad"],"Image":"a\nb","Pid":70,"State":"running"},
		{"Id":%q,"Names":["odd\u001b[2J"],"Image":%q,"Pid":-5,"State":"nonsense"},
		{"Id":%q,"Names":["many"],"Pid":99999999,"State":"running"},
		{"Id":"../../etc","Names":["x"]},{"Id":"","Names":["y"]}]`, bad, odd, strings.Repeat("i", 300), many)))
	tr.process(70, 1, "/system.slice/sshd.service") // which is in no container
	// Groups that a container makes below its own are not searched, nor a link.
	tr.process(80, 1, "/machine.slice/libpod-"+hexID(9)+".scope/libpod-"+many+".scope")
	if err := os.Symlink("machine.slice", filepath.Join(tr.dir, "sys/fs/cgroup/loop.slice")); err != nil {
		t.Fatal(err)
	}
	a := tr.hosted()
	a.answered(t)
	if d := cmp.Diff(map[string]string{bad: "bad", odd: "?", many: "many"}, values(t, a, "containers.name")); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
	for _, metric := range []string{"containers.pid", "containers.image"} {
		if got := values(t, a, metric); len(got) != 0 {
			t.Errorf("%s is %v", metric, got)
		}
	}
}

// TestSilentSocket has a runtime that takes requests and does not answer.
func TestSilentSocket(t *testing.T) {
	tr := newHost(t)
	name := filepath.Join(tr.dir, "run/docker.sock")
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", name)
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	defer ln.Close()
	asked := make(chan net.Conn, 1)
	go func() {
		if conn, err := ln.Accept(); err == nil {
			asked <- conn
		}
	}()
	tr.write("var/lib/docker/containers/"+hexID(1)+"/config.v2.json", `{"State":{"Running":true,"Pid":51},"Name":"/web"}`)
	a := tr.hosted()
	conn := <-asked // the request is under way
	defer conn.Close()
	if got := values(t, a, "containers.name"); got[hexID(1)] != "web" {
		t.Errorf("names are %v", got)
	}
	if n := a.containers.sockets.asker.Rounds(); n != 0 {
		t.Errorf("%d answers", n)
	}
	if err := a.Close(); err != nil { // which ends the request
		t.Error(err)
	}
}

// TestHostRoot finds all files below the root directory of the host, whose links are absolute.
func TestHostRoot(t *testing.T) {
	tr := newHost(t)
	id := hexID(1)
	tr.write("srv/docker/containers/"+id+"/config.v2.json", `{"State":{"Running":true,"Pid":51},"Name":"/web"}`)
	tr.write("var/lib/containers/storage/overlay-containers/containers.json",
		fmt.Sprintf(`[{"id":%q,"names":["pod"],"metadata":"{\"image-name\":\"img\"}"},{"id":%q,"names":["ended"]}]`, hexID(2), hexID(3)))
	tr.write("run/containers/storage/overlay-containers/"+hexID(2)+"/userdata/pidfile", "52\n")
	tr.write("run/containers/storage/overlay-containers/"+hexID(3)+"/userdata/pidfile", "53\n") // has ended
	tr.process(52, 1, "/machine.slice/libpod-"+hexID(2)+".scope")
	tr.write("var/lib/lxc/crate/config", "")
	tr.write("var/lib/lxc/halted/config", "")
	tr.process(54, 1, "/lxc.payload.crate/init.scope")
	for link, target := range map[string]string{"var/lib/docker": "/srv/docker", "var/run": "/run"} {
		if err := os.Symlink(target, filepath.Join(tr.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	a := tr.hosted()
	if d := cmp.Diff(map[string]string{id: "web", hexID(2): "pod", hexID(3): "ended", "crate": "crate", "halted": "halted"}, values(t, a, "containers.name")); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string]string{id: "51", hexID(2): "52", "crate": "54"}, values(t, a, "containers.pid")); d != "" {
		t.Errorf("processes (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string]string{hexID(2): "img"}, values(t, a, "containers.image")); d != "" {
		t.Errorf("images (-want +got):\n%s", d)
	}
	if a.containers.host.sharesNumbers() {
		t.Error("the processes of another host have our numbers")
	}
	if err := os.Symlink(fmt.Sprint(os.Getpid()), filepath.Join(tr.dir, "proc/self")); err != nil {
		t.Fatal(err)
	}
	if !a.containers.host.sharesNumbers() {
		t.Error("the processes of this host have other numbers")
	}
}

func FuzzProcessFiles(f *testing.F) {
	f.Add([]byte("0::/system.slice/docker-" + hexID(1) + ".scope\n"))
	f.Add([]byte("Name:\tx\nNSpid:\t31\t1\n"))
	f.Add([]byte("12:memory:/docker/" + hexID(1) + "/a/b\n1:name=systemd:\n"))
	f.Add([]byte("\nNSpid:"))
	f.Fuzz(func(t *testing.T, b []byte) {
		isFirst(b)
		if g := containerGroup(string(b)); !strings.HasPrefix(string(b), g) {
			t.Errorf("%q is the group of %q", g, b)
		}
	})
}
