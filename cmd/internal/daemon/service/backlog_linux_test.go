package service

import (
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSetBacklog asks the system how many connections may wait at a TCP socket, and has connections wait at a Unix socket.
func TestSetBacklog(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	path := filepath.Join(t.TempDir(), "s")
	local, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	if err := SetBacklog([]net.Listener{tcp, local}, 3); err != nil {
		t.Fatal(err)
	}
	raw, err := tcp.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var info *unix.TCPInfo
	raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if err != nil || info.Sacked != 3 { // of a listening socket, the length of its queue
		t.Errorf("the length of the queue is %d, %v; want 3", info.Sacked, err)
	}
	waiting := 0
	for ; waiting < 100; waiting++ {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err == unix.EAGAIN {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if waiting < 3 || waiting > 4 {
		t.Errorf("%d connections wait at the Unix socket; want 3, and one that the system adds", waiting)
	}
	local.Close()
	if err := SetBacklog([]net.Listener{local}, 3); err == nil {
		t.Error("no error for a closed listener")
	}
}
