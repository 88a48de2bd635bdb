package perfevent

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// A perfCounter is an open file of perf_event_open(2).
type perfCounter struct {
	fd  int
	buf [24]byte
}

func openCounter(a attr, cpu int) (counter, error) {
	attr := unix.PerfEventAttr{
		Type: a.kind, Size: unix.PERF_ATTR_SIZE_VER1, Config: a.config, Ext1: a.config1, Ext2: a.config2,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
	}
	for bit, on := range map[uint64]bool{
		unix.PerfBitExcludeUser: a.noUser, unix.PerfBitExcludeKernel: a.noKernel, unix.PerfBitExcludeHv: a.noHypervisor, unix.PerfBitExcludeGuest: a.noGuest,
	} {
		if on {
			attr.Bits |= bit
		}
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &perfCounter{fd: fd}, nil
}

func (c *perfCounter) read() (reading, error) {
	n, err := unix.Read(c.fd, c.buf[:])
	if err != nil {
		return reading{}, err
	}
	if n != len(c.buf) {
		return reading{}, fmt.Errorf("%d bytes: %w", n, unix.EIO)
	}
	e := binary.NativeEndian
	return reading{value: e.Uint64(c.buf[:]), enabled: e.Uint64(c.buf[8:]), running: e.Uint64(c.buf[16:])}, nil
}

func (c *perfCounter) close() error { return unix.Close(c.fd) }
