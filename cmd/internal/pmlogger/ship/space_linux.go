package ship

import "syscall"

// packed is how much smaller compressed files are at least, as a rule.
const packed = 4

// roomFor reports whether the file system of a directory has space for the compressed copy of a file.
func roomFor(dir string, size int64) bool {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return true // compression will report it
	}
	return int64(st.Bavail)*int64(st.Bsize) >= size/packed
}
