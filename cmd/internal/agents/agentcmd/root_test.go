package agentcmd_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

const rootNames = `root {
	containers
}
containers {
	engine	1:0:0
	name	1:0:1
	pid	1:0:2
	state
	cgroup	1:0:6
}
containers.state {
	running		1:0:3
	paused		1:0:4
	restarting	1:0:5
}
`

const realRoot = "/var/lib/pcp/pmdas/root/pmdaroot"

// A box is a process in its own name spaces, like the first process of a container.
type box struct {
	pid  int
	name string // its host name
}

// newBox starts a box, with process number 1, its own file systems, and a network with
// some traffic.
func newBox(t testing.TB, name string) box {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can make name spaces")
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("SKIPPED: there is no unshare(1)")
	}
	// The last shell is process 1 of its own name space, and ends with its input, a
	// file that only this process has open.
	script := `hostname ` + name + ` && mount -t tmpfs -o size=8m boxfs /mnt && mount -t sysfs sysfs /sys &&
		{ ip link set lo up || ifconfig lo up || true; } 2>/dev/null; cat /proc/net/dev >/dev/null && echo ready && read x`
	cmd := exec.Command(unshare, "-n", "-u", "-m", "-p", "--fork", "--kill-child", "--mount-proc", "/bin/sh", "-c", script)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := oracle.StartWith(cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		io.Copy(io.Discard, out)
		await.Exit(t, cmd)
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Skipf("SKIPPED: no name spaces can be made here: %q, %v", line, err)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
	if err != nil {
		t.Skipf("SKIPPED: the kernel does not tell children: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatalf("children of unshare: %q", b)
	}
	return box{pid, name}
}

// An engineTree holds the files of container engines.
type engineTree struct{ dir string }

func newEngineTree(t testing.TB) engineTree {
	t.Helper()
	dir, err := os.MkdirTemp("", "engines")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, sub := range []string{"docker/containers", "lxc", "podman/data", "podman/run", "cgroup/memory/docker"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	e := engineTree{dir}
	e.write(t, "lxc-info", "#!/bin/sh\n# called as lxc-info -n NAME\ncat "+dir+"/lxc/$2/info 2>/dev/null\n")
	if err := os.Chmod(filepath.Join(dir, "lxc-info"), 0o755); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e engineTree) env() []string {
	return []string{
		"PCP_DOCKER_DIR=" + e.dir + "/docker", "PCP_LXC_DIR=" + e.dir + "/lxc", "PCP_LXC_INFO=" + e.dir + "/lxc-info",
		"PCP_PODMAN_DATADIR=" + e.dir + "/podman/data", "PCP_PODMAN_RUNDIR=" + e.dir + "/podman/run",
		"PCP_CONTAINER_SOCKETS_DIR=" + e.dir, "PCP_CGROUP_DIR=" + e.dir + "/cgroup", "PCP_CGROUP_CHECK_PATH=" + e.dir + "/cgroup/memory/docker",
	}
}

func (e engineTree) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(e.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (e engineTree) docker(t testing.TB, id, name string, pid int, state string) {
	t.Helper()
	is := func(s string) bool { return s == state }
	e.write(t, "docker/containers/"+id+"/config.v2.json", fmt.Sprintf(
		`{"StreamConfig":{},"State":{"Running":%v,"Paused":%v,"Restarting":%v,"OOMKilled":false,"Dead":false,"Pid":%d,"ExitCode":0,"Error":""},`+
			`"ID":%q,"Created":"2021-01-01T00:00:00Z","Path":"/bin/sh","Args":[],"Config":{"Hostname":"h","Env":["A=b"]},"Image":"sha256:1","Name":%q,"RestartCount":0}`,
		is("running"), is("paused"), is("restarting"), pid, id, name))
}

func (e engineTree) podman(t testing.TB, list string, pids map[string]int) {
	t.Helper()
	e.write(t, "podman/data/containers.json", list)
	for id, pid := range pids {
		e.write(t, "podman/run/"+id+"/userdata/pidfile", strconv.Itoa(pid))
	}
}

func hexID(c string) string { return strings.Repeat(c, 64/len(c)) }

// fill adds containers of all engines to the tree; b is the process of one container of
// each.
func (e engineTree) fill(t testing.TB, b box) {
	t.Helper()
	e.docker(t, hexID("a1"), "/web", b.pid, "running")
	e.docker(t, hexID("b2"), "/halted", 0, "paused")
	e.docker(t, hexID("c3"), "/again", 0, "restarting")
	e.docker(t, hexID("d4"), "noslash", 0, "")
	e.write(t, "docker/containers/"+hexID("e5")+"/config.json", fmt.Sprintf(`{"State":{"Running":true,"Pid":%d},"Name":"/old"}`, b.pid))
	e.podman(t, fmt.Sprintf(`[{"id":%q,"names":["first","pod"],"image":"x","layer":"y","metadata":"{\"a\":1}","created":"now","flags":{"a":{"names":["no"]}}},
		{"id":%q,"names":["asleep"],"image":"x"}]`, hexID("f6"), hexID("f7")), map[string]int{hexID("f6"): b.pid})
	e.write(t, "lxc/crate/info", fmt.Sprintf("Name:           crate\nState:          RUNNING\nPID:            %d\nCPU use:        0.94 seconds\n", b.pid))
	e.write(t, "lxc/empty/info", "Name:           empty\nState:          STOPPED\n")
	e.write(t, "cgroup/memory/docker/"+hexID("a1")+"/tasks", "")
	e.write(t, "cgroup/memory/machine.slice/libpod-"+hexID("f6")+".scope/tasks", "")
	e.write(t, "cgroup/memory/system.slice/docker-"+hexID("e5")+".scope/tasks", "")
}

// rootSide starts a real collector with a root agent, and additional lines of
// configuration.
func rootSide(t testing.TB, e engineTree, root string, more ...string) *oracle.PMCD {
	t.Helper()
	d := oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd"},
		Lines:  append([]string{"root 1 pipe binary " + root}, more...),
		PMNS:   rootNames,
		Env:    append(e.env(), "PCP_PMDAS_DIR=/var/lib/pcp/pmdas"),
	})
	return d
}

// TestOracleRoot checks that our pmdaroot and the real one report the same containers.
func TestOracleRoot(t *testing.T) {
	oracle.Require(t)
	b := newBox(t, "boxname")
	e := newEngineTree(t)
	e.fill(t, b)
	dir := links(t)
	real, ours := rootSide(t, e, realRoot), rootSide(t, e, dir+"/pmdaroot")
	compare := func(what string, args ...string) {
		t.Helper()
		want, got := real.Run(t, "pminfo", args...), ours.Run(t, "pminfo", args...)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: pminfo %s (-real +ours):\n%s", what, strings.Join(args, " "), d)
		}
		if what != "" && want.Exit != 0 {
			t.Errorf("%s: pminfo %s: %+v", what, strings.Join(args, " "), want)
		}
	}
	compare("all", "-dfmsI", "containers")
	compare("labels", "-l", "containers")
	out := ours.Run(t, "pminfo", "-f", "containers.cgroup", "containers.pid")
	for _, want := range []string{
		`"/docker/` + hexID("a1") + `"`, `"/system.slice/docker-` + hexID("e5") + `.scope"`,
		`"/machine.slice/libpod-` + hexID("f6") + `.scope"`, `"/lxc/crate"`, "value " + strconv.Itoa(b.pid),
	} {
		if !strings.Contains(out.Stdout, want) {
			t.Errorf("our output does not have %s: %s", want, out.Stdout)
		}
	}
	// Help is in our own words, and exists where the real one has it.
	helped := func(d *oracle.PMCD) (names []string) {
		t.Helper()
		out := d.Run(t, "pminfo", "-t", "containers")
		for line := range strings.Lines(out.Stdout) {
			if name, text, ok := strings.Cut(line, " ["); ok && len(text) > 3 {
				names = append(names, name)
			}
		}
		return names
	}
	if d := cmp.Diff(helped(real), helped(ours)); d != "" || len(helped(ours)) != 7 {
		t.Errorf("help (-real +ours):\n%s", d)
	}

	// Containers that come and go.
	e.docker(t, hexID("99"), "/late", b.pid, "running")
	e.docker(t, hexID("b2"), "/halted", b.pid, "running")
	if err := os.RemoveAll(filepath.Join(e.dir, "lxc/empty")); err != nil {
		t.Fatal(err)
	}
	compare("later", "-f", "containers")
	if out := ours.Run(t, "pminfo", "-f", "containers.name"); !strings.Contains(out.Stdout, `"late"`) || strings.Contains(out.Stdout, `"empty"`) {
		t.Errorf("later: %s", out.Stdout)
	}
}

// containerSides are collectors with each pair of root and linux agents; the
// first is the real one.
func containerSides(t testing.TB, e engineTree) (names []string, sides []*oracle.PMCD) {
	t.Helper()
	dir := links(t)
	for _, root := range []string{realRoot, dir + "/pmdaroot"} {
		for _, linux := range []string{"/var/lib/pcp/pmdas/linux/pmdalinux", dir + "/pmdalinux"} {
			whose := func(path string) string {
				if strings.HasPrefix(path, dir) {
					return "our "
				}
				return "the real "
			}
			names = append(names, whose(root)+"root and "+whose(linux)+"linux agent")
			sides = append(sides, oracle.StartPMCD(t, oracle.Config{
				Agents: []string{"pmcd", "linux"},
				// The C agent looks for the helper when it starts, and only then.
				Lines: []string{"root 1 pipe binary " + root, "pmcd 2 dso pmcd_init $PMDAS/pmcd/pmda_pmcd.so", "linux 60 pipe binary " + linux},
				PMNS:  rootNames,
				Env:   append(e.env(), "PCP_PMDAS_DIR=/var/lib/pcp/pmdas"),
			}))
		}
	}
	return names, sides
}

// seenFrom runs pminfo in a container.
func seenFrom(t testing.TB, d *oracle.PMCD, container string, args ...string) oracle.Output {
	t.Helper()
	return d.Run(t, "pminfo", append([]string{"-h", "unix://" + d.Socket + "?container=" + container}, args...)...)
}

// TestOracleContainers checks that the real agents and ours, in every pair, report the
// same contents of a container.
func TestOracleContainers(t *testing.T) {
	oracle.Require(t)
	e := newEngineTree(t)
	e.fill(t, newBox(t, "boxname"))
	names, sides := containerSides(t, e)
	compare := func(container string, args ...string) {
		t.Helper()
		want := seenFrom(t, sides[0], container, args...)
		for i, d := range sides[1:] {
			got := seenFrom(t, d, container, args...)
			want.Stderr, got.Stderr = strings.ReplaceAll(want.Stderr, sides[0].Socket, "SOCKET"), strings.ReplaceAll(got.Stderr, d.Socket, "SOCKET")
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: in %s pminfo %s (-real +ours):\n%s", names[i+1], container, strings.Join(args, " "), d)
			}
		}
	}
	// Instances are numbered in the order in which they are first seen. Our agent reads
	// the host's for any client, the real one does not.
	for _, d := range sides {
		d.Run(t, "pminfo", "-f", "network.interface", "filesys.mountdir", "tmpfs.capacity")
	}
	for _, container := range []string{
		"web", hexID("a1"), hexID("a1")[:12], // docker
		"old", "pod", hexID("f6"), "crate", // another docker, podman, lxc
	} {
		compare(container, "-f", "kernel.uname.nodename", "pmcd.hostname", "network.interface.total.bytes", "containers.name")
	}
	// One at a time: if fetched together, the real agent's type and virtual are 0.
	compare("web", "-b", "1", "-f", "network.interface")
	compare("web", "-f", "network.all", "hinv.ninterface", "filesys.mountdir",
		"network.sockstat.tcp.inuse", "network.tcp.activeopens", "network.udp.indatagrams", "network.unix.stream.established", "hinv.ncpu", "kernel.uname.sysname")
	compare("web", "-I", "network.interface.in.bytes", "filesys.free")
	compare("no-such-container", "-f", "kernel.uname.nodename", "hinv.ncpu", "network.interface.in.bytes")

	// The real agent lists the mounts of a container but uses the sizes of the host's
	// files. Ours uses the container's.
	for i, d := range sides {
		out := seenFrom(t, d, "web", "-f", "tmpfs.capacity")
		if own := strings.Contains(out.Stdout, `"/mnt"] value 8192`); own != (i%2 == 1) {
			t.Errorf("%s: %+v", names[i], out)
		}
	}
	// They differ from the host's.
	for i, d := range sides {
		out := seenFrom(t, d, "web", "-f", "kernel.uname.nodename", "pmcd.hostname", "network.interface.in.bytes")
		if strings.Count(out.Stdout, `value "boxname"`) != 2 || strings.Count(out.Stdout, "inst [") != 1 {
			t.Errorf("%s: %+v", names[i], out)
		}
		out = seenFrom(t, d, "no-such-container", "-f", "kernel.uname.nodename")
		if !strings.Contains(out.Stdout, "Error: Container not found") {
			t.Errorf("%s: %+v", names[i], out)
		}
	}
}
