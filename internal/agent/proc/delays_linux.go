package proc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/internal/nsenter"
	"github.com/go-pcp/pcp/internal/procfs"
)

// taskstats asks the kernel for delays through a socket of generic netlink that stays open.
type taskstats struct {
	root   string // whose network the socket is in
	fd     int    // -1 until it is open
	family uint16
	seq    uint32
	req    []byte
	buf    [taskstatsBuffer]byte
}

// Limits of answers. A kernel of 2025 answers with 600 bytes.
const (
	taskstatsBuffer = 8 << 10
	maxReplies      = 16 // messages before the answer to the last request
	replyTimeout    = 2 * time.Second
)

// kernelDelays returns the kernel's accounting for the processes below root, nil if their numbers are not those that the kernel knows
// from this process: those of a copy of files, and those of a host seen from a container with processes of its own.
func kernelDelays(root string) delaySource {
	dir := filepath.Join(root, "proc")
	if !isProc(dir) {
		return nil
	}
	b, err := procfs.ReadOnce(filepath.Join(dir, "self/status"))
	if err != nil {
		return nil
	}
	for line := range procfs.Lines(b) {
		// The numbers of this process in each name space, from that of dir on.
		if pids, ok := bytes.CutPrefix(line, []byte("NSpid:")); ok && len(bytes.Fields(pids)) != 1 {
			return nil
		}
	}
	return &taskstats{root: root, fd: -1}
}

func (k *taskstats) delays(pid int32) (delays, error) {
	if k.fd < 0 {
		if err := k.open(); err != nil {
			return delays{}, err
		}
	}
	var d delays
	var number [4]byte
	binary.NativeEndian.PutUint32(number[:], uint32(pid))
	err := k.ask(k.family, getTask, taskstatsVersion, attrGetPID, number[:], func(b []byte) (ok bool, err error) {
		d, ok, err = parseDelays(b, k.family, k.seq, pid)
		return ok, err
	})
	switch {
	case err == nil, errors.Is(err, unix.ESRCH):
	case errors.Is(err, unix.EPERM):
		err = fmt.Errorf("taskstats: the kernel requires the capability NET_ADMIN: %w", err)
	default:
		// A late answer must not be taken for that of the next request.
		k.close()
		err = fmt.Errorf("taskstats: %w", err)
	}
	return d, err
}

// open opens the socket and learns the number of the family.
func (k *taskstats) open() error {
	err := nsenter.InHostNet(k.root, func() error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
		if err != nil {
			return fmt.Errorf("netlink: socket: %w", err)
		}
		k.fd = fd
		return nil
	})
	if err != nil {
		return err
	}
	timeout := unix.NsecToTimeval(replyTimeout.Nanoseconds())
	err = unix.SetsockoptTimeval(k.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout)
	if err == nil {
		// With a peer, messages of other programs are refused.
		err = unix.Connect(k.fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}
	if err == nil {
		err = k.ask(controller, getFamily, controllerVersion, attrFamilyName, []byte(taskstatsName), func(b []byte) (bool, error) {
			k.family, err = parseFamily(b, k.seq)
			return k.family != 0, err
		})
	}
	if err != nil {
		k.close()
		if errors.Is(err, unix.ENOENT) {
			return errNoTaskstats
		}
		return fmt.Errorf("netlink: %w", err)
	}
	return nil
}

// ask sends a request with one attribute, and calls read for each buffer received, until it reports that this was the answer.
func (k *taskstats) ask(family uint16, command, version uint8, attr uint16, data []byte, read func(b []byte) (bool, error)) error {
	k.seq++
	k.req = appendRequest(k.req[:0], family, k.seq, command, version, attr, data)
	if _, err := unix.Write(k.fd, k.req); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	for range maxReplies {
		n, err := unix.Read(k.fd, k.buf[:])
		for err == unix.EINTR {
			n, err = unix.Read(k.fd, k.buf[:])
		}
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		if done, err := read(k.buf[:n]); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("no answer in %d messages", maxReplies)
}

func (k *taskstats) close() {
	if k.fd >= 0 {
		unix.Close(k.fd)
	}
	k.fd = -1
}
