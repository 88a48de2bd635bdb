package record

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
)

// patience is the maximum time for a logger to read a request.
const patience = 10 * time.Second

// A request is a command to a logger. Part of the protocol; do not change.
type request byte

const (
	version    request = 'V'
	folioName  request = 'F'
	program    request = 'P'
	replayable request = 'R'
	detach     request = 'D'
	quit       request = 'Q'
	report     request = '?'
)

// A Host is one of a session, with its logger (pmRecordHost). Until the session is turned
// on, the configuration of the logger is written to it.
type Host struct {
	s      *Session
	name   string
	first  bool // it is the default host
	base   string
	config *os.File
	args   []string

	// The mutex of the session guards the following fields.
	state  state
	pipe   *os.File // to the logger; nil if it does not listen
	pid    int
	status int
	done   chan struct{}
}

// path returns the path of one of the files of the host.
func (h *Host) path(end string) string { return filepath.Join(h.s.dir, h.base+end) }

// Name returns the name by which the host was added.
func (h *Host) Name() string { return h.name }

// Archive returns the path of the archive, without the suffixes of its files.
func (h *Host) Archive() string { return h.path("") }

// LogFile returns the path of the file with the messages of the logger.
func (h *Host) LogFile() string { return h.path(".log") }

// Write writes to the configuration of the logger, in the language of pmlogger(1).
func (h *Host) Write(b []byte) (int, error) { return h.config.Write(b) }

// PID returns the process of the logger, 0 before it is started.
func (h *Host) PID() int {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	return h.pid
}

// Status returns the status of the logger as from waitpid(2), -1 if it has not ended.
func (h *Host) Status() int {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	return h.status
}

// Done returns a channel that is closed when the logger has ended.
func (h *Host) Done() <-chan struct{} { return h.done }

// SetArg is [Session.SetArg] for the logger of this host.
func (h *Host) SetArg(arg string) error {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	return h.setArg(arg)
}

func (h *Host) setArg(arg string) error {
	if h.s.state != hasHosts {
		return outOfOrder("host "+h.name, "it is too late for arguments")
	}
	h.args = append(h.args, arg)
	return nil
}

// Off is [Session.Off] for the logger of this host.
func (h *Host) Off() error { return h.one(quit) }

// Detach is [Session.Detach] for the logger of this host.
func (h *Host) Detach() error { return h.one(detach) }

// Report is [Session.Report] for the logger of this host.
func (h *Host) Report() error { return h.one(report) }

func (h *Host) one(r request) error {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if h.s.state != on || h.state != on {
		return outOfOrder("host "+h.name, "it is not on")
	}
	return h.send(r)
}

// launch starts the logger and sends its parameters.
func (h *Host) launch(path string) error {
	in, out, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("host %s: %w", h.name, err)
	}
	defer in.Close()
	const fd = "3" // the first of ExtraFiles
	cmd := exec.Command(path)
	cmd.Args = slices.Concat([]string{"pmlogger"}, h.args,
		[]string{"-x", fd, "-h", h.name, "-l", h.base + ".log", "-c", h.base + ".config", h.base})
	cmd.Dir, cmd.Env, cmd.ExtraFiles = h.s.dir, h.s.cfg.Env, []*os.File{in}
	if cmd.Stderr = h.s.cfg.Stderr; h.s.cfg.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	cmd.Stdout = cmd.Stderr
	if err := cmd.Start(); err != nil {
		out.Close()
		return fmt.Errorf("host %s: %w", h.name, err)
	}
	h.state, h.pipe, h.pid = on, out, cmd.Process.Pid
	go h.wait(cmd)
	err = errors.Join(h.tell(version, "0"), h.tell(folioName, h.s.folio), h.tell(program, h.s.cfg.Creator))
	if h.s.cfg.Replay {
		err = errors.Join(err, h.tell(replayable, ""))
	}
	return err
}

// wait waits for the end of the logger.
func (h *Host) wait(cmd *exec.Cmd) {
	// The status has the reason.
	_ = cmd.Wait()
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.status = waitStatus(cmd.ProcessState)
	h.hangUp()
	close(h.done)
}

// hangUp closes the pipe to the logger.
func (h *Host) hangUp() {
	if h.pipe != nil {
		h.pipe.Close()
		h.pipe = nil
	}
}

// send sends a request. After all but report the host is off, and with the last one so is the
// session.
func (h *Host) send(r request) error {
	err := h.tell(r, "")
	if r == report {
		return err
	}
	h.state = off
	h.hangUp()
	if !slices.ContainsFunc(h.s.hosts, func(h *Host) bool { return h.state == on }) {
		h.s.state = off
	}
	return err
}

// tell writes a line to the logger. C sends a text of its caller with some
// requests; this package does not, as no pmlogger understands it.
func (h *Host) tell(r request, text string) error {
	err := error(pcp.ErrIPC)
	if h.pipe != nil {
		_ = h.pipe.SetWriteDeadline(time.Now().Add(patience)) // if that is not possible it waits
		if _, err = h.pipe.Write(fmt.Appendf(nil, "%c%s\n", r, text)); err == nil {
			return nil
		}
		h.hangUp()
		if errors.Is(err, syscall.EPIPE) {
			err = pcp.ErrIPC
		}
	}
	return fmt.Errorf("logger for host %s: %w", h.name, err)
}
