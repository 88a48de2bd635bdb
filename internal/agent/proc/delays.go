package proc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// delays are the times in nanoseconds that a thread has waited, as the kernel accounts for them.
type delays struct{ cpu, blkio, swapin uint64 }

// A delaySource is the kernel's accounting of delays.
type delaySource interface {
	// delays returns those of a process or thread. The error is fs.ErrNotExist if it has ended, fs.ErrPermission
	// if the caller lacks the capability NET_ADMIN, and errNoTaskstats if the kernel has no accounting.
	delays(pid int32) (delays, error)
	// close frees what the source keeps open; it opens it again when it is asked.
	close()
}

// errNoTaskstats is the error of a kernel without CONFIG_TASKSTATS, or in another network name space than the first.
var errNoTaskstats = errors.New("the kernel does not report delays of processes")

// delayFamily asks the kernel for the delays of each wanted process. After an error that all processes would have, it asks no more
// until the next reading.
func delayFamily(p *processes) column.Family {
	source, b := p.each("taskstats", delayMetrics, column.Layout{Cols: 3})
	var failed uint64 // the reading that failed
	fail := func(err pcp.Error) {
		failed = p.reading
		for col := range b[0].Cols() {
			b[0].SetError(col, err)
		}
	}
	source.Row = func(row int) {
		if p.delays == nil || failed == p.reading {
			return
		}
		if p.private {
			fail(pcp.ErrPermission)
			return
		}
		pid := b[0].Insts()[row]
		d, err := p.delays.source.delays(pid)
		switch {
		case err == nil:
			for col, v := range [...]uint64{d.cpu, d.blkio, d.swapin} {
				b[0].Set(row, col, v)
			}
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		case errors.Is(err, errNoTaskstats):
			fail(pcp.ErrAppVersion)
		case errors.Is(err, fs.ErrPermission):
			fail(pcp.ErrPermission)
		default:
			fail(pcp.Code(err))
		}
		if failed == p.reading && os.Geteuid() == p.delays.euid { // other users lack the capability
			p.delays.warn(err)
		}
	}
	return column.Family{Name: "delayacct", Metrics: p.table(delayMetrics), Sources: []*column.Source{source}}
}

// accountedDelays are the kernel's delays of processes, and the errors that were logged.
type accountedDelays struct {
	source delaySource
	log    *slog.Logger
	euid   int // the agent's own
	logged map[string]struct{}
}

// newDelays returns nil if the processes that cfg names have no delays.
func newDelays(cfg *Config) *accountedDelays {
	source := kernelDelays(cfg.Root)
	if source == nil {
		return nil
	}
	return &accountedDelays{source: source, log: cfg.Log, euid: os.Geteuid(), logged: make(map[string]struct{})}
}

// maxLogged is the maximum number of different errors that are logged.
const maxLogged = 8

// warn logs an error once.
func (d *accountedDelays) warn(err error) {
	if _, logged := d.logged[err.Error()]; logged || len(d.logged) >= maxLogged {
		return
	}
	d.logged[err.Error()] = struct{}{}
	d.log.Warn("no delays of processes", "err", err)
}

// delayMetrics are newer than PCP 6.0.3.
var delayMetrics = []column.Metric{
	{Name: "proc.delayacct.cpu_time", Cluster: 79, Item: 0, Type: pcp.TypeU64, Sem: counter, Units: nsec, Col: 0, Field: "cpu_delay_total", Help: "Time spent waiting for a processor"},
	{Name: "proc.delayacct.blkio_time", Cluster: 79, Item: 1, Type: pcp.TypeU64, Sem: counter, Units: nsec, Col: 1, Field: "blkio_delay_total", Help: "Time spent waiting for synchronous disk access"},
	{Name: "proc.delayacct.swapin_time", Cluster: 79, Item: 2, Type: pcp.TypeU64, Sem: counter, Units: nsec, Col: 2, Field: "swapin_delay_total", Help: "Time spent waiting for pages to be swapped in"},
}

// Messages of netlink(7), of generic netlink and of taskstats, as linux/netlink.h, linux/genetlink.h and linux/taskstats.h have
// them. Numbers are in the byte order of the machine:
//
//	 0 length  4 type  6 flags  8 sequence  12 sender             nlmsghdr
//	 0 command  1 version  2 reserved                              genlmsghdr
//	 0 length  2 type  4 data                                      an attribute, padded to 4 bytes
//	 0 version  4 exit code  8 flags  16 cpu_count  24 cpu_delay_total  32 blkio_count  40 blkio_delay_total
//	48 swapin_count  56 swapin_delay_total                         taskstats, to which kernels append
const (
	nlHeader   = 16
	genlHeader = 4
	attrHeader = 4

	nlError   = 2
	nlRequest = 1 // NLM_F_REQUEST

	controller        = 16 // GENL_ID_CTRL
	controllerVersion = 1
	getFamily         = 3 // CTRL_CMD_GETFAMILY
	attrFamilyID      = 1
	attrFamilyName    = 2
	taskstatsName     = "TASKSTATS\x00"

	taskstatsVersion = 1
	getTask          = 1 // TASKSTATS_CMD_GET
	attrGetPID       = 1 // TASKSTATS_CMD_ATTR_PID
	attrPID          = 1 // TASKSTATS_TYPE_PID
	attrStats        = 3 // TASKSTATS_TYPE_STATS
	attrOfPID        = 4 // TASKSTATS_TYPE_AGGR_PID, with the two above

	attrMask = 0x3fff // without the flags of nested attributes and of byte order

	cpuDelay    = 24
	blkioDelay  = 40
	swapinDelay = 56
)

var errShortReply = errors.New("netlink: the answer is cut off")

// appendRequest appends a request of generic netlink with one attribute.
func appendRequest(b []byte, family uint16, seq uint32, command, version uint8, attr uint16, data []byte) []byte {
	ne := binary.NativeEndian
	padding := -len(data) & 3
	b = ne.AppendUint32(b, uint32(nlHeader+genlHeader+attrHeader+len(data)+padding))
	b = ne.AppendUint16(b, family)
	b = ne.AppendUint16(b, nlRequest)
	b = ne.AppendUint32(b, seq)
	b = ne.AppendUint32(b, 0)
	b = append(b, command, version, 0, 0)
	b = ne.AppendUint16(b, uint16(attrHeader+len(data)))
	b = ne.AppendUint16(b, attr)
	b = append(b, data...)
	return append(b, make([]byte, padding)...)
}

// reply returns the attributes of the message that answers the request seq, nil if b has other messages only. An error of the kernel is
// a syscall.Errno.
func reply(b []byte, family uint16, seq uint32) ([]byte, error) {
	ne := binary.NativeEndian
	for len(b) > 0 {
		if len(b) < nlHeader {
			return nil, errShortReply
		}
		n := ne.Uint32(b)
		if n < nlHeader || uint64(n) > uint64(len(b)) {
			return nil, fmt.Errorf("a message of %d bytes in %d: %w", n, len(b), errShortReply)
		}
		kind, msg := ne.Uint16(b[4:]), b[nlHeader:n]
		if ne.Uint32(b[8:]) == seq {
			switch {
			case kind == nlError && len(msg) < 4, kind == family && len(msg) < genlHeader:
				return nil, errShortReply
			case kind == nlError:
				if code := int32(ne.Uint32(msg)); code < 0 {
					return nil, syscall.Errno(-int64(code))
				}
			case kind == family:
				return msg[genlHeader:], nil
			default:
				return nil, fmt.Errorf("netlink: an answer of type %d, not %d", kind, family)
			}
		}
		b = b[min((uint64(n)+3)&^3, uint64(len(b))):]
	}
	return nil, nil
}

// attribute returns the data of the first attribute of a type, nil if there is none.
func attribute(b []byte, want uint16) ([]byte, error) {
	ne := binary.NativeEndian
	for len(b) >= attrHeader {
		n := int(ne.Uint16(b))
		if n < attrHeader || n > len(b) {
			return nil, errShortReply
		}
		if ne.Uint16(b[2:])&attrMask == want {
			return b[attrHeader:n:n], nil
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	return nil, nil
}

// parseFamily returns the number of the family in an answer to getFamily, 0 if b does not have the answer.
func parseFamily(b []byte, seq uint32) (uint16, error) {
	attrs, err := reply(b, controller, seq)
	if attrs == nil || err != nil {
		return 0, err
	}
	id, err := attribute(attrs, attrFamilyID)
	if err != nil {
		return 0, err
	}
	if len(id) < 2 || binary.NativeEndian.Uint16(id) <= controller {
		return 0, fmt.Errorf("netlink: family taskstats has no number: %w", errShortReply)
	}
	return binary.NativeEndian.Uint16(id), nil
}

// parseDelays returns the delays of a process in an answer to getTask, and whether b has the answer.
func parseDelays(b []byte, family uint16, seq uint32, pid int32) (d delays, ok bool, err error) {
	attrs, err := reply(b, family, seq)
	if attrs == nil || err != nil {
		return d, false, err
	}
	ne := binary.NativeEndian
	if attrs, err = attribute(attrs, attrOfPID); err != nil {
		return d, false, err
	}
	of, err := attribute(attrs, attrPID)
	if err != nil {
		return d, false, err
	}
	if len(of) < 4 || ne.Uint32(of) != uint32(pid) {
		return d, false, fmt.Errorf("taskstats: the answer is not about process %d", pid)
	}
	stats, err := attribute(attrs, attrStats)
	if err != nil {
		return d, false, err
	}
	if len(stats) < swapinDelay+8 {
		return d, false, fmt.Errorf("taskstats: %d bytes: %w", len(stats), errShortReply)
	}
	return delays{ne.Uint64(stats[cpuDelay:]), ne.Uint64(stats[blkioDelay:]), ne.Uint64(stats[swapinDelay:])}, true, nil
}
