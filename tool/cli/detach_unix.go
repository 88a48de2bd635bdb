//go:build unix

package cli

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Detach starts this program again with the same arguments, as a daemon: in a session of
// its own and away from the terminal. It returns the exit status of this process.
func Detach(env *Env) int {
	path, err := os.Executable()
	if err != nil {
		return env.Fatalf("cannot become a daemon: %s", ErrText(err))
	}
	cmd := exec.Command(path)
	cmd.Args = os.Args // the name chooses the command
	cmd.Env = append(os.Environ(), Detached+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = os.Stderr // until it runs, see Settle
	if err := cmd.Start(); err != nil {
		return env.Fatalf("cannot become a daemon: %s", ErrText(err))
	}
	return 0
}

// Settle has a daemon's log take the place of the standard error that it began
// with, since a parent that reads that to its end waits for it.
func Settle(log *os.File) error { return unix.Dup2(int(log.Fd()), int(os.Stderr.Fd())) }
