package packaging

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// maxExposure is the highest exposure that systemd-analyze may compute for a unit, in tenths.
const maxExposure = 30

// dropIns returns the names of the agents that have a drop-in with capabilities for pcp-pmcd.service.
func dropIns(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("systemd/capabilities/*.conf")
	if err != nil || len(files) < 7 {
		t.Fatalf("drop-ins %q, %v", files, err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".conf")
	}
	return files
}

// capabilitiesOf returns the capabilities that a drop-in gives to the collector.
func capabilitiesOf(t *testing.T, agent string) []string {
	t.Helper()
	b, err := os.ReadFile("systemd/capabilities/" + agent + ".conf")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^AmbientCapabilities=(.+)\nCapabilityBoundingSet=(.+)$`).FindSubmatch(b)
	if m == nil || string(m[1]) != string(m[2]) {
		t.Fatalf("%s.conf: the ambient capabilities and the bounding set differ: %q", agent, m)
	}
	return strings.Fields(string(m[1]))
}

// TestHardening has systemd compute the exposure of each system unit, and of the collector with the drop-in of each agent.
func TestHardening(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("SKIPPED: there is no systemd-analyze")
	}
	exposure := func(unit, dropIn string) {
		t.Helper()
		root := t.TempDir()
		dir := filepath.Join(root, "etc/systemd/system")
		if err := os.MkdirAll(filepath.Join(dir, unit+".d"), 0o777); err != nil {
			t.Fatal(err)
		}
		for from, to := range map[string]string{unit: unit, "capabilities/" + dropIn + ".conf": unit + ".d/agent.conf"} {
			if strings.HasSuffix(from, "/.conf") {
				continue
			}
			b, err := os.ReadFile(filepath.Join("systemd", from))
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(string(b), "@BINDIR@", "/usr/bin")
			if err := os.WriteFile(filepath.Join(dir, to), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("systemd-analyze", "security", "--no-pager", "--offline=true", "--root="+root, "--threshold="+strconv.Itoa(maxExposure), unit)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Overall exposure level for "+unit) {
			t.Errorf("%s with %q: %v\n%s", unit, dropIn, err, out)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Logf("%s %s: %s", unit, dropIn, lines[len(lines)-1])
	}
	for _, name := range unitNames(t) {
		if strings.HasSuffix(name, ".service") && name != "pcp-up.service" { // a unit of a user, who has no capabilities
			exposure(name, "")
		}
	}
	for _, agent := range dropIns(t) {
		exposure("pcp-pmcd.service", agent)
	}
}

// TestCapabilitiesDocumented requires a row of docs/security.md for the drop-in of each agent, with its capabilities.
func TestCapabilitiesDocumented(t *testing.T) {
	b, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range dropIns(t) {
		row := regexp.MustCompile("(?m)^\\| `" + agent + "` \\|([^|]*)\\|").FindSubmatch(b)
		if row == nil {
			t.Errorf("docs/security.md has no row for the capabilities of agent %s", agent)
			continue
		}
		listed := regexp.MustCompile(`CAP_\w+`).FindAllString(string(row[1]), -1)
		want := capabilitiesOf(t, agent)
		slices.Sort(listed)
		slices.Sort(want)
		if !slices.Equal(listed, want) {
			t.Errorf("docs/security.md lists the capabilities %q for agent %s, its drop-in has %q", listed, agent, want)
		}
	}
}

// freePort returns a TCP port that no program uses.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// isClosed reports whether a channel is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// build runs make build once for all tests.
var build = sync.OnceValue(func() error {
	if out, err := exec.Command("make", "-C", "..", "build").CombinedOutput(); err != nil {
		return fmt.Errorf("make build: %w\n%s", err, out)
	}
	return nil
})

// TestCapabilities runs the collector as PCP's user, once with no capability and once with those of each drop-in, and compares what
// root, and a user without rights, can read.
func TestCapabilities(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can choose capabilities")
	}
	for _, name := range []string{"make", "setpriv"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: there is no %s", name)
		}
	}
	if err := build(); err != nil {
		t.Fatal(err)
	}
	const collector, stranger = "54321", "54322"
	if _, err := user.LookupId(collector); err == nil {
		t.Skipf("SKIPPED: there is a user %s", collector)
	}
	dir, err := os.MkdirTemp("", "pcpcaps") // unlike those of t.TempDir, its parents are open to all users
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "pcp")
	b, err := os.ReadFile("../bin/pcp")
	if err == nil {
		err = os.WriteFile(bin, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "pmcd.conf")
	const agents = "pmcd 2 dso pmcd_init /pmda_pmcd.so\nproc 3 dso proc_init /pmda_proc.so\nxfs 11 dso xfs_init /pmda_xfs.so\n" +
		"linux 60 dso linux_init /pmda_linux.so\nkvm 95 dso kvm_init /pmda_kvm.so\n"
	if err := os.WriteFile(conf, []byte(agents), 0o644); err != nil {
		t.Fatal(err)
	}
	// as starts a command as a user with capabilities.
	as := func(id string, caps []string, args ...string) *exec.Cmd {
		set := "-all"
		for _, c := range caps {
			set += ",+" + strings.ToLower(strings.TrimPrefix(c, "CAP_"))
		}
		return exec.Command("setpriv", append([]string{
			"--reuid=" + id, "--regid=" + id, "--clear-groups", "--no-new-privs",
			"--bounding-set=" + set, "--inh-caps=" + set, "--ambient-caps=" + set,
		}, args...)...)
	}
	runAs := collector
	// values runs the collector, and returns the values of metrics that a client sees.
	values := func(agent string, client string, metrics ...string) string {
		t.Helper()
		var caps []string
		if agent != "" {
			caps = capabilitiesOf(t, agent)
		}
		home, err := os.MkdirTemp(dir, "run")
		if err != nil {
			t.Fatal(err)
		}
		id, _ := strconv.Atoi(runAs)
		if err := os.Chown(home, id, id); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(home, 0o755); err != nil {
			t.Fatal(err)
		}
		socket := filepath.Join(home, "pmcd.socket")
		cmd := as(runAs, caps, bin, "pmcd", "-f", "-p", freePort(t), "-s", socket, "-c", conf, "-l", filepath.Join(home, "pmcd.log"))
		cmd.Env = append(os.Environ(), "PCP_RUN_DIR="+home, "PCP_LOG_DIR="+home, "PCP_VAR_DIR="+home, "PCP_TMP_DIR="+home)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			cmd.Wait()
			close(ended)
		}()
		defer func() {
			cmd.Process.Signal(os.Interrupt)
			<-ended
		}()
		for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			if out, err := exec.Command(bin, "info", "-f", "-h", "unix:"+socket, "pmcd.version").CombinedOutput(); err == nil {
				break
			} else if isClosed(ended) || time.Since(start) > 20*time.Second {
				log, _ := os.ReadFile(filepath.Join(home, "pmcd.log"))
				t.Fatalf("the collector with %q does not answer: %v\n%s\n%s", caps, err, out, log)
			}
		}
		out, _ := as(client, nil, append([]string{bin, "info", "-f", "-h", "unix:" + socket}, metrics...)...).CombinedOutput()
		return string(out)
	}
	ofRoot := regexp.MustCompile(fmt.Sprintf(`inst \[%d or "[^"]*"\] value [1-9]`, os.Getpid()))
	slabs := regexp.MustCompile(`(?s)mem\.slabinfo\.objects\.active.*inst \[`)
	metrics := []string{"proc.io.rchar", "mem.slabinfo.objects.active"}
	// Without the capability the kernel refuses. A kernel without the accounting, or a machine in which root may not have it, has no values.
	const delays = "proc.delayacct.cpu_time"
	hasDelays := regexp.MustCompile(`inst \[\d+ or "[^"]*"\] value `)
	if out := values("", "0", delays); hasDelays.MatchString(out) {
		t.Errorf("a collector with no capability has the delays of processes:\n%s", out)
	}
	byRoot := func() string {
		runAs = "0"
		defer func() { runAs = collector }()
		return values("proc-delayacct", "0", delays)
	}
	switch with := values("proc-delayacct", "0", delays); {
	case hasDelays.MatchString(with):
		if others := values("proc-delayacct", stranger, delays); hasDelays.MatchString(others) {
			t.Errorf("a user without rights gets the delays of processes:\n%s", others)
		}
	case !hasDelays.MatchString(byRoot()):
		t.Log("this kernel has no delays of processes, even for root")
	default:
		t.Errorf("with the capability of proc-delayacct there are no delays:\n%s", with)
	}
	without := values("", "0", metrics...)
	if ofRoot.MatchString(without) || slabs.MatchString(without) {
		t.Errorf("a collector with no capability has metrics for root alone:\n%s", without)
	}
	if with := values("proc", "0", metrics...); !ofRoot.MatchString(with) {
		t.Errorf("with the capabilities of proc there is no I/O of root's process:\n%s", with)
	}
	if _, err := os.ReadFile("/proc/slabinfo"); err == nil {
		if with := values("linux", "0", metrics...); !slabs.MatchString(with) {
			t.Errorf("with the capabilities of linux there are no slabs:\n%s", with)
		}
	}
	if others := values("proc", stranger, metrics...); ofRoot.MatchString(others) || slabs.MatchString(others) {
		t.Errorf("a user without rights gets the metrics of others:\n%s", others)
	}
	for _, agent := range dropIns(t) {
		if out := values(agent, stranger, "kernel.all.uptime"); !strings.Contains(out, "value ") {
			t.Errorf("with the capabilities of %s there is no kernel.all.uptime:\n%s", agent, out)
		}
	}
}
