package sockets

import (
	"encoding/binary"
	"math"
	"net/netip"
	"strconv"

	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pmda/column"
)

func (d *diag) netid() string {
	if d.udp {
		return "udp"
	}
	return "tcp"
}

// stateName returns ss's name of a state.
func stateName(state uint8) string {
	names := [...]string{
		"UNKNOWN", "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "UNCONN", "CLOSE-WAIT", "LAST-ACK", "LISTEN", "CLOSING",
	}
	if int(state) < len(names) {
		return names[state]
	}
	return names[0]
}

// timerName returns ss's name of a timer.
func timerName(timer uint8) string {
	names := [...]string{"off", "on", "keepalive", "timewait", "persist", "unknown"}
	return names[min(int(timer), len(names)-1)]
}

// appendAddress appends the address of one side, as ss prints it.
func (r *reader) appendAddress(b []byte, d *diag, src bool) []byte {
	s := side(d, src)
	switch a := s.Addr(); {
	case a.Is4():
		b = a.AppendTo(b)
	case a == netip.IPv6Unspecified() && !d.v6only:
		b = append(b, '*')
	default:
		b = append(b, '[')
		b = a.AppendTo(b)
		b = append(b, ']')
	}
	if src && d.device != 0 {
		b = append(b, '%')
		b = r.devices.append(b, d.device)
	}
	b = append(b, ':')
	if s.Port() == 0 {
		return append(b, '*')
	}
	return strconv.AppendUint(b, uint64(s.Port()), 10)
}

// appendMillis appends a time as ss prints timers: "3min57sec", "9.001ms", "200ms".
func appendMillis(b []byte, ms uint32) []byte {
	minutes, secs, rest := ms/60000, ms/1000%60, ms%1000
	if minutes > 0 {
		b = append(strconv.AppendUint(b, uint64(minutes), 10), "min"...)
		rest = 0
		if minutes > 9 {
			secs = 0
		}
	}
	if secs > 0 {
		if secs > 9 {
			rest = 0
		}
		b = strconv.AppendUint(b, uint64(secs), 10)
		if rest == 0 {
			return append(b, "sec"...)
		}
		b = append(b, '.')
	}
	if rest > 0 {
		b = append(b, byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
		b = append(b, "ms"...)
	}
	return b
}

// fill sets the columns of a socket, except colSrc. Numbers that ss would not print are 0.
func (r *reader) fill(out *column.Block, row int, d *diag) {
	out.SetText(row, colNetid, d.netid())
	out.SetText(row, colState, stateName(d.state))
	out.Set(row, colRecvq, uint64(d.rqueue))
	out.Set(row, colSendq, uint64(d.wqueue))
	b := r.appendAddress(r.scratch[:0], d, false)
	out.SetString(row, colDst, b)
	out.Set(row, colInode, uint64(d.inode))
	out.Set(row, colUid, uint64(d.uid))
	out.Set(row, colSk, d.cookie)
	out.Set(row, colV6only, bit(d.v6only))
	b = b[:0]
	if d.hasCgroup {
		b = r.cgroups.append(b, d.cgroup)
	}
	out.SetString(row, colCgroup, b)
	b = r.fillTimer(b, out, row, d)
	b = fillMemory(b, out, row, d)
	if d.hasInfo {
		b = fillTCP(b, out, row, d)
	} else {
		out.SetText(row, colWscaleStr, "")
		out.SetText(row, colRoundTripStr, "")
	}
	r.scratch = b
}

func bit(on bool) uint64 {
	if on {
		return 1
	}
	return 0
}

func (r *reader) fillTimer(b []byte, out *column.Block, row int, d *diag) []byte {
	if d.timer == 0 {
		for _, col := range [...]int{colTimerStr, colTimerName, colTimerExpireStr} {
			out.SetText(row, col, "")
		}
		return b
	}
	name := timerName(d.timer)
	b = append(append(b[:0], name...), ',')
	start := len(b)
	b = appendMillis(b, d.expires)
	out.SetText(row, colTimerName, name)
	out.SetString(row, colTimerExpireStr, b[start:])
	b = strconv.AppendUint(append(b, ','), uint64(d.retrans), 10)
	out.SetString(row, colTimerStr, b)
	out.Set(row, colTimerRetrans, uint64(d.retrans))
	return b
}

func fillMemory(b []byte, out *column.Block, row int, d *diag) []byte {
	b = b[:0]
	if d.numSkmem > skOptMem { // later members are newer
		for _, m := range [...]struct {
			mark  string
			i, at int
		}{
			{"r", skRmemAlloc, colSkmemRmemAlloc},
			{",rb", skRcvBuf, colSkmemRcvBuf},
			{",t", skWmemAlloc, colSkmemWmemAlloc},
			{",tb", skSndBuf, colSkmemSndBuf},
			{",f", skFwdAlloc, colSkmemFwdAlloc},
			{",w", skWmemQueued, colSkmemWmemQueued},
			{",o", skOptMem, colSkmemRoptMem},
			{",bl", skBacklog, colSkmemBackLog},
			{",d", skDrops, colSkmemSockDrop},
		} {
			if m.i < d.numSkmem {
				b = strconv.AppendUint(append(b, m.mark...), uint64(d.skmem[m.i]), 10)
				out.Set(row, m.at, uint64(d.skmem[m.i]))
			}
		}
	}
	out.SetString(row, colSkmemStr, b)
	return b
}

// fillTCP sets the columns of TCP's measurements.
func fillTCP(b []byte, out *column.Block, row int, d *diag) []byte {
	options := d.info[tcpOptions]
	out.Set(row, colTs, bit(options&optTimestamps != 0))
	out.Set(row, colSack, bit(options&optSACK != 0))
	out.Set(row, colCubic, bit(string(d.cong) == "cubic"))
	b = b[:0]
	if options&optWscale != 0 {
		snd, rcv, _ := d.bitFields()
		out.Set(row, colWscaleSnd, snd)
		out.Set(row, colWscaleRcv, rcv)
		b = strconv.AppendUint(append(strconv.AppendUint(b, snd, 10), ','), rcv, 10)
	}
	out.SetString(row, colWscaleStr, b)

	set := func(col int, v float64) {
		b = ctext.AppendFloat(b[:0], v, 'g', 6)
		v, _ = strconv.ParseFloat(string(b), 64) // ss prints six digits
		out.Set(row, col, math.Float64bits(v))
	}
	set(colAto, float64(d.u32(tcpAto))/1000)
	set(colRcvRtt, float64(d.u32(tcpRcvRTT))/1000)
	if v := d.u32(tcpMinRTT); v != math.MaxUint32 {
		set(colMinrtt, float64(v)/1000)
	}
	b = b[:0]
	if rtt := d.u32(tcpRTT); rtt != 0 {
		set(colRoundTripRtt, float64(rtt)/1000)
		set(colRoundTripRttvar, float64(d.u32(tcpRTTVar))/1000)
		b = ctext.AppendFloat(b[:0], float64(rtt)/1000, 'g', 6)
		b = ctext.AppendFloat(append(b, '/'), float64(d.u32(tcpRTTVar))/1000, 'g', 6)
	}
	out.SetString(row, colRoundTripStr, b)

	for _, m := range [...]struct{ col, off int }{
		{colMss, tcpSndMSS},
		{colPmtu, tcpPMTU},
		{colRcvmss, tcpRcvMSS},
		{colAdvmss, tcpAdvMSS},
		{colCwnd, tcpSndCwnd},
		{colSegsOut, tcpSegsOut},
		{colSegsIn, tcpSegsIn},
		{colDataSegsOut, tcpDataSegsOut},
		{colDataSegsIn, tcpDataSegsIn},
		{colLastsnd, tcpLastSent},
		{colLastrcv, tcpLastRecv},
		{colLastack, tcpLastAck},
		{colDelivered, tcpDelivered},
		{colReordSeen, tcpReordSeen},
		{colDsackDups, tcpDSACKDups},
		{colRcvSpace, tcpRcvSpace},
		{colRcvSsthresh, tcpRcvSsthresh},
		{colNotsent, tcpNotSent},
	} {
		out.Set(row, m.col, d.u32(m.off))
	}
	for _, m := range [...]struct{ col, off int }{
		{colBytesSent, tcpBytesSent}, {colBytesRetrans, tcpBytesRetrans}, {colBytesAcked, tcpBytesAcked}, {colBytesReceived, tcpBytesRecv},
	} {
		out.Set(row, m.col, d.u64(m.off))
	}
	if v := d.u32(tcpSndSsthresh); v < 0xffff { // larger values mean that there is no limit yet
		out.Set(row, colSsthresh, v)
	}
	out.Set(row, colBusy, d.u64(tcpBusyTime)/1000)
	_, _, limited := d.bitFields()
	out.Set(row, colAppLimited, bit(limited))

	rtt := float64(d.u32(tcpRTT))
	if d.vegasRTT != 0 {
		rtt = float64(d.vegasRTT)
	}
	if rtt > 0 {
		setRate(out, row, colSend, float64(d.u32(tcpSndCwnd))*float64(d.u32(tcpSndMSS))*8_000_000/rtt)
	}
	if v := d.u64(tcpPacingRate); v != math.MaxUint64 {
		setRate(out, row, colPacingRate, float64(v)*8)
	}
	setRate(out, row, colDeliveryRate, float64(d.u64(tcpDeliveryRate))*8)
	return b
}

// setRate sets a rate, of which ss prints no fraction.
func setRate(out *column.Block, row, col int, v float64) {
	out.Set(row, col, math.Float64bits(math.RoundToEven(v)))
}

// bitFields returns the window scales and whether the program limits the rate. C's bit fields have
// the byte order of the machine.
func (d *diag) bitFields() (snd, rcv uint64, limited bool) {
	scales, flags := d.info[tcpWscale], d.info[tcpFlags]
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return uint64(scales & 15), uint64(scales >> 4), flags&1 != 0
	}
	return uint64(scales >> 4), uint64(scales & 15), flags&0x80 != 0
}
