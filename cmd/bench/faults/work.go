//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// workerArg is the argument that makes the program a worker, and groupEnv the variable with the file of its control group.
const (
	workerArg = "worker"
	groupEnv  = "PCP_FAULTS_GROUP"
	gentleEnv = "PCP_FAULTS_GENTLE" // set for a worker that takes little
)

// readyFile is the file that a worker makes when its fault is complete, if that takes long.
const readyFile = "ready"

// A held has the things that a worker keeps.
type held struct {
	memory [][]byte
	conns  []net.Conn
}

// work takes a resource until the process is killed, or for five minutes.
func work(kind string, args []string) error {
	if group := os.Getenv(groupEnv); group != "" {
		if err := os.WriteFile(group, []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
			return err
		}
	}
	if len(args) != 1 {
		return fmt.Errorf("a worker needs a directory")
	}
	dir := args[0]
	if kind == "sweep" {
		return sweep(dir)
	}
	runtime.LockOSThread() // the state of a process is that of its first thread
	time.AfterFunc(5*time.Minute, func() { os.Exit(0) })
	if kind, ok := strings.CutPrefix(kind, "link-"); ok {
		return link(dir, kind)
	}
	if fn := kinds()[kind]; fn != nil {
		return fn(dir)
	}
	var hold held
	switch kind {
	case "busy":
		var n atomic.Uint64
		for {
			n.Add(1)
		}
	case "forks":
		// One process at a time for each of four loops.
		script := "while :; do (:); (:); (:); (:); done"
		for range 4 {
			cmd := exec.Command("sh", "-c", script)
			cmd.Args[0] = "faults-sh" // the name of the process
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if err := cmd.Start(); err != nil {
				return err
			}
		}
		select {}
	case "zombies":
		for range 1000 {
			if err := exec.Command("/bin/true").Start(); err != nil {
				return err
			}
		}
		if err := tellReady(dir); err != nil {
			return err
		}
		select {}
	case "touch":
		// By atomic stores, which a compiler does not leave out.
		b := make([]atomic.Uint64, 16<<20)
		for {
			for i := 0; i < len(b); i += 512 {
				b[i].Add(1)
			}
		}
	case "mapped":
		return touchMapped(filepath.Join(dir, "mapped"))
	case "timers":
		// Threads that sleep for a microsecond, each time with a timer of their own.
		for range 4 * runtime.NumCPU() {
			go func() {
				runtime.LockOSThread()
				_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
				for {
					_ = unix.Nanosleep(&unix.Timespec{Nsec: 1000}, nil)
				}
			}()
		}
		select {}
	case "leak":
		for { // until the kernel ends it, again and again
			leak := exec.Command(os.Args[0], workerArg, "leak-once", dir)
			leak.Path = "/proc/self/exe"
			leak.Run()
		}
	case "leak-once":
		for {
			hold.memory = append(hold.memory, bytes.Repeat([]byte{1}, 1<<20))
			time.Sleep(20 * time.Millisecond)
		}
	case "cache":
		path := filepath.Join(dir, "cached")
		if err := os.WriteFile(path, make([]byte, 128<<20), 0o600); err != nil {
			return err
		}
		for {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			io.Copy(io.Discard, f)
			f.Close()
		}
	case "locks":
		// Pairs of threads hand a byte to each other: each waits for the other all the time.
		for range 2 * runtime.NumCPU() {
			var a, b [2]int
			if err := syscall.Pipe(a[:]); err != nil {
				return err
			}
			if err := syscall.Pipe(b[:]); err != nil {
				return err
			}
			pass := func(from, to int) {
				runtime.LockOSThread()
				one := make([]byte, 1)
				for {
					syscall.Read(from, one)
					syscall.Write(to, one)
				}
			}
			go pass(a[0], b[1])
			go pass(b[0], a[1])
			syscall.Write(a[1], []byte{1})
		}
		select {}
	case "listen":
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			return err
		}
		if err := syscall.Listen(fd, 1); err != nil {
			return err
		}
		at, err := syscall.Getsockname(fd)
		if err != nil {
			return err
		}
		address := fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
		conns := make(chan net.Conn)
		for range 16 {
			go func() {
				for {
					if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
						conns <- c
					}
				}
			}()
		}
		for c := range conns {
			hold.conns = append(hold.conns, c)
		}
		return nil
	case "udp", "packets":
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		if kind == "packets" {
			go func() {
				b := make([]byte, 2048)
				for {
					c.ReadFrom(b)
				}
			}()
		}
		b := make([]byte, 64)
		for i := 0; ; i++ {
			c.WriteTo(b, c.LocalAddr())
			if kind == "udp" && i%100 == 0 {
				time.Sleep(10 * time.Millisecond)
			}
		}
	case "write":
		path := filepath.Join(dir, strconv.Itoa(os.Getpid()))
		b := make([]byte, 256<<10)
		for {
			f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|syscall.O_DSYNC, 0o600)
			if err != nil {
				return err
			}
			f.Write(b)
			f.Close()
		}
	case "web":
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		page := bytes.Repeat([]byte("hello "), 1000)
		go http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(page) }))
		for {
			if r, err := http.Get("http://" + ln.Addr().String()); err == nil {
				io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return fmt.Errorf("there is no worker %q", kind)
}

// touchMapped reads pages of a mapped file of 128 MB in no order, for ever.
func touchMapped(path string) error {
	const size = 128 << 20
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	part := bytes.Repeat([]byte{1}, 1<<20)
	for range size >> 20 {
		if _, err := f.Write(part); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	if err := unix.Madvise(b, unix.MADV_RANDOM); err != nil {
		return err
	}
	var sum atomic.Uint64 // otherwise a compiler leaves out the loads
	for {
		sum.Add(uint64(b[rand.IntN(size)]))
	}
}
