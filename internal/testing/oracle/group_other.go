//go:build !linux

package oracle

import (
	"os/exec"
	"syscall"
)

// StartWith is cmd.Start here: a process that the test starts may outlive it.
func StartWith(cmd *exec.Cmd, _ syscall.Signal) error { return cmd.Start() }

// leadGroup does nothing here, where there is no real collector to compare with.
func leadGroup(*exec.Cmd) {}
