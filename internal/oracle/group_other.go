//go:build !linux

package oracle

import "syscall"

// ownGroup is nothing here, where there is no real collector to compare with.
func ownGroup() *syscall.SysProcAttr { return nil }
