package packaging

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// installInto runs make install with an umask below a root directory.
func installInto(t *testing.T, dest, umask string) {
	t.Helper()
	for _, name := range []string{"make", "bash", "sed"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: there is no %s", name)
		}
	}
	cmd := exec.Command("bash", "-c", `umask "$0" && exec make -C .. install DESTDIR="$1" PREFIX=/usr`, umask, dest)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make install: %v\n%s", err, out)
	}
}

// TestCVE_2019_3695 installs, as root, next to directories of the daemons in which PCP's user left scripts and links: installing
// over an earlier installation ran such a script, and wrote through links. Here no script may run, and the targets of the links
// must not change.
func TestCVE_2019_3695(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can plant as another user")
	}
	const other = 54321
	dest := t.TempDir()
	precious, ran := filepath.Join(dest, "precious"), filepath.Join(dest, "ran")
	if err := os.WriteFile(precious, []byte("precious\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	trap := "#!/bin/sh\ntouch " + ran + "\n"
	planted := map[string]string{}
	for _, dir := range []string{"var/log/pcp", "var/lib/pcp", "var/lib/pcp/tmp", "var/lib/pcp/config", "var/tmp", "run/pcp", "etc/pcp"} {
		path := filepath.Join(dest, dir)
		if err := errors.Join(os.MkdirAll(path, 0o755), os.Chown(path, other, other)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"configs.sh", "pcp.env", "pcp.conf", "Rebuild", ".NeedRebuild", "NOTICES", "pmcd.conf", "root", "tmp.new", "pcp.new"} {
			file := filepath.Join(path, name)
			err := os.WriteFile(file, []byte(trap), 0o755)
			if name == "NOTICES" || strings.HasSuffix(name, ".new") {
				err = errors.Join(os.Remove(file), os.Symlink(precious, file))
			}
			if err := errors.Join(err, os.Lchown(file, other, other)); err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(file)
			if err != nil {
				t.Fatal(err)
			}
			planted[file] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime())
		}
	}
	installInto(t, dest, "022")
	cmd := exec.Command("make", "-C", "..", "uninstall", "DESTDIR="+dest, "PREFIX=/usr")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make uninstall: %v\n%s", err, out)
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Error("root ran what PCP's user had left")
	}
	if b, err := os.ReadFile(precious); err != nil || string(b) != "precious\n" {
		t.Errorf("what a link leads to is now %q, %v", b, err)
	}
	for file, was := range planted {
		info, err := os.Lstat(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if is := fmt.Sprint(info.Mode(), info.Size(), info.ModTime()); is != was || info.Sys().(*syscall.Stat_t).Uid != other {
			t.Errorf("%s was %s and is %s", file, was, is)
		}
	}
}

// TestCVE_2019_3696 checks that PCP's user cannot redirect root through the units of the daemons: no daemon is started
// as root or can become root, and no unit runs a command as root before or after.
func TestCVE_2019_3696(t *testing.T) {
	units, err := filepath.Glob("systemd/*.service")
	if err != nil || len(units) < 8 {
		t.Fatalf("%d units, %v", len(units), err)
	}
	for _, path := range units {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		unit := "\n" + string(b)
		if strings.HasSuffix(path, "pcp-up.service") {
			continue // a unit of a user
		}
		if strings.Contains(unit, "\nExecStart=systemctl reload pcp-") && strings.Count(unit, "\nExec") == 1 && !strings.Contains(unit, "\nReadWritePaths") {
			continue // only makes the service manager start another unit
		}
		for _, want := range []string{"\nUser=pcp\n", "\nGroup=pcp\n", "\nNoNewPrivileges=yes\n", "\nCapabilityBoundingSet=\n", "\nRestrictSUIDSGID=yes\n"} {
			if !strings.Contains(unit, want) {
				t.Errorf("%s has no line %q", path, strings.TrimSpace(want))
			}
		}
		for line := range strings.Lines(unit) {
			if _, command, ok := strings.Cut(line, "="); ok && strings.HasPrefix(line, "Exec") && strings.ContainsAny(command[:1], "+!") {
				t.Errorf("%s runs a command with other rights: %s", path, line)
			}
		}
	}
}

// TestCVE_2020_8025 installs with the least and the most restrictive umask: the modes of the package's directories let
// other users write to them. No installed file may be writable by others, have a set-user bit, or belong to a user other
// than the installing one; and all of them must be readable.
func TestCVE_2020_8025(t *testing.T) {
	for _, umask := range []string{"000", "077"} {
		dest := t.TempDir()
		installInto(t, dest, umask)
		files := 0
		err := filepath.WalkDir(filepath.Join(dest, "usr"), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			files++
			mode, st := info.Mode(), info.Sys().(*syscall.Stat_t)
			switch {
			case int(st.Uid) != os.Geteuid():
				t.Errorf("umask %s: %s belongs to user %d", umask, path, st.Uid)
			case mode&fs.ModeSymlink != 0:
			case mode.Perm()&0o022 != 0, mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
				t.Errorf("umask %s: %s has mode %v", umask, path, mode)
			case mode.Perm()&0o444 != 0o444, d.IsDir() && mode.Perm()&0o111 != 0o111:
				t.Errorf("umask %s: %s has mode %v, which keeps users from it", umask, path, mode)
			}
			return nil
		})
		if err != nil || files < 100 {
			t.Errorf("umask %s: %d files, %v", umask, files, err)
		}
	}
}
