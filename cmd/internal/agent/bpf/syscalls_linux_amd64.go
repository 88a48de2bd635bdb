package bpf

import "golang.org/x/sys/unix"

// olderSyscalls returns those that newer architectures do not have.
func olderSyscalls() map[int][]int {
	return map[int][]int{
		classFile:    {unix.SYS_OPEN, unix.SYS_CREAT, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_NEWFSTATAT, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_RENAME, unix.SYS_UNLINK, unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_GETDENTS, unix.SYS_CHMOD, unix.SYS_CHOWN},
		classWait:    {unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_EPOLL_WAIT},
		classProcess: {unix.SYS_FORK, unix.SYS_VFORK},
	}
}
