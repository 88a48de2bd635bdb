//go:build unix

package root

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/rootproto"
)

// Limits on started programs.
const (
	maxProcesses = 512  // at a time
	maxWords     = 256  // of a command
	maxEnded     = 1024 // ended processes that no client asked for
)

// A process is an agent that was started.
type process struct {
	pid   int
	label string
	cmd   *exec.Cmd
	ours  []*os.File // of a pipe agent: to its standard input, from its output
}

// processes are the started processes that run, and the exit status of ended ones.
type processes struct {
	cfg ServerConfig
	log *slog.Logger

	mu      sync.Mutex
	running map[int]*process
	ended   []rootproto.Stop
	reaping sync.WaitGroup
}

func (ps *processes) init(cfg ServerConfig, log *slog.Logger) {
	ps.cfg, ps.log, ps.running = cfg, log, map[int]*process{}
}

func (p *process) closeOurs() {
	for _, f := range p.ours {
		f.Close()
	}
	p.ours = nil
}

// start starts the program of q if sender may start it.
func (ps *processes) start(q *rootproto.Start, sender *rootproto.Cred) (*process, error) {
	if q.IPC != rootproto.IPCPipe && q.IPC != rootproto.IPCSocket {
		return nil, fmt.Errorf("connection of kind %d: %w", q.IPC, pcp.ErrIPC)
	}
	if !validID(q.Label) {
		return nil, fmt.Errorf("agent called %.70q: %w", q.Label, pcp.ErrIPC)
	}
	words := strings.Fields(q.Args)
	path, err := ps.check(words, sender)
	if err != nil {
		return nil, err
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if len(ps.running) >= maxProcesses {
		return nil, fmt.Errorf("%d agents run already", len(ps.running))
	}
	ps.log.Info("Starting " + q.Label + " agent: " + strings.Join(words, " "))
	p := &process{label: q.Label, cmd: &exec.Cmd{Path: path, Args: words, Stderr: ps.cfg.Output}}
	var theirs []*os.File
	if q.IPC == rootproto.IPCPipe {
		var err error
		if theirs, p.ours, err = pipes(); err != nil {
			return nil, err
		}
		p.cmd.Stdin, p.cmd.Stdout = theirs[0], theirs[1]
	} else {
		p.cmd.Stdout = ps.cfg.Output
	}
	err = p.cmd.Start()
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		p.closeOurs()
		return nil, err
	}
	p.pid = p.cmd.Process.Pid
	ps.running[p.pid] = p
	ps.reaping.Go(func() { ps.reap(p) })
	return p, nil
}

// pipes makes a pair. They block, as the collector that gets their ends expects,
// and so are not os.Pipe's.
func pipes() (theirs, ours []*os.File, err error) {
	var in, out [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := pipe(&in); err != nil {
		return nil, nil, os.NewSyscallError("pipe", err)
	}
	if err := pipe(&out); err != nil {
		syscall.Close(in[0])
		syscall.Close(in[1])
		return nil, nil, os.NewSyscallError("pipe", err)
	}
	file := func(fd int) *os.File { return os.NewFile(uintptr(fd), "pipe") }
	return []*os.File{file(in[0]), file(out[1])}, []*os.File{file(in[1]), file(out[0])}, nil
}

func pipe(p *[2]int) error {
	if err := syscall.Pipe(p[:]); err != nil {
		return err
	}
	syscall.CloseOnExec(p[0])
	syscall.CloseOnExec(p[1])
	return nil
}

// reap waits for a process and keeps its exit status for later requests.
func (ps *processes) reap(p *process) {
	p.cmd.Wait()
	r := rootproto.Stop{Type: rootproto.TypeStop, PID: p.pid}
	if p.cmd.ProcessState != nil {
		if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
			r.Code = int(ws)
		}
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	delete(ps.running, p.pid)
	if ps.ended = append(ps.ended, r); len(ps.ended) > maxEnded {
		ps.ended = slices.Delete(ps.ended, 0, 1)
	}
}

// stop ends a process that the server started, or returns a process that has
// ended. It refuses to signal others; C's helper would send them the signal.
func (ps *processes) stop(q *rootproto.Stop) *rootproto.Stop {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	r := &rootproto.Stop{Type: rootproto.TypeStop, PID: q.PID}
	if !q.Force && q.PID < 1 {
		switch {
		case len(ps.ended) > 0:
			*r = ps.ended[0]
			ps.ended = slices.Delete(ps.ended, 0, 1)
		case len(ps.running) == 0:
			r.PID = -1 // as waitpid(2) returns
		default:
			r.PID = 0
		}
		return r
	}
	p := ps.running[q.PID]
	if p == nil {
		r.Status = -pcp.Error(syscall.ESRCH)
		return r
	}
	sig := syscall.SIGTERM
	if q.Force {
		sig = syscall.SIGKILL
	}
	if err := p.cmd.Process.Signal(sig); err != nil {
		r.Status = -pcp.Error(syscall.ESRCH)
	}
	return r
}

// endGrace is the time that agents have to end by themselves when their collector
// is gone, and then after a signal.
const endGrace = 500 * time.Millisecond

// endAll ends all running processes.
func (ps *processes) endAll() {
	done := make(chan struct{})
	go func() {
		ps.reaping.Wait()
		close(done)
	}()
	for _, sig := range []os.Signal{nil, syscall.SIGTERM, syscall.SIGKILL} {
		ps.mu.Lock()
		for _, p := range ps.running {
			if sig != nil {
				p.cmd.Process.Signal(sig)
			}
		}
		ps.mu.Unlock()
		select {
		case <-done:
			return
		case <-time.After(endGrace):
		}
	}
	<-done
}
