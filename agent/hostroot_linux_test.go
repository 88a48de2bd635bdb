package agent_test

import (
	"encoding/binary"
	"errors"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/pmda"
)

// readsHost has for each agent whether it reads files of the host: "/proc" and others are directories in which it opens files
// on every Linux host. With a host root it opens no file outside of that.
var readsHost = map[string]string{
	"linux": "/proc", "proc": "/proc", "xfs": "/sys", "nfsclient": "/proc",
	"kvm":         "/sys", // the number of processors
	"jbd2":        "",     // only if there are journals
	"bonding":     "",     // only if there are bonds
	"dm":          "",     // only if there is a device mapper
	"smart":       "/sys", // the list of disks
	"amdgpu":      "",     // only if there are cards
	"drm":         "",     // only if there are cards
	"nvidia":      "",     // only if there is a driver
	"lmsensors":   "",     // only if there are sensors
	"denki":       "",     // only if there is RAPL
	"sockets":     "",     // control groups, only if a socket is in one
	"zfs":         "",     // only if there is the module
	"btrfs":       "",     // the same
	"cifs":        "",     // the same
	"infiniband":  "",     // only if there are adapters
	"resctrl":     "",     // only if it is mounted
	"perfevent":   "/sys", // the list of processors
	"postfix":     "",     // only if there is a server
	"mmv":         "",     // only if there is an installation
	"pmproxy":     "none: of this installation",
	"pmcd":        "none: about the collector",
	"openmetrics": "none: addresses of its configuration", "opentelemetry": "none: a listener", "statsd": "none: a listener", "trace": "none: a listener",
	"redis": "none: addresses of services", "nginx": "none: the same", "apache": "none: the same", "haproxy": "none: the same", "memcache": "none: the same",
	"postgresql": "none: the same", "mysql": "none: the same", "rabbitmq": "none: the same", "valkey": "none: the same", "chrony": "none: a program", "elasticsearch": "none: addresses of services",
	"pmimport": "", // only if there are import programs
	"sample":   "none: made up", "simple": "none: about itself", "trivial": "none: about itself", "txmon": "none: memory",
}

// TestHostRoot watches the mounted file systems of this machine while each agent is read as in a container, below another mount
// of the same file systems.
func TestHostRoot(t *testing.T) {
	if os.Getenv("PCP_TEST_HOST_ROOT") != "" {
		watchAgents(t, os.Getenv("PCP_TEST_HOST_ROOT"))
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can mount")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHostRoot$", "-test.v")
	devices, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range devices {
		names = append(names, d.Name)
	}
	cmd.Env = append(os.Environ(), "PCP_TEST_HOST_ROOT="+t.TempDir(), "PCP_TEST_HOST_NET="+strings.Join(names, " "))
	// It has a network and a name of its own.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS}
	out, err := cmd.CombinedOutput()
	if _, why, ok := strings.Cut(string(out), "SKIPPED: "); ok {
		t.Skip("SKIPPED: " + why)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func watchAgents(t *testing.T, root string) {
	if err := unix.Mount("/", root, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		t.Skipf("SKIPPED: cannot mount here: %v", err)
	}
	if err := unix.Mount("", root, "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(root, unix.MNT_DETACH)
	if err := unix.Sethostname([]byte("container-of-test")); err != nil {
		t.Fatal(err)
	}
	checkHost(t, root, strings.Fields(os.Getenv("PCP_TEST_HOST_NET")))
	w := newWatch(t, root)
	names := map[string]bool{}
	for _, b := range agent.Builtins() {
		names[b.Name] = true
		reads, ok := readsHost[b.Name]
		if !ok {
			t.Errorf("agent %s: the table of this test does not have it: does it read files of the host?", b.Name)
			continue
		}
		if strings.HasPrefix(reads, "none: ") {
			continue
		}
		outside := w.while(func() { readAll(t, b, root) })
		if len(outside) > 0 {
			t.Errorf("agent %s opens files outside of the root of the host: %.1000q", b.Name, outside)
		}
		if reads == "" {
			continue
		}
		// Otherwise it opens them where they are, which the watch sees.
		outside = w.while(func() { readAll(t, b, "") })
		if !slices.ContainsFunc(outside, func(path string) bool { return strings.HasPrefix(path, reads+"/") }) {
			t.Errorf("agent %s: without a root of the host it opens no file below %s, only %.1000q", b.Name, reads, outside)
		}
	}
	for name := range readsHost {
		if !names[name] {
			t.Errorf("there is no agent %s: take it from the table", name)
		}
	}
}

// checkHost checks that the agent linux reports the network and the name of the host, and not those of the container.
func checkHost(t *testing.T, root string, devices []string) {
	b, _ := agent.Named("linux")
	vars := map[string]string{"PCP_CONF": os.DevNull, hostroot.Setting: root}
	a, err := b.Open(builtin.Env{Config: config.New(func(name string) string { return vars[name] })})
	if err != nil {
		t.Fatal(err)
	}
	values := agenttest.Read(t, a.(agenttest.Agent))
	got := slices.Sorted(maps.Keys(values["network.interface.in.bytes"]))
	want := slices.Sorted(slices.Values(devices))
	if !slices.Equal(got, want) {
		t.Errorf("network interfaces are %q, want those of the host, %q", got, want)
	}
	addrs := values["network.interface.inet_addr"]
	if _, err := os.Stat(filepath.Join(root, "proc/1/ns/net")); err != nil {
		// Without the right to enter the network of the host there are none, and not those of the container.
		if len(addrs) != 0 {
			t.Errorf("addresses are %v", addrs)
		}
	} else if addrs["lo"] != `"127.0.0.1"` { // its own is down
		t.Errorf("addresses are %v, want those of the host", addrs)
	}
	if name, err := os.ReadFile("/etc/hostname"); err == nil {
		if got, want := values["kernel.uname.nodename"][""], strconv.Quote(strings.TrimSpace(string(name))); got != want {
			t.Errorf("the host is called %q, want %q", got, want)
		}
	}
	if len(values["filesys.capacity"]) == 0 || len(values["filesys.capacity"]) != len(values["filesys.mountdir"]) {
		t.Errorf("file systems have the sizes %v, and are mounted on %v", values["filesys.capacity"], values["filesys.mountdir"])
	}
}

// readAll fetches all metrics of an agent, and lists all instances.
func readAll(t *testing.T, b builtin.Spec, root string) {
	t.Helper()
	var args []string
	if b.Program.Args != "" {
		args = []string{"first"}
	}
	vars := map[string]string{"PCP_CONF": os.DevNull, hostroot.Setting: root}
	a, err := b.Open(builtin.Env{Args: args, Config: config.New(func(name string) string { return vars[name] })})
	if err != nil {
		t.Errorf("%s: %v", b.Name, err)
		return
	}
	names, ok := a.(pmda.NameSpacer)
	if !ok {
		t.Errorf("%s: it has no name space", b.Name)
		return
	}
	runner := pmda.NewRunner(a, pmda.RunnerOptions{})
	client := &pmda.Client{Attrs: map[pmda.AttrKey]string{pmda.AttrUserID: "0", pmda.AttrGroupID: "0"}}
	var ids []pcp.PMID
	indoms := map[pcp.InDom]bool{}
	for _, id := range names.NameSpace().All() {
		if desc, err := a.Desc(t.Context(), id); err == nil {
			ids = append(ids, id)
			indoms[desc.InDom] = true
		}
	}
	req := &pmda.FetchRequest{Client: client, PMIDs: ids, Result: new(pcp.Result)}
	if _, err := runner.Fetch(t.Context(), req); err != nil {
		t.Errorf("%s: %v", b.Name, err)
	}
	for _, indom := range slices.Sorted(maps.Keys(indoms)) {
		if indom == pcp.InDomNull {
			continue
		}
		if _, err := runner.Instances(t.Context(), client, indom, pcp.InNull, ""); err != nil && !errors.Is(err, pcp.ErrPermission) {
			t.Errorf("%s: instances of %v: %v", b.Name, indom, err)
		}
	}
}

// A watch sees the files that this process opens by the mounts that a container would have for itself.
type watch struct {
	t  *testing.T
	fd int
}

func newWatch(t *testing.T, root string) *watch {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_NONBLOCK|unix.FAN_CLOEXEC|unix.FAN_UNLIMITED_QUEUE, unix.O_RDONLY|unix.O_CLOEXEC)
	if err != nil {
		t.Skipf("SKIPPED: fanotify: %v", err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		dir := strings.Fields(line)[1]
		if strings.HasPrefix(dir, root) {
			continue
		}
		if err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD|unix.FAN_MARK_MOUNT, unix.FAN_OPEN|unix.FAN_ONDIR, unix.AT_FDCWD, dir); err != nil && dir == "/proc" {
			t.Skipf("SKIPPED: fanotify: %v", err)
		}
	}
	return &watch{t, fd}
}

// while returns the files about the host that this process opens while fn runs.
func (w *watch) while(fn func()) (paths []string) {
	w.read()
	fn()
	seen := map[string]bool{}
	for _, path := range w.read() {
		own := strings.HasPrefix(path, "/etc/pcp/") || strings.HasPrefix(path, "/var/lib/pcp/") || path == "/dev/null" // of this installation
		host := slices.ContainsFunc([]string{"/proc", "/sys", "/etc", "/run", "/var", "/dev"}, func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
		if host && !own && !seen[path] {
			seen[path] = true
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// read returns the paths of all pending events of this process.
func (w *watch) read() (paths []string) {
	const size = int(unsafe.Sizeof(unix.FanotifyEventMetadata{}))
	b := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.fd, b)
		if err == unix.EAGAIN || n == 0 {
			return paths
		}
		if err != nil {
			continue // the file of this event cannot be opened again, as that of a process that has ended
		}
		for e := b[:n]; len(e) >= size; {
			length, fd, pid := binary.NativeEndian.Uint32(e), int32(binary.NativeEndian.Uint32(e[16:])), int32(binary.NativeEndian.Uint32(e[20:]))
			if fd >= 0 {
				if path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(fd))); err == nil && int(pid) == os.Getpid() {
					paths = append(paths, filepath.Clean(path))
				}
				unix.Close(int(fd))
			}
			e = e[min(int(length), len(e)):]
		}
	}
}
