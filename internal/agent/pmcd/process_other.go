//go:build !unix

package pmcd

import "os"

const openNonblock = 0

// processExists reports whether a process exists.
func processExists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	p.Release()
	return true
}
