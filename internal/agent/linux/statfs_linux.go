package linux

import "syscall"

func statfs(path string) (fsStat, error) {
	var s syscall.Statfs_t
	for {
		err := syscall.Statfs(path, &s)
		if err == syscall.EINTR {
			continue
		}
		return fsStat{
			blockSize: uint64(s.Bsize),
			blocks:    s.Blocks,
			free:      s.Bfree,
			avail:     s.Bavail,
			files:     s.Files,
			freeFiles: s.Ffree,
		}, err
	}
}
