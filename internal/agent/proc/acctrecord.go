package proc

import (
	"bytes"
	"encoding/binary"
	"math"
)

// A record of process accounting, version 3 (struct acct_v3 of the kernel), has 64 bytes:
//
//	 0 flag      1 version   2 tty        4 exit code  8 user     12 group
//	16 process  20 parent   24 begin, s  28 elapsed, ticks, a float
//	32 user, 34 system time, ticks       36 memory    38 bytes   40 blocks
//	42 minor, 44 major faults            46 swaps     48 command, 16 bytes
//
// The numbers from 32 on are 13 bits and an exponent of 8. All are in the byte order of the
// machine that wrote them, given by the highest bit of version: set for big-endian. This is
// part of the file format; do not change it.
const (
	acctSize      = 64
	acctVersion   = 3
	acctBigEndian = 0x80
	acctCommand   = 48
)

// Bits of acctRecord.flag.
const (
	acctForked = 1 << iota // and not executed another program
	acctSuper              // used privileges of root
	_
	acctDumped // wrote a core file
	acctSignal // was ended by a signal
)

// An acctRecord is the kernel's record of a process that has ended.
type acctRecord struct {
	flag                           byte
	tty                            uint16
	exit, uid, gid, pid, ppid      uint32
	begin                          uint32  // seconds since 1970
	elapsed                        float32 // ticks
	user, system                   uint64  // ticks
	memory, io, rw                 uint64
	minFaults, majFaults, swapOuts uint64
	command                        string
}

// parseAcct reads a record. ok is false for a record of another version, or a cut one.
func parseAcct(b []byte) (r acctRecord, ok bool) {
	if len(b) < acctSize || b[1]&0x0f != acctVersion {
		return r, false
	}
	var order binary.ByteOrder = binary.LittleEndian
	if b[1]&acctBigEndian != 0 {
		order = binary.BigEndian
	}
	packed := func(at int) uint64 {
		v := order.Uint16(b[at:])
		return uint64(v&0x1fff) << (3 * (v >> 13))
	}
	command := b[acctCommand:acctSize]
	if i := bytes.IndexByte(command, 0); i >= 0 {
		command = command[:i]
	}
	return acctRecord{
		flag: b[0], tty: order.Uint16(b[2:]), exit: order.Uint32(b[4:]), uid: order.Uint32(b[8:]), gid: order.Uint32(b[12:]),
		pid: order.Uint32(b[16:]), ppid: order.Uint32(b[20:]), begin: order.Uint32(b[24:]),
		elapsed: math.Float32frombits(order.Uint32(b[28:])),
		user:    packed(32), system: packed(34), memory: packed(36), io: packed(38), rw: packed(40),
		minFaults: packed(42), majFaults: packed(44), swapOuts: packed(46),
		command: string(command),
	}, true
}

// end returns when the process ended, in seconds since 1970.
func (r *acctRecord) end(hz uint64) int64 {
	elapsed := float64(r.elapsed) / float64(hz)
	if !(elapsed > 0) { // it may be NaN
		return int64(r.begin)
	}
	return int64(r.begin) + int64(min(elapsed, math.MaxUint32))
}
