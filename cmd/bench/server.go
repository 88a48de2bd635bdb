//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// A server is a collector that bench started, with its agents.
type server struct {
	name string // "C" or "ours"
	tcp  string // host:port
	sock string // path of its Unix socket
	pid  int

	command func(ctx context.Context, dir string) (cmd *exec.Cmd, tcp, sock string, err error)
	dir     string
	cmd     *exec.Cmd
	exited  chan error
}

// pids returns the collector and its agents.
func (s *server) pids() []int { return family(s.pid) }

// start runs the command in dir and waits until it serves a value.
func (s *server) start(ctx context.Context) (time.Duration, error) {
	cmd, tcp, sock, err := s.command(ctx, s.dir)
	if err != nil {
		return 0, err
	}
	logFile, err := os.Create(filepath.Join(s.dir, "output"))
	if err != nil {
		return 0, err
	}
	defer logFile.Close()
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	// kernel.all.load, which every collector has.
	request := wire.Append(nil, wire.FromAnon, &wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{pcp.NewPMID(60, 2, 0)}})
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	s.cmd, s.pid, s.tcp, s.sock = cmd, cmd.Process.Pid, tcp, sock
	s.exited = make(chan error, 1)
	go func() { s.exited <- cmd.Wait() }()

	deadline := time.After(20 * time.Second)
	for {
		if err := oneFetch(sock, request); err == nil {
			return time.Since(begin), nil
		}
		select {
		case err := <-s.exited:
			out, _ := os.ReadFile(logFile.Name())
			return 0, fmt.Errorf("%s collector: %v: %s", s.name, err, out)
		case <-deadline:
			s.stop()
			return 0, fmt.Errorf("%s collector: no value within 20 s", s.name)
		case <-ctx.Done():
			s.stop()
			return 0, ctx.Err()
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// stop ends the collector and waits for it.
func (s *server) stop() {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(5 * time.Second):
		s.cmd.Process.Kill()
		<-s.exited
	}
	s.cmd = nil
}

// again starts a second collector of the same kind, for as long as it takes
// to get a first value.
func (s *server) again(ctx context.Context) (time.Duration, error) {
	dir, err := os.MkdirTemp(s.dir, "again")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	other := &server{name: s.name, command: s.command, dir: dir}
	d, err := other.start(ctx)
	other.stop()
	return d, err
}

// startOurs starts pcp up, with all agents that it has built in.
func startOurs(ctx context.Context, binary, dir string) (*server, error) {
	if err := os.MkdirAll(filepath.Join(dir, "tmp", "mmv"), 0o700); err != nil {
		return nil, err
	}
	s := &server{name: "ours", dir: dir, command: func(ctx context.Context, dir string) (*exec.Cmd, string, string, error) {
		port, err := freePort()
		if err != nil {
			return nil, "", "", err
		}
		sock := filepath.Join(dir, "pmcd.socket")
		cmd := exec.CommandContext(ctx, binary, "up", "--port", port, "--socket", sock, "--dir", filepath.Join(dir, "state"), "--no-record")
		cmd.Env = append(os.Environ(), "PCP_TMP_DIR="+filepath.Join(dir, "tmp"))
		return cmd, net.JoinHostPort("127.0.0.1", port), sock, nil
	}}
	_, err := s.start(ctx)
	return s, err
}

// Where the packages put the C implementation.
const (
	realPMCD   = "/usr/lib/pcp/bin/pmcd"
	realConf   = "/etc/pcp.conf"
	realAgents = "/var/lib/pcp/pmdas"
	realNames  = "/var/lib/pcp/pmns"
)

// startReal starts a private collector of the C implementation with its
// agents as processes, the way its packages configure them.
func startReal(ctx context.Context, dir string) (*server, error) {
	if _, err := os.Stat(realPMCD); err != nil {
		return nil, errors.New("it is not installed (make oracle)")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	s := &server{name: "C", dir: dir, command: realCommand}
	_, err := s.start(ctx)
	return s, err
}

func realCommand(ctx context.Context, dir string) (*exec.Cmd, string, string, error) {
	port, err := freePort()
	if err != nil {
		return nil, "", "", err
	}
	conf, err := realSetup(dir)
	if err != nil {
		return nil, "", "", err
	}
	sock := filepath.Join(dir, "run", "pmcd.socket")
	cmd := exec.CommandContext(ctx, realPMCD, "-A", "-f", "-Q", "-U", "root", "-i", "127.0.0.1", "-p", port,
		"-s", sock, "-c", filepath.Join(dir, "pmcd.conf"), "-n", filepath.Join(dir, "pmns"),
		"-l", filepath.Join(dir, "log", "pmcd", "pmcd.log"))
	cmd.Env = append(os.Environ(), "PCP_CONF="+conf, "PMCD_ROOT_AGENT=0", "LC_ALL=C")
	cmd.Dir = filepath.Join(dir, "log", "pmcd")
	return cmd, net.JoinHostPort("127.0.0.1", port), sock, nil
}

// realSetup writes a configuration in which every path for output is below dir.
func realSetup(dir string) (conf string, err error) {
	for _, d := range []string{"run", "log/pmcd", "tmp/mmv", "tmp/pmproxy/mmv"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return "", err
		}
	}
	b, err := os.ReadFile(realConf)
	if err != nil {
		return "", err
	}
	text := string(b)
	for name, value := range map[string]string{
		"PCP_RUN_DIR": "run", "PCP_LOG_DIR": "log", "PCP_TMP_DIR": "tmp",
		"PCP_ARCHIVE_DIR": "log/pmlogger", "PCP_PMCDCONF_PATH": "pmcd.conf",
	} {
		re := regexp.MustCompile(`(?m)^` + name + `=.*$`)
		text = re.ReplaceAllLiteralString(text, name+"="+filepath.Join(dir, value))
	}
	conf = filepath.Join(dir, "pcp.conf")
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return "", err
	}
	agents := fmt.Sprintf("pmcd 2 dso pmcd_init %[1]s/pmcd/pmda_pmcd.so\n"+
		"proc 3 pipe binary %[1]s/proc/pmdaproc -d 3\n"+
		"linux 60 pipe binary %[1]s/linux/pmdalinux\n"+
		"mmv 70 dso mmv_init %[1]s/mmv/pmda_mmv.so\n"+
		"[access]\nallow \"*\" : all;\n", realAgents)
	if err := os.WriteFile(filepath.Join(dir, "pmcd.conf"), []byte(agents), 0o644); err != nil {
		return "", err
	}
	names := filepath.Join(dir, "pmns")
	if _, err := os.Stat(names); err == nil {
		return conf, nil
	}
	cmd := exec.Command("/usr/lib/pcp/bin/pmnsmerge", "-a", "root_root", "root_pmcd", "root_linux", "root_proc", "root_mmv", names)
	cmd.Dir = realNames
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("pmnsmerge: %w: %s", err, out)
	}
	return conf, nil
}

func freePort() (string, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	return port, err
}

// machine describes the machine that bench runs on.
func machine() string {
	return fmt.Sprintf("%d × %s, Linux %s, %s", runtime.NumCPU(), processor(), kernel(), runtime.Version())
}

// kernel returns the version of the kernel.
func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// processor returns the name of the processor.
func processor() string {
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
				return strings.TrimSpace(v)
			}
		}
	}
	return "unknown processor"
}
