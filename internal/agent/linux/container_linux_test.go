package linux

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/nsenter"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/pmda"
)

// A helperFunc is a Helper.
type helperFunc func(string) (int, error)

func (f helperFunc) ProcessID(name string) (int, error) { return f(name) }

func inside(name string) *pmda.Client {
	return &pmda.Client{Attrs: map[pmda.AttrKey]string{pmda.AttrContainer: name, pmda.AttrUserID: "0"}}
}

// startBox starts a process in its own name spaces, set up by the script.
func startBox(t testing.TB, script string) (pid int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can make name spaces")
	}
	cmd := exec.Command("/bin/sh", "-c", script+" && echo ready && read x")
	// No Pdeathsig: the signal is sent when the thread that started the process
	// ends, and the agent ends threads.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("SKIPPED: no name spaces here: %v", err)
	}
	t.Cleanup(func() { in.Close(); io.Copy(io.Discard, out); await.Exit(t, cmd) })
	b := make([]byte, 6)
	if n, err := io.ReadFull(out, b); err != nil {
		t.Skipf("SKIPPED: cannot set up name spaces here: %q, %v", b[:n], err)
	}
	return cmd.Process.Pid
}

const boxScript = "hostname %s && mount --make-rprivate / && mount -t sysfs sysfs /sys && mount -t tmpfs -o size=8m boxfs /mnt"

func (a *Agent) valuesIn(t testing.TB, client *pmda.Client, names ...string) (string, error) {
	t.Helper()
	var ids []pcp.PMID
	for _, name := range names {
		ids = append(ids, a.id(t, name))
	}
	if err := a.Refresh(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	res := new(pcp.Result)
	err := a.Fetch(t.Context(), &pmda.FetchRequest{Client: client, PMIDs: ids, Result: res})
	var all []string
	for _, vs := range res.Sets {
		var one []string
		for _, v := range vs.Values {
			if v.Type() == pcp.TypeString {
				one = append(one, string(v.Bytes()))
			} else {
				one = append(one, fmt.Sprint(v.Uint64()))
			}
		}
		all = append(all, strings.Join(one, ","))
	}
	return strings.Join(all, " "), err
}

func TestContainer(t *testing.T) {
	first, second := startBox(t, fmt.Sprintf(boxScript, "one")), startBox(t, fmt.Sprintf(boxScript, "two"))
	pid := first
	a := New(Config{StatfsTimeout: time.Minute, Helper: helperFunc(func(name string) (int, error) {
		if name != "box" {
			return 0, pcp.ErrNoContainer
		}
		return pid, nil
	})})
	host, err := a.valuesIn(t, root, "kernel.uname.nodename", "hinv.ninterface")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, box := range []struct {
			pid  int
			want string
		}{{first, "one 1"}, {second, "two 1"}} {
			// As if a container were restarted with its name.
			pid = box.pid
			if got, err := a.valuesIn(t, inside("box"), "kernel.uname.nodename", "hinv.ninterface"); err != nil || got != box.want {
				t.Errorf("inside are %q, %v; want %q", got, err, box.want)
			}
		}
		if got, err := a.valuesIn(t, root, "kernel.uname.nodename", "hinv.ninterface"); err != nil || got != host {
			t.Errorf("outside are %q, %v; before %q", got, err, host)
		}
	}
	got, err := a.valuesIn(t, inside("box"), "network.interface.mtu", "network.interface.type", "hinv.ncpu")
	if ncpu, _ := a.valuesIn(t, root, "hinv.ncpu"); err != nil || got != "65536 772 "+ncpu {
		t.Errorf("inside are %q, %v", got, err)
	}
	sizes, err := a.valuesIn(t, inside("box"), "tmpfs.capacity")
	if err != nil || !strings.Contains(sizes+",", "8192,") {
		t.Errorf("tmpfs inside have %q, %v", sizes, err)
	}
	if sizes, err := a.valuesIn(t, root, "tmpfs.capacity"); err != nil || strings.Contains(","+sizes+",", ",8192,") {
		t.Errorf("tmpfs outside have %q, %v", sizes, err)
	}
	insts, err := a.Instances(pmda.WithClient(t.Context(), inside("box")), pcp.NewInDom(Domain, 3))
	if err != nil || len(insts) != 1 || insts[0].Name != "lo" {
		t.Errorf("interfaces inside are %v, %v", insts, err)
	}
	if insts, err := a.Instances(pmda.WithClient(t.Context(), inside("box")), pcp.NewInDom(Domain, 0)); err != nil || len(insts) == 0 {
		t.Errorf("processors are %v, %v", insts, err)
	}
	if _, err := a.Instances(pmda.WithClient(t.Context(), inside("none")), pcp.NewInDom(Domain, 0)); !errors.Is(err, pcp.ErrNoContainer) {
		t.Errorf("processors in none: %v", err)
	}
}

// TestContainerErrors checks that values that cannot be read are errors, and never those
// of the host.
func TestContainerErrors(t *testing.T) {
	var log strings.Builder
	f := func(what string, pid int, helperErr, want error) {
		t.Helper()
		a := New(Config{
			Helper: helperFunc(func(string) (int, error) { return pid, helperErr }),
			Log:    slog.New(slog.NewTextHandler(&log, nil)),
		})
		for range 2 {
			got, err := a.valuesIn(t, inside("box"), "kernel.uname.nodename", "hinv.ncpu")
			if !errors.Is(err, want) || got != "" {
				t.Errorf("%s: %q, %v", what, got, err)
			}
		}
	}
	f("not known", 0, pcp.ErrNoContainer, pcp.ErrNoContainer)
	f("not running", 0, nil, pcp.ErrNoContainer)
	f("not running, as docker says", -1, nil, pcp.ErrNoContainer)
	f("process gone", 1<<30, nil, pcp.ErrNoContainer)
	f("helper gone", 0, fmt.Errorf("helper: %w", pcp.ErrNotConn), pcp.ErrNotConn)
	if n := strings.Count(log.String(), "containers are unavailable"); n != 1 {
		t.Errorf("told %d times: %s", n, &log)
	}
	a := New(Config{Root: t.TempDir(), Helper: helperFunc(func(string) (int, error) { return os.Getpid(), nil })})
	if _, err := a.valuesIn(t, inside("box"), "kernel.uname.nodename"); !errors.Is(err, pcp.ErrNotConn) {
		t.Errorf("with the files of another machine: %v", err)
	}
}

// TestContainerHangs has a container in which reads hang.
func TestContainerHangs(t *testing.T) {
	pid := startBox(t, fmt.Sprintf(boxScript, "slow"))
	a := New(Config{StatfsTimeout: time.Minute, Helper: helperFunc(func(string) (int, error) { return pid, nil })})
	if got, err := a.valuesIn(t, inside("box"), "kernel.uname.nodename"); err != nil || got != "slow" {
		t.Fatalf("inside is %q, %v", got, err)
	}
	// As if the last reading hung.
	busy := make(chan struct{})
	a.boxes.byName["box"].busy = busy
	if got, err := a.valuesIn(t, inside("box"), "kernel.uname.nodename"); !errors.Is(err, pcp.ErrTimeout) || got != "" {
		t.Errorf("inside is %q, %v", got, err)
	}
	if got, err := a.valuesIn(t, root, "hinv.ncpu"); err != nil || got == "" {
		t.Errorf("others get %q, %v", got, err)
	}
	close(busy)
	if got, err := a.valuesIn(t, inside("box"), "kernel.uname.nodename"); err != nil || got != "slow" {
		t.Errorf("afterwards inside is %q, %v", got, err)
	}
	// A container that is not read within the limit is given up.
	a.host.cfg.StatfsTimeout = 1
	a.valuesIn(t, inside("box"), "network.interface.mtu", "filesys.full")
	if b := a.boxes.byName["box"]; b.busy != nil {
		<-b.busy // it ends all the same
	}
	a.host.cfg.StatfsTimeout = time.Minute
	if got, err := a.valuesIn(t, inside("box"), "kernel.uname.nodename"); err != nil || got != "slow" {
		t.Errorf("at last inside is %q, %v", got, err)
	}
}

// TestFakeSys has a container whose /sys is not sysfs.
func TestFakeSys(t *testing.T) {
	pid := startBox(t, "hostname fake && mount --make-rprivate / && mount -t tmpfs none /sys && mkdir -p /sys/class/net/lo && "+
		"echo 17 >/sys/class/net/lo/mtu && mkfifo /sys/class/net/lo/type")
	a := New(Config{StatfsTimeout: time.Minute, Helper: helperFunc(func(string) (int, error) { return pid, nil })})
	if got, err := a.valuesIn(t, inside("box"), "network.interface.mtu", "network.interface.type", "kernel.uname.nodename"); err != nil || got != "  fake" {
		t.Errorf("inside are %q, %v", got, err)
	}
}

func TestBoxesAreForgotten(t *testing.T) {
	a := New(Config{})
	for i := range 3 * maxBoxes {
		a.boxes.use(&box{name: fmt.Sprint(i)})
		a.boxes.use(&box{name: "again"})
	}
	if n := len(a.boxes.byName); n != maxBoxes || len(a.boxes.order) != n || a.boxes.byName["again"] == nil {
		t.Errorf("%d are remembered, in order %d", n, len(a.boxes.order))
	}
}

// BenchmarkContainer compares a fetch in a container with one outside. The
// process of the container is this one.
func BenchmarkContainer(b *testing.B) {
	if err := nsenter.Run(os.Getpid(), nsenter.UTS, func() error { return nil }); err != nil {
		b.Skipf("SKIPPED: %v", err)
	}
	a := New(Config{StatfsTimeout: time.Minute, Helper: helperFunc(func(string) (int, error) { return os.Getpid(), nil })})
	ids := []pcp.PMID{a.id(b, "network.interface.total.bytes"), a.id(b, "kernel.uname.nodename")}
	for name, client := range map[string]*pmda.Client{"outside": root, "inside": inside("box")} {
		b.Run(name, func(b *testing.B) {
			req := &pmda.FetchRequest{Client: client, PMIDs: ids, Result: new(pcp.Result)}
			b.ReportAllocs()
			for b.Loop() {
				req.Result.Reset()
				a.Refresh(b.Context(), ids)
				if err := a.Fetch(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
