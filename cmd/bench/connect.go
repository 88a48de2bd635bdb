//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

func closeRaw(fd int) { unix.Close(fd) }

// connections measures how many clients a second can connect, shake hands,
// fetch a metric of the collector itself and leave.
func (b *bench) connections(ctx context.Context) error {
	var p *pair
	for _, clients := range []int{1, 16} {
		if !b.wants(fmt.Sprintf("connect.%d", clients)) {
			continue
		}
		if p == nil {
			var err error
			if p, err = b.startPair(ctx, "connect", []string{ownLine}, []string{ownLine}); err != nil {
				return err
			}
			defer p.stop()
			fmt.Printf("\n%-12s %7s %9s %14s %14s %7s\n", "connect", "at once", "side", "connections/s", "cpu/connection", "ratio")
		}
		all, err := inTurn(ctx, p.sides(), func(s *server) (connected, error) {
			before := cpuTime(s.pids())
			n, d, err := connectAll(s.tcp, clients, b.time/2)
			if err != nil {
				return connected{}, err
			}
			return connected{float64(n) / d.Seconds(), float64(cpuTime(s.pids())-before) / float64(n)}, nil
		})
		if err != nil {
			return err
		}
		rate := func(r connected) float64 { return r.rate }
		for _, s := range p.sides() {
			cpu := time.Duration(middle(all[s], func(r connected) float64 { return r.cpu }))
			fmt.Printf("%-12s %7d %9s %14.0f %14s", "and fetch", clients, s.name, middle(all[s], rate), short(cpu))
			if s == p.ours && p.real != nil {
				fmt.Printf(" %7.2f", ratio(all[p.real], all[s], rate))
			}
			fmt.Println()
		}
	}
	return nil
}

// connected is the number of connections a second, and the processor time of
// each in nanoseconds.
type connected struct{ rate, cpu float64 }

// connectAll keeps n connections in progress at a time, from one thread, and
// returns the number of completed ones and the time.
func connectAll(addr string, n int, length time.Duration) (int, time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	hello := wire.Append(nil, int32(os.Getpid()), &wire.Creds{Creds: []wire.Cred{{Type: 1, A: 2}}})
	hello = append(hello, wire.Append(nil, wire.FromAnon, &wire.Profile{})...)
	hello = append(hello, wire.Append(nil, wire.FromAnon, &wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{pcp.NewPMID(2, 0, 4)}})...)

	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(ep)
	type conn struct {
		fd   int
		sent bool
	}
	conns := make([]conn, n)
	open := func(i int) error {
		fd, err := connectLater(addr)
		if err != nil {
			return err
		}
		conns[i] = conn{fd: fd}
		// No connection is left waiting for late segments.
		if err := unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
			return err
		}
		ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}
		return unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &ev)
	}
	defer func() {
		for _, c := range conns {
			if c.fd > 0 {
				unix.Close(c.fd)
			}
		}
	}()
	start := time.Now()
	for i := range conns {
		if err := open(i); err != nil {
			return 0, 0, err
		}
	}
	done := 0
	buf := make([]byte, 4096)
	events := make([]unix.EpollEvent, n)
	for {
		k, err := unix.EpollWait(ep, events, 2000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		if k == 0 {
			return 0, 0, errors.New("nothing within 2 s")
		}
		for _, ev := range events[:k] {
			c := &conns[ev.Fd]
			got, err := unix.Read(c.fd, buf)
			switch {
			case errors.Is(err, unix.EAGAIN):
				continue
			case err != nil:
				return 0, 0, err
			case got == 0:
				return 0, 0, io.ErrUnexpectedEOF
			}
			h, _ := wire.ParseHeader(buf[:got])
			if int(h.Len) != got {
				return 0, 0, fmt.Errorf("%d bytes of a PDU of %d", got, h.Len)
			}
			if !c.sent {
				if h.Type != wire.TypeError {
					return 0, 0, fmt.Errorf("the challenge is of type %#x", uint32(h.Type))
				}
				c.sent = true
				if _, err := unix.Write(c.fd, hello); err != nil {
					return 0, 0, err
				}
				continue
			}
			if h.Type != wire.TypeHighResResult {
				return 0, 0, fmt.Errorf("a PDU of type %#x where a result should be", uint32(h.Type))
			}
			done++
			unix.Close(c.fd)
			c.fd = 0
			if err := open(int(ev.Fd)); err != nil {
				if errors.Is(err, syscall.EADDRNOTAVAIL) {
					return 0, 0, fmt.Errorf("after %d connections: %w", done, err)
				}
				return 0, 0, err
			}
		}
		if d := time.Since(start); d >= length {
			return done, d, nil
		}
	}
}
