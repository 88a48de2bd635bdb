package chroottest

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/version"
)

// need skips the test where it cannot run. It returns the directory of the root directories that scripts/chroot made.
func need(t *testing.T) (cache string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can install packages")
	}
	if out, err := exec.Command("unshare", "-m", "-n", "-p", "-f", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no name spaces can be made here: %v %s", err, bytes.TrimSpace(out))
	}
	cache = os.Getenv("PCP_CHROOT_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(dir, "go-pcp/chroot")
	}
	if _, err := os.Stat(filepath.Join(cache, "debian.tar")); err != nil {
		t.Skip("SKIPPED: there are no root directories to install packages in; run make chroot")
	}
	return cache
}

// long skips the test in the short form, in which TestTakeOver and TestBoot run.
func long(t *testing.T) {
	t.Helper()
	if !longtest.Enabled() {
		t.Skip("SKIPPED: installing packages in all ways takes minutes; set PCP_TEST_LONG=1")
	}
}

// release builds the packages once, unless PCP_PACKAGES names a directory that has them, and returns the path of one.
func release(t *testing.T, pattern string) string {
	t.Helper()
	dir := os.Getenv("PCP_PACKAGES")
	if dir == "" {
		if err := allPackages(); err != nil {
			t.Fatal(err)
		}
		dir = releaseDir
	}
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("packages %q, %v", found, err)
	}
	return found[0]
}

var releaseDir string // which TestMain removes

func TestMain(m *testing.M) {
	code := m.Run()
	if releaseDir != "" {
		os.RemoveAll(releaseDir)
	}
	os.Exit(code)
}

var allPackages = sync.OnceValue(func() error {
	var err error
	if releaseDir, err = os.MkdirTemp("", "pcprelease"); err != nil {
		return err
	}
	formats := "deb"
	if longtest.Enabled() {
		formats = "deb,rpm,archlinux"
	}
	cmd := exec.Command("make", "-C", "../..", "release", "VERSION="+version.Number, "REVISION=1", "DIRTY=1", "ARCH="+runtime.GOARCH, "FORMATS="+formats, "OUT="+releaseDir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make release: %w\n%s", err, out)
	}
	return nil
})

// A root is a root directory.
type root struct {
	t    *testing.T
	path string
}

// unpack returns a fresh copy of one of the root directories that scripts/chroot made.
func unpack(t *testing.T, name string) root {
	t.Helper()
	cache := need(t)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-C", dir, "-xpf", filepath.Join(cache, name+".tar")).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	return root{t, dir}
}

// try runs a script in the root directory, without network, and returns its output.
func (r root) try(script string) (string, error) {
	const enter = `mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs tmpfs "$0/run" &&
exec chroot "$0" /usr/bin/env -i PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C HOME=/root sh -c "$1"`
	ctx, cancel := context.WithTimeout(r.t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "-m", "-n", "-p", "-f", "--kill-child", "--propagation", "private", "sh", "-c", enter, r.path, script)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run is try for a script that must succeed.
func (r root) run(script string) string {
	r.t.Helper()
	start := time.Now()
	out, err := r.try(script)
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	r.t.Logf("%.1f s: %s", time.Since(start).Seconds(), strings.TrimSpace(strings.Split(script, "\n")[0]))
	return out
}

// add copies a file into the root directory.
func (r root) add(path, name string) {
	r.t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.path, name), b, 0o644)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// transient are files that dpkg, apt and the loader change whenever a package is installed.
var transient = regexp.MustCompile(`^(/var/lib/(dpkg|apt)|/var/cache|/var/log/(apt|dpkg\.log|alternatives\.log)|/etc/ld\.so\.cache|/tmp|/run|/dev|/proc|/usr/lib/python3|/usr/share/python3|/var/lib/systemd/deb-systemd-helper-enabled|/etc/(passwd|group|shadow|gshadow|subuid|subgid)-)`)

// files returns the paths of all files, with the contents of links and of the tables of users.
func (r root) files() []string {
	r.t.Helper()
	var list []string
	err := filepath.WalkDir(r.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, r.path)
		if transient.MatchString(name) {
			return nil
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			name += " -> " + target
		case name == "/etc/passwd" || name == "/etc/group":
			b, _ := os.ReadFile(path)
			name += ": " + string(b)
		}
		list = append(list, name)
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// enabled returns the services of PCP that the system would start.
func (r root) enabled() []string {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.path, "etc/systemd/system/multi-user.target.wants/*pm*"))
	if err != nil {
		r.t.Fatal(err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".service")
	}
	return files
}

// collect runs the collector as its unit does, as PCP's user without capabilities, and returns values.
const collect = `
install -d -o pcp -g pcp /run/pcp /var/log/pcp/pmcd
setpriv --reuid=pcp --regid=pcp --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all pcp pmcd -f -l /var/log/pcp/pmcd/pmcd.log &
for i in 1 2 3 4 5 6 7 8 9 10; do pcp info -h unix:/run/pcp/pmcd.socket -f pmcd.version >/dev/null 2>&1 && break; sleep 0.5; done
pcp info -h unix:/run/pcp/pmcd.socket -f kernel.all.nprocs mem.physmem proc.nprocs pmcd.agent.status || cat /var/log/pcp/pmcd/pmcd.log
kill $!; wait $! || true`

// checkValues checks what collect printed.
func checkValues(t *testing.T, out string) {
	t.Helper()
	for _, name := range []string{"kernel.all.nprocs", "mem.physmem", "proc.nprocs"} {
		if !regexp.MustCompile(regexp.QuoteMeta(name) + `\n    value [1-9]`).MatchString(out) {
			t.Errorf("%s has no value:\n%s", name, out)
		}
	}
}

// repack makes a package of another version with the same files.
func repack(t *testing.T, deb, version string) string {
	t.Helper()
	dir := t.TempDir()
	to := filepath.Join(dir, "pcp-go_"+version+".deb")
	script := `dpkg-deb -R "$0" "$1/x" && sed -i "s/^Version: .*/Version: $2/" "$1/x/DEBIAN/control" && dpkg-deb -Znone -b "$1/x" "$3"`
	if out, err := exec.Command("sh", "-c", script, deb, dir, version, to).CombinedOutput(); err != nil {
		t.Fatalf("repack: %v\n%s", err, out)
	}
	return to
}

// TestLife installs the package on a host without PCP, collects, upgrades, downgrades, removes and purges it: then all is as before.
func TestLife(t *testing.T) {
	long(t)
	r := unpack(t, "base")
	deb := release(t, "pcp-go_*.deb")
	r.add(deb, "tmp/pcp-go.deb")
	r.add(repack(t, deb, "0.2.0-1"), "tmp/newer.deb")
	before := r.files()
	r.run("apt-get install -y /tmp/pcp-go.deb")
	if got := r.enabled(); !slices.Equal(got, []string{"pcp-pmcd", "pcp-pmlogger"}) {
		t.Errorf("services %q are enabled", got)
	}
	checkValues(t, r.run(collect))
	verify, err := r.try("SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no --recursive-errors=no pcp-pmcd.service pcp-pmlogger.service pcp-pmie.service pcp-pmproxy.service")
	if strings.Contains(verify, "pcp-") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, verify)
	}

	// An administrator's changes survive an upgrade and a downgrade; unchanged files are those of the version.
	r.run("echo '# changed' >>/etc/pcp/pmcd/pmcd.options; rm /etc/systemd/system/multi-user.target.wants/pcp-pmlogger.service")
	for _, step := range []string{"apt-get install -y /tmp/newer.deb", "apt-get install -y --allow-downgrades /tmp/pcp-go.deb"} {
		r.run(step)
		if got := r.enabled(); !slices.Equal(got, []string{"pcp-pmcd"}) {
			t.Errorf("after %s the services %q are enabled", step, got)
		}
		if out := r.run("tail -1 /etc/pcp/pmcd/pmcd.options; ls /etc/pcp/pmcd/pmcd.conf; pminfo --version"); !strings.HasPrefix(out, "# changed\n/etc/pcp/pmcd/pmcd.conf\n") {
			t.Errorf("after %s: %s", step, out)
		}
	}
	checkValues(t, r.run(collect))

	r.run("apt-get remove -y pcp-go")
	if out := r.run("ls /etc/pcp/pmcd; command -v pminfo || echo none"); out != "pmcd.options\nnone\n" {
		t.Errorf("after remove there is %q", out)
	}
	r.run("apt-get purge -y pcp-go")
	if diff := cmp.Diff(before, r.files()); diff != "" {
		t.Errorf("after purge (-before +now):\n%s", diff)
	}
}

// TestTakeOver replaces Debian's pcp, and goes back. Configuration, archives and enabled services stay.
func TestTakeOver(t *testing.T) {
	r := unpack(t, "debian")
	r.add(release(t, "pcp-go_*.deb"), "tmp/pcp-go.deb")
	const (
		write = `
import sys
from pcp import pmi
log = pmi.pmiLogImport(sys.argv[1])
log.pmiAddMetric("test.value", log.pmiID(300, 1, 0), 2, 0xffffffff, 3, log.pmiUnits(0, 0, 0, 0, 0, 0))
for i in range(20):
    log.pmiPutValue("test.value", "", str(i))
    log.pmiWrite(1700000000 + i, 0)
del log`
		read   = `pmlogsummary /var/log/pcp/pmlogger/old/20231114; pminfo -a /var/log/pcp/pmlogger/old/20231114 -f test.value; md5sum /var/log/pcp/pmlogger/old/*`
		config = `id -u pcp; md5sum /etc/pcp/pmcd/pmcd.conf /etc/pcp/pmcd/pmcd.options /etc/pcp/pmproxy/pmproxy.conf /etc/pcp/pmlogger/control.d/local /etc/pcp/pmie/control.d/local /etc/pcp.conf /etc/pcp.env`
	)
	if err := os.WriteFile(filepath.Join(r.path, "tmp/write.py"), []byte(write), 0o644); err != nil {
		t.Fatal(err)
	}
	r.run("install -d -o pcp -g pcp /var/log/pcp/pmlogger/old && python3 /tmp/write.py /var/log/pcp/pmlogger/old/20231114 && chown pcp:pcp /var/log/pcp/pmlogger/old/*; " +
		"rm /tmp/write.py; cd /var/lib/pcp/pmns && ./Rebuild -s >/dev/null && rm -f .NeedRebuild; echo '# mine' >>/etc/pcp/pmcd/pmcd.conf; rm /etc/systemd/system/multi-user.target.wants/pmie.service")
	archives, settings, services := r.run(read), r.run(config), r.enabled()
	if !slices.Equal(services, []string{"pmcd", "pmlogger", "pmproxy"}) || !strings.Contains(archives, "value 0") {
		t.Fatalf("Debian's pcp: services %q, archives:\n%s", services, archives)
	}
	before := r.files()

	r.run("apt-get install -y /tmp/pcp-go.deb")
	if got := r.enabled(); !slices.Equal(got, []string{"pcp-pmcd", "pcp-pmlogger", "pcp-pmproxy"}) {
		t.Errorf("services %q are enabled, were %q", got, services)
	}
	if diff := cmp.Diff(settings, r.run(config)); diff != "" {
		t.Errorf("settings (-Debian's +ours):\n%s", diff)
	}
	if diff := cmp.Diff(archives, r.run(read)); diff != "" {
		t.Errorf("archives (-Debian's +ours):\n%s", diff)
	}
	if out := r.run("readlink /usr/bin/pminfo /usr/lib/systemd/system/pmcd.service; systemctl is-enabled pmcd.service pmproxy.service pcp-pmlogger.service"); !strings.HasPrefix(out, "pcp\npcp-pmcd.service\n") {
		t.Errorf("pminfo, pmcd.service and services: %s", out)
	}
	checkValues(t, r.run(collect)) // with Debian's pmcd.conf

	r.run("apt-get install -y pcp && rm -f /var/lib/pcp/pmns/.NeedRebuild")
	if got := r.enabled(); !slices.Equal(got, services) {
		t.Errorf("after going back the services %q are enabled, were %q", got, services)
	}
	r.run("apt-get purge -y pcp-go")
	if diff := cmp.Diff(settings, r.run(config)); diff != "" {
		t.Errorf("settings (-before +back at Debian's):\n%s", diff)
	}
	if diff := cmp.Diff(archives, r.run(read)); diff != "" {
		t.Errorf("archives (-before +back at Debian's):\n%s", diff)
	}
	after := slices.DeleteFunc(r.files(), func(f string) bool { return strings.HasPrefix(f, "/var/log/pcp/") && !slices.Contains(before, f) })
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("files (-before +back at Debian's):\n%s", diff)
	}
}

// TestBoot boots a root directory with the package under systemd, in the long form twice: the collector and the recorder run within the
// restrictions of their units.
func TestBoot(t *testing.T) {
	for _, name := range []string{"systemd-nspawn", "nsenter"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: there is no %s; run make chroot", name)
		}
	}
	r := unpack(t, "base")
	r.add(release(t, "pcp-go_*.deb"), "tmp/pcp-go.deb")
	r.run("apt-get install -y /tmp/pcp-go.deb")
	for boot := range longtest.N(1, 2) {
		var log bytes.Buffer
		cmd := exec.Command("systemd-nspawn", "-q", "--register=no", "--keep-unit", "--private-network", "-D", r.path, "--boot", "--console=pipe")
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Start(); err != nil {
			t.Fatalf("systemd-nspawn: %v", err)
		}
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		inside := func(args ...string) string {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
			child := strings.Fields(string(b))
			if err != nil || len(child) == 0 {
				return "no child"
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			out, _ := exec.CommandContext(ctx, "nsenter", append([]string{"-t", child[0], "-m", "-u", "-i", "-n", "-p", "--"}, args...)...).CombinedOutput()
			return strings.TrimSpace(string(out))
		}
		stop := func() {
			cmd.Process.Signal(os.Interrupt)
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				inside("systemctl", "--force", "--force", "poweroff")
				cmd.Process.Kill()
				<-ended
			}
		}
		want := "active\nactive"
		got := ""
		for start := time.Now(); time.Since(start) < 90*time.Second; time.Sleep(500 * time.Millisecond) {
			if got = inside("systemctl", "is-active", "pcp-pmcd.service", "pcp-pmlogger.service"); got == want {
				break
			}
			if strings.Contains(got, "failed") {
				break
			}
		}
		out := inside("pminfo", "-h", "unix:/run/pcp/pmcd.socket", "-f", "kernel.all.nprocs", "mem.physmem", "proc.nprocs")
		if got != want {
			t.Errorf("boot %d: pmcd and pmlogger are %q\n%s\n%s\n%s", boot, got, inside("systemctl", "status", "--no-pager", "pcp-pmcd.service", "pcp-pmlogger.service"), inside("cat", "/var/log/pcp/pmlogger/pmlogger_check.log"), log.String())
		}
		checkValues(t, out)
		stop()
		if t.Failed() {
			return
		}
	}
}

// TestRPM installs the rpm below a root directory, collects, upgrades and erases it.
func TestRPM(t *testing.T) {
	long(t)
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("SKIPPED: there is no rpm; run make chroot")
	}
	r := unpack(t, "base")
	rpm := release(t, "pcp-go-[0-9]*.rpm")
	before := r.files()
	do := func(args ...string) {
		t.Helper()
		// Debian's directories of tables of packages are not those of rpm, hence --nodeps.
		if out, err := exec.Command("rpm", append([]string{"--root", r.path, "--nodeps"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("rpm %q: %v\n%s", args, err, out)
		}
	}
	do("-i", rpm)
	checkValues(t, r.run(collect))
	r.run("echo '# changed' >>/etc/pcp/pmcd/pmcd.options")
	do("-U", "--force", rpm)
	if out := r.run("tail -1 /etc/pcp/pmcd/pmcd.options"); out != "# changed\n" {
		t.Errorf("after an upgrade pmcd.options ends with %q", out)
	}
	do("-e", "pcp-go")
	after := slices.DeleteFunc(r.files(), func(f string) bool {
		// Archives, changed configuration, directories and the user stay, by the custom of rpm.
		return regexp.MustCompile(`^(/var/log/pcp|/var/lib/(pcp|rpm)|/etc/pcp|/usr/lib/pcp|/usr/share/(doc/pcp|fish|zsh/site-functions|man/man3$)|/etc/(passwd|group):|/root/\.rpmdb)`).MatchString(f)
	})
	before = slices.DeleteFunc(before, func(f string) bool {
		return strings.HasPrefix(f, "/etc/passwd:") || strings.HasPrefix(f, "/etc/group:")
	})
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("after erasing (-before +now):\n%s", diff)
	}
}
