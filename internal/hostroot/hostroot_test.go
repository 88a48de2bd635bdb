package hostroot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		if got := Name(name); got != want {
			t.Errorf("Name(%q) = %q, want %q", name, got, want)
		}
	}
	f("proc/net/dev", "proc/1/net/dev")
	f("/proc/net/dev", "proc/1/net/dev")
	f("proc/self/mounts", "proc/1/mounts")
	f("proc/mounts", "proc/1/mounts")
	f("proc/stat", "proc/stat")
	f("var/run/utmp", "run/utmp")
	f("sys/class/net", "sys/class/net")
}

func TestPath(t *testing.T) {
	f := func(root, want string) {
		t.Helper()
		if got := Path(root, "proc/net/dev"); got != want {
			t.Errorf("Path(%q) = %q, want %q", root, got, want)
		}
	}
	f("/", "/proc/net/dev")
	f("", "/proc/net/dev")
	f("/host", "/host/proc/1/net/dev")
}

func TestResolve(t *testing.T) {
	root := t.TempDir()
	link := func(name, target string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("var/run", "/run")
	link("dev/root", "sda1")
	link("data/docker", "/big/../big/docker")
	link("up", "../../../../../etc")
	link("loop", "/loop")
	link("chain", "/data/docker/x")
	f := func(name, want string) {
		t.Helper()
		if got, err := Resolve(root, name); got != want || (err != nil) != (want == "") {
			t.Errorf("Resolve(%q) = %q, %v, want %q", name, got, err, want)
		}
	}
	f("/var/run/utmp", "/run/utmp")
	f("/dev/root", "/dev/sda1")
	f("/data/docker/containers", "/big/docker/containers")
	f("/up/passwd", "/etc/passwd")
	f("/chain", "/big/docker/x")
	f("/loop", "")
	f("/none/../other", "/other")
}

func TestHostName(t *testing.T) {
	root := t.TempDir()
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	f := func(root, want string) {
		t.Helper()
		if got, err := HostName(root); got != want || err != nil {
			t.Errorf("HostName(%q) = %q, %v, want %q", root, got, err, want)
		}
	}
	f("/", own)
	f(root, own) // it has no name there
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/hostname"), []byte("# our node\n\nnode-7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f(root, "node-7")
}

func TestCheck(t *testing.T) {
	root := t.TempDir()
	f := func(dir, want string) {
		t.Helper()
		if err := Check(dir); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Check(%q) = %v, want %q", dir, err, want)
		}
	}
	f("host", "absolute path")
	f(root, "mount the root directory of the host at "+root)
	if err := os.MkdirAll(filepath.Join(root, "proc/1"), 0o755); err != nil {
		t.Fatal(err)
	}
	f(root, "")
}
