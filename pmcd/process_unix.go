//go:build unix

package pmcd

import (
	"os"
	"strconv"
	"syscall"
)

// agentProcAttr keeps a ctrl-C at the terminal for the server alone, which
// then ends its agents in order.
func agentProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// readable tells whether a connection has something to read, if only its end.
// What is read is lost.
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

// exitText says how a process ended, as pmcd's log has it.
func exitText(state *os.ProcessState) string {
	ws, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && ws.Exited():
		return ", exit(" + strconv.Itoa(ws.ExitStatus()) + ")"
	case ok && ws.Signaled():
		text := ", signal(" + strconv.Itoa(int(ws.Signal())) + ")"
		if ws.CoreDump() {
			text += ", dumped core"
		}
		return text
	}
	return ""
}

// exitReason is the exit status and signal part of pmcd.agent.status.
func exitReason(state *os.ProcessState) int {
	ws, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case !ok:
		return 0
	case ws.Exited():
		return ws.ExitStatus() << 8
	case ws.Signaled():
		return int(ws.Signal()) << 16
	}
	return 0
}
