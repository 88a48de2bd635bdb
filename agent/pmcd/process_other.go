//go:build !unix

package pmcd

import "os"

const openNonblock = 0

// processExists reports whether there is such a process.
func processExists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	p.Release()
	return true
}
