//go:build unix

package backend

import (
	"os"
	"syscall"
)

// agentProcAttr keeps a ctrl-C at the terminal for the collector alone, which
// then ends its agents in order.
func agentProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// readable reports whether a connection has something to read, if only its end.
// The bytes it reads are lost.
func readable(conn syscall.Conn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	is := false
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, err := syscall.Read(int(fd), b[:])
		is = err != syscall.EAGAIN && err != syscall.EINTR
		return true
	})
	return is || err != nil
}

// endingOf returns how a process ended.
func endingOf(state *os.ProcessState) ending {
	if state == nil {
		return ending{}
	}
	ws, _ := state.Sys().(syscall.WaitStatus)
	return endingBy(ws)
}

// endingBy decodes a status of waitpid(2).
func endingBy(ws syscall.WaitStatus) (e ending) {
	switch {
	case ws.Exited():
		e.exited, e.code = true, ws.ExitStatus()
	case ws.Signaled():
		e.signal, e.core = int(ws.Signal()), ws.CoreDump()
	}
	return e
}

func (c child) interrupt() { c.cmd.Process.Signal(os.Interrupt) }
