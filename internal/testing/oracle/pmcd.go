package oracle

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startTimeout bounds how long a collector may take to answer for its agents.
const startTimeout = 2 * time.Minute

// Config configures a private collector.
type Config struct {
	Agents []string // of pmcd, linux, proc, mmv, xfs, jbd2, kvm, sample, simple, trace, trivial; nil means pmcd and sample
	// Lines are more lines of pmcd.conf, as "myagent 400 pipe binary /path/to/it -d 400";
	// $PMDAS is PMCD.PMDAs. A line that names an agent of Agents replaces the line of
	// that agent.
	Lines  []string
	PMNS   string   // name space of the agents of Lines: a pmns(5) text with a root
	Access string   // the [access] section without its head; "" allows everything
	Args   []string // more arguments of pmcd
	Env    []string // more environment of pmcd and so of its agents
}

// A PMCD is a real collector that only the test knows, with its own
// configuration, name space, port, socket and directories.
type PMCD struct {
	TCP    string   // host specification by TCP, 127.0.0.1:port
	Unix   string   // host specification by Unix socket
	Port   int      // on 127.0.0.1
	Socket string   // path of the Unix socket
	Dir    string   // where its files are, gone after the test
	Log    string   // path of pmcd.log; agents log in the same directory
	PMDAs  string   // its PCP_PMDAS_DIR, with a copy of simple/simple.conf
	PMNS   string   // path of its name space
	Env    []string // for tools, in addition to Env(): PCP_CONF and the variables that direct local: to it

	conf []string // command line
	env  []string
	cmd  *exec.Cmd
	done chan struct{}
}

// StartPMCD starts a real collector and waits until it answers. It is stopped
// at the end of the test; if the test failed, its log is printed.
func StartPMCD(t testing.TB, cfg Config) *PMCD {
	t.Helper()
	Require(t)
	pmcd := Path("pmcd")
	if pmcd == "" {
		Missing(t, "no pmcd")
	}
	if os.Geteuid() != 0 {
		// pmcd changes its identity to that of -U, and only root may.
		Missing(t, "pmcd needs root")
	}
	if cfg.Agents == nil {
		cfg.Agents = []string{"pmcd", "sample"}
	}
	// The path of a Unix socket is short, a test's directory need not be.
	dir, err := os.MkdirTemp("", "oracle")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	for _, sub := range []string{"run", "log/pmcd", "log/pmlogger", "tmp/mmv", "tmp/pmproxy/mmv", "pmdas", "var/config/pmda"} {
		must(t, os.MkdirAll(filepath.Join(dir, sub), 0o777))
	}
	d := &PMCD{
		Port: FreePort(t), Socket: dir + "/run/pmcd.socket", Dir: dir, Log: dir + "/log/pmcd/pmcd.log",
		PMDAs: dir + "/pmdas", PMNS: dir + "/root",
	}
	d.TCP = "127.0.0.1:" + strconv.Itoa(d.Port)
	d.Unix = "unix:" + d.Socket
	d.Env = []string{
		"PCP_CONF=" + dir + "/pcp.conf", "PCP_DIR=", "PMCD_PORT=" + strconv.Itoa(d.Port),
		"PMCD_SOCKET=" + d.Socket,
	}
	linkAgents(t, d.PMDAs, cfg.Agents)
	buildPMNS(t, d.PMNS, cfg.Agents, cfg.PMNS)
	d.writeConf(t)
	d.writePMCDConf(t, cfg)

	// A minute for agents to start and to answer: they must not fail because the
	// machine is busy.
	d.conf = append([]string{
		pmcd, "-A", "-f", "-q", "60", "-t", "60", "-U", "root", "-i", "127.0.0.1", "-p", strconv.Itoa(d.Port),
		"-s", d.Socket, "-c", dir + "/pmcd.conf", "-n", d.PMNS, "-l", d.Log,
	}, cfg.Args...)
	// PMCD_ROOT_AGENT=0: the root agent's socket is at a fixed path, where a
	// second one would take the place of the system's.
	// PMCD_PORT is for its clients: it would listen there once more.
	// PCP_VAR_DIR: agents keep the numbers of instances there.
	forPMCD := slices.DeleteFunc(slices.Clone(d.Env), func(s string) bool { return strings.HasPrefix(s, "PMCD_") })
	d.env = slices.Concat(Env(), forPMCD, []string{"PMCD_ROOT_AGENT=0", "PCP_VAR_DIR=" + dir + "/var"}, cfg.Env)
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(d.Log)
			t.Logf("%s:\n%s", d.Log, log)
		}
		d.stop()
	})
	d.Start(t)
	return d
}

// Start starts the collector again after Stop, with the same addresses.
func (d *PMCD) Start(t testing.TB) {
	t.Helper()
	cmd := exec.Command(d.conf[0], d.conf[1:]...)
	cmd.Dir = filepath.Dir(d.Log) // agents write their logs into the current directory
	cmd.Env = d.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// Agents may outlive pmcd for a moment and hold its output.
	cmd.WaitDelay = time.Second
	leadGroup(cmd)
	must(t, StartWith(cmd, syscall.SIGTERM))
	done := make(chan struct{})
	d.cmd, d.done = cmd, done
	go func() { cmd.Wait(); close(done) }()
	for end := time.Now().Add(startTimeout); ; time.Sleep(20 * time.Millisecond) {
		if d.answers() {
			return
		}
		select {
		case <-done:
		default:
			if time.Now().Before(end) {
				continue
			}
		}
		log, _ := os.ReadFile(d.Log)
		t.Fatalf("%s did not start\n%s%s", strings.Join(d.conf, " "), out.Bytes(), log)
	}
}

// answers reports whether the collector greets a client, be it to send it away.
// By then it has started its agents.
func (d *PMCD) answers() bool {
	conn, err := net.Dial("unix", d.Socket)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	var hello [16]byte
	_, err = io.ReadFull(conn, hello[:])
	return err == nil && bytes.Equal(hello[4:8], []byte{0, 0, 0x70, 0}) // an ERROR PDU
}

// PID returns the process of the collector.
func (d *PMCD) PID() int { return d.cmd.Process.Pid }

// Signal sends a signal to the collector: SIGHUP to read its configuration
// again, SIGSTOP to make it hang.
func (d *PMCD) Signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	must(t, d.cmd.Process.Signal(sig))
}

// Pause stops the collector where it is, until Resume.
func (d *PMCD) Pause(t testing.TB) {
	t.Helper()
	if err := pause(d.cmd.Process); err != nil {
		t.Fatal(err)
	}
}

// Resume lets a collector continue after Pause.
func (d *PMCD) Resume(t testing.TB) {
	t.Helper()
	if err := resume(d.cmd.Process); err != nil {
		t.Fatal(err)
	}
}

// Stop ends the collector and its agents. Connections break.
func (d *PMCD) Stop(t testing.TB) {
	t.Helper()
	if !d.stop() {
		t.Errorf("%s did not end when told to", d.conf[0])
	}
}

func (d *PMCD) stop() bool {
	if d.cmd == nil {
		return true
	}
	pid := d.cmd.Process.Pid
	d.cmd.Process.Signal(syscall.SIGTERM)
	resume(d.cmd.Process)
	good := true
	select {
	case <-d.done:
	case <-time.After(time.Minute):
		good = false
	}
	// The rest of its process group are agents that did not notice.
	killGroup(pid)
	<-d.done
	d.cmd = nil
	return good
}

// Run runs a real tool that finds this collector as local: and localhost.
func (d *PMCD) Run(t testing.TB, tool string, args ...string) Output {
	t.Helper()
	return RunEnv(t, d.Env, tool, args...)
}

// Getenv looks into the environment in which Run runs tools.
func (d *PMCD) Getenv(name string) string {
	env := append(Env(), d.Env...)
	for i := len(env) - 1; i >= 0; i-- {
		if k, v, _ := strings.Cut(env[i], "="); k == name {
			return v
		}
	}
	return ""
}

// writeConf writes the pcp.conf(5) of the collector: the system's with its own
// directories.
func (d *PMCD) writeConf(t testing.TB) {
	t.Helper()
	text, err := os.ReadFile("/etc/pcp.conf")
	if err != nil {
		Missing(t, err.Error())
	}
	own := map[string]string{
		"PCP_RUN_DIR": "run", "PCP_LOG_DIR": "log", "PCP_ARCHIVE_DIR": "log/pmlogger", "PCP_TMP_DIR": "tmp",
		"PCP_PMDAS_DIR": "pmdas", "PCP_PMCDCONF_PATH": "pmcd.conf",
	}
	var b strings.Builder
	for _, line := range strings.Split(string(text), "\n") {
		if name, _, ok := strings.Cut(line, "="); ok && own[name] != "" {
			line = name + "=" + filepath.Join(d.Dir, own[name])
		}
		b.WriteString(line + "\n")
	}
	must(t, os.WriteFile(d.Dir+"/pcp.conf", []byte(b.String()), 0o644))
}

// WritePMCDConf replaces the configuration by that of cfg; SIGHUP makes the
// collector read it. The name space does not change.
func (d *PMCD) WritePMCDConf(t testing.TB, cfg Config) {
	t.Helper()
	d.writePMCDConf(t, cfg)
}

func (d *PMCD) writePMCDConf(t testing.TB, cfg Config) {
	t.Helper()
	var b strings.Builder
	own := func(name string) bool {
		return slices.ContainsFunc(cfg.Lines, func(line string) bool {
			fields := strings.Fields(line)
			return len(fields) > 0 && fields[0] == name
		})
	}
	for _, name := range cfg.Agents {
		if own(name) {
			continue
		}
		a, ok := realAgents()[name]
		if !ok {
			t.Fatalf("no real agent %q is known; use Lines", name)
		}
		fmt.Fprintf(&b, "%s %d "+a.line+"\n", name, a.domain, d.PMDAs)
	}
	for _, line := range cfg.Lines {
		b.WriteString(strings.ReplaceAll(line, "$PMDAS", d.PMDAs) + "\n")
	}
	access := cfg.Access
	if access == "" {
		access = "allow \"*\" : all;\n"
	}
	b.WriteString("\n[access]\n" + access)
	must(t, os.WriteFile(d.Dir+"/pmcd.conf", []byte(b.String()), 0o644))
}
