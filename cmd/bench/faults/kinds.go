//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// kinds are workers of one function, by name. They take a resource until they are killed; an error ends them.
func kinds() map[string]func(dir string) error {
	return map[string]func(dir string) error{
		"busy-all":    func(string) error { return spin(runtime.NumCPU()) },
		"busy-one":    func(string) error { return spin(1) },
		"system":      func(string) error { return system() },
		"threads":     threads,
		"contended":   func(string) error { return contended() },
		"signals":     func(string) error { return signals() },
		"page-faults": func(string) error { return pageFaults() },
		"descriptors": leakFiles,
		"sockets":     leakSockets,
		"read":        readDirect,
		"sync":        syncSmall,
		"append":      appendLines,
		"time-wait":   timeWait,
		"refused":     func(string) error { return refusals() },
		"udp-ports":   func(string) error { return udpPorts() },
		"telemetry":   func(string) error { return telemetry() },
		"pipe":        func(string) error { return pipe() },
		"memory":      memory,
		"files":       someFiles,
		"children":    func(string) error { return children() },
		"shm":         fillShared,
		"shm-once":    func(string) error { return shmOnce() },
		"fill":        fillSlowly,
	}
}

// tellReady reports to the program that a fault is complete.
func tellReady(dir string) error {
	return os.WriteFile(filepath.Join(dir, readyFile), nil, 0o600)
}

// spin keeps n processors busy.
func spin(n int) error {
	for range n {
		go func() {
			var c atomic.Uint64
			for {
				c.Add(1)
			}
		}()
	}
	select {}
}

// system has the kernel work: it reads zeros.
func system() error {
	for range runtime.NumCPU() {
		go func() {
			f, err := os.Open("/dev/zero")
			if err != nil {
				return
			}
			b := make([]byte, 1<<20)
			for {
				f.Read(b)
			}
		}()
	}
	select {}
}

// threads starts threads that end at once.
func threads(string) error {
	for range 8 {
		go func() {
			for {
				done := make(chan bool)
				go func() {
					runtime.LockOSThread() // the thread ends with the goroutine
					done <- true
				}()
				<-done
			}
		}()
	}
	select {}
}

// contended has threads that wait for one lock. A goroutine that has its own thread waits as the thread does, by futex(2).
func contended() error {
	var lock sync.Mutex
	turn := sync.NewCond(&lock)
	for range 4 * runtime.NumCPU() {
		go func() {
			runtime.LockOSThread()
			lock.Lock()
			for {
				turn.Signal()
				turn.Wait()
			}
		}()
	}
	for { // in case all of them wait
		time.Sleep(10 * time.Millisecond)
		turn.Signal()
	}
}

// signals has pairs of processes: one stops and continues the other.
func signals() error {
	for range 2 * runtime.NumCPU() {
		cmd := exec.Command("sh", "-c", "trap : USR1; while :; do read -r line < /dev/null; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			return err
		}
		go func() {
			for {
				cmd.Process.Signal(syscall.SIGUSR1)
			}
		}()
	}
	select {}
}

// pageFaults maps memory, touches it, and gives it back.
func pageFaults() error {
	const size = 4 << 20
	for range runtime.NumCPU() {
		go func() {
			for {
				b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
				if err != nil {
					return
				}
				_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
				for i := 0; i < size; i += 4096 {
					b[i] = 1
				}
				_ = unix.Munmap(b)
			}
		}()
	}
	select {}
}

// leak opens something 300 times a second and keeps it, until the limit of the process.
func leak(open func() error) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	for {
		_ = open() // which fails at the limit
		time.Sleep(3 * time.Millisecond)
	}
}

func leakFiles(string) error {
	return leak(func() error {
		_, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
		return err
	})
}

func leakSockets(string) error {
	return leak(func() error {
		_, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		return err
	})
}

// readDirect reads a file past the cache, again and again.
func readDirect(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, "data"), os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		return err
	}
	b, err := unix.Mmap(-1, 0, 64<<10, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON) // on a page, as the kernel requires
	if err != nil {
		return err
	}
	for {
		if _, err := f.ReadAt(b, rand.Int64N(128)<<16); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// syncSmall writes 4 kB to a file of its own, each time to the disk.
func syncSmall(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(os.Getpid())), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	b := make([]byte, 4096)
	for i := int64(0); ; i++ {
		if _, err := f.WriteAt(b, i%64<<12); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		if os.Getenv(gentleEnv) != "" {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// appendLines writes 200 lines a second.
func appendLines(dir string) error {
	f, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	for {
		fmt.Fprintln(f, time.Now(), "a request of a client, as a server writes it")
		time.Sleep(5 * time.Millisecond)
	}
}

// timeWait makes short connections to three servers, as fast as it can, and closes them first.
func timeWait(dir string) error {
	var servers []string
	for i := range 3 {
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.77.%d:0", i+1))
		if err != nil {
			return err
		}
		servers = append(servers, ln.Addr().String())
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go func() { // after the other side
					io.Copy(io.Discard, c)
					c.Close()
				}()
			}
		}()
	}
	const enough = 30_000
	for made := 0; ; made++ {
		if c, err := net.DialTimeout("tcp", servers[made%len(servers)], time.Second); err == nil {
			c.Close()
		}
		if made == enough {
			if err := tellReady(dir); err != nil {
				return err
			}
		}
		if made > enough {
			time.Sleep(time.Millisecond)
		}
	}
}

// refusals connects to a port where nothing listens, 500 times a second.
func refusals() error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := ln.Addr().String()
	ln.Close()
	for {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// udpPorts sends datagrams to a port where nothing listens, 1,000 a second.
func udpPorts() error {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	gone := c.LocalAddr()
	if err := c.Close(); err != nil {
		return err
	}
	if c, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		return err
	}
	for {
		for range 10 {
			c.WriteTo([]byte("value"), gone)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// telemetry sends and reads 500 datagrams a second.
func telemetry() error {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		b := make([]byte, 2048)
		for {
			c.ReadFrom(b)
		}
	}()
	for {
		c.WriteTo(make([]byte, 200), c.LocalAddr())
		time.Sleep(2 * time.Millisecond)
	}
}

// pipe hands 2,000 messages a second to another thread.
func pipe() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	go io.Copy(io.Discard, r)
	for {
		if _, err := w.Write(make([]byte, 512)); err != nil {
			return err
		}
		time.Sleep(500 * time.Microsecond)
	}
}

// memory keeps 48 MB and touches some of it.
func memory(dir string) error {
	b := make([]byte, 48<<20)
	for i := range b {
		b[i] = 1
	}
	if err := tellReady(dir); err != nil {
		return err
	}
	for {
		for range 1000 {
			b[rand.IntN(len(b))]++
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// someFiles keeps 2,000 files open.
func someFiles(dir string) error {
	var list []*os.File
	for range 2000 {
		f, err := os.Open("/dev/null")
		if err != nil {
			return err
		}
		list = append(list, f)
	}
	if err := tellReady(dir); err != nil {
		return err
	}
	for {
		time.Sleep(time.Second)
		runtime.KeepAlive(list)
	}
}

// children runs 20 programs a second.
func children() error {
	for {
		if err := exec.Command("/bin/true").Run(); err != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// fillShared writes to a file in memory, and begins again when it has 256 MB or is killed.
func fillShared(string) error {
	for {
		cmd := exec.Command("/proc/self/exe", workerArg, "shm-once", "")
		cmd.Args[0] = os.Args[0]
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		cmd.Run()
		time.Sleep(100 * time.Millisecond)
	}
}

// shmOnce writes to a file in memory that no directory has: it ends with the process.
func shmOnce() error {
	fd, err := unix.MemfdCreate("faults", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	b := make([]byte, 1<<20)
	for range 256 {
		if _, err := unix.Write(fd, b); err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// fillSlowly fills a file system within some seconds.
func fillSlowly(dir string) error {
	f, err := os.Create(filepath.Join(dir, "grows"))
	if err != nil {
		return err
	}
	for {
		if _, err := f.Write(make([]byte, 256<<10)); err != nil {
			time.Sleep(100 * time.Millisecond) // no space; it tries again
		}
		f.Sync()
		time.Sleep(50 * time.Millisecond)
	}
}
