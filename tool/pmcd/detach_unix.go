//go:build unix

package pmcd

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/tool/cli"
)

// detach starts this program again with the same arguments, in a session of
// its own and away from the terminal, and leaves it to itself.
func detach(env *cli.Env) int {
	path, err := os.Executable()
	if err != nil {
		return env.Fatalf("cannot become a daemon: %s", cli.ErrText(err))
	}
	cmd := exec.Command(path)
	cmd.Args = os.Args // the name chooses the command
	cmd.Env = append(os.Environ(), detached+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = os.Stderr // until it runs, see settle
	if err := cmd.Start(); err != nil {
		return env.Fatalf("cannot become a daemon: %s", cli.ErrText(err))
	}
	return 0
}

// settle has a daemon's log take the place of the standard error that it began
// with, since a parent that reads that to its end waits for it.
func settle(log *os.File) error { return unix.Dup2(int(log.Fd()), int(os.Stderr.Fd())) }
