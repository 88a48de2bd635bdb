//go:build !linux

package oracle

import "syscall"

// ownGroup does nothing here, where there is no real collector to compare with.
func ownGroup() *syscall.SysProcAttr { return nil }

// EndsWith is nothing here: a process that the test starts may outlive it.
func EndsWith(syscall.Signal) *syscall.SysProcAttr { return nil }
