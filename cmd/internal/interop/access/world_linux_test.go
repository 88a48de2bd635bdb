package access

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// insideEnv is set in the process that a test starts in the name spaces.
const insideEnv = "PCP_ACCESS_INSIDE"

// built is the folder with our program and links to it.
var built string

func TestMain(m *testing.M) {
	if built = os.Getenv(insideEnv); built != "" {
		os.Exit(m.Run())
	}
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "access")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	built = dir
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "pcp"), "github.com/go-pcp/pcp/cmd/pcp")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	for _, cmd := range []*exec.Cmd{cmd, exec.Command(filepath.Join(dir, "pcp"), "links", filepath.Join(dir, "links"))} {
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v: %v\n%s", cmd.Args, err, out)
			return 1
		}
	}
	return m.Run()
}

// outside runs the test once more, in network, mount and UTS name spaces of its own, and
// reports whether it did: the process in there continues the test.
func outside(t *testing.T) bool {
	t.Helper()
	oracle.Require(t)
	if os.Getenv(insideEnv) != "" {
		prepare(t)
		return false
	}
	if os.Geteuid() != 0 {
		oracle.Missing(t, "only root can make name spaces, and other users")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		oracle.Missing(t, "no ip (Debian: iproute2)")
	}
	if _, err := exec.LookPath("saslpasswd2"); err != nil {
		oracle.Missing(t, "no saslpasswd2 (Debian: sasl2-bin)")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=0")
	cmd.Env = append(os.Environ(), insideEnv+"="+built)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err = oracle.StartWith(cmd, syscall.SIGKILL); err == nil {
		err = cmd.Wait()
	}
	t.Logf("in the name spaces:\n%s", out.Bytes())
	if err != nil {
		t.Fatalf("in the name spaces: %v", err)
	}
	return true
}

// The names, users and groups inside.
const (
	hostsFile = `127.0.0.1 localhost
::1 localhost
10.1.2.3 own.one
127.0.1.1 own.debian
10.1.2.3 own.both
2001:db8::5 own.both
10.1.2.3 alpha
10.1.3.1 beta
10.9.9.9 beta
2001:db8::5 six
10.1.2.4 both
2001:db8:1::1 both
`
	passwdFile = `root:x:0:0:root:/root:/bin/sh
daemon:x:1:1::/:/bin/false
nobody:x:65534:65534::/:/bin/false
alice:x:2001:2001::/:/bin/false
bob:x:2002:2002::/:/bin/false
carol:x:2003:2001::/:/bin/false
dave:x:2004:2100::/:/bin/false
`
	groupFile = `root:x:0:
daemon:x:1:
nogroup:x:65534:
alice:x:2001:
bob:x:2002:
ops:x:2100:alice,bob
staff:x:2101:carol,root
empty:x:2102:
`
)

// hostNames are the names of this host, in turn: with one address, with the address
// of Debian, with two, and without any.
var hostNames = []string{"own.one", "own.debian", "own.both", "own.none"}

// addresses are those of the loopback interface.
var addresses = []string{
	"127.0.0.1", "127.3.2.1", "10.1.2.3", "10.1.2.4", "10.1.3.1", "10.9.9.9", "192.0.2.7",
	"::1", "2001:db8::5", "2001:db8::6", "2001:db8:1::1", "2001:db8:5:6:7:8:9:a", "2001:0:5::1",
}

// users can connect over the Unix socket: a name, user and group.
var users = []struct {
	name     string
	uid, gid int
}{
	{"root", 0, 0},
	{"alice", 2001, 2001},
	{"bob", 2002, 2002},
	{"carol", 2003, 2001},
	{"dave", 2004, 2100},
	{"nobody", 65534, 65534},
	{"nameless", 3000, 3000},
	{"nameless of ops", 3001, 2100},
}

// prepare makes the name spaces a world of their own.
func prepare(t *testing.T) {
	t.Helper()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for path, text := range map[string]string{
		"/etc/hosts": hostsFile, "/etc/passwd": passwdFile, "/etc/group": groupFile,
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\nnetworks: files\nprotocols: files\nservices: files\n",
	} {
		own := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(own, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(own, path, "", unix.MS_BIND, ""); err != nil {
			t.Fatalf("mount over %s: %v", path, err)
		}
		t.Cleanup(func() { unix.Unmount(path, unix.MNT_DETACH) })
	}
	ip := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	ip("link", "set", "lo", "up")
	for _, a := range addresses {
		switch {
		case a == "127.0.0.1" || a == "::1" || strings.HasPrefix(a, "127."):
		case strings.Contains(a, ":"):
			ip("-6", "addr", "add", a+"/128", "dev", "lo", "nodad")
		default:
			ip("addr", "add", a+"/32", "dev", "lo")
		}
	}
}

// A program is a collector: ours, or the real one.
type program struct {
	real   bool
	path   string
	dir    string // with its configuration, log and socket
	socket string
	port   string
	args   []string
	env    []string

	cmd    *exec.Cmd
	exited chan struct{}
}

const pmnsFile = `root {
	sample
}
sample {
	long
}
sample.long {
	write_me	29:0:14
}
`

// agentLines are the same for both: ours has the agents built in.
const agentLines = `pmcd	2	dso	pmcd_init	/var/lib/pcp/pmdas/pmcd/pmda_pmcd.so
sample	29	dso	sample_init	/var/lib/pcp/pmdas/sample/pmda_sample.so
`

// newProgram makes a directory for a collector that start can start often.
func newProgram(t *testing.T, real bool, saslDir string) *program {
	t.Helper()
	dir, err := os.MkdirTemp("", "access")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &program{real: real, dir: dir, socket: dir + "/run/pmcd.socket", port: "44331", path: filepath.Join(built, "links", "pmcd")}
	if real {
		p.port, p.path = "44332", oracle.Path("pmcd")
	}
	var conf strings.Builder
	if real {
		text, err := os.ReadFile("/etc/pcp.conf")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			name, _, _ := strings.Cut(line, "=")
			switch name {
			case "PCP_RUN_DIR", "PCP_LOG_DIR", "PCP_ARCHIVE_DIR", "PCP_TMP_DIR", "PCP_PMCDCONF_PATH":
				continue
			}
			conf.WriteString(line)
		}
	} else {
		fmt.Fprintf(&conf, "PCP_SYSCONF_DIR=%s\nPCP_VAR_DIR=%[1]s\n", dir)
	}
	fmt.Fprintf(&conf, "PCP_RUN_DIR=%s/run\nPCP_LOG_DIR=%[1]s/log\nPCP_ARCHIVE_DIR=%[1]s/log\nPCP_TMP_DIR=%[1]s/tmp\nPCP_PMCDCONF_PATH=%[1]s/pmcd.conf\n", dir)
	for _, sub := range []string{"run", "log", "tmp", "var"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"pcp.conf": conf.String(), "names": pmnsFile} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p.args = []string{
		"-A", "-f", "-q", "60", "-t", "60", "-U", "root", "-p", p.port, "-s", p.socket,
		"-c", dir + "/pmcd.conf", "-n", dir + "/names", "-l", dir + "/log/pmcd.log",
	}
	p.env = append(oracle.Env(), "PCP_CONF="+dir+"/pcp.conf", "PCP_DIR=", "PMCD_ROOT_AGENT=0", "PCP_SASL2_CONFIG_PATH="+saslDir)
	t.Cleanup(func() { p.stop(t) })
	return p
}

// start restarts the collector with a section. It may fail to start.
func (p *program) start(t *testing.T, section string) {
	t.Helper()
	if err := os.WriteFile(p.dir+"/pmcd.conf", []byte(agentLines+"\n[access]\n"+section), 0o644); err != nil {
		t.Fatal(err)
	}
	os.Remove(p.socket)
	os.Remove(p.dir + "/log/pmcd.log")
	cmd := exec.Command(p.path, p.args...)
	cmd.Dir, cmd.Env = p.dir+"/log", p.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	p.cmd, p.exited = cmd, exited
	go func() { cmd.Wait(); close(exited) }()
}

// up waits until the collector serves, and reports whether it does: with a section that it does not
// take, it ends.
func (p *program) up(t *testing.T) bool {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		if strings.Contains(p.log(), "pmcd request port(s)") {
			return true
		}
		if p.ended() {
			return false
		}
		if time.Now().After(end) {
			t.Fatalf("%s neither serves nor ends\n%s", p.path, p.log())
		}
	}
}

// ended reports whether the collector has ended.
func (p *program) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (p *program) stop(t *testing.T) {
	if p.cmd == nil {
		return
	}
	if p.real { // has no processes, and at times misses a signal while it starts
		p.cmd.Process.Kill()
	} else {
		p.cmd.Process.Signal(syscall.SIGTERM)
	}
	select {
	case <-p.exited:
	case <-time.After(time.Minute):
		t.Errorf("%s did not end within a minute\n%s", p.path, p.log())
		p.cmd.Process.Kill()
		<-p.exited
	}
	p.cmd = nil
}

// log returns the log of the collector.
func (p *program) log() string {
	text, err := os.ReadFile(p.dir + "/log/pmcd.log")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		text = []byte(err.Error())
	}
	return string(text)
}

// saslDir makes the files of the C collector's SASL library: a configuration, and a
// database in which each user's password is the name turned around, for each name of the
// host.
func saslDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	if err := os.WriteFile(filepath.Join(dir, "pmcd.conf"), []byte("mech_list: plain scram-sha-256\nsasldb_path: "+db+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, user := range logins {
		for _, realm := range hostNames {
			cmd := exec.Command("saslpasswd2", "-p", "-c", "-f", db, "-a", "pmcd", "-u", realm, user)
			cmd.Stdin = strings.NewReader(passwordOf(user))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("saslpasswd2: %v\n%s", err, out)
			}
		}
	}
	return dir
}

// logins are the names that have accounts. One is not a user of this host.
var logins = []string{"root", "alice", "bob", "carol", "dave", "stranger"}

func passwordOf(user string) string {
	b := []byte(user)
	for i := range len(b) / 2 {
		b[i], b[len(b)-1-i] = b[len(b)-1-i], b[i]
	}
	return string(b) + "-pw"
}
