//go:build unix

package pmcd

import (
	"os"
	"syscall"
)

// agentProcAttr keeps a ctrl-C at the terminal for the server alone, which
// then ends its agents in order.
func agentProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

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
