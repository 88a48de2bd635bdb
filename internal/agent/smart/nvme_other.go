//go:build !linux

package smart

import "io/fs"

// openNVMe is for Linux only.
func openNVMe(string) (nvmeDisk, error) { return nil, fs.ErrNotExist }
