//go:build !linux

package smart

import "io/fs"

// openSCSI is for Linux only.
func openSCSI(string) (scsiDisk, error) { return nil, fs.ErrNotExist }
