package bpf

import "syscall"

// Errors of the kernel.
const (
	errPermission = syscall.EPERM
	errNoSpace    = syscall.ENOSPC
)
