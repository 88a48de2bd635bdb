//go:build unix

package packaging

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// checkModes checks that every installed file is writable only by its owner and readable by all users.
func checkModes(t *testing.T, dest string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dest, "opt"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		want := fs.FileMode(0o644)
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil || strings.Contains(target, "/") {
				t.Errorf("%s leads to %q, %v", path, target, err)
			}
			return nil
		case d.IsDir(), strings.HasSuffix(path, "/bin/pcp"):
			want = 0o755
		}
		if info.Mode().Perm() != want || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
			t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
		}
		if owner, group := ownerOf(info); owner != os.Geteuid() || group != os.Getegid() {
			t.Errorf("%s belongs to %d:%d", path, owner, group)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func ownerOf(info fs.FileInfo) (user, group int) {
	st := info.Sys().(*syscall.Stat_t)
	return int(st.Uid), int(st.Gid)
}

// TestInstallModes installs with umasks that would let others write, or prevent them from reading.
func TestInstallModes(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("SKIPPED: there is no make")
	}
	for _, mask := range []string{"000", "077", "002"} {
		dest := t.TempDir()
		cmd := exec.Command("bash", "-c", "umask "+mask+"; exec make -C .. install DESTDIR="+dest+" PREFIX=/opt/pcp")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("umask %s: %v\n%s", mask, err, out)
		}
		checkModes(t, dest)
	}
}
