package attack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// A trap is a directory of another user, next to one of root that must stay as it is.
type trap struct {
	theirs, precious string
	conf             string // a pcp.conf with all directories in theirs
	before           string
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	needRoot(t)
	dir, err := os.MkdirTemp("", "cve")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	tr := &trap{theirs: filepath.Join(dir, "theirs"), precious: filepath.Join(dir, "precious"), conf: filepath.Join(dir, "pcp.conf")}
	var conf strings.Builder
	for name, sub := range map[string]string{
		"PCP_LOG_DIR": "log", "PCP_RUN_DIR": "run", "PCP_TMP_DIR": "tmp", "PCP_TMPFILE_DIR": "tmp", "PCP_VAR_DIR": "lib", "PCP_ARCHIVE_DIR": "log/pmlogger",
	} {
		fmt.Fprintf(&conf, "%s=%s\n", name, filepath.Join(tr.theirs, sub))
	}
	fmt.Fprintf(&conf, "PCP_SYSCONF_DIR=%s\nPCP_USER=root\nPCP_GROUP=root\n", dir)
	if err := errors.Join(
		os.Chmod(dir, 0o755), os.Mkdir(tr.precious, 0o755), os.Mkdir(filepath.Join(tr.precious, "dir"), 0o700),
		os.WriteFile(filepath.Join(tr.precious, "file"), []byte("precious\n"), 0o600), os.WriteFile(tr.conf, []byte(conf.String()), 0o644),
		os.MkdirAll(tr.theirs, 0o755), os.Chown(tr.theirs, ownerUID, ownerUID),
	); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"log", "log/pmlogger", "run", "tmp", "lib", "lib/tmp"} {
		path := filepath.Join(tr.theirs, sub)
		if err := errors.Join(os.MkdirAll(path, 0o755), os.Chown(path, ownerUID, ownerUID)); err != nil {
			t.Fatal(err)
		}
	}
	tr.before = tr.state(t)
	return tr
}

// state describes the protected files.
func (tr *trap) state(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(tr.precious, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		text := ""
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(content)
		}
		fmt.Fprintf(&b, "%s %v %d %d %d %q\n", path, info.Mode(), st.Uid, st.Gid, st.Nlink, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// plant puts a link of the other user at a path in the trap, to the precious file or, if the path ends with a slash, directory.
func (tr *trap) plant(t *testing.T, paths ...string) {
	t.Helper()
	for _, name := range paths {
		to := filepath.Join(tr.precious, "file")
		if strings.HasSuffix(name, "/") {
			to = filepath.Join(tr.precious, "dir")
		}
		path := filepath.Join(tr.theirs, name)
		if err := errors.Join(os.RemoveAll(path), os.Symlink(to, path), os.Lchown(path, ownerUID, ownerUID)); err != nil {
			t.Fatal(err)
		}
	}
}

// unharmed checks that the protected files are unchanged.
func (tr *trap) unharmed(t *testing.T, what string, out []byte) {
	t.Helper()
	if after := tr.state(t); after != tr.before {
		t.Errorf("%s: what is precious was\n%sand is\n%s; it printed\n%s", what, tr.before, after, out)
	}
}

// command returns a command of ours for which all directories are in the trap.
func (tr *trap) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(Tool(name), args...)
	cmd.Dir = tr.theirs
	cmd.Env = []string{"PATH=" + filepath.Dir(Tool("pcp")) + ":" + os.Getenv("PATH"), "PCP_CONF=" + tr.conf, "TMPDIR=" + filepath.Join(tr.theirs, "tmp"), "HOME=" + tr.theirs}
	return cmd
}

// TestCVE_2024_45770 has root call pmpost where the directory of NOTICES belongs to another user,
// with a planted link, second name of a file, FIFO, or link in the place of the directory: pmpost
// wrote to its target.
func TestCVE_2024_45770(t *testing.T) {
	for what, plant := range map[string]func(*trap, string) error{
		"a link":        func(tr *trap, path string) error { return os.Symlink(filepath.Join(tr.precious, "file"), path) },
		"a link to new": func(tr *trap, path string) error { return os.Symlink(filepath.Join(tr.precious, "new"), path) },
		"a second name": func(tr *trap, path string) error { return os.Link(filepath.Join(tr.precious, "file"), path) },
		"a FIFO":        func(_ *trap, path string) error { return syscall.Mkfifo(path, 0o666) },
		"a directory in which it is": func(tr *trap, path string) error {
			dir := filepath.Dir(path)
			return errors.Join(os.Remove(filepath.Join(dir, "pmlogger")), os.Remove(dir), os.Symlink(filepath.Join(tr.precious, "dir"), dir), os.Lchown(dir, ownerUID, ownerUID))
		},
	} {
		tr := newTrap(t)
		path := filepath.Join(tr.theirs, "log", "NOTICES")
		if err := plant(tr, path); err != nil {
			t.Fatal(err)
		}
		if what == "a second name" {
			tr.before = tr.state(t)
		} else if what != "a directory in which it is" {
			if err := os.Lchown(path, ownerUID, ownerUID); err != nil {
				t.Fatal(err)
			}
		}
		out, err := runFor(t, tr.command("pmpost", "root::0:0::/:/bin/sh"), time.Minute)
		if err == nil {
			t.Errorf("%s: pmpost succeeds", what)
		}
		tr.unharmed(t, what, out)
	}
	tr := newTrap(t)
	if out, err := runFor(t, tr.command("pmpost", "hello"), time.Minute); err != nil {
		t.Errorf("with nothing planted pmpost fails: %v\n%s", err, out)
	}
}

// services are the programs that a service manager or a timer starts, with the files in the trap that they write.
func services(t *testing.T, c *Collector, tr *trap) map[string]*exec.Cmd {
	t.Helper()
	write := func(name, text string) string {
		path := filepath.Join(filepath.Dir(tr.theirs), name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	at := func(name string) string { return filepath.Join(tr.theirs, name) }
	log := write("pmlogger.conf", "log mandatory on 100 msec { pmcd.pid }\n")
	rules := write("pmie.conf", "delta = 100 msec; pmcd.numagents > 100000 -> print \"many\";\n")
	conf := write("pmcd.conf", ownAgents)
	port := func() string { return strconv.Itoa(oracle.FreePort(t)) }
	return map[string]*exec.Cmd{
		"pmcd":           tr.command("pmcd", "-f", "-A", "-U", "root", "-i", "127.0.0.1", "-p", port(), "-s", at("run/pmcd.socket"), "-c", conf, "-l", at("log/pmcd.log")),
		"pmproxy":        tr.command("pmproxy", "-f", "-A", "-U", "root", "-i", "127.0.0.1", "-p", port(), "-s", at("run/pmproxy.socket"), "-c", write("pmproxy.conf", ""), "-l", at("log/pmproxy.log")),
		"pmlogger":       tr.command("pmlogger", "-h", c.TCP, "-c", log, "-s", "2", "-l", at("log/pmlogger.log"), at("log/pmlogger/archive")),
		"pmie":           tr.command("pmie", "-h", c.TCP, "-c", rules, "-T", "1sec", "-l", at("log/pmie.log")),
		"pmlogger_check": tr.command("pmlogger_check", "-l", at("log/pmlogger_check.log")),
		"pmlogger_daily": tr.command("pmlogger_daily", "-l", at("log/pmlogger_daily.log")),
		"pmie_check":     tr.command("pmie_check", "-l", at("log/pmie_check.log")),
		"pmie_daily":     tr.command("pmie_daily", "-l", at("log/pmie_daily.log")),
	}
}

func dialTCP(port string) (net.Conn, error) { return net.Dial("tcp", "127.0.0.1:"+port) }

// runService runs a service for a moment: those that keep running are ended when they are up, or
// have not come up.
func runService(t *testing.T, name string, cmd *exec.Cmd) []byte {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	if name == "pmcd" || name == "pmproxy" {
		i := slices.Index(cmd.Args, "-p")
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if conn, err := dialTCP(cmd.Args[i+1]); err == nil {
				conn.Close()
				break
			}
			select {
			case <-done:
				return out.Bytes()
			default:
			}
		}
		cmd.Process.Signal(syscall.SIGTERM)
	}
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		cmd.Process.Signal(syscall.SIGQUIT)
		<-done
		t.Errorf("%s does not end; it printed\n%s", name, out.Bytes())
	}
	return out.Bytes()
}

// TestCVE_2023_6917 starts the services as root where their directories belong to another user,
// with planted links at the names of their files and in the place of directories: scripts that ran
// as root wrote, changed owners and modes through them.
func TestCVE_2023_6917(t *testing.T) {
	c := Start(t, Options{})
	for _, planted := range [][]string{
		{
			"log/pmcd.log", "log/pmproxy.log", "log/pmlogger.log", "log/pmie.log", "log/pmlogger_check.log", "log/pmlogger_daily.log", "log/pmie_check.log", "log/pmie_daily.log",
			"log/pmcd.log.prev", "log/pmlogger.log.prev", "log/NOTICES", "run/pmcd.socket", "run/pmproxy.socket", "run/pmcd.pid", "run/pmlogger.pid", "run/pmproxy.pid", "run/pmie.pid",
			"log/pmlogger/archive.0", "log/pmlogger/archive.meta", "log/pmlogger/archive.index", "log/pmlogger/archive", "log/pmlogger/Latest", "log/pmlogger/lock",
			"tmp/pmlogger/", "tmp/pmie/", "tmp/mmv/", "run/pmlogger.primary.socket", "lib/config/", "lib/tmp/pmie/",
		},
		{"run/", "tmp/"},
		{"log/pmlogger/", "lib/"},
	} {
		tr := newTrap(t)
		for name, cmd := range services(t, c, tr) {
			tr.plant(t, planted...)
			tr.unharmed(t, name, runService(t, name, cmd))
		}
	}
}

// created watches directories until its result is called, which returns the names of the files
// created in them.
func created(t *testing.T, dirs ...string) func() []string {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MOVED_TO); err != nil {
			t.Fatal(err)
		}
	}
	return func() (names []string) {
		defer unix.Close(fd)
		buf := make([]byte, 1<<16)
		for {
			n, err := unix.Read(fd, buf)
			if n <= 0 || err != nil {
				return names
			}
			for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
				size := int(binary.NativeEndian.Uint32(b[12:]))
				name := b[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+size]
				names = append(names, string(bytes.TrimRight(name, "\x00")))
				b = b[unix.SizeofInotifyEvent+size:]
			}
		}
	}
}

// TestCVE_2012_5530 checks the temporary files of the programs that a service manager or a timer
// starts: scripts named them by the process number, so that other users could plant links in
// advance. The names of ours cannot be guessed.
func TestCVE_2012_5530(t *testing.T) {
	c := Start(t, Options{})
	tr := newTrap(t)
	for name, cmd := range services(t, c, tr) {
		names := created(t, filepath.Join(tr.theirs, "tmp"), filepath.Join(tr.theirs, "lib/tmp"), os.TempDir(), "/var/tmp")
		out := runService(t, name, cmd)
		for _, made := range names() {
			if strings.Contains(made, strconv.Itoa(cmd.Process.Pid)) {
				t.Errorf("%s makes the temporary file %q with the number of its process; it printed\n%s", name, made, out)
			}
		}
		tr.unharmed(t, name, out)
	}
}

// TestInjection has names that a shell would run as commands, and zones that lead out of the directory of zones, where
// C passed them to a shell or opened them until 7.2.0.
func TestInjection(t *testing.T) {
	tr := newTrap(t)
	ran := filepath.Join(tr.theirs, "ran")
	c := Start(t, Options{})
	log := filepath.Join(filepath.Dir(tr.theirs), "log.conf")
	if err := os.WriteFile(log, []byte("log mandatory on 10 msec { pmcd.pid }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, evil := range []string{"a;touch ran;b", "a`touch ran`b", "a$(touch ran)b", "a|touch ran|b", "a\ntouch ran\nb", "a&touch ran&b", "a' ; touch ran ; 'b"} {
		archive := filepath.Join(tr.theirs, evil)
		for _, cmd := range []*exec.Cmd{
			tr.command("pmlogger", "-h", c.TCP, "-c", log, "-s", "2", "-l", "/dev/null", archive),
			tr.command("pmlogcp", archive, filepath.Join(tr.theirs, "copy"+evil)),
			tr.command("pmlogmv", archive, filepath.Join(tr.theirs, "moved"+evil)),
			tr.command("pmieconf", "-f", filepath.Join(tr.theirs, evil, "pmie"), "enable", "all"),
			tr.command("pmstore", "-h", c.TCP, "network.persocket.filter", evil),
			tr.command("pminfo", "-h", c.TCP, "-Z", evil, "-f", "pmcd.pid"),
		} {
			out, _ := runFor(t, cmd, time.Minute)
			if _, err := os.Lstat(ran); err == nil {
				t.Fatalf("%q ran a command; it printed\n%s", cmd.Args, out)
			}
		}
		home := tr.command("pmieconf", "enable", "all")
		home.Env = append(home.Env, "HOME="+filepath.Join(tr.theirs, evil))
		out, _ := runFor(t, home, time.Minute)
		if _, err := os.Lstat(ran); err == nil {
			t.Fatalf("pmieconf with HOME %q ran a command; it printed\n%s", evil, out)
		}
	}
	for _, zone := range []string{"../../../../../../../etc/passwd", "/etc/passwd", ":/etc/passwd", ":../../../etc/passwd"} {
		out, _ := runFor(t, tr.command("pminfo", "-h", c.TCP, "-Z", zone, "-f", "pmcd.pid"), time.Minute)
		if bytes.Contains(out, []byte("root:")) || bytes.Contains(out, []byte("goroutine ")) {
			t.Errorf("zone %s: pminfo prints\n%s", zone, out)
		}
	}
}
