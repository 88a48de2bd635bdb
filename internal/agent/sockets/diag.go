package sockets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// Messages of netlink and of sock_diag(7), as linux/netlink.h, linux/inet_diag.h and linux/tcp.h have them. Numbers
// are in the byte order of the machine, ports and addresses in that of the network:
//
//	 0 length  4 type  6 flags  8 sequence  12 sender             nlmsghdr
//	 0 family  1 protocol  2 extensions  4 states  8 sockid       inet_diag_req_v2
//	 0 family  1 state  2 timer  3 retransmissions  4 sockid      inet_diag_msg
//	52 expires  56 rqueue  60 wqueue  64 uid  68 inode  72 attributes
//	 0 sport  2 dport  4 src  20 dst  36 interface  40 cookie     sockid
//	 0 length  2 type  4 data                                     an attribute, padded to 4 bytes
const (
	nlHeader  = 16
	diagFixed = 72
	diagReq   = 56

	nlNoop     = 1
	nlError    = 2
	nlDone     = 3
	nlDiag     = 20 // SOCK_DIAG_BY_FAMILY
	nlDumpFlag = 0x301

	familyIPv4  = 2
	familyIPv6  = 10
	protocolTCP = 6
	protocolUDP = 17
)

// Attributes (INET_DIAG_*), and the requested extensions.
const (
	attrInfo    = 2
	attrVegas   = 3
	attrCong    = 4
	attrSkmem   = 7
	attrV6Only  = 11
	attrCgroup  = 21
	attrMask    = 0x3fff // without the flags of nested attributes and of byte order
	extensions  = 1<<(attrInfo-1) | 1<<(attrVegas-1) | 1<<(attrCong-1) | 1<<(attrSkmem-1)
	maxCongName = 16
)

// A diag is the kernel's report on a socket. It is valid until the message that it was decoded
// from is overwritten.
type diag struct {
	udp            bool
	family         uint8
	state          uint8
	timer, retrans uint8
	src, dst       netip.AddrPort
	device         uint32 // of the interface that the socket is bound to; 0 for all
	cookie         uint64
	expires        uint32 // milliseconds
	rqueue, wqueue uint32
	uid, inode     uint32
	v6only         bool
	cong           []byte
	cgroup         uint64
	hasCgroup      bool
	skmem          [numSkmem]uint32
	numSkmem       int
	info           [tcpInfoSize]byte
	hasInfo        bool
	vegasRTT       uint32 // 0 for another congestion control
}

// The order of the numbers of INET_DIAG_SKMEMINFO.
const (
	skRmemAlloc = iota
	skRcvBuf
	skWmemAlloc
	skSndBuf
	skFwdAlloc
	skWmemQueued
	skOptMem
	skBacklog
	skDrops
	numSkmem
)

// Offsets in struct tcp_info. Kernels add to its end; missing fields are 0.
const (
	tcpOptions      = 5
	tcpWscale       = 6
	tcpFlags        = 7
	tcpAto          = 12
	tcpSndMSS       = 16
	tcpRcvMSS       = 20
	tcpLastSent     = 44
	tcpLastRecv     = 52
	tcpLastAck      = 56
	tcpPMTU         = 60
	tcpRcvSsthresh  = 64
	tcpRTT          = 68
	tcpRTTVar       = 72
	tcpSndSsthresh  = 76
	tcpSndCwnd      = 80
	tcpAdvMSS       = 84
	tcpRcvRTT       = 92
	tcpRcvSpace     = 96
	tcpPacingRate   = 104
	tcpBytesAcked   = 120
	tcpBytesRecv    = 128
	tcpSegsOut      = 136
	tcpSegsIn       = 140
	tcpNotSent      = 144
	tcpMinRTT       = 148
	tcpDataSegsIn   = 152
	tcpDataSegsOut  = 156
	tcpDeliveryRate = 160
	tcpBusyTime     = 168
	tcpDelivered    = 192
	tcpBytesSent    = 200
	tcpBytesRetrans = 208
	tcpDSACKDups    = 216
	tcpReordSeen    = 220
	tcpInfoSize     = 232

	optTimestamps = 1
	optSACK       = 2
	optWscale     = 4
)

func (d *diag) u32(off int) uint64 { return uint64(binary.NativeEndian.Uint32(d.info[off:])) }
func (d *diag) u64(off int) uint64 { return binary.NativeEndian.Uint64(d.info[off:]) }

// errShort is the error of a message that ends too early.
var errShort = errors.New("the message is cut off")

// decode decodes an inet_diag_msg with its attributes.
func (d *diag) decode(b []byte) error {
	if len(b) < diagFixed {
		return errShort
	}
	*d = diag{udp: d.udp, family: b[0], state: b[1], timer: b[2], retrans: b[3]}
	var ok1, ok2 bool
	d.src, ok1 = address(b[0], b[4:6], b[8:24])
	d.dst, ok2 = address(b[0], b[6:8], b[24:40])
	if !ok1 || !ok2 {
		return fmt.Errorf("address family %d", b[0])
	}
	ne := binary.NativeEndian
	d.device = ne.Uint32(b[40:])
	d.cookie = uint64(ne.Uint32(b[44:])) | uint64(ne.Uint32(b[48:]))<<32
	d.expires, d.rqueue, d.wqueue, d.uid, d.inode = ne.Uint32(b[52:]), ne.Uint32(b[56:]), ne.Uint32(b[60:]), ne.Uint32(b[64:]), ne.Uint32(b[68:])
	for b = b[diagFixed:]; len(b) >= 4; {
		n := int(ne.Uint16(b))
		if n < 4 || n > len(b) {
			return fmt.Errorf("an attribute of %d bytes in %d: %w", n, len(b), errShort)
		}
		d.attribute(ne.Uint16(b[2:])&attrMask, b[4:n])
		b = b[min((n+3)&^3, len(b)):]
	}
	return nil
}

func address(family uint8, port, addr []byte) (netip.AddrPort, bool) {
	p := binary.BigEndian.Uint16(port)
	switch family {
	case familyIPv4:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(addr)), p), true
	case familyIPv6:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(addr)), p), true
	}
	return netip.AddrPort{}, false
}

func (d *diag) attribute(kind uint16, b []byte) {
	ne := binary.NativeEndian
	switch kind {
	case attrInfo:
		copy(d.info[:], b)
		d.hasInfo = len(b) > 0
	case attrVegas: // enabled, rttcnt, rtt, minrtt
		if len(b) >= 12 && ne.Uint32(b) != 0 {
			if rtt := ne.Uint32(b[8:]); rtt != 0x7fffffff {
				d.vegasRTT = rtt
			}
		}
	case attrCong:
		d.cong = b
		for i, c := range b {
			if c == 0 || i == maxCongName {
				d.cong = b[:i]
				break
			}
		}
	case attrSkmem:
		for d.numSkmem = 0; d.numSkmem < numSkmem && len(b) >= 4; d.numSkmem++ {
			d.skmem[d.numSkmem] = ne.Uint32(b)
			b = b[4:]
		}
	case attrV6Only:
		d.v6only = len(b) > 0 && b[0] != 0
	case attrCgroup:
		if len(b) >= 8 {
			d.cgroup, d.hasCgroup = ne.Uint64(b), true
		}
	}
}

// messages calls fn for each socket of a buffer that was received. It reports whether the buffer has
// the last message. An error of the kernel is a syscall.Errno.
func messages(b []byte, fn func(msg []byte) error) (done bool, err error) {
	ne := binary.NativeEndian
	for len(b) > 0 {
		if len(b) < nlHeader {
			return false, errShort
		}
		n := ne.Uint32(b)
		if n < nlHeader || uint64(n) > uint64(len(b)) {
			return false, fmt.Errorf("a message of %d bytes in %d: %w", n, len(b), errShort)
		}
		msg := b[nlHeader:n]
		switch kind := ne.Uint16(b[4:]); kind {
		case nlNoop:
		case nlDone, nlError:
			if len(msg) >= 4 {
				if code := int32(ne.Uint32(msg)); code < 0 {
					return true, syscall.Errno(-int64(code))
				}
			}
			return true, nil
		case nlDiag:
			if err := fn(msg); err != nil {
				return false, err
			}
		default:
			return false, fmt.Errorf("a message of type %d", kind)
		}
		b = b[min((uint64(n)+3)&^3, uint64(len(b))):]
	}
	return false, nil
}

// request appends the request for all sockets of a family and protocol that are in one of the states.
func request(b []byte, family, protocol uint8, states uint32) []byte {
	ne := binary.NativeEndian
	b = ne.AppendUint32(b, nlHeader+diagReq)
	b = ne.AppendUint16(b, nlDiag)
	b = ne.AppendUint16(b, nlDumpFlag)
	b = ne.AppendUint32(b, 1)
	b = ne.AppendUint32(b, 0)
	b = append(b, family, protocol, extensions, 0)
	b = ne.AppendUint32(b, states)
	return append(b, make([]byte, diagReq-8)...)
}
