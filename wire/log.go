package wire

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/go-pcp/pcp"
)

// Layout of the messages between pmlc and pmlogger (p_lcontrol.c, p_lstatus.c, p_lrequest.c).
//
//	LOG_REQUEST    request
//	LOG_CONTROL    control state delta count (pmid n (inst value)...)...
//	LOG_STATUS_V2  pad start:sec,usec last now state volume size:64 host[64] fqdn[64] zone[40] zone[40]
//	LOG_STATUS     start:low,high,nsec last now state volume size:64 length[6] string... padding
//
// The lower word of the seconds in LOG_STATUS is first, as in archives of version 3.
// The answer to LOG_CONTROL is a RESULT whose values are of type LogValue.

// A LogVersion is a version of the protocol of pmlogger's control port: the server sends
// it in its greeting as the code of an [Error], and a client answers it in its version
// credential.
type LogVersion int32

// Versions of the protocol of the control port.
const (
	LogVersion2 LogVersion = 2 // LOG_PDU_VERSION2: status as LOG_STATUS_V2
	LogVersion3 LogVersion = 3 // LOG_PDU_VERSION3: status as LOG_STATUS
)

// A LogRequest asks pmlogger for something without arguments.
type LogRequest struct{ Request LogRequestKind }

// A LogRequestKind selects the request of a LogRequest.
type LogRequestKind int32

// Kinds of requests. The numbers are part of the protocol.
const (
	LogNewVolume     LogRequestKind = 1 // LOG_REQUEST_NEWVOLUME: the answer's code is the volume
	LogStatusRequest LogRequestKind = 2 // LOG_REQUEST_STATUS: answered by LogStatus
	LogSync          LogRequestKind = 3 // LOG_REQUEST_SYNC
)

// A LogControl changes the metrics that pmlogger records, or asks for its state.
type LogControl struct {
	Control LogControlKind
	State   LogState
	Delta   int32 // interval in milliseconds; 0 means once
	Metrics []LogMetric
}

// A LogControlKind selects how binding a LogControl is.
type LogControlKind int32

// Kinds of control. The numbers are part of the protocol.
const (
	LogMandatory LogControlKind = 11 // PM_LOG_MANDATORY
	LogAdvisory  LogControlKind = 12 // PM_LOG_ADVISORY
	LogEnquire   LogControlKind = 13 // PM_LOG_ENQUIRE: change nothing
)

// A LogState is the wanted state of logging of metrics.
type LogState int32

// States. The numbers are part of the protocol.
const (
	LogOff   LogState = 0 // PM_LOG_OFF
	LogMaybe LogState = 1 // PM_LOG_MAYBE
	LogOn    LogState = 2 // PM_LOG_ON
)

// A LogMetric is a metric of a LogControl. No instances means all of them. A metric
// without an instance domain has one, InNull.
type LogMetric struct {
	PMID  pcp.PMID
	Err   pcp.Error // instead of instances, if negative
	Insts []int32
}

// A LogValue is the state of logging of an instance of a metric, a value of pmlogger's
// answer to a LogControl: four bits of state, and above them the interval in
// milliseconds.
type LogValue uint32

// Bits of a LogValue. The numbers are part of the protocol.
const (
	LogBitOn        LogValue = 1 << 0 // PMLC_SET_ON: it is recorded
	LogBitMandatory LogValue = 1 << 1 // PMLC_SET_MAND
	LogBitAvailable LogValue = 1 << 2 // PMLC_SET_AVAIL: it was in the last fetch
	LogBitInLog     LogValue = 1 << 3 // PMLC_SET_INLOG: it is in the archive

	// MaxLogDelta is the longest interval in milliseconds (PMLC_MAX_DELTA).
	MaxLogDelta = 0x0fffffff
)

// Delta returns the interval in milliseconds.
func (v LogValue) Delta() int32 { return int32(v >> 4) }

// WithDelta returns v with another interval, in milliseconds.
func (v LogValue) WithDelta(ms int32) LogValue { return v&0xf | LogValue(ms)<<4 }

// LogStatus is the status of pmlogger. V2 selects the older form, which cuts strings
// short and has no ZoneInfo. An empty string is sent as a missing one.
type LogStatus struct {
	V2               bool
	Start, Last, Now pcp.Timestamp // of the first record, the last one, this answer
	State            int32         // LogStateNew or LogStateInit
	Volume           int32         // the current one
	Size             int64         // of the current volume in bytes
	Host             string        // whose metrics are recorded
	FQDN             string        // where pmlogger runs
	TimeZone         string        // of the collector
	ZoneInfo         string        // the same as the name of a zone, ":" first
	LoggerTimeZone   string        // of pmlogger
	LoggerZoneInfo   string
}

// States of an archive in LogStatus. The numbers are part of the protocol.
const (
	LogStateNew  = 0 // PM_LOG_STATE_NEW: nothing has been recorded
	LogStateInit = 1 // PM_LOG_STATE_INIT: the label is written
)

// Sizes in a LogStatus, each with the NUL that closes a string.
const (
	logHostV2 = 64  // PM_LOG_MAXHOSTLEN
	logZoneV2 = 40  // PM_TZ_MAXLEN
	maxLogStr = 256 // PM_MAX_HOSTNAMELEN, PM_MAX_TIMEZONELEN, PM_MAX_ZONEINFOLEN
)

// appendBody appends the kind.
func (p *LogRequest) appendBody(b []byte) []byte { return put32(b, uint32(p.Request)) }

// DecodeBody fills p.
func (p *LogRequest) DecodeBody(body []byte) error {
	c := cursor{b: body}
	p.Request = LogRequestKind(c.i32())
	return c.end()
}

// appendBody appends the control words and the metrics. The values of instances, which
// are not read, are 0.
func (p *LogControl) appendBody(b []byte) []byte {
	size := 16
	for i := range p.Metrics {
		size += 8 + 8*len(p.Metrics[i].Insts)
	}
	b = slices.Grow(b, size)
	b = put32(b, uint32(p.Control))
	b = put32(b, uint32(p.State))
	b = put32(b, uint32(p.Delta))
	b = put32(b, uint32(len(p.Metrics)))
	for i := range p.Metrics {
		m := &p.Metrics[i]
		b = put32(b, uint32(m.PMID))
		if m.Err < 0 {
			b = put32(b, uint32(m.Err))
			continue
		}
		b = put32(b, uint32(len(m.Insts)))
		for _, inst := range m.Insts {
			b = put32(put32(b, uint32(inst)), 0)
		}
	}
	return b
}

// DecodeBody fills p with its own memory.
func (p *LogControl) DecodeBody(body []byte) error {
	c := cursor{b: body}
	*p = LogControl{
		Control: LogControlKind(c.i32()),
		State:   LogState(c.i32()),
		Delta:   c.i32(),
	}
	n := c.count(8)
	p.Metrics = make([]LogMetric, 0, n)
	for range n {
		m := LogMetric{PMID: pcp.PMID(c.u32())}
		if c.rest() >= 4 && int32(binary.BigEndian.Uint32(c.b[c.off:])) < 0 {
			m.Err = pcp.Error(c.i32())
		} else if k := c.count(8); k > 0 {
			m.Insts = make([]int32, k)
			for i := range m.Insts {
				m.Insts[i] = c.i32()
				c.u32() // the value
			}
		}
		if c.err != nil {
			break
		}
		p.Metrics = append(p.Metrics, m)
	}
	return c.end()
}

// appendBody appends the status. Strings that are too long are cut.
func (p *LogStatus) appendBody(b []byte) []byte {
	if p.V2 {
		b = append(b, "~~~~"...)
		for _, t := range []pcp.Timestamp{p.Start, p.Last, p.Now} {
			b = put32(put32(b, uint32(t.Sec)), uint32(t.Nsec/1000))
		}
	} else {
		for _, t := range []pcp.Timestamp{p.Start, p.Last, p.Now} {
			b = put32(put32(put32(b, uint32(t.Sec)), uint32(uint64(t.Sec)>>32)), uint32(t.Nsec))
		}
	}
	b = put32(put32(b, uint32(p.State)), uint32(p.Volume))
	b = binary.BigEndian.AppendUint64(b, uint64(p.Size))
	if p.V2 {
		b = putFixed(b, p.Host, logHostV2)
		b = putFixed(b, p.FQDN, logHostV2)
		b = putFixed(b, p.TimeZone, logZoneV2)
		return putFixed(b, p.LoggerTimeZone, logZoneV2)
	}
	list := p.strings()
	for _, s := range list {
		n := uint32(0)
		if *s != "" {
			n = uint32(len(logString(*s))) + 1
		}
		b = put32(b, n)
	}
	start := len(b)
	for _, s := range list {
		if *s != "" {
			b = append(append(b, logString(*s)...), 0)
		}
	}
	for (len(b)-start)%4 != 0 {
		b = append(b, '~')
	}
	return b
}

// strings returns the strings in the order in which LOG_STATUS has them.
func (p *LogStatus) strings() [6]*string {
	return [6]*string{&p.Host, &p.FQDN, &p.TimeZone, &p.ZoneInfo, &p.LoggerTimeZone, &p.LoggerZoneInfo}
}

// logString returns the part of s that fits.
func logString(s string) string { return s[:min(len(s), maxLogStr-1)] }

// putFixed appends a string padded with NULs to n bytes, with at least one.
func putFixed(b []byte, s string, n int) []byte {
	s = s[:min(len(s), n-1)]
	return append(append(b, s...), make([]byte, n-len(s))...)
}

// DecodeBody fills p, of which V2 must be right.
func (p *LogStatus) DecodeBody(body []byte) error {
	c := cursor{b: body}
	*p = LogStatus{V2: p.V2}
	if p.V2 {
		c.u32()
		for _, t := range []*pcp.Timestamp{&p.Start, &p.Last, &p.Now} {
			t.Sec = int64(c.i32())
			if usec := c.u32(); usec < 1e6 {
				t.Nsec = int32(usec) * 1000
			}
		}
	} else {
		for _, t := range []*pcp.Timestamp{&p.Start, &p.Last, &p.Now} {
			t.Sec = int64(uint64(c.u32()) | uint64(c.u32())<<32)
			if nsec := c.u32(); nsec < 1e9 {
				t.Nsec = int32(nsec)
			}
		}
	}
	p.State, p.Volume = c.i32(), c.i32()
	p.Size = int64(c.u64())
	if p.V2 {
		p.Host = c.fixed(logHostV2)
		p.FQDN = c.fixed(logHostV2)
		p.TimeZone = c.fixed(logZoneV2)
		p.LoggerTimeZone = c.fixed(logZoneV2)
		return c.end()
	}
	var lengths [6]int
	for i := range lengths {
		at := c.off
		n := c.u32()
		if n > maxLogStr {
			c.fail(at, "a string of %d bytes where %d are accepted", n, maxLogStr)
			break
		}
		lengths[i] = int(n)
	}
	for i, s := range p.strings() {
		if lengths[i] > 0 {
			*s = c.fixed(lengths[i])
		}
	}
	if c.err == nil && c.rest() < 4 {
		c.off = len(c.b) // the padding, which may be incomplete
	}
	return c.end()
}

// fixed reads a string in n bytes, ended by a NUL.
func (c *cursor) fixed(n int) string {
	if c.rest() < n {
		c.fail(c.off, "%d bytes where a string of %d should be", c.rest(), n)
		return ""
	}
	b := c.b[c.off : c.off+n]
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		c.fail(c.off, "a string of %d bytes without its end", n)
		return ""
	}
	c.off += n
	return string(b[:end])
}
