//go:build unix

package detach

import (
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/internal/processes"
)

const (
	// plain and readyFile are values of Variable. With readyFile, the daemon closes a file when it is ready.
	plain     = "1"
	readyFile = "3"
	// patience limits the time until a daemon is ready.
	patience = 10 * time.Second
)

// Start starts the daemon.
func Start(cfg Config) error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(path)
	cmd.Args = os.Args // the name selects the command
	cmd.SysProcAttr = processes.Apart()
	if cfg.Stdin != nil {
		cmd.Stdin = cfg.Stdin
	}
	if cfg.Stdout != nil {
		cmd.Stdout = cfg.Stdout
	}
	if cfg.Stderr != nil {
		cmd.Stderr = cfg.Stderr
	}
	if !cfg.Wait {
		cmd.Env = append(os.Environ(), Variable+"="+plain)
		return cmd.Start()
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd.Env = append(os.Environ(), Variable+"="+readyFile)
	cmd.ExtraFiles = []*os.File{w}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return err
	}
	r.SetReadDeadline(time.Now().Add(patience))
	r.Read(make([]byte, 1)) // it waits for the end of the file
	return nil
}

// Ready signals that this daemon is ready, if the program that started it waits for it.
func Ready(getenv func(string) string) {
	if getenv(Variable) == readyFile {
		os.Unsetenv(Variable)
		os.NewFile(3, "ready").Close()
	}
}

// Settle replaces the daemon's original standard error by its log, since a
// parent that reads standard error to its end waits for it.
func Settle(log *os.File) error { return unix.Dup2(int(log.Fd()), int(os.Stderr.Fd())) }
