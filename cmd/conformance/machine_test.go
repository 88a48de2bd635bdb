//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if os.Args[0] == innerName {
		os.Exit(innerMain())
	}
	os.Exit(m.Run())
}

const messEnv = "CONFORMANCE_TEST_MESS"

// TestMachineFiles runs a test of the suite where programs of the machine left files in
// PCP's directories. Test 1329 does not run if there is a file that it wants to make,
// and prints more if the agent mmv has others. The files are in a mount namespace
// of the test's own.
func TestMachineFiles(t *testing.T) {
	const suite = "/var/lib/pcp/testsuite"
	if why := cannotRun(suite); why != "" {
		t.Skip("SKIPPED: ", why)
	}
	wrap := os.Getenv(messEnv)
	if wrap == "" {
		wrap = filepath.Join(t.TempDir(), "wrap")
		if out, err := exec.Command("go", "build", "-o", wrap, "./wrap").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		os.Chmod(filepath.Dir(wrap), 0o755)
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestMachineFiles$", "-test.v")
		cmd.Env = append(os.Environ(), messEnv+"="+wrap)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	room := t.TempDir()
	if err := unix.Mount("mess", room, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(room, unix.MNT_DETACH) })
	for _, dir := range []string{"/var/lib/pcp", "/var/log/pcp", "/run"} {
		up, work := filepath.Join(room, layerName(dir)), filepath.Join(room, "work-"+layerName(dir))
		if err := errors.Join(os.Mkdir(up, 0o755), os.Mkdir(work, 0o755)); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("overlay", dir, "overlay", 0, "lowerdir="+dir+",upperdir="+up+",workdir="+work); err != nil {
			t.Skipf("SKIPPED: no overlay of %s can be made here: %v", dir, err)
		}
	}
	for _, path := range []string{
		"/var/lib/pcp/tmp/mmv/qa", "/var/lib/pcp/tmp/mmv/left", "/var/log/pcp/pmcd/pmcd.log",
		"/run/pcp/pmcd.socket", "/run/pcp/pmcd.pid",
	} {
		os.Remove(path) // a collector of the machine may have its socket there
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("left"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	r := &runner{suite: suite, added: "tests", cache: "/var/cache/pcp-conformance", limit: 5 * time.Minute}
	if err := r.findCommands("", wrap, true); err != nil {
		t.Fatal(err)
	}
	tests := []test{{id: "1329", mode: pmcd}}
	if err := r.prepare(tests, func(s string) { t.Log(s) }); err != nil {
		t.Fatal(err)
	}
	if res := r.run(tests[0]); res.Status != pass {
		t.Errorf("%s\n%s%s", line(tests[0], res, false), explanation(tests[0], res), res.Log)
	}
}
