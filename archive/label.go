package archive

import (
	"encoding/binary"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A Label is the record that every file of an archive starts with (pmLogLabel).
type Label struct {
	Version  int // Version2 or Version3
	PID      int32
	Start    pcp.Timestamp
	Vol      int32 // number of the volume, VolMeta or VolIndex
	Features uint32
	Host     string
	TimeZone string // as TZ means it
	ZoneInfo string // name of the zone, version 3 only and optional
}

// Sizes of a label with its framing. Part of the file format; do not change.
//
//	v2  len magic pid sec usec        vol                   host[64]  tz[40]                len
//	v3  len magic pid sec:64 nsec     vol features reserved host[256] tz[256] zoneinfo[256] len
const (
	labelSize2 = 132
	labelSize3 = 808
	labelMagic = 0x50052600 // PM_LOG_MAGIC, with the version in the low byte
)

// FeatureQA is a feature bit for tests (PM_LOG_FEATURE_QA). Archives with other
// bits are refused.
const FeatureQA = 1 << 31

// LabelSize returns the length of a label of a version, framing included, 0 if
// there is no such version.
func LabelSize(version int) int {
	switch version {
	case Version2:
		return labelSize2
	case Version3:
		return labelSize3
	}
	return 0
}

// DecodeLabel decodes the label that b starts with.
func DecodeLabel(b []byte) (Label, error) {
	if len(b) == 0 {
		return Label{}, fmt.Errorf("no label: %w", pcp.ErrNoData)
	}
	if len(b) < 8 {
		// The C library reads both words at once and takes the end of the
		// file for an empty one.
		return Label{}, fmt.Errorf("label of %d bytes: %w", len(b), pcp.ErrNoData)
	}
	n, magic := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	l := Label{Version: int(magic & 0xff)}
	size := LabelSize(l.Version)
	switch {
	case size == 0:
		return Label{}, fmt.Errorf("magic number %#x: %w", magic, pcp.ErrLabel)
	case int64(n) != int64(size):
		return Label{}, fmt.Errorf("label of %d bytes, want %d: %w", n, size, pcp.ErrLabel)
	case len(b) < size:
		return Label{}, fmt.Errorf("label cut to %d bytes: %w", len(b), pcp.ErrLabel)
	case binary.BigEndian.Uint32(b[size-4:]) != n:
		return Label{}, fmt.Errorf("label ends with length %d, want %d: %w", binary.BigEndian.Uint32(b[size-4:]), n, pcp.ErrLabel)
	case magic&^0xff != labelMagic:
		return Label{}, fmt.Errorf("magic number %#x: %w", magic, pcp.ErrLabel)
	}
	r := reader{b: b[8 : size-4]}
	l.PID = r.i32()
	l.Start = r.stamp(l.Version)
	l.Vol = r.i32()
	host, tz := 64, 40
	if l.Version == Version3 {
		l.Features = r.u32()
		r.u32() // reserved
		host, tz = 256, 256
	}
	text := func(n int) string {
		b := r.take(n)
		return string(ctext.Bytes(b[:n-1])) // C leaves the last byte to the NUL
	}
	l.Host, l.TimeZone = text(host), text(tz)
	if l.Version == Version3 {
		l.ZoneInfo = text(256)
	}
	return l, nil
}

// Append appends l in the encoding of a file. Strings that do not fit are cut.
func (l *Label) Append(b []byte) []byte {
	size := LabelSize(l.Version)
	start := len(b)
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	b = binary.BigEndian.AppendUint32(b, labelMagic|uint32(l.Version))
	b = binary.BigEndian.AppendUint32(b, uint32(l.PID))
	b = appendStamp(b, l.Start, l.Version)
	b = binary.BigEndian.AppendUint32(b, uint32(l.Vol))
	text := func(s string, n int) {
		room := make([]byte, n)
		copy(room[:n-1], s)
		b = append(b, room...)
	}
	if l.Version == Version3 {
		b = binary.BigEndian.AppendUint32(b, l.Features)
		b = binary.BigEndian.AppendUint32(b, 0)
		text(l.Host, 256)
		text(l.TimeZone, 256)
		text(l.ZoneInfo, 256)
	} else {
		text(l.Host, 64)
		text(l.TimeZone, 40)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	if len(b)-start != size {
		panic("archive: label of a wrong size")
	}
	return b
}

func appendStamp(b []byte, t pcp.Timestamp, version int) []byte {
	if version >= Version3 {
		b = binary.BigEndian.AppendUint32(b, uint32(t.Sec))
		b = binary.BigEndian.AppendUint32(b, uint32(t.Sec>>32))
		return binary.BigEndian.AppendUint32(b, uint32(t.Nsec))
	}
	b = binary.BigEndian.AppendUint32(b, uint32(t.Sec))
	return binary.BigEndian.AppendUint32(b, uint32(t.Nsec/1000))
}

// check returns an error unless l is the label of file number vol.
func (l *Label) check(vol int32) error {
	if l.Vol != vol {
		return fmt.Errorf("label of volume %d, want %d: %w", l.Vol, vol, pcp.ErrLabel)
	}
	return nil
}
