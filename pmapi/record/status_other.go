//go:build !unix

package record

import "os"

// waitStatus returns how a process ended, as waitpid(2) would say it.
func waitStatus(p *os.ProcessState) int { return p.ExitCode() << 8 }
