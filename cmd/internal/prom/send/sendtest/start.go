package sendtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A Server is a database that is started, and can be killed and started again with the data that it has on disk.
type Server struct {
	t    *testing.T
	Addr string // HOST:PORT
	cmd  *exec.Cmd
	make func() *exec.Cmd
}

// URL returns the address for senders and readers.
func (s *Server) URL() string { return "http://" + s.Addr }

// Kill kills the server (SIGKILL).
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// Start starts it again.
func (s *Server) Start() { s.cmd = Engine(s.t, s.Addr, s.make()) }

// Prometheus starts Debian's Prometheus, which accepts remote write. The test is skipped if it is not installed.
func Prometheus(t *testing.T) *Server {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("SKIPPED: prometheus is not installed (Debian's package prometheus has it)")
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "p.yml")
	if err := os.WriteFile(conf, []byte("global: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, Addr: Address(t)}
	s.make = func() *exec.Cmd {
		return exec.Command(path, "--config.file="+conf, "--storage.tsdb.path="+dir+"/data", "--storage.tsdb.retention.time=100y",
			"--web.listen-address="+s.Addr, "--web.enable-remote-write-receiver")
	}
	s.Start()
	return s
}

// Victoria starts VictoriaMetrics, where it is installed:
//
//	go install github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics@v1.151.0
//
// Without it, Victoria logs that nothing is tested and returns nil.
func Victoria(t *testing.T) *Server {
	t.Helper()
	path, err := exec.LookPath("victoria-metrics")
	if err != nil {
		t.Log("victoria-metrics is not installed: nothing is tested with it")
		return nil
	}
	dir := t.TempDir()
	s := &Server{t: t, Addr: Address(t)}
	s.make = func() *exec.Cmd {
		return exec.Command(path, "-storageDataPath="+dir, "-httpListenAddr="+s.Addr, "-retentionPeriod=100y")
	}
	s.Start()
	return s
}
