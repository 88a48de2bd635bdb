//go:build unix

package logctl

import (
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// writable reports whether this process may create files in a directory.
func writable(dir string) bool { return unix.Access(dir, unix.W_OK) == nil }

// become makes a command run as another user.
func become(cmd *exec.Cmd, uid, gid int) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

// kill sends a signal to a process.
func kill(pid int, name string) error {
	sig := unix.SignalNum("SIG" + name)
	if sig == 0 {
		return fmt.Errorf("signal %s is not known", name)
	}
	return syscall.Kill(pid, sig)
}
