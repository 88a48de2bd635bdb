//go:build linux

package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/bench/scale/hosts"
)

// simEnv has the number of metrics in a process that is hosts, and the file with the samples that they served.
const simEnv = "PCP_BENCH_SIMULATE"

// simMain is a process that is hosts: it serves all addresses of the loopback interface.
func simMain() {
	n, path, _ := strings.Cut(os.Getenv(simEnv), " ")
	metrics, err := strconv.Atoi(n)
	if err == nil {
		err = serveHosts(metrics, path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulated hosts:", err)
		os.Exit(1)
	}
}

// A served is a sample that a host answered: its number, its time in microseconds since 1970, and the number of values.
type served struct {
	host   uint32
	values uint32
	time   int64
}

const servedSize = 16

func serveHosts(metrics int, path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	defer func() { err = errors.Join(err, w.Flush(), f.Close()) }()
	var mu sync.Mutex
	s, err := hosts.New(hosts.Config{Metrics: metrics, Served: func(host int, at time.Time, values int) {
		mu.Lock()
		defer mu.Unlock()
		var b [servedSize]byte
		binary.LittleEndian.PutUint32(b[:], uint32(host))
		binary.LittleEndian.PutUint32(b[4:], uint32(values))
		binary.LittleEndian.PutUint64(b[8:], uint64(at.UnixMicro()))
		w.Write(b[:]) // its error is that of Flush
	}})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Println(ln.Addr().(*net.TCPAddr).Port, s.Values())
	return s.Serve(ctx, ln)
}

// readServed reads the file of a process.
func readServed(path string) (list []served, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for {
		var b [servedSize]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return list, err
		}
		list = append(list, served{binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[4:]), int64(binary.LittleEndian.Uint64(b[8:]))})
	}
}

// A crowd is the processes that are hosts.
type crowd struct {
	procs  []*exec.Cmd
	ports  []string
	paths  []string
	values int // of a sample of a host
}

// perProcess is the largest number of hosts in a process, which has an open file for each.
const perProcess = 5000

// simulate starts the hosts.
func simulate(n, metrics int, dir string) (*crowd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := new(crowd)
	for i := range (n + perProcess - 1) / perProcess {
		path := fmt.Sprintf("%s/served%d", dir, i)
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", simEnv, metrics, path))
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return nil, errors.Join(err, c.stop())
		}
		c.procs = append(c.procs, cmd)
		var port string
		if _, err := fmt.Fscanln(out, &port, &c.values); err != nil {
			return nil, errors.Join(fmt.Errorf("simulated hosts: %w", err), c.stop())
		}
		c.ports, c.paths = append(c.ports, port), append(c.paths, path)
	}
	return c, nil
}

// stop ends the hosts.
func (c *crowd) stop() (err error) {
	for _, cmd := range c.procs {
		cmd.Process.Signal(syscall.SIGTERM)
		err = cmp.Or(err, cmd.Wait())
	}
	c.procs = nil
	return err
}

// address returns that of a host.
func (c *crowd) address(i int) string {
	return fmt.Sprintf("%v:%s", hosts.Address(i), c.ports[i/perProcess])
}

// pids returns the processes.
func (c *crowd) pids() (list []int) {
	for _, cmd := range c.procs {
		list = append(list, cmd.Process.Pid)
	}
	return list
}
