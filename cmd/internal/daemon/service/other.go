//go:build !unix

package service

import (
	"net"
	"os"
)

func monotonic() int64 { return 0 }

// SetBacklog does nothing: the system's limit of waiting connections remains.
func SetBacklog([]net.Listener, int) error { return nil }

func closeOnExec(*os.File) {}
