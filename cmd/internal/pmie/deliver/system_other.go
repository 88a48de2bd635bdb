//go:build !unix

package deliver

import "syscall"

func apart() *syscall.SysProcAttr { return nil }
