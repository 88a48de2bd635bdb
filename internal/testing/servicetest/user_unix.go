//go:build unix

package servicetest

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// alone has a process lead its own group, and as root run as a user without rights, who owns dir.
func alone(t testing.TB, cmd *exec.Cmd, dir string) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		const nobody = 65534
		out, err := exec.Command("chown", "-R", strconv.Itoa(nobody), dir).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
}

func kill(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }
