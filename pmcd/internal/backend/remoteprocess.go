package backend

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/wire"
)

// dropLocked closes the connection of an agent that broke the protocol.
func (r *remote) dropLocked(why error) {
	if r.conn == nil {
		return
	}
	r.conn.Close()
	r.conn = nil
	reason, how := reasonProtocol, ""
	if r.exited != nil && !r.h.stopping() {
		// The way it ended by itself shows more about the reason.
		select {
		case <-r.exited:
			reason |= r.proc.ending().reason()
			how = r.proc.ending().text()
		case <-time.After(exitGrace):
		}
	}
	fd := r.outFD
	if r.unsent {
		fd = r.inFD
	}
	r.gone(reason, fmt.Sprintf(" protocol failure for fd=%d", fd)+how, why)
	if r.exited != nil {
		r.waiting.Go(r.endProcess)
	}
}

// DropClosed drops an agent that has closed its connection, or has sent
// something without a request.
func (r *remote) DropClosed() {
	if !r.ag.connected.Load() || r.ag.notReady.Load() || r.ag.late.Load() || !r.slot.tryAcquire() {
		return // the goroutine that waits for it will notice
	}
	defer r.slot.release()
	conn, ok := r.conn.(syscall.Conn)
	if !ok {
		return
	}
	if r.conn.SetReadDeadline(time.Time{}) == nil && readable(conn) {
		r.dropLocked(errors.New("agent closed its connection, or sent an unexpected message"))
	}
}

// exitGrace is how long a process that was dropped has to end by itself.
const exitGrace = 100 * time.Millisecond

// endProcess kills a process that did not end when its connection was closed.
func (r *remote) endProcess() {
	select {
	case <-r.exited:
	default:
		r.killed.Store(true)
		r.proc.kill()
	}
}

// gone records that the agent is no more; how are the words for the log.
func (r *remote) gone(reason int, how string, why error) {
	r.ag.mu.Lock()
	r.ag.reason = reason
	r.ag.mu.Unlock()
	r.ag.notReady.Store(false)
	r.ag.late.Store(false)
	r.ag.fenced.Store(false)
	if !r.ag.connected.Swap(false) || r.h.stopping() {
		return
	}
	r.h.Log.Error("agent dropped", "agent", r.ag.Name(), "domain", r.ag.spec.Domain, "err", why)
	r.h.cleanup(r.ag, r.inFD, r.outFD, how)
	r.h.Changed(wire.DropAgent)
	r.h.Died()
}

// Start brings the agent up: process, connection, credentials.
func (r *remote) Start() {
	if err := r.connect(); err != nil {
		io.WriteString(r.h.Report, r.startFailure(err))
		attrs := []any{"agent", r.ag.Name(), "domain", r.ag.spec.Domain, "err", err}
		defer func() { r.h.Log.Error("agent not started", attrs...) }()
		r.slot.acquire()
		defer r.slot.release()
		if r.conn != nil {
			r.conn.Close()
			r.conn = nil
		}
		if r.exited != nil {
			select {
			case <-r.exited:
				if errors.Is(err, errAgentEOF) { // not because of us
					attrs = append(attrs, "process", strings.TrimPrefix(r.proc.ending().text(), ", "))
				}
			case <-time.After(exitGrace):
				r.proc.kill()
			}
		}
		return
	}
	r.ag.notReady.Store(r.ag.spec.NotReady)
	r.ag.connected.Store(true)
	r.h.Trace.Add(trace.Event{Kind: trace.AddAgent, Who: r.ag.spec.Domain, P1: int32(r.inFD), P2: int32(r.outFD)})
	r.ag.mu.Lock()
	r.ag.reason = 0
	r.ag.mu.Unlock()
	if r.ag.spec.NotReady {
		r.waiting.Go(r.awaitReady)
	}
	if r.exited == nil {
		return
	}
	select {
	case <-r.exited: // just before it counted as connected, so that reap let it be
		r.slot.acquire()
		defer r.slot.release()
		r.exits()
	default:
	}
}

func (r *remote) connect() error {
	spec := &r.ag.spec
	if len(spec.Args) > 0 {
		if err := r.spawn(); err != nil {
			return err
		}
	}
	if spec.Kind == conf.Socket {
		if err := r.dial(); err != nil {
			return err
		}
	}
	r.pdus = wire.NewReader(r.conn)
	r.pdus.Max = wire.MaxPDU
	return r.negotiate()
}

// spawn starts the agent's process.
func (r *remote) spawn() (err error) {
	spec := &r.ag.spec
	if done, err := r.spawnByRoot(); done {
		return err
	}
	cmd := exec.Command(spec.Args[0], spec.Args[1:]...)
	cmd.Dir = r.h.Dir
	cmd.Env = append(os.Environ(), r.h.Env...)
	output := &outputLimiter{out: r.h.Output, log: r.h.Log, agent: r.ag.Name()}
	cmd.Stderr = output
	cmd.SysProcAttr = agentProcAttr()
	cmd.WaitDelay = stopGrace // for grandchildren that keep the standard error
	var theirs []*os.File
	if spec.Kind == conf.Pipe {
		stdin, in, err := os.Pipe()
		if err != nil {
			return err
		}
		out, stdout, err := os.Pipe()
		if err != nil {
			stdin.Close()
			in.Close()
			return err
		}
		r.connected(pipePair{in, out})
		cmd.Stdin, cmd.Stdout = stdin, stdout
		theirs = append(theirs, stdin, stdout)
	} else {
		cmd.Stdout = output
	}
	err = cmd.Start()
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		return &spawnError{spec.Args[0], err}
	}
	r.runs(child{cmd, output}, cmd.Process.Pid)
	return nil
}

// runs records the process of the agent and waits for its end in a goroutine.
func (r *remote) runs(p agentProcess, pid int) {
	r.proc, r.exited = p, make(chan struct{})
	r.ag.pid.Store(int32(pid))
	r.waiting.Go(r.reap)
}

// reap waits for the process. If it ends by itself, the agent is dropped.
func (r *remote) reap() {
	r.ending = r.proc.wait()
	close(r.exited)
	r.slot.acquire()
	defer r.slot.release()
	if r.conn == nil || !r.ag.connected.Load() {
		// Dropped before: the way it ended by itself shows more about the reason.
		r.ag.mu.Lock()
		defer r.ag.mu.Unlock()
		// It may have ended just before it was killed.
		itself := r.proc.ending().exited || !r.killed.Load()
		if r.ag.reason&reasonProtocol != 0 && itself {
			r.ag.reason |= r.proc.ending().reason()
		}
		return
	}
	r.exits()
}

// exits drops an agent whose process has ended, unless that was done. Called
// by the holder of r.slot.
func (r *remote) exits() {
	if r.conn == nil {
		return
	}
	r.conn.Close()
	r.conn = nil
	why := r.ending
	if why == nil {
		why = errors.New("exit status 0")
	}
	r.gone(reasonExit|r.proc.ending().reason(), " terminated"+r.proc.ending().text(), fmt.Errorf("agent's process ended: %w", why))
}

// dial connects to a socket agent, and if its process was started just now
// tries until it listens.
func (r *remote) dial() error {
	spec := &r.ag.spec
	address := spec.Address
	if spec.Network != "unix" {
		address = net.JoinHostPort("localhost", spec.Address)
	}
	end := time.Now().Add(r.h.CredsTimeout)
	for {
		conn, err := net.DialTimeout(spec.Network, address, r.h.CredsTimeout)
		if err == nil {
			r.slot.acquire()
			r.connected(conn.(agentConn))
			r.slot.release()
			return nil
		}
		if r.exited == nil || time.Now().After(end) {
			return err
		}
		select {
		case <-r.exited:
			return fmt.Errorf("agent's process ended: %w", err)
		case <-r.h.Closing:
			return err
		case <-time.After(dialPause):
		}
	}
}

const dialPause = 20 * time.Millisecond

// negotiate takes the agent's credentials and sends the collector's.
func (r *remote) negotiate() error {
	if err := r.conn.SetReadDeadline(time.Now().Add(r.h.CredsTimeout)); err != nil {
		return err
	}
	h, body, err := r.receive()
	if errors.Is(err, pcp.ErrTimeout) { // not that of later requests
		return fmt.Errorf("initial exchange: no credentials within %v: %w", r.h.CredsTimeout, pcp.ErrTimeout)
	}
	if err != nil {
		return fmt.Errorf("initial exchange: %w", err)
	}
	if h.Type != wire.TypeCreds {
		return &firstPDUError{h.Type}
	}
	var creds wire.Creds
	if err := creds.DecodeBody(body); err != nil {
		return fmt.Errorf("initial exchange: %v PDU: %w", h.Type, err)
	}
	version, flags, ok := creds.Version()
	if !ok || version != wire.PDUVersion {
		return fmt.Errorf("initial exchange: agent's protocol version is %d", version)
	}
	r.flags = flags
	reply := &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, flags&wire.FeatureAuth)}}
	if err := r.setDeadlines(); err != nil {
		return err
	}
	return r.send(int32(os.Getpid()), reply)
}

// stopGrace is how long an agent's process has to end when its pipe closes.
const stopGrace = 500 * time.Millisecond

// killGrace is how long it then has until it is killed. A collector that gave up
// its privileges cannot kill a process of another user.
const killGrace = 5 * time.Second

// Stop closes the connection and sees the process out.
func (r *remote) Stop() {
	r.ag.connected.Store(false)
	// A request may wait for its answer for ever, if there is no time-out.
	cut := time.AfterFunc(stopGrace, r.Abandon)
	r.slot.acquire()
	cut.Stop()
	if r.conn != nil {
		r.conn.Close()
		r.conn = nil
	}
	r.slot.release()
	if r.exited != nil {
		if r.ag.spec.Kind == conf.Socket {
			r.proc.interrupt()
		}
		select {
		case <-r.exited:
		case <-time.After(stopGrace):
			r.killed.Store(true)
			r.proc.kill()
			select {
			case <-r.exited:
			case <-time.After(killGrace):
				r.h.Log.Error("agent's process cannot be ended; it is left behind", "agent", r.ag.Name(), "pid", r.ag.pid.Load())
				return
			}
		}
	}
	r.waiting.Wait()
}

// ended returns the agent's files, and how its process ended if it did that by
// itself.
func (r *remote) ended() (in, out int, how string) {
	if r.exited != nil && !r.killed.Load() {
		how = r.proc.ending().text()
	}
	return r.inFD, r.outFD, how
}

// Abandon ends an exchange under way.
func (r *remote) Abandon() {
	if conn := r.link.Load(); conn != nil {
		(*conn).Close()
	}
}
