//go:build !unix

package pmcd

import (
	"os"
	"syscall"
)

func agentProcAttr() *syscall.SysProcAttr { return nil }

// exitReason is the exit status part of pmcd.agent.status.
func exitReason(state *os.ProcessState) int { return state.ExitCode() << 8 }
