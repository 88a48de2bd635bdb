//go:build !unix

package service

import "os"

func monotonic() int64 { return 0 }

func closeOnExec(*os.File) {}
