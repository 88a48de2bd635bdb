//go:build unix

package record

import (
	"os"
	"syscall"
)

// waitStatus returns how a process ended, as waitpid(2) says it.
func waitStatus(p *os.ProcessState) int {
	if ws, ok := p.Sys().(syscall.WaitStatus); ok {
		return int(ws)
	}
	return p.ExitCode() << 8
}
