//go:build !unix

package record

import "os"

// waitStatus returns the status of a process that ended, as from waitpid(2).
func waitStatus(p *os.ProcessState) int { return p.ExitCode() << 8 }
