//go:build unix

package doctor

import "golang.org/x/sys/unix"

// A volume is the space of a file system.
type volume struct {
	device            uint64
	free, size        int64 // bytes
	freeFiles, files  uint64
	readOnly, unknown bool
}

func volumeOf(path string) volume {
	var st unix.Statfs_t
	var file unix.Stat_t
	if unix.Statfs(path, &st) != nil || unix.Stat(path, &file) != nil {
		return volume{unknown: true}
	}
	return volume{
		device: uint64(file.Dev),                                                             //nolint:unconvert // the type differs between systems
		free:   int64(st.Bavail) * int64(st.Bsize), size: int64(st.Blocks) * int64(st.Bsize), //nolint:unconvert // the types differ between systems
		freeFiles: st.Ffree, files: st.Files, readOnly: readOnly(&st),
	}
}
