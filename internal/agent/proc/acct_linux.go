package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// switchAccounting makes the kernel write records to a file, or stop for "".
func switchAccounting(path string) error {
	if path == "" {
		// Not unix.Acct, which would give the kernel an empty path.
		if _, _, errno := unix.Syscall(unix.SYS_ACCT, 0, 0, 0); errno != 0 {
			return errno
		}
		return nil
	}
	return unix.Acct(path)
}

// grows has a process end, and reports whether the file is then larger. The process is a
// child that fails to execute a program that does not exist.
func grows(f *os.File) bool {
	before, err := f.Stat()
	if err != nil {
		return false
	}
	_, _ = syscall.ForkExec("/dev/null/none", []string{"none"}, nil)
	after, err := f.Stat()
	return err == nil && after.Size() > before.Size()
}

// openAcct opens a file of accounting. It truncates or creates the agent's own file, and does
// not follow a link in its place. It opens any other file without waiting.
func openAcct(path string, own bool) (*os.File, error) {
	if !own {
		return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	}
	return os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o400)
}
