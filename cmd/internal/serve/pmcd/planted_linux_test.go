package pmcd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPlanted has root's collector work in directories of another user, which
// contain a planted file at each name. It starts, ends when asked to, and harms
// nothing.
func TestPlanted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can plant as somebody else")
	}
	const other = 54321
	for _, kind := range []string{"link", "device", "fifo"} {
		dir := tempDir(t)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		precious := writeFile(t, filepath.Join(dir, "precious"), "precious\n")
		must(os.Chmod(precious, 0o600))
		theirs := filepath.Join(dir, "theirs")
		must(os.Mkdir(theirs, 0o755))
		must(os.Chown(theirs, other, other))
		plant := func(name string) string {
			path := filepath.Join(theirs, name)
			switch kind {
			case "link":
				must(os.Symlink(precious, path))
			case "device":
				must(os.Symlink("/dev/full", path))
			case "fifo":
				must(syscall.Mkfifo(path, 0o666))
			}
			must(os.Lchown(path, other, other))
			return path
		}
		socket := filepath.Join(theirs, "pmcd.socket")
		if kind != "fifo" { // which keeps the socket away: only a socket is replaced
			plant("pmcd.socket")
		}
		log, pid := plant("pmcd.log"), plant("pmcd.pid")
		conf := writeFile(t, filepath.Join(dir, "conf"), "pmcd 2 dso pmcd_init /x/pmda_pmcd.so\n")
		ctx, stop := context.WithCancel(context.Background())
		var out, errs bytes.Buffer
		status := make(chan int, 1)
		port := freePort(t)
		go func() {
			status <- Command.Run(ctx, testEnv(&out, &errs, getenv(dir), "-f", "-A", "-i", "127.0.0.1", "-p", port, "-s", socket, "-l", log, "-c", conf))
		}()
		ready(t, "localhost:"+port).Close()
		ready(t, "unix:"+socket).Close()
		must(writePID(pid))
		for path, mode := range map[string]os.FileMode{log: 0o644, pid: 0o444, socket: 0o666 | os.ModeSocket} {
			st, err := os.Lstat(path)
			if err != nil || st.Mode() != mode || st.Sys().(*syscall.Stat_t).Uid != 0 {
				t.Errorf("%s: %s is %v, %v", kind, path, st.Mode(), err)
			}
		}
		stop()
		select {
		case n := <-status:
			if n != 0 {
				t.Errorf("%s: it exits with %d: %s", kind, n, errs.String())
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it does not end", kind)
		}
		if b, err := os.ReadFile(log); err != nil || !strings.Contains(string(b), "Log finished") {
			t.Errorf("%s: the log is %q, %v", kind, b, err)
		}
		b, err := os.ReadFile(precious)
		st, serr := os.Stat(precious)
		if err != nil || serr != nil || string(b) != "precious\n" || st.Mode() != 0o600 {
			t.Errorf("%s: the file is now %q, %v, %v", kind, b, st.Mode(), err)
		}
	}
}

// TestFatalFile has -x make its file, and leave a planted file alone.
func TestFatalFile(t *testing.T) {
	dir := tempDir(t)
	fatal := filepath.Join(dir, "fatal")
	env := testEnv(new(bytes.Buffer), new(bytes.Buffer), getenv(dir))
	set := &settings{fatal: fatal}
	dontStart(env, set, os.ErrInvalid)
	if b, err := os.ReadFile(fatal); err != nil || !strings.Contains(string(b), "NOTE: pmcd not started due to errors!  invalid argument") {
		t.Errorf("the file has %q, %v", b, err)
	}
	if err := os.Remove(fatal); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fatal, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { dontStart(env, set, os.ErrInvalid); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits for a FIFO")
	}
}
