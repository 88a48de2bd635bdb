//go:build unix

package record

import (
	"os"
	"syscall"
)

// waitStatus returns the status of a process that ended, as from waitpid(2).
func waitStatus(p *os.ProcessState) int {
	if ws, ok := p.Sys().(syscall.WaitStatus); ok {
		return int(ws)
	}
	return p.ExitCode() << 8
}
