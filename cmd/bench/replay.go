//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// replayEnv has the path of the recording that this program serves, when it is started as the floor of a server.
const replayEnv = "BENCH_REPLAY"

// An exchange is a part of a recorded connection: the client sends so many bytes, and the server answers with these.
type exchange struct {
	Request int
	Answer  []byte
}

// replay records a session with the server at addr, and returns a process that serves each connection in the same way, with one
// thread that does not look at the bytes. The last exchange is repeated.
func (c *compare) replay(ctx context.Context, addr string, session func(addr string) error) (*server, error) {
	recorded, err := record(addr, session)
	if err != nil {
		return nil, fmt.Errorf("record a session for the floor: %w", err)
	}
	text, err := json.Marshal(recorded)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(c.dir, "recording")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), replayEnv+"="+path, "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{name: "floor", cmd: cmd, pid: cmd.Process.Pid, exited: make(chan error, 1)}
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { s.exited <- cmd.Wait() }()
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the floor does not start: %w", err)
	}
	s.tcp = strings.TrimSpace(line)
	return s, nil
}

// record has a session go through a proxy, and returns its exchanges.
func record(addr string, session func(addr string) error) ([]exchange, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	var mu sync.Mutex
	list := []exchange{{}}
	failed := make(chan error, 1)
	go func() {
		failed <- func() error {
			client, err := ln.Accept()
			if err != nil {
				return err
			}
			defer client.Close()
			up, err := net.Dial("tcp", addr)
			if err != nil {
				return err
			}
			defer up.Close()
			var wg sync.WaitGroup
			wg.Go(func() {
				defer client.Close()
				pass(up, client, func(b []byte) {
					mu.Lock()
					defer mu.Unlock()
					last := &list[len(list)-1]
					last.Answer = append(last.Answer, b...)
				})
			})
			pass(client, up, func(b []byte) {
				mu.Lock()
				defer mu.Unlock()
				if len(list[len(list)-1].Answer) > 0 {
					list = append(list, exchange{})
				}
				list[len(list)-1].Request += len(b)
			})
			up.Close()
			wg.Wait()
			return nil
		}()
	}()
	if err := session(ln.Addr().String()); err != nil {
		return nil, err
	}
	ln.Close()
	if err := <-failed; err != nil {
		return nil, err
	}
	if len(list[len(list)-1].Answer) == 0 { // such as a farewell
		list = list[:len(list)-1]
	}
	if len(list) == 0 {
		return nil, errors.New("nothing was answered")
	}
	return list, nil
}

// pass copies bytes until either side has ended.
func pass(from io.Reader, to io.Writer, seen func([]byte)) {
	buf := make([]byte, 1<<20)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			seen(buf[:n])
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// replayMain serves a recording, one connection at a time, and prints its address first. It returns only if it cannot serve.
func replayMain(path string) error {
	debug.SetGCPercent(-1)
	runtime.LockOSThread()
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var list []exchange
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(list) == 0 {
		return fmt.Errorf("%s: no exchanges", path)
	}
	ln, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Bind(ln, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(ln, unix.SOMAXCONN)); err != nil {
		return err
	}
	name, err := unix.Getsockname(ln)
	if err != nil {
		return err
	}
	in4, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return errors.New("the socket has no address of IPv4")
	}
	fmt.Printf("127.0.0.1:%d\n", in4.Port)
	buf := make([]byte, 64<<10)
	for {
		fd, _, err := unix.Accept(ln)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return err
		}
		serveRecording(fd, list, buf)
		unix.Close(fd)
	}
}

// serveRecording serves one connection until the client ends it.
func serveRecording(fd int, list []exchange, buf []byte) {
	for i := 0; ; i++ {
		e := list[min(i, len(list)-1)]
		for left := e.Request; left > 0; {
			n, err := unix.Read(fd, buf[:min(left, len(buf))])
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if n <= 0 || err != nil {
				return
			}
			left -= n
		}
		if err := writeAll(fd, e.Answer); err != nil {
			return
		}
		if e.Request == 0 && len(list) == 1 {
			return // a greeting is sent once
		}
	}
}
