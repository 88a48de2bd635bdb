package runtimes

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// id returns the identifier of the nth container.
func id(n int) string { return fmt.Sprintf("%064x", n+0xabc0000) }

// image is the digest of an image.
var image = "sha256:" + strings.Repeat("0f", 32)

// dockerAnswer has the fields that docker documents for GET /containers/json.
var dockerAnswer = `[{"Id":"` + id(1) + `","Names":["/web/db","/db"],"Image":"postgres:16","ImageID":"` + image + `","Command":"postgres",
"Created":1718000000,"Ports":[{"PrivatePort":5432,"Type":"tcp"}],"Labels":{"com.example.tier":"back","maintainer":"x"},"State":"running",
"Status":"Up 2 hours","HostConfig":{"NetworkMode":"default"},"NetworkSettings":{"Networks":{}},"Mounts":[]},
{"Id":"` + id(2) + `","Names":["/k8s_api_api-7_shop_0"],"Image":"api","ImageID":"api","State":"paused","Labels":{
"io.kubernetes.container.name":"api","io.kubernetes.pod.name":"api-7","io.kubernetes.pod.namespace":"shop","io.kubernetes.pod.uid":"u-1"}},
{"Id":"short"}]`

// podmanAnswer has the fields that podman documents for GET /libpod/containers/json.
var podmanAnswer = `[{"AutoRemove":false,"Command":["sleep","1d"],"Created":"2024-06-10T08:00:00Z","CreatedAt":"","Exited":false,"ExitCode":0,
"Id":"` + id(3) + `","Image":"docker.io/library/cron:2","ImageID":"` + image[len("sha256:"):] + `","IsInfra":false,"Labels":null,"Mounts":[],
"Names":["cron"],"Namespaces":{},"Networks":[],"Pid":4711,"Pod":"p","PodName":"jobs","Ports":null,"Restarts":0,"Size":null,
"StartedAt":1718000000,"State":"running","Status":""}]`

var (
	fromDocker = []Container{
		{ID: id(1), Runtime: "docker", Name: "db", Image: "postgres:16", ImageID: image, State: Running, Labels: []Label{{"container_label_com_example_tier", "back"}}},
		{ID: id(2), Runtime: "docker", Name: "api", Image: "api", State: Paused, Pod: "api-7", PodUID: "u-1", Namespace: "shop"},
	}
	fromPodman = []Container{{ID: id(3), Runtime: "podman", Name: "cron", Image: "docker.io/library/cron:2", ImageID: image, State: Running, PID: 4711, Pod: "jobs"}}
	fromCRI    = []Container{
		{ID: id(10), Runtime: "containerd", State: Running, Pod: "web-5d4f", PodUID: "u-2", Namespace: "shop", Labels: []Label{{"pod_label_app", "web"}}},
		{
			ID: id(11), Runtime: "containerd", Name: "web", Image: "registry.example/web:1.2", ImageID: image, State: Running,
			Pod: "web-5d4f", PodUID: "u-2", Namespace: "shop", Labels: []Label{{"container_label_x_y", "1"}, {"pod_label_app", "web"}},
		},
	}
)

// field appends a field of bytes to a message of protocol buffers.
func field(b []byte, number int, text string) []byte {
	b = binary.AppendUvarint(b, uint64(number)<<3|2)
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

func entry(key, value string) string { return string(field(field(nil, 1, key), 2, value)) }

// podMessage is an answer to ListPodSandbox, with the numbers of fields of the Container Runtime Interface.
func podMessage() []byte {
	meta := field(field(field(nil, 1, "web-5d4f"), 2, "u-2"), 3, "shop")
	pod := field(field(nil, 1, id(10)), 2, string(meta))
	pod = append(pod, 4<<3, 0x80, 1) // when it was created
	pod = field(field(pod, 5, entry("app", "web")), 5, entry("io.kubernetes.pod.name", "web-5d4f"))
	return field(nil, 1, string(pod))
}

// containerMessage is an answer to ListContainers.
func containerMessage(n, sandbox int) []byte {
	spec := field(field(nil, 1, image), 18, "registry.example/web:1.2")
	c := field(field(nil, 1, id(n)), 2, id(sandbox))
	c = field(field(c, 3, string(field(nil, 1, "web"))), 4, string(spec))
	c = append(field(c, 5, "registry.example/web@"+image), 6<<3, 1)
	return field(nil, 1, string(field(c, 8, entry("x.y", "1"))))
}

// A host is a root directory with sockets.
type host struct {
	t   testing.TB
	dir string
}

func newHost(t testing.TB) host {
	dir, err := os.MkdirTemp("", "rt") // shorter than those of tests
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return host{t, dir}
}

func (h host) listen(name string) net.Listener {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		h.t.Fatal(err)
	}
	return ln
}

// serve serves HTTP on a socket, with HTTP/2 if a runtime has that.
func (h host) serve(name string, handler http.HandlerFunc) {
	h.t.Helper()
	s := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	ln := h.listen(name)
	go s.Serve(ln)
	h.t.Cleanup(func() { s.Close() })
}

// text answers one path.
func text(path, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.RequestURI() != path {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, body)
	}
}

// rpc answers calls of the Container Runtime Interface with messages.
func rpc(service string, pods, containers []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		request, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/grpc")
		message := pods
		switch {
		case r.ProtoMajor != 2 || r.Method != http.MethodPost || !bytes.Equal(request, make([]byte, frameHeader)):
			w.Header().Set("Grpc-Status", "3")
			return
		case r.URL.Path == service+"ListContainers":
			message = containers
		case r.URL.Path != service+"ListPodSandbox":
			w.Header().Set("Grpc-Status", "12")
			return
		}
		w.Header().Set("Trailer", "Grpc-Status")
		w.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))))
		w.Write(message)
		w.Header().Set("Grpc-Status", "0")
	}
}

// ask makes one round of requests.
func (h host) ask() (*Asker, string) {
	var log bytes.Buffer
	a := New(Config{Root: h.dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	h.t.Cleanup(func() { a.Close() })
	a.timeout = time.Minute // for a busy machine
	a.round()
	return a, log.String()
}

func values(list []*Container) (all []Container) {
	for _, c := range list {
		all = append(all, *c)
	}
	return all
}

// TestRuntimes asks a server for each interface.
func TestRuntimes(t *testing.T) {
	for _, tt := range []struct {
		name, socket string
		handler      http.HandlerFunc
		want         []Container
	}{
		{"docker", "run/docker.sock", text("/containers/json?all=1", dockerAnswer), fromDocker},
		{"podman", "run/podman/podman.sock", text("/v4.0.0/libpod/containers/json?all=true", podmanAnswer), fromPodman},
		{"podman before 4", "run/podman/podman.sock", text("/containers/json?all=1", strings.NewReplacer(`"Pid"`, `"x"`, `"PodName"`, `"y"`).Replace(podmanAnswer)), func() []Container {
			c := fromPodman[0]
			c.PID, c.Pod = 0, "" // that interface has neither
			return []Container{c}
		}()},
		{"containerd", "run/containerd/containerd.sock", rpc("/runtime.v1.RuntimeService/", podMessage(), containerMessage(11, 10)), fromCRI},
		{"containerd of old", "run/k3s/containerd/containerd.sock", rpc("/runtime.v1alpha2.RuntimeService/", podMessage(), containerMessage(11, 10)), fromCRI},
		{"no containers", "run/docker.sock", text("/containers/json?all=1", "[]"), nil},
		{"null", "run/docker.sock", text("/containers/json?all=1", "null"), nil},
		{"no pods", "run/containerd/containerd.sock", rpc("/runtime.v1.RuntimeService/", nil, nil), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t)
			h.serve(tt.socket, tt.handler)
			a, log := h.ask()
			if d := cmp.Diff(tt.want, values(a.All())); d != "" || log != "" {
				t.Errorf("%s%s", d, log)
			}
			for _, c := range tt.want {
				if got, ok := a.Find(c.ID, "1000"); !ok || got.Name != c.Name {
					t.Errorf("container %s is not found", c.ID)
				}
			}
			if _, ok := a.Pod("u-2"); ok != (tt.want != nil && tt.want[0].PodUID == "u-2") {
				t.Errorf("pod found: %v", ok)
			}
		})
	}
}

// TestUsers has sockets of users: a user must listen, and the containers are only for control groups of the user.
func TestUsers(t *testing.T) {
	h := newHost(t)
	uid := strconv.Itoa(os.Getuid())
	handler := text("/v4.0.0/libpod/containers/json?all=true", podmanAnswer)
	h.serve("run/user/"+uid+"/podman/podman.sock", handler)
	h.serve("run/user/4242/podman/podman.sock", handler)
	h.serve("run/user/notes/podman/podman.sock", handler)
	a, log := h.ask()
	find := func(uid string) bool { _, ok := a.Find(id(3), uid); return ok }
	if !find(uid) || find("") || find("4242") || len(a.All()) != 0 {
		t.Errorf("found: %v for the user, %v for the system, %v for another", find(uid), find(""), find("4242"))
	}
	if strings.Count(log, "\n") != 1 || !strings.Contains(log, "/run/user/4242/podman/podman.sock") || !strings.Contains(log, "listens") {
		t.Errorf("log is %q", log)
	}
}

// TestLinks has the socket of docker as a link to that of podman: it is asked once, as podman.
func TestLinks(t *testing.T) {
	h := newHost(t)
	h.serve("run/podman/podman.sock", text("/v4.0.0/libpod/containers/json?all=true", podmanAnswer))
	if err := os.Symlink("/run/podman/podman.sock", filepath.Join(h.dir, "run/docker.sock")); err != nil {
		t.Fatal(err)
	}
	a, log := h.ask()
	if d := cmp.Diff(fromPodman, values(a.All())); d != "" || log != "" {
		t.Errorf("%s%s", d, log)
	}
}

// TestHostile has answers that must be refused, each with its reason in the log.
func TestHostile(t *testing.T) {
	endless := func(start, part string) http.HandlerFunc {
		part = strings.Repeat(part, 1000)
		return func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.WriteString(w, start)
			for err == nil {
				_, err = io.WriteString(w, part)
			}
		}
	}
	const docker, containerd = "run/docker.sock", "run/containerd/containerd.sock"
	for _, tt := range []struct {
		name, socket string
		handler      http.HandlerFunc
		want         string
	}{
		{"endless text", docker, endless(`[{"Id":"`, "x"), "more than"},
		{"too many, and no identifiers", docker, endless(`[`, `{"Id":"x"},`), "more than 16384 containers"},
		{"too many", docker, endless(`[`, `{"Id":"`+id(1)+`"},`), "more than 16384 containers"},
		{"deep", docker, endless(``, "["), "depth"},
		{"deep in a field", docker, endless(`[{"Labels":`, `{"a":`), "depth"},
		{"wrong types", docker, text("/containers/json?all=1", `[{"Id":7}]`), "cannot unmarshal"},
		{"no list", docker, text("/containers/json?all=1", `{"message":"x"}`), "not a list"},
		{"cut", docker, text("/containers/json?all=1", `[{"Id":"x"}`), "unexpected EOF"},
		{"status", docker, text("/other", ""), "404"},
		{"redirection", docker, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, "302"},
		{"large header", docker, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 2*maxHeader)) }, "header"},
		{"endless message", containerd, endless("\x00\xff\xff\xff\xff", "x"), "more than"},
		{"no message", containerd, text("/", ""), "404"},
		{"short message", containerd, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "\x00\x00\x00\x00\x09x") }, "9 bytes"},
		{"compressed", containerd, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "\x01\x00\x00\x00\x00") }, "compressed"},
		{"wrong message", containerd, rpc("/runtime.v1.RuntimeService/", []byte("\x0a\xff"), nil), "protocol buffers"},
		{"no service", containerd, rpc("/none/", nil, nil), "no Container Runtime Interface"},
		{"denied", containerd, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Grpc-Status", "7") }, "permission denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t)
			h.serve(tt.socket, tt.handler)
			a, log := h.ask()
			if len(a.All()) != 0 || strings.Count(log, "\n") != 1 || !strings.Contains(log, tt.want) {
				t.Errorf("%d containers, log is %.300q, want %q", len(a.All()), log, tt.want)
			}
			a.round() // is not due
			if s := a.sockets["/"+tt.socket]; s.wait != firstWait {
				t.Errorf("it waits %v", s.wait)
			}
		})
	}
}

// TestDead has a socket without a listener, and a socket that never answers: the caller does not wait, other sockets
// are asked, and Close ends the request.
func TestDead(t *testing.T) {
	h := newHost(t)
	ln := h.listen("run/podman/podman.sock")
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	ln.Close()
	silent := h.listen("run/crio/crio.sock")
	defer silent.Close()
	answered := make(chan struct{})
	var once sync.Once
	h.serve("run/docker.sock", func(w http.ResponseWriter, r *http.Request) {
		text("/containers/json?all=1", dockerAnswer)(w, r)
		once.Do(func() { close(answered) })
	})
	var log bytes.Buffer
	a := New(Config{Root: h.dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	a.Ask()
	<-answered
	if _, ok := a.Find(id(1), ""); ok {
		t.Error("found before the round has ended")
	}
	a.Close()
	a.Ask() // has no effect
	if s := a.sockets["/run/podman/podman.sock"]; s == nil || s.err == nil {
		t.Errorf("the dead socket is %+v", s)
	}
}

// TestBackoff has a runtime that fails, starts and ends.
func TestBackoff(t *testing.T) {
	h := newHost(t)
	var fail atomic.Bool
	fail.Store(true)
	h.serve("run/docker.sock", func(w http.ResponseWriter, r *http.Request) {
		if fail.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		text("/containers/json?all=1", dockerAnswer)(w, r)
	})
	var log bytes.Buffer
	a := New(Config{Root: h.dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	defer a.Close()
	a.round()
	s := a.sockets["/run/docker.sock"]
	for _, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
		if s.wait != want {
			t.Errorf("it waits %v, want %v", s.wait, want)
		}
		s.next = time.Time{}
		a.round()
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines in the log: %s", n, log.String())
	}
	fail.Store(false)
	s.next = time.Time{}
	a.round()
	if len(a.All()) != 2 || s.wait != 0 {
		t.Errorf("%d containers, it waits %v", len(a.All()), s.wait)
	}
	fail.Store(true)
	a.round()
	if len(a.All()) != 2 {
		t.Error("the last answer is lost")
	}
	if err := os.Remove(filepath.Join(h.dir, "run/docker.sock")); err != nil {
		t.Fatal(err)
	}
	a.round()
	if len(a.All()) != 0 {
		t.Error("a socket that has gone keeps its containers")
	}
}

// TestSlow has a runtime that does not answer.
func TestSlow(t *testing.T) {
	h := newHost(t)
	defer h.listen("run/docker.sock").Close()
	var log bytes.Buffer
	a := New(Config{Root: h.dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	defer a.Close()
	a.timeout = 10 * time.Millisecond
	a.round()
	if !strings.Contains(log.String(), "no answer within 10ms") {
		t.Errorf("log is %q", log.String())
	}
}

// TestDenied has a socket that the agent may not use: the log has the reason once.
func TestDenied(t *testing.T) {
	var log bytes.Buffer
	a := New(Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	err := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)}
	s := &socket{place: place{name: "/run/docker.sock"}, err: err}
	a.report(s)
	a.report(s)
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), `why="permission denied"`) {
		t.Errorf("log is %q", log.String())
	}
	if os.Getuid() == 0 {
		return
	}
	h := newHost(t)
	h.serve("run/docker.sock", text("/containers/json?all=1", dockerAnswer))
	if err := os.Chmod(filepath.Join(h.dir, "run/docker.sock"), 0); err != nil {
		t.Fatal(err)
	}
	if _, log := h.ask(); !strings.Contains(log, "permission denied") {
		t.Errorf("log is %q", log)
	}
}

// TestLabels has more labels than are kept.
func TestLabels(t *testing.T) {
	var c Container
	labels := map[string]string{"a.b": "1", "a-b": "2", "empty": "", "long": strings.Repeat("x", MaxLabelValue+1), "odd": "\n", "io.kubernetes.x": "y", strings.Repeat("n", 200): "z"}
	c.addLabels("container_label_", labels)
	if d := cmp.Diff([]Label{{"container_label_a_b", "1"}}, c.Labels); d != "" {
		t.Error(d)
	}
	clear(labels)
	for n := range 100 {
		labels[fmt.Sprintf("l%02d", n)] = "v"
	}
	c.addLabels("pod_label_", labels)
	if len(c.Labels) != MaxLabels || c.Labels[MaxLabels-1].Name != "pod_label_l14" {
		t.Errorf("labels are %v", c.Labels)
	}
}

func check(t *testing.T, list []Container) {
	for _, c := range list {
		if !isID(c.ID) || len(c.Labels) > MaxLabels || c.PID < 0 {
			t.Errorf("%+v", c)
		}
		for _, s := range []string{c.Name, c.Image, c.ImageID, c.Pod, c.PodUID, c.Namespace} {
			if len(s) > MaxValue || !isPrintable(s) {
				t.Errorf("text %q", s)
			}
		}
		for _, l := range c.Labels {
			if l.Value == "" || len(l.Value) > MaxLabelValue || !isPrintable(l.Value) || len(l.Name) > MaxLabelName || labelName(l.Name) != l.Name {
				t.Errorf("label %q", l)
			}
		}
	}
}

func FuzzDecodeJSON(f *testing.F) {
	f.Add([]byte(dockerAnswer))
	f.Add([]byte(podmanAnswer))
	f.Add([]byte("null"))
	f.Add([]byte(strings.Repeat("[", 20000)))
	f.Add([]byte(`[{"Id":"` + id(1) + `","Names":[""],"Labels":{"":"","a":"b"},"Pid":-1}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if list, err := decodeContainers(bytes.NewReader(b), "docker"); err == nil {
			check(t, list)
		}
	})
}

func FuzzDecodeCRI(f *testing.F) {
	f.Add(podMessage(), containerMessage(11, 10))
	f.Add([]byte{}, containerMessage(11, 9))
	f.Add([]byte("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), []byte("\x0a\x02\x08\x80"))
	f.Add([]byte("\x00"), []byte("\x0f"))
	f.Fuzz(func(t *testing.T, pods, containers []byte) {
		if list, err := decodeCRI(pods, containers, "containerd"); err == nil {
			check(t, list)
		}
		if b, err := readFrame(bytes.NewReader(pods)); err == nil && len(b) != len(pods)-frameHeader {
			t.Errorf("a message of %d bytes in %d", len(b), len(pods))
		}
	})
}

// BenchmarkRound asks for 200 containers.
func BenchmarkRound(b *testing.B) {
	var all, messages []byte
	for n := range 200 {
		all = fmt.Appendf(all, `,{"Id":%q,"Names":["/c%d"],"Image":"postgres:16","ImageID":%q,"State":"running","Labels":{"tier":"back"}}`, id(n), n, image)
		messages = append(messages, containerMessage(n, 1000)...)
	}
	all[0] = '['
	all = append(all, ']')
	for _, bb := range []struct {
		name, socket string
		handler      http.HandlerFunc
	}{
		{"docker", "run/docker.sock", text("/containers/json?all=1", string(all))},
		{"containerd", "run/containerd/containerd.sock", rpc("/runtime.v1.RuntimeService/", podMessage(), messages)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			h := newHost(b)
			h.serve(bb.socket, bb.handler)
			a := New(Config{Root: h.dir})
			defer a.Close()
			b.ReportAllocs()
			for b.Loop() {
				a.round()
			}
			if len(a.All()) < 200 {
				b.Fatal(len(a.All()))
			}
		})
	}
}
