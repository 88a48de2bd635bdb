//go:build !unix

package pmcd

import (
	"os"
	"strconv"
	"syscall"
)

func agentProcAttr() *syscall.SysProcAttr { return nil }

// readable would tell whether a connection has something to read, which cannot
// be asked here.
func readable(syscall.Conn) bool { return false }

// exitText says how a process ended, as pmcd's log has it.
func exitText(state *os.ProcessState) string {
	return ", exit(" + strconv.Itoa(state.ExitCode()) + ")"
}

// exitReason is the exit status part of pmcd.agent.status.
func exitReason(state *os.ProcessState) int { return state.ExitCode() << 8 }
