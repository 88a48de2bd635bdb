package proc

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// A directory reads directories of /proc without a string for each name. Its zero value is
// ready for use.
type directory struct{ buf []byte }

// Offsets in the entry of getdents64(2) for each name.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

// pids calls fn for each name in a directory that is a process identifier.
func (d *directory) pids(path string, fn func(pid int32)) error {
	return d.each(path, func(name []byte, _ byte) {
		if pid, ok := number(name); ok {
			fn(pid)
		}
	})
}

// count returns the number of names in the directory fd of a process. If sized is set it
// may return the directory's size, which the kernel sets to that number since Linux 6.2,
// for every user.
func (d *directory) count(path string, sized bool) (n int, err error) {
	var st unix.Stat_t
	if sized && unix.Stat(path, &st) == nil && st.Size > 0 {
		return int(st.Size), nil
	}
	err = d.each(path, func([]byte, byte) { n++ })
	return n, err
}

// subdirectories appends the names of subdirectories to names, each with a NUL at its end, in the
// order of the directory. Those that begin with a dot do not count.
func (d *directory) subdirectories(path string, names []byte) ([]byte, error) {
	err := d.each(path, func(name []byte, kind byte) {
		if name[0] != '.' && (kind == unix.DT_DIR || kind == unix.DT_UNKNOWN && isDirectory(path+"/"+string(name))) {
			names = append(append(names, name...), 0)
		}
	})
	return names, err
}

// each calls fn for each name, with its type (DT_DIR and so on).
func (d *directory) each(path string, fn func(name []byte, kind byte)) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	d.room()
	for {
		n, err := unix.ReadDirent(fd, d.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n <= 0 {
			return nil
		}
		for b := d.buf[:n]; len(b) > direntName; {
			size := int(binary.NativeEndian.Uint16(b[direntLength:]))
			if size <= direntName || size > len(b) {
				return unix.EIO
			}
			name := b[direntName:size]
			for i, c := range name {
				if c == 0 {
					name = name[:i]
					break
				}
			}
			if s := string(name); s != "" && s != "." && s != ".." {
				fn(name, b[direntType])
			}
			b = b[size:]
		}
	}
}

// link returns the target of a symbolic link, valid until the next call.
func (d *directory) link(path string) ([]byte, error) {
	d.room()
	n, err := unix.Readlink(path, d.buf)
	if err != nil {
		return nil, err
	}
	return d.buf[:n], nil
}

func (d *directory) room() {
	if d.buf == nil {
		d.buf = make([]byte, 32<<10)
	}
}

// isProc reports whether a directory is /proc, and not a copy.
func isProc(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && int64(st.Type) == unix.PROC_SUPER_MAGIC
}

// countsLinks reports whether a directory has 2 links and one for each subdirectory, as
// those of control groups do. Other file systems, of fixtures, need not.
func countsLinks(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && (int64(st.Type) == unix.CGROUP_SUPER_MAGIC || int64(st.Type) == unix.CGROUP2_SUPER_MAGIC)
}

// isLeaf reports whether a directory that counts links has no subdirectories, which saves
// reading the names of some fifty files.
func isLeaf(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Nlink == 2
}

func isDirectory(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// openLimit returns the maximum number of open files of this process.
func openLimit() int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return int(min(r.Cur, 1<<20))
}
