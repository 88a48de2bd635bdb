//go:build unix

package metricset

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/go-pcp/pcp/tool/cli"
)

// detach starts this program again with the same arguments and files, in a session of its own.
func detach(env *cli.Env) error {
	path, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot become a daemon: %w", err)
	}
	cmd := exec.Command(path)
	cmd.Args = os.Args // the name chooses the command
	cmd.Env = append(os.Environ(), cli.Detached+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot become a daemon: %w", err)
	}
	return nil
}
