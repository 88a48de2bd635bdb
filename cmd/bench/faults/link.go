//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// The link is a network of two addresses. The worker is the cable: it returns each packet to the machine with its addresses exchanged, so that
// a program at one address talks to a program at the other, and both are of this machine. It needs no netem, and ends with the worker.
const (
	linkName = "pcp-faults"
	linkHere = "10.203.77.1"
	linkPeer = "10.203.77.2"
)

// A cable is how a link treats packets.
type cable struct {
	loss    float64       // the part that is lost
	corrupt float64       // the part with a wrong byte
	stall   time.Duration // of each second, how long nothing passes
	pause   time.Duration // after each packet
	flood   bool          // datagrams as fast as possible, in place of connections
}

// cables are the kinds of links.
func cables() map[string]cable {
	return map[string]cable{
		"sound":   {},
		"loss":    {loss: 0.05},
		"loss-2":  {loss: 0.25},
		"delay":   {stall: 700 * time.Millisecond},
		"corrupt": {corrupt: 0.05},
		"drops":   {pause: time.Millisecond, flood: true},
	}
}

// linkConnections is the number of connections of a link. Each sends 250 kB/s at most.
const linkConnections = 8

// link runs a link.
func link(dir, kind string) error {
	how, ok := cables()[kind]
	if !ok {
		return fmt.Errorf("there is no link %q", kind)
	}
	tun, err := openLink()
	if err != nil {
		return err
	}
	defer tun.Close()
	ends := make(chan error, 3)
	go func() { ends <- how.carry(tun) }()
	if how.flood {
		go func() { ends <- flood() }()
	} else {
		go func() { ends <- transfer() }()
	}
	if err := tellReady(dir); err != nil {
		return err
	}
	return <-ends
}

// openLink makes the interface.
func openLink() (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	tun := os.NewFile(uintptr(fd), "tun")
	r, err := unix.NewIfreq(linkName)
	if err != nil {
		return nil, errors.Join(err, tun.Close())
	}
	r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, r); err != nil {
		return nil, errors.Join(fmt.Errorf("tun: %w", err), tun.Close())
	}
	if err := configure(); err != nil {
		return nil, errors.Join(err, tun.Close())
	}
	return tun, nil
}

// configure gives the interface its address, and switches it on.
func configure() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	for _, set := range []struct {
		request uint
		address string
	}{{unix.SIOCSIFADDR, linkHere}, {unix.SIOCSIFNETMASK, "255.255.255.252"}} {
		r, err := unix.NewIfreq(linkName)
		if err != nil {
			return err
		}
		if err := r.SetInet4Addr(net.ParseIP(set.address).To4()); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(s, set.request, r); err != nil {
			return fmt.Errorf("address of %s: %w", linkName, err)
		}
	}
	r, err := unix.NewIfreq(linkName)
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}

// carry returns packets of version 4. They wait while nothing passes.
func (c cable) carry(tun io.ReadWriter) error {
	waiting := make(chan []byte, 10_000)
	defer close(waiting)
	failed := make(chan error, 1)
	go func() {
		for b := range waiting {
			if now := time.Duration(time.Now().Nanosecond()); now < c.stall {
				time.Sleep(c.stall - now)
			}
			if _, err := tun.Write(b); err != nil {
				failed <- err
				return
			}
		}
	}()
	b := make([]byte, 64<<10)
	for {
		n, err := tun.Read(b)
		if err != nil {
			return err
		}
		if n < 28 || b[0]>>4 != 4 || rand.Float64() < c.loss {
			continue
		}
		p := slices.Clone(b[:n])
		for i := range 4 {
			p[12+i], p[16+i] = p[16+i], p[12+i]
		}
		if rand.Float64() < c.corrupt {
			p[n-1] ^= 0x55
		}
		select {
		case waiting <- p:
		case err := <-failed:
			return err
		}
		time.Sleep(c.pause)
	}
}

// transfer sends over connections of the link, without an end. Each lasts a second: an old one knows how slow the link is, and is patient.
func transfer() error {
	ln, err := net.Listen("tcp", linkHere+":0")
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go io.Copy(io.Discard, c)
		}
	}()
	to := net.JoinHostPort(linkPeer, fmt.Sprint(ln.Addr().(*net.TCPAddr).Port))
	for range linkConnections {
		go func() {
			b := make([]byte, 16<<10)
			for {
				c, err := net.DialTimeout("tcp", to, 5*time.Second)
				for i := 0; err == nil && i < 16; i++ {
					if _, err = c.Write(b); err == nil {
						time.Sleep(60 * time.Millisecond)
					}
				}
				if c != nil {
					c.Close()
				}
			}
		}()
	}
	select {}
}

// flood sends more datagrams than the link carries.
func flood() error {
	c, err := net.ListenPacket("udp", linkHere+":0")
	if err != nil {
		return err
	}
	to := &net.UDPAddr{IP: net.ParseIP(linkPeer), Port: c.LocalAddr().(*net.UDPAddr).Port}
	go func() {
		b := make([]byte, 2048)
		for {
			c.ReadFrom(b)
		}
	}()
	b := make([]byte, 64)
	for i := 0; ; i++ {
		c.WriteTo(b, to)
		if i%50 == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
}
