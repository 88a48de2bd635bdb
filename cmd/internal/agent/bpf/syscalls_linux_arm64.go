package bpf

import "golang.org/x/sys/unix"

// olderSyscalls returns those that other architectures have by another name.
func olderSyscalls() map[int][]int {
	return map[int][]int{classFile: {unix.SYS_FSTATAT}}
}
