//go:build !unix

package pmcd

import (
	"os"
	"syscall"
)

func agentProcAttr() *syscall.SysProcAttr { return nil }

// readable would tell whether a connection has something to read, which cannot
// be asked here.
func readable(syscall.Conn) bool { return false }

// exitReason is the exit status part of pmcd.agent.status.
func exitReason(state *os.ProcessState) int { return state.ExitCode() << 8 }
