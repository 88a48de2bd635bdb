//go:build unix

package safefile

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// other is a user other than root and us.
const other = 54321

// A planted is a directory with files that must not change, and a directory that
// others may write to.
type planted struct {
	t            *testing.T
	safe, theirs string
	precious     string
}

// newPlace makes the second directory of another user's, if we are root: else
// everybody may write to it.
func newPlace(t *testing.T) *planted {
	t.Helper()
	base, err := os.MkdirTemp("", "sf") // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	p := &planted{t, filepath.Join(base, "safe"), filepath.Join(base, "theirs"), filepath.Join(base, "safe", "precious")}
	for _, dir := range []string{p.safe, p.theirs} {
		p.must(os.Mkdir(dir, 0o755))
	}
	p.must(os.WriteFile(p.precious, []byte("precious\n"), 0o600))
	if os.Geteuid() == 0 {
		p.must(os.Chown(p.theirs, other, other))
	} else {
		p.must(os.Chmod(p.theirs, 0o777))
	}
	return p
}

func (p *planted) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// plant makes something at a name as the other user.
func (p *planted) plant(kind, name string) (path string) {
	p.t.Helper()
	path = filepath.Join(p.theirs, name)
	switch kind {
	case "link":
		p.must(os.Symlink(p.precious, path))
	case "dangling":
		p.must(os.Symlink(filepath.Join(p.safe, "new"), path))
	case "device":
		p.must(os.Symlink("/dev/full", path))
	case "fifo":
		p.must(syscall.Mkfifo(path, 0o666))
	case "hard":
		p.must(os.Link(p.precious, path))
	case "socket":
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
		p.must(err)
		ln.SetUnlinkOnClose(false)
		ln.Close()
	case "dir":
		p.must(os.Mkdir(path, 0o777))
		p.must(os.WriteFile(filepath.Join(path, "x"), nil, 0o666))
	}
	if os.Geteuid() == 0 && kind != "hard" && kind != "none" {
		p.must(os.Lchown(path, other, other))
	}
	return path
}

func (p *planted) unharmed() {
	p.t.Helper()
	b, err := os.ReadFile(p.precious)
	if err != nil || string(b) != "precious\n" {
		p.t.Errorf("the file that is not to be touched is %q, %v", b, err)
	}
	st, err := os.Stat(p.precious)
	if err != nil || st.Mode().Perm() != 0o600 || os.Geteuid() == 0 && st.Sys().(*syscall.Stat_t).Uid != 0 {
		p.t.Errorf("it has the mode %v, %v", st.Mode(), err)
	}
	if _, err := os.Lstat(filepath.Join(p.safe, "new")); err == nil {
		p.t.Error("a file was made where a link leads")
	}
}

// soon fails if f waits for somebody.
func (p *planted) soon(f func()) {
	p.t.Helper()
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		p.t.Fatal("it hangs")
	}
}

// rootOnly skips tests that need two users: the owner of a link in a directory
// that everybody may write to may follow it.
func rootOnly(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can plant as somebody else")
	}
}

var plants = []string{"none", "link", "dangling", "device", "fifo", "hard", "socket"}

func TestCreateLog(t *testing.T) {
	rootOnly(t)
	for _, kind := range plants {
		p := newPlace(t)
		path := p.plant(kind, "x.log")
		p.plant("link", "x.log.prev")
		p.soon(func() {
			f, err := CreateLog(path, 0o644)
			if err != nil {
				t.Errorf("%s: %v", kind, err)
				return
			}
			defer f.Close()
			io.WriteString(f, "log\n")
			st, err := os.Lstat(path)
			if err != nil || !st.Mode().IsRegular() || st.Sys().(*syscall.Stat_t).Uid != 0 || st.Size() != 4 {
				t.Errorf("%s: the log is %+v, %v", kind, st, err)
			}
		})
		p.unharmed()
	}
	p := newPlace(t)
	if f, err := CreateLog(p.plant("dir", "d.log"), 0o644); err == nil {
		t.Errorf("a directory is the log %s", f.Name())
	}
}

// TestLinkWithin plants a link above the file.
func TestLinkWithin(t *testing.T) {
	rootOnly(t)
	p := newPlace(t)
	p.must(os.Symlink(p.safe, filepath.Join(p.theirs, "dir")))
	p.must(os.Lchown(filepath.Join(p.theirs, "dir"), other, other))
	path := filepath.Join(p.theirs, "dir", "precious")
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, syscall.ELOOP) {
			t.Errorf("%s: %v, want ELOOP", what, err)
		}
	}
	_, err := CreateLog(path, 0o644)
	refused("CreateLog", err)
	_, err = Create(path, 0o644)
	refused("Create", err)
	_, _, err = OpenAppend(path, 0, 0o644)
	refused("OpenAppend", err)
	refused("Replace", ReplaceBytes(path, nil, Replacement{Uid: -1, Gid: -1}))
	refused("Remove", Remove(path))
	_, err = Listen(filepath.Join(p.theirs, "dir", "new"), SocketMode{0o666, -1, -1})
	refused("Listen", err)
	refused("MkdirAll", MkdirAll(filepath.Join(p.theirs, "dir", "new"), 0o755, nil))
	p.unharmed()
	// Root's own link is followed.
	p.must(os.Lchown(filepath.Join(p.theirs, "dir"), 0, 0))
	f, err := CreateLog(filepath.Join(p.theirs, "dir", "log"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestCreate(t *testing.T) {
	for _, kind := range plants {
		p := newPlace(t)
		path := p.plant(kind, "x.pid")
		p.soon(func() {
			f, err := Create(path, 0o444)
			if err != nil {
				t.Errorf("%s: %v", kind, err)
				return
			}
			io.WriteString(f, "1")
			f.Close()
			if st, err := os.Lstat(path); err != nil || st.Mode() != 0o444 || st.Size() != 1 {
				t.Errorf("%s: the file is %v, %v", kind, st.Mode(), err)
			}
		})
		p.unharmed()
	}
}

func TestOpenAppend(t *testing.T) {
	rootOnly(t)
	for _, kind := range plants {
		p := newPlace(t)
		path := p.plant(kind, "NOTICES")
		p.soon(func() {
			f, created, err := OpenAppend(path, 0, 0o664)
			if err == nil {
				io.WriteString(f, "x")
				f.Close()
			}
			if good := kind == "none"; created != good || (err == nil) != good {
				t.Errorf("%s: created %v, %v", kind, created, err)
			}
		})
		p.unharmed()
	}
	p := newPlace(t)
	path := filepath.Join(p.theirs, "x")
	for i, want := range []string{"a", "ab"} {
		f, created, err := OpenAppend(path, 0, 0o600)
		if err != nil || created != (i == 0) {
			t.Fatal(created, err)
		}
		io.WriteString(f, want[i:])
		f.Close()
		if b, _ := os.ReadFile(path); string(b) != want {
			t.Errorf("it is %q, want %q", b, want)
		}
	}
}

// TestTrusted has links and devices where only root, or we, put them.
func TestTrusted(t *testing.T) {
	p := newPlace(t)
	null := filepath.Join(p.safe, "null")
	p.must(os.Symlink(os.DevNull, null))
	moved := filepath.Join(p.safe, "moved")
	p.must(os.Symlink("elsewhere", moved))
	for path, target := range map[string]string{null: os.DevNull, moved: "elsewhere"} {
		f, err := CreateLog(path, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, "x")
		f.Close()
		if got, _ := os.Readlink(path); got != target {
			t.Errorf("%s is now a link to %q", path, got)
		}
	}
	if b, err := os.ReadFile(filepath.Join(p.safe, "elsewhere")); err != nil || string(b) != "x" {
		t.Errorf("the log behind a link is %q, %v", b, err)
	}
	fifo := filepath.Join(p.safe, "fifo")
	p.must(syscall.Mkfifo(fifo, 0o666))
	p.soon(func() {
		if _, err := CreateLog(fifo, 0o644); !errors.Is(err, ErrNotRegular) {
			t.Errorf("a FIFO as log: %v", err)
		}
		if _, _, err := OpenAppend(fifo, 0, 0o644); !errors.Is(err, ErrNotRegular) {
			t.Errorf("a FIFO to append to: %v", err)
		}
	})
	loop := filepath.Join(p.safe, "loop")
	p.must(os.Symlink("loop", loop))
	if _, err := CreateLog(loop, 0o644); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a link to itself: %v", err)
	}
	p.unharmed()
}

func TestReplace(t *testing.T) {
	p := newPlace(t)
	path := filepath.Join(p.safe, "conf")
	fresh := Replacement{Mode: 0o640, Uid: -1, Gid: -1}
	p.must(ReplaceBytes(path, []byte("one"), fresh))
	mode := func(want fs.FileMode) {
		t.Helper()
		if st, err := os.Stat(path); err != nil || st.Mode() != want {
			t.Errorf("mode %v, %v, want %v", st.Mode(), err, want)
		}
	}
	mode(0o640)
	p.must(os.Chmod(path, 0o604))
	if os.Geteuid() == 0 {
		p.must(os.Chown(path, 123, 456))
	}
	was, err := os.Stat(path)
	p.must(err)
	keep := Replacement{Mode: 0o640, Uid: -1, Gid: -1, Keep: true, Writable: true, Was: was}
	p.must(ReplaceBytes(path, []byte("two"), keep))
	mode(0o604)
	if st, _ := os.Stat(path); os.Geteuid() == 0 && (st.Sys().(*syscall.Stat_t).Uid != 123 || st.Sys().(*syscall.Stat_t).Gid != 456) {
		t.Errorf("the owner is now %+v", st.Sys())
	}
	if err := ReplaceBytes(path, []byte("three"), keep); !errors.Is(err, ErrChanged) {
		t.Errorf("of a file that has changed: %v", err)
	}
	if err := ReplaceBytes(path, []byte("three"), Replacement{MustBeNew: true, Uid: -1, Gid: -1}); !errors.Is(err, ErrChanged) {
		t.Errorf("of a file that should not be there: %v", err)
	}
	link := filepath.Join(p.safe, "link")
	p.must(os.Symlink("conf", link))
	p.must(ReplaceBytes(link, []byte("four"), Replacement{Keep: true, Follow: true, Uid: -1, Gid: -1}))
	if b, _ := os.ReadFile(path); string(b) != "four" {
		t.Errorf("the file behind a link is %q", b)
	}
	failed := errors.New("failed")
	if err := Replace(path, fresh, func(io.Writer) error { return failed }); err != failed {
		t.Errorf("a write that fails: %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "four" {
		t.Errorf("after that it is %q", b)
	}
	if names, _ := filepath.Glob(filepath.Join(p.safe, ".*")); len(names) > 0 {
		t.Errorf("left behind: %q", names)
	}
}

// TestReplacePlanted replaces planted files, or leaves all alone.
func TestReplacePlanted(t *testing.T) {
	rootOnly(t)
	for _, kind := range plants {
		for _, how := range []Replacement{{Mode: 0o644}, {Mode: 0o644, Keep: true}, {Mode: 0o644, Follow: true, Writable: true}} {
			how.Uid, how.Gid = -1, -1
			p := newPlace(t)
			path := p.plant(kind, "60.1")
			p.soon(func() {
				err := ReplaceBytes(path, []byte("x"), how)
				special := kind != "none" && kind != "hard"
				if want := special && (how.Keep || how.Writable); (err != nil) != want {
					t.Errorf("%s, %+v: %v", kind, how, err)
				}
				if st, serr := os.Lstat(path); err == nil && (serr != nil || !st.Mode().IsRegular()) {
					t.Errorf("%s, %+v: it is %v, %v", kind, how, st.Mode(), serr)
				}
			})
			p.unharmed()
		}
	}
}

func TestListen(t *testing.T) {
	rootOnly(t)
	for _, kind := range plants {
		p := newPlace(t)
		path := p.plant(kind, "pmcd.socket")
		p.soon(func() {
			ln, err := Listen(path, SocketMode{0o660, 7, 8})
			if kind == "hard" || kind == "fifo" {
				if !errors.Is(err, syscall.EADDRINUSE) {
					t.Errorf("%s: %v", kind, err)
				}
				return
			}
			if err != nil {
				t.Errorf("%s: %v", kind, err)
				return
			}
			st, err := os.Lstat(path)
			if err != nil || st.Mode() != fs.ModeSocket|0o660 {
				t.Errorf("%s: the socket is %v, %v", kind, st.Mode(), err)
			}
			if sys := st.Sys().(*syscall.Stat_t); sys.Uid != 7 || sys.Gid != 8 || sys.Nlink != 1 {
				t.Errorf("%s: its owner is %d:%d", kind, sys.Uid, sys.Gid)
			}
			if got := ln.Addr().String(); got != path {
				t.Errorf("its address is %s", got)
			}
			if _, err := Listen(path, SocketMode{0o666, -1, -1}); !errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("a second one: %v", err)
			}
			c, err := net.Dial("unix", path)
			if err != nil {
				t.Error(err)
				return
			}
			c.Close()
			ln.Close()
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: after Close: %v", kind, err)
			}
		})
		if names, _ := filepath.Glob(filepath.Join(p.theirs, ".*")); len(names) > 0 {
			t.Errorf("left behind: %q", names)
		}
		p.unharmed()
	}
}

// TestListenLong has a path that has room for the name, and none for more.
func TestListenLong(t *testing.T) {
	p := newPlace(t)
	path := filepath.Join(p.safe, strings.Repeat("x", 105-len(p.safe)))
	ln, err := Listen(path, SocketMode{0o666, -1, -1})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if _, err := Listen(path+"xxxxx", SocketMode{0o666, -1, -1}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a path that is too long: %v", err)
	}
}

// TestCloseLeavesOthers does not remove the socket of a later listener.
func TestCloseLeavesOthers(t *testing.T) {
	p := newPlace(t)
	path := filepath.Join(p.safe, "s")
	first, err := Listen(path, SocketMode{0o666, -1, -1})
	if err != nil {
		t.Fatal(err)
	}
	p.must(os.Remove(path))
	second, err := Listen(path, SocketMode{0o666, -1, -1})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	first.Close()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestMkdirAll(t *testing.T) {
	p := newPlace(t)
	var made []string
	path := filepath.Join(p.safe, "a", "b")
	err := MkdirAll(path, 0o755, func(f *os.File) error { made = append(made, f.Name()); return nil })
	if err != nil || len(made) != 2 || made[1] != path {
		t.Errorf("made %q, %v", made, err)
	}
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		t.Error(err)
	}
	p.must(MkdirAll(path, 0o755, nil))
	if err := MkdirAll(filepath.Join(p.precious, "x"), 0o755, nil); err == nil {
		t.Error("a directory below a file")
	}
}

// TestNewWithin makes files and directories where another user may have put a link in the way.
func TestNewWithin(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can plant as another user")
	}
	const other = 54321
	dir := t.TempDir()
	precious, theirs := filepath.Join(dir, "precious"), filepath.Join(dir, "theirs")
	if err := errors.Join(os.Mkdir(precious, 0o755), os.Mkdir(theirs, 0o755), os.Chown(theirs, other, other)); err != nil {
		t.Fatal(err)
	}
	for name, uid := range map[string]int{"planted": other, "own": 0} {
		link := filepath.Join(theirs, name)
		if err := errors.Join(os.Symlink(precious, link), os.Lchown(link, uid, uid)); err != nil {
			t.Fatal(err)
		}
		f, err := CreateNew(filepath.Join(link, name), 0o600)
		if (err == nil) != (uid == 0) {
			t.Errorf("a file beyond the %s link: %v", name, err)
		}
		if err == nil {
			f.Close()
			if _, err := CreateNew(filepath.Join(link, name), 0o600); !errors.Is(err, fs.ErrExist) {
				t.Errorf("a file that is there: %v", err)
			}
		}
		if err := Mkdir(filepath.Join(link, name+"-dir"), 0o700); (err == nil) != (uid == 0) {
			t.Errorf("a directory beyond the %s link: %v", name, err)
		}
	}
	if err := Mkdir(precious, 0o700); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a directory that is there: %v", err)
	}
	if err := os.Symlink(filepath.Join(precious, "new"), filepath.Join(theirs, "last")); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateNew(filepath.Join(theirs, "last"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link in the place of the file: %v", err)
	}
}
