package kvm

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// perfGroup is a group of performance events, controlled through the first.
type perfGroup struct {
	fds []int
	buf []byte
}

// openGroup makes events for the trace points ids on one processor. They count, and keep no
// samples.
func openGroup(cpu int, ids []uint64) (group, error) {
	g := &perfGroup{buf: make([]byte, 8*(len(ids)+1))}
	first := -1
	for _, id := range ids {
		attr := unix.PerfEventAttr{
			Type: unix.PERF_TYPE_TRACEPOINT, Size: unix.PERF_ATTR_SIZE_VER0, Config: id, Read_format: unix.PERF_FORMAT_GROUP,
		}
		fd, err := unix.PerfEventOpen(&attr, -1, cpu, first, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			g.close()
			return nil, fmt.Errorf("event of trace point %d on processor %d: %w", id, cpu, os.NewSyscallError("perf_event_open", err))
		}
		if first < 0 {
			first = fd
		}
		g.fds = append(g.fds, fd)
		for _, req := range [...]uint{unix.PERF_EVENT_IOC_RESET, unix.PERF_EVENT_IOC_ENABLE} {
			if err := unix.IoctlSetInt(fd, req, 0); err != nil {
				g.close()
				return nil, os.NewSyscallError("ioctl", err)
			}
		}
	}
	return g, nil
}

// read reads the number of events and their counts.
func (g *perfGroup) read(values []uint64) (int, error) {
	n, err := unix.Read(g.fds[0], g.buf)
	if err != nil {
		return 0, os.NewSyscallError("read", err)
	}
	counts := max(n/8-1, 0)
	for i := range min(counts, len(values)) {
		values[i] = binary.NativeEndian.Uint64(g.buf[8*(i+1):])
	}
	return counts, nil
}

func (g *perfGroup) close() {
	for _, fd := range g.fds {
		unix.Close(fd)
	}
	g.fds = nil
}
