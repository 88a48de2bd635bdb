package processes

import (
	"os"
	"os/exec"
	"testing"
)

func TestExists(t *testing.T) {
	if !Exists(os.Getpid()) || !Exists(1) {
		t.Error("this process, or the first one, does not exist")
	}
	for _, pid := range []int{0, -1, -os.Getpid()} {
		if Exists(pid) {
			t.Errorf("process %d exists", pid)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.SysProcAttr = Apart()
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if pid := cmd.Process.Pid; Exists(pid) {
		t.Errorf("process %d exists after its end", pid)
	}
}
