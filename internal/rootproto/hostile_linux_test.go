package rootproto

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTwoSenders has one user send a request except its end, and another, who has the permission for it,
// the rest.
func TestTwoSenders(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can send as other users")
	}
	req := (&Start{Type: TypeStartReq, IPC: IPCPipe, Label: "x", Args: "/bin/true"}).Append(nil)
	part := func(conn *net.UnixConn, b []byte, uid uint32) {
		t.Helper()
		cred := syscall.UnixCredentials(&syscall.Ucred{Pid: int32(os.Getpid()), Uid: uid, Gid: uid})
		if _, _, err := conn.WriteMsgUnix(b, cred, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, cut := range []int{1, headerSize - 1, headerSize, headerSize + 1, len(req) - 1} {
		for _, uids := range [][2]uint32{{12345, 0}, {0, 12345}, {12345, 12345}} {
			fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			var ends [2]*net.UnixConn
			for i, fd := range fds {
				f := os.NewFile(uintptr(fd), "socket")
				c, err := net.FileConn(f)
				f.Close()
				if err != nil {
					t.Fatal(err)
				}
				ends[i] = c.(*net.UnixConn)
				defer c.Close()
			}
			if err := PassCred(ends[0]); err != nil {
				t.Fatal(err)
			}
			part(ends[1], req[:cut], uids[0])
			part(ends[1], req[cut:], uids[1])
			conn := NewConn(ends[0])
			conn.Accept()
			b, with, err := conn.Receive(time.Minute, time.Minute)
			if uids[0] != uids[1] {
				if err == nil {
					t.Errorf("%d bytes of user %d and the rest of user %d are a request of user %d", cut, uids[0], uids[1], with.Cred.UID)
				}
				continue
			}
			if err != nil || len(b) != len(req) || with.Cred == nil || with.Cred.UID != 12345 {
				t.Errorf("in two parts of one user: %d bytes of %+v, %v", len(b), with.Cred, err)
			}
		}
	}
}

// TestFalseHelper has another user serve where the helper should.
func TestFalseHelper(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can serve as another user")
	}
	dir, err := os.MkdirTemp("", "false")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	greet := func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		conn.Write((&Info{}).Append(nil))
		time.AfterFunc(time.Minute, func() { conn.Close() })
	}
	go greet()
	c := NewClient(path)
	if err := c.Connect(); err != nil {
		t.Errorf("a helper of this user: %v", err)
	}
	c.Close()
	// The kernel records the listener's credentials when listen(2) is called.
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	theirs := filepath.Join(dir, "theirs")
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: theirs}); err != nil {
		t.Fatal(err)
	}
	listened := make(chan error)
	go func() { listened <- listenAs(fd, 12345) }()
	if err := <-listened; err != nil {
		t.Fatal(err)
	}
	c = NewClient(theirs)
	defer c.Close()
	if err := c.Connect(); err == nil || !strings.Contains(err.Error(), "user 12345") {
		t.Errorf("a helper of another user: %v", err)
	}
	if _, err := c.ProcessID("x"); err == nil {
		t.Error("a helper of another user is asked")
	}
}

// listenAs listens as another user, on a thread that ends with the goroutine.
func listenAs(fd, uid int) error {
	runtime.LockOSThread()
	const keep = ^uintptr(0)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
		return errno
	}
	return syscall.Listen(fd, 1)
}
