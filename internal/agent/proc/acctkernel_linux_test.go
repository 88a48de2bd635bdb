package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp"
)

// TestAcctKernel switches accounting on, unless this machine uses it, and has a process end.
func TestAcctKernel(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not run: only root can switch process accounting on")
	}
	for _, path := range []string{"/var/account/pacct", "/var/log/account/pacct", "/var/log/pacct"} {
		if _, err := os.Stat(path); err == nil {
			t.Skip("not run: this machine may have process accounting on, into " + path)
		}
	}
	path := filepath.Join(t.TempDir(), "pacct")
	a := New(Config{OwnAcctFile: path})
	defer a.Close()
	if err := store(t, a, root, "acct.control.enable_acct", pcp.Uint32Value(1)); err != nil {
		t.Fatal(err)
	}
	if a.machine.acct.file == nil {
		t.Skip("not run: this kernel refuses process accounting")
	}
	cmd := exec.Command("sh", "-c", "exit 3")
	if err := cmd.Run(); err == nil {
		t.Fatal("sh succeeds")
	}
	pid := int32(cmd.Process.Pid)
	for name, want := range map[string]string{"acct.psinfo.exitcode": "768", "acct.id.uid": "0", "acct.flag.fork": "0"} {
		if got := get(t, a, root, name)[pid]; got != want {
			t.Errorf("%s is %q, want %s", name, got, want)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is left behind")
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if grows(f) {
		t.Error("a file that nothing writes to grows")
	}
}
