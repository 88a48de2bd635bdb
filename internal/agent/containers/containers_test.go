package containers

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/await"
)

const podUID = "0f3c9c1e-55f5-4b0e-9d5c-0d3f0e9a7b11"

// id returns the identifier of the nth container.
func id(n int) string { return fmt.Sprintf("%064x", n+0xabc0000) }

// A tree is the root directory of a host.
type tree struct {
	t   testing.TB
	dir string
}

func (tr tree) write(name, text string) {
	tr.t.Helper()
	path := filepath.Join(tr.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tr.t.Fatal(err)
	}
}

const containerdSpec = `{"ociVersion":"1.1.0","process":{"args":["/bin/x"]},"annotations":{
	"io.kubernetes.cri.container-name":"web","io.kubernetes.cri.container-type":"container",
	"io.kubernetes.cri.image-name":"registry.example/web:1.2","io.kubernetes.cri.sandbox-id":"s",
	"io.kubernetes.cri.sandbox-name":"web-5d4f","io.kubernetes.cri.sandbox-namespace":"shop"}}`

const crioSpec = `{"annotations":{"io.kubernetes.container.name":"db","io.kubernetes.cri-o.ContainerType":"container",
	"io.kubernetes.cri-o.ImageName":"registry.example/db:16","io.kubernetes.pod.name":"db-0","io.kubernetes.pod.namespace":"shop"}}`

func newTree(t testing.TB) tree {
	tr := tree{t, t.TempDir()}
	tr.write("run/containerd/io.containerd.runtime.v2.task/k8s.io/"+id(1)+"/config.json", containerdSpec)
	tr.write("run/containers/storage/overlay-containers/"+id(2)+"/userdata/config.json", crioSpec)
	tr.write("big/docker/containers/"+id(3)+"/config.v2.json", `{"Name":"/blog","Config":{"Image":"blog:3","Labels":{"a":"b"}}}`)
	if err := os.MkdirAll(filepath.Join(tr.dir, "var/lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/big/docker", filepath.Join(tr.dir, "var/lib/docker")); err != nil {
		t.Fatal(err)
	}
	tr.write("var/lib/containers/storage/overlay-containers/containers.json",
		`[{"id":"`+id(4)+`","names":["cron"],"metadata":"{\"image-name\":\"docker.io/library/cron:2\",\"name\":\"cron\"}"},{"id":"short"}]`)
	tr.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000:Ann:/home/ann:/bin/sh\n")
	tr.write("home/ann/.local/share/containers/storage/overlay-containers/containers.json",
		`[{"id":"`+id(5)+`","names":["mine"],"metadata":"not JSON"}]`)
	tr.write("var/log/containers/api-7_shop_api-"+id(6)+".log", "")
	tr.write("var/log/pods/shop_api-7_"+podUID+"/api/0.log", "")
	return tr
}

func TestLabels(t *testing.T) {
	tr := newTree(t)
	f := New(tr.dir, nil)
	pod := "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + strings.ReplaceAll(podUID, "-", "_") + ".slice"
	check := func(cgroup string, want Labels) {
		t.Helper()
		if got := f.Labels(cgroup); got != want {
			t.Errorf("%s: %+v, want %+v", cgroup, got, want)
		}
	}
	web := Labels{Container: "web", Image: "registry.example/web:1.2", Pod: "web-5d4f", PodUID: podUID, Namespace: "shop", Runtime: "containerd"}
	check(pod+"/cri-containerd-"+id(1)+".scope", web)
	check(pod+"/cri-containerd-"+id(1)+".scope/init.scope", web)
	check("/kubepods/burstable/pod"+podUID+"/"+id(1), web)
	check(pod+"/crio-"+id(2)+".scope", Labels{Container: "db", Image: "registry.example/db:16", Pod: "db-0", PodUID: podUID, Namespace: "shop", Runtime: "cri-o"})
	check(pod+"/crio-conmon-"+id(2)+".scope", Labels{Pod: "api-7", PodUID: podUID, Namespace: "shop"})
	check("/system.slice/docker-"+id(3)+".scope", Labels{Container: "blog", Image: "blog:3", Runtime: "docker"})
	check("/docker/"+id(3), Labels{Container: "blog", Image: "blog:3", Runtime: "docker"})
	check("/machine.slice/libpod-"+id(4)+".scope/container", Labels{Container: "cron", Image: "docker.io/library/cron:2", Runtime: "podman"})
	check("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-"+id(5)+".scope", Labels{Container: "mine", Runtime: "podman"})
	check(pod+"/cri-containerd-"+id(6)+".scope", Labels{Container: "api", Pod: "api-7", PodUID: podUID, Namespace: "shop", Runtime: "containerd"})
	check(pod+"/cri-containerd-"+id(8)+".scope", Labels{Container: id(8)[:12], Pod: "api-7", PodUID: podUID, Namespace: "shop", Runtime: "containerd"})
	check(pod, Labels{Pod: "api-7", PodUID: podUID, Namespace: "shop"})
	check("/machine.slice/libpod-"+id(7)+".scope", Labels{})
	check("/machine.slice/libpod-conmon-"+id(4)+".scope", Labels{})
	check("/system.slice/cron.service", Labels{})
	check("/", Labels{})
	check("", Labels{})
}

// TestLater has a container whose files come after its control group.
func TestLater(t *testing.T) {
	tr := tree{t, t.TempDir()}
	f := New(tr.dir, nil)
	now := time.Now()
	f.now = func() time.Time { return now }
	group := "/system.slice/docker-" + id(1) + ".scope"
	if got := f.Labels(group); got != (Labels{}) {
		t.Fatalf("%+v", got)
	}
	tr.write("var/lib/docker/containers/"+id(1)+"/config.v2.json", `{"Name":"/late"}`)
	reads := f.reads
	if got := f.Labels(group); got.Container == "late" || f.reads != reads {
		t.Errorf("%+v, read at once", got)
	}
	now = now.Add(again)
	if got := f.Labels(group); got.Container != "late" {
		t.Errorf("%+v, want the container late", got)
	}
	reads = f.reads
	now = now.Add(time.Hour)
	if got := f.Labels(group); got.Container != "late" || f.reads != reads {
		t.Errorf("%+v, read again", got)
	}
}

// TestRuntimes has containers that only their runtime knows, and a container about which files and runtime differ.
func TestRuntimes(t *testing.T) {
	dir, err := os.MkdirTemp("", "rt") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	tr := tree{t, dir}
	tr.write("var/lib/docker/containers/"+id(2)+"/config.v2.json", `{"Name":"/old","Config":{"Image":"blog:3"}}`)
	tr.write("run/x", "")
	ln, err := net.Listen("unix", filepath.Join(dir, "run/docker.sock"))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `[{"Id":%q,"Names":["/blog"],"ImageID":"sha256:%s","Labels":{"tier":"back"}},{"Id":%q,"Names":["/new"]}]`, id(1), id(9), id(2))
	})}
	go s.Serve(ln)
	defer s.Close()
	f := New(dir, nil)
	defer f.Close()
	group := "/system.slice/docker-" + id(1) + ".scope"
	f.Saw("/system.slice/cron.service")
	f.Saw(group)
	await.Until(t, "labels of the runtime", func() bool { return f.Labels(group) != (Labels{}) })
	l := f.Labels(group)
	want := map[string]any{"container": "blog", "image_id": "sha256:" + id(9), "runtime": "docker", "container_label_tier": "back"}
	if d := cmp.Diff(want, l.Map(map[string]any{})); d != "" {
		t.Error(d)
	}
	if got, want := f.Labels("/docker/"+id(2)), (Labels{Container: "new", Image: "blog:3", Runtime: "docker"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestHostile has files that must not be read, or not trusted.
func TestHostile(t *testing.T) {
	tr := tree{t, t.TempDir()}
	dir := "var/lib/docker/containers/"
	tr.write(dir+id(1)+"/config.v2.json", `{"Name":"`+strings.Repeat("x", maxSpec)+`"}`)
	tr.write("secret", `{"Name":"/secret"}`)
	if err := os.MkdirAll(filepath.Join(tr.dir, dir+id(2)+"/config.v2.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	tr.write(dir+id(3)+"/config.v2.json", `{"Name":"/`+strings.Repeat("y", 300)+`","Config":{"Image":"a\nb"}}`)
	f := New(tr.dir, nil)
	for n := 1; n <= 2; n++ {
		if got := f.Labels("/docker/" + id(n)); got != (Labels{}) {
			t.Errorf("container %d: %.100v", n, got)
		}
	}
	l := f.Labels("/docker/" + id(3))
	if m := l.Map(map[string]any{"cgroup": "c"}); len(m) != 2 || m["runtime"] != "docker" {
		t.Errorf("labels are %.200v", m)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(containerdSpec))
	f.Add([]byte(crioSpec))
	f.Add([]byte(`{"Name":"/blog","Config":{"Image":"blog:3","Labels":{"io.kubernetes.pod.name":"p"}}}`))
	f.Add([]byte(`[{"id":"` + id(4) + `","names":["cron"],"metadata":"{\"pod-name\":\"p\"}"}]`))
	f.Add([]byte(strings.Repeat("[", 20000)))
	f.Add([]byte("api-7_shop_api-" + id(6) + ".log"))
	f.Add([]byte("/kubepods/burstable/pod" + podUID + "/" + id(1)))
	f.Add([]byte("shop_api-7_" + podUID))
	f.Fuzz(func(t *testing.T, b []byte) {
		check := func(l Labels) {
			for name, v := range l.Map(map[string]any{}) {
				if s := v.(string); s == "" || len(s) > maxValue || strings.ContainsAny(s, "\n\x00\x7f") {
					t.Errorf("label %s is %q", name, s)
				}
			}
		}
		if l, err := decodeSpec(b); err == nil {
			check(l)
		}
		if l, err := decodeDocker(b); err == nil {
			check(l)
		}
		list, _ := decodeStorage(b)
		for id, l := range list {
			if !isID(id) {
				t.Errorf("container %q", id)
			}
			check(l)
		}
		if id, l, ok := logLabels(string(b)); ok {
			if !isID(id) {
				t.Errorf("container %q", id)
			}
			check(l)
		}
		if uid, l, ok := podLabels(string(b)); ok {
			if !isUID(uid) {
				t.Errorf("pod %q", uid)
			}
			check(l)
		}
		if g, ok := parseGroup(string(b)); ok && g.id == "" && g.pod == "" || g.id != "" && !isID(g.id) {
			t.Errorf("%+v, %v", g, ok)
		}
	})
}

// BenchmarkLabels asks for the labels of 200 containers: cold when none is known yet.
func BenchmarkLabels(b *testing.B) {
	tr := tree{b, b.TempDir()}
	var groups []string
	for n := range 200 {
		tr.write("run/containerd/io.containerd.runtime.v2.task/k8s.io/"+id(n)+"/config.json", containerdSpec)
		groups = append(groups, "/kubepods/pod"+podUID+"/"+id(n))
	}
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f := New(tr.dir, nil)
			for _, g := range groups {
				f.Labels(g)
			}
		}
	})
	b.Run("warm", func(b *testing.B) {
		f := New(tr.dir, nil)
		b.ReportAllocs()
		for b.Loop() {
			for _, g := range groups {
				f.Labels(g)
			}
		}
	})
}
