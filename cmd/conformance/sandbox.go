//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// sandboxDir is the directory for files of the sandbox itself, see the package
// wrap. The machine's files there are hidden inside of the sandbox.
const sandboxDir = "/mnt"

// hostName is the name of the machine in the sandbox.
const hostName = "qahost"

// A layout describes the file system of a sandbox. All changes in it are lost,
// except those to the overlays with Keep.
type layout struct {
	Suite    string              // directory of the test suite
	Layers   string              // directory of the layers that set-up left
	Archives string              // directory of a layer with archives for the suite, or ""
	Made     string              // directory that such archives are put into, or ""
	Keep     bool                // set-up: changes go to Layers
	Links    map[string]string   // our commands, by name
	Over     map[string][]string // paths of the real one of each
	Wrap     string              // the program of package wrap
	Writable []string            // directories that a test may change
}

// layerName is where the changes to dir are kept below layout.Layers.
func layerName(dir string) string { return strings.ReplaceAll(strings.Trim(dir, "/"), "/", "-") }

// build arranges the file system. It is called in new namespaces, in which it
// may do as it likes.
func (l *layout) build() error {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	// The tmpfs is made elsewhere first, since it is to show the whole of /.
	if err := unix.Mount("conformance", sandboxDir, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mounting %s: %w", sandboxDir, err)
	}
	for _, dir := range []string{"root", "links", "up", "work", "layers", "suite", "archives", "made"} {
		if err := os.Mkdir(inSandbox(dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(inSandbox("ran.log"), nil, 0o666); err != nil {
		return err
	}
	os.Chmod(inSandbox("ran.log"), 0o666)
	if err := errors.Join(
		bind("/", inSandbox("root")),
		bind(l.Layers, inSandbox("layers")),
		bind(l.Suite, inSandbox("suite")),
		// A daemon of root with -l /dev/null would rename the machine's.
		bind(os.DevNull, os.DevNull),
	); err != nil {
		return err
	}
	for name, dir := range map[string]string{"archives": l.Archives, "made": l.Made} {
		if dir == "" {
			continue
		}
		if err := bind(dir, inSandbox(name)); err != nil {
			return err
		}
	}
	for name, path := range l.Links {
		if err := bindFile(path, inSandbox("links", name)); err != nil {
			return err
		}
	}
	for _, dir := range append(l.Writable, l.Suite) {
		if err := l.overlay(dir); err != nil {
			return err
		}
	}
	var over []string
	for _, paths := range l.Over {
		over = append(over, paths...)
	}
	slices.Sort(over)
	for _, path := range slices.Compact(over) { // pmval is pmevent too
		if st, err := os.Lstat(path); strings.HasPrefix(path, agentDir) && (err != nil || !st.Mode().IsRegular()) {
			continue // an agent that set-up neither compiled nor put there
		}
		if err := l.place(path); err != nil {
			return err
		}
		if err := l.wrapOver(path); err != nil {
			return fmt.Errorf("laying %s over %s: %w", l.Wrap, path, err)
		}
	}
	for name, paths := range l.Over {
		if err := l.checkWrapped(name, commandDirs, paths); err != nil {
			return err
		}
	}
	if err := installPython(); err != nil {
		return err
	}
	if err := l.installSudo(); err != nil {
		return err
	}
	if !l.Keep {
		if err := services(); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		if err := unix.Mount("conformance", dir, "tmpfs", 0, "mode=1777"); err != nil {
			return fmt.Errorf("mounting %s: %w", dir, err)
		}
	}
	for _, dir := range []string{"/var/lib/pcp/tmp", "/var/log/pcp"} {
		if err := emptied(dir); err != nil {
			return fmt.Errorf("hiding what is in %s: %w", dir, err)
		}
	}
	// Where PCP has run once there is this one, which tests put aside.
	if err := notices("/var/log/pcp/NOTICES"); err != nil {
		return err
	}
	return network()
}

// place makes a file for a command that is not installed, and a display that reports to be one: the
// tests of such commands need it, ours do not.
func (l *layout) place(path string) error {
	if _, ok := elsewhere[filepath.Base(path)]; !ok || exists(path) {
		return nil
	}
	return errors.Join(os.WriteFile(path, nil, 0o755), os.WriteFile("/usr/local/bin/xdpyinfo", []byte("#!/bin/sh\n"), 0o755))
}

// wrapOver covers a command with the wrapper. A test must not change the wrapper
// of all commands: installing an agent compiles it, and the linker writes to the
// file. So an agent's wrapper is a copy, and the others cannot be written.
func (l *layout) wrapOver(path string) error {
	if !strings.Contains(path, "/pmdas/") {
		if err := unix.Mount(l.Wrap, path, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		return unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
	}
	b, err := os.ReadFile(l.Wrap)
	if err != nil {
		return err
	}
	if name, ok := strings.CutSuffix(path, ".python"); ok {
		name = filepath.Base(name)
		dir := inSandbox("wrap." + layerName(path))
		program, script := filepath.Join(dir, name), filepath.Join(dir, name+".python")
		// The real script describes itself when it is installed.
		text := fmt.Sprintf("import os, sys\nif 'PCP_PYTHON_DOMAIN' in os.environ or 'PCP_PYTHON_PMNS' in os.environ:\n"+
			"    os.execv(sys.executable, [sys.executable, %q])\nos.execv(%q, [%q] + sys.argv[1:])\n", inSandbox("root", path), program, name)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(program, b, 0o755), os.Chmod(program, 0o755), os.WriteFile(script, []byte(text), 0o755)); err != nil {
			return err
		}
		return unix.Mount(script, path, "", unix.MS_BIND, "")
	}
	own := inSandbox("wrap." + layerName(path))
	if err := os.WriteFile(own, b, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(own, 0o755); err != nil {
		return err
	}
	return unix.Mount(own, path, "", unix.MS_BIND, "")
}

// checkWrapped checks that a command of ours can be called only through the
// wrapper: a real command in its place would make a test pass for nothing.
func (l *layout) checkWrapped(name string, dirs, paths []string) error {
	wrapper, err := os.Stat(l.Wrap)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		paths = append(paths, filepath.Join(dir, name))
	}
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil || os.SameFile(st, wrapper) || strings.HasSuffix(path, ".python") {
			continue
		}
		if same, err := sameContent(path, l.Wrap); err != nil || !same {
			return fmt.Errorf("%s is the real command, although ours was to be in its place", path)
		}
	}
	return nil
}

func sameContent(a, b string) (bool, error) {
	x, err := os.ReadFile(a)
	if err != nil {
		return false, err
	}
	y, err := os.ReadFile(b)
	return bytes.Equal(x, y), err
}

func inSandbox(parts ...string) string {
	return filepath.Join(append([]string{sandboxDir}, parts...)...)
}

func bind(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("binding %s to %s: %w", from, to, err)
	}
	return nil
}

func bindFile(from, to string) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	f.Close()
	return bind(from, to)
}

// overlay makes dir writable: the files of set-up cover those of the machine,
// and changes cover both.
func (l *layout) overlay(dir string) error {
	name := layerName(dir)
	lower := dir
	if dir == l.Suite {
		// It may be below another overlay, which must not be its own lower layer.
		lower = inSandbox("suite")
	}
	st, err := os.Stat(lower)
	if err != nil {
		return err
	}
	up, work := inSandbox("up", name), inSandbox("work", name)
	if l.Keep {
		up, work = filepath.Join(l.Layers, name), filepath.Join(l.Layers, ".work-"+name)
	} else if layer := inSandbox("layers", name); exists(layer) {
		lower = layer + ":" + lower
	}
	if dir == l.Suite && l.Archives != "" {
		lower = inSandbox("archives") + ":" + lower
	}
	if err := errors.Join(os.MkdirAll(up, 0o755), os.MkdirAll(work, 0o755)); err != nil {
		return err
	}
	owner := st.Sys().(*syscall.Stat_t)
	if err := errors.Join(os.Chown(up, int(owner.Uid), int(owner.Gid)), os.Chmod(up, st.Mode())); err != nil {
		return err
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, up, work)
	if err := unix.Mount("overlay", dir, "overlay", 0, options); err != nil {
		return fmt.Errorf("overlay of %s: %w", dir, err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// installSudo puts the wrapper where a sudo of the machine would be found later.
func (l *layout) installSudo() error {
	b, err := os.ReadFile(l.Wrap)
	if err != nil {
		return err
	}
	const path = "/usr/local/bin/sudo"
	os.Remove(path)
	if err := os.WriteFile(path, b, 0o755); err != nil {
		return err
	}
	return os.Chmod(path, 0o755|os.ModeSetuid)
}

// python precedes the interpreter: tests run some commands as scripts of it (python3 pcp-ps),
// which ours are not.
const python = `#!/bin/sh
if [ -f "$1" ] && [ "$(head -c 4 "$1" | tail -c 3)" = ELF ]; then
	exec "$@"
fi
exec /usr/bin/python3 "$@"
`

func installPython() error { return os.WriteFile("/usr/local/bin/python3", []byte(python), 0o755) }

// services has scripts and tests use those of init.d, and find that they are on:
// nothing in here would answer systemctl.
func services() error {
	if err := os.Remove("/usr/bin/systemctl"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, level := range []string{"2", "3", "4", "5"} {
		for _, name := range []string{"pmcd", "pmlogger"} {
			dir := "/etc/rc" + level + ".d"
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			if err := os.Symlink("../init.d/"+name, dir+"/S01"+name); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	return nil
}

// emptied hides the files of the machine in a directory of PCP: files for the
// agent mmv, logs and archives. A new file system is mounted there, with the same
// directories, owners and modes, and no files.
func emptied(dir string) error {
	type entry struct {
		path string
		mode fs.FileMode
		uid  int
		gid  int
	}
	var dirs []entry
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		owner := st.Sys().(*syscall.Stat_t)
		dirs = append(dirs, entry{path, st.Mode(), int(owner.Uid), int(owner.Gid)})
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) && len(dirs) == 0 {
		return nil
	}
	if err == nil {
		err = unix.Mount("conformance", dir, "tmpfs", 0, "")
	}
	for _, d := range dirs {
		if err == nil && d.path != dir {
			err = os.Mkdir(d.path, 0o700)
		}
		if err == nil {
			err = errors.Join(os.Chown(d.path, d.uid, d.gid), os.Chmod(d.path, d.mode))
		}
	}
	return err
}

func notices(path string) error {
	if err := os.WriteFile(path, nil, 0o664); err != nil {
		return err
	}
	if u, err := user.Lookup("pcp"); err == nil {
		chown(path, u)
	}
	return os.Chmod(path, 0o664)
}

// network gives the machine its name, and only a loopback interface.
func network() error {
	if err := unix.Sethostname([]byte(hostName)); err != nil {
		return err
	}
	hosts := "127.0.0.1 localhost.localdomain localhost\n::1 localhost6 ip6-localhost\n" +
		"127.0.0.1 " + hostName + ".localdomain " + hostName + "\n"
	if err := errors.Join(
		os.WriteFile("/etc/hosts", []byte(hosts), 0o644),
		os.WriteFile("/etc/hostname", []byte(hostName+"\n"), 0o644),
	); err != nil {
		return err
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, ifr); err != nil {
		return fmt.Errorf("bringing lo up: %w", err)
	}
	return nil
}
