//go:build unix

package pmcd

import (
	"os"
	"os/exec"
	"syscall"

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
	cmd.Stderr = os.Stderr // until the log is open
	if err := cmd.Start(); err != nil {
		return env.Fatalf("cannot become a daemon: %s", cli.ErrText(err))
	}
	return 0
}
