package processes

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"100", "20", "3", "0", "-4", "5x", "x", "99999999999999999999"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "7"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("3", filepath.Join(dir, "8")); err != nil {
		t.Skip(err)
	}
	got := ReadFiles(dir, func(path string) (string, error) {
		name := filepath.Base(path)
		if name == "20" {
			return "", errors.New("refused")
		}
		return name, nil
	})
	if want := []string{"3", "100"}; !slices.Equal(got, want) {
		t.Errorf("ReadFiles: %q, want %q", got, want)
	}
	if got := ReadFiles(filepath.Join(dir, "x"), os.ReadFile); got != nil {
		t.Errorf("ReadFiles of a file: %q", got)
	}
}
