//go:build unix

package await

import (
	"os"
	"syscall"
)

// quit has a Go program print its goroutines and end.
func quit(p *os.Process) { p.Signal(syscall.SIGQUIT) }
