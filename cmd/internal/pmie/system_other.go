//go:build !unix

package pmie

import "syscall"

func apart() *syscall.SysProcAttr { return nil }
