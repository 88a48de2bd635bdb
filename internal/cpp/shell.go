package cpp

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// Shell returns a function for Config.Shell that runs commands with /bin/sh;
// their standard error goes to stderr, which may be nil.
func Shell(stderr io.Writer) func(command string) (io.ReadCloser, error) {
	return func(command string) (io.ReadCloser, error) {
		cmd := exec.Command("/bin/sh", "-c", command)
		cmd.Stderr = stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return &process{out: out, cmd: cmd}, nil
	}
}

type process struct {
	out   io.ReadCloser
	cmd   *exec.Cmd
	ended bool // it has closed its output
}

func (p *process) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	p.ended = p.ended || err != nil
	return n, err
}

// Close waits for the command. It kills a command whose output was not read to
// the end.
func (p *process) Close() error {
	if !p.ended {
		p.cmd.Process.Kill()
	}
	p.out.Close()
	return p.cmd.Wait()
}

// warn reports how a command failed.
func (r *Reader) warn(err error) {
	if r.cfg.Warn == nil {
		return
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		r.cfg.Warn(fmt.Sprintf("Warning: %cshell cmd: %v", r.ctl, err))
		return
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.cfg.Warn(fmt.Sprintf("Warning: %cshell cmd terminated by signal %d", r.ctl, ws.Signal()))
		return
	}
	r.cfg.Warn(fmt.Sprintf("Warning: %cshell cmd returns %d exit status", r.ctl, exit.ExitCode()))
}
