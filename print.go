package pcp

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/go-pcp/pcp/internal/ctext"
)

// String prints v in short for a message: integers as they are, other numbers
// as 1.234500e+01, strings in quotes and long ones cut (pmAtomStr(3)).
func (v Value) String() string {
	var room [80]byte
	return string(v.AppendText(room[:0]))
}

// AppendText appends the text of String.
func (v Value) AppendText(b []byte) []byte {
	switch v.typ {
	case Type32:
		return strconv.AppendInt(b, int64(v.Int32()), 10)
	case TypeU32:
		return strconv.AppendUint(b, uint64(v.Uint32()), 10)
	case Type64:
		return strconv.AppendInt(b, v.Int64(), 10)
	case TypeU64:
		return strconv.AppendUint(b, v.Uint64(), 10)
	case TypeFloat:
		return ctext.AppendFloat(b, float64(v.Float()), 'e', 6)
	case TypeDouble:
		return ctext.AppendFloat(b, v.Double(), 'e', 6)
	case TypeString:
		if v.data == nil {
			return append(b, "<null>"...)
		}
		const long, cut = 38, 34
		s := ctext.Bytes(v.data)
		b = append(b, '"')
		if len(s) < long {
			b = append(b, s...)
		} else {
			b = append(append(b, s[:cut]...), "..."...)
		}
		return append(b, '"')
	case TypeAggregate, TypeAggregateStatic:
		if v.data == nil {
			return append(b, "<null>"...)
		}
		b = append(append(b, "[type="...), v.typ.String()...)
		b = append(strconv.AppendInt(append(b, " len="...), int64(len(v.data)), 10), ']')
		const most = 12
		for i := 0; i < len(v.data) && i < most; i += 4 {
			b = appendHex(append(b, ' '), v.data[i:min(i+4, len(v.data), most)])
		}
		if len(v.data) > most {
			b = append(b, " ..."...)
		}
		return b
	case TypeEvent, TypeHighResEvent:
		n := summarizeEvents(v.data, v.typ == TypeHighResEvent).records
		if n == 1 {
			return append(b, "[1 event record]"...)
		}
		return append(strconv.AppendInt(append(b, '['), int64(n), 10), " event records]"...)
	case TypeNoSupport:
		return append(b, "Error: unexpected type: Not Supported"...)
	case TypeUnknown:
		return append(b, "Error: unexpected type: Unknown"...)
	}
	return strconv.AppendInt(append(b, "Error: unexpected type: Illegal type="...), int64(v.typ), 10)
}

// AppendPrint appends v, a value of a metric whose descriptor has the type from,
// as the tools print it, padded on the left to at least width bytes
// (pmPrintValue(3)). A value that does not fit the type is printed in each form
// that it could have. Times in events are printed in loc.
func (v Value) AppendPrint(b []byte, from Type, width int, loc *time.Location) []byte {
	switch from {
	case TypeEvent, TypeHighResEvent:
		return v.appendEvents(b, from == TypeHighResEvent, loc)
	case TypeUnknown:
		return v.appendAny(b, width)
	}
	x, err := v.Extract(from, from)
	if err != nil {
		return v.appendAny(b, width)
	}
	start := len(b)
	switch from {
	case Type32:
		b = strconv.AppendInt(b, int64(x.Int32()), 10)
	case TypeU32:
		b = strconv.AppendUint(b, uint64(x.Uint32()), 10)
	case Type64:
		b = strconv.AppendInt(b, x.Int64(), 10)
	case TypeU64:
		b = strconv.AppendUint(b, x.Uint64(), 10)
	case TypeFloat:
		b = ctext.AppendFloat(b, float64(x.Float()), 'g', 8)
	case TypeDouble:
		b = ctext.AppendFloat(b, x.Double(), 'g', 16)
	case TypeString:
		b = append(b, '"')
		b = append(b, ctext.Bytes(x.data)...)
		b = append(b, '"')
	default:
		return v.appendAny(b, width)
	}
	return ctext.AlignRight(b, start, width)
}

// appendAny prints a value of unknown type.
func (v Value) appendAny(b []byte, width int) []byte {
	if v.inSitu() {
		n := uint32(v.bits)
		start := len(b)
		b = ctext.AlignRight(strconv.AppendUint(b, uint64(n), 10), start, width)
		if f := math.Float32frombits(n); f == f {
			b = append(b, ' ')
			start = len(b)
			b = ctext.AlignRight(ctext.AppendFloat(b, float64(f), 'g', 8), start, width)
		}
		if width > 2 {
			width -= 2
		}
		b = append(b, " 0x"...)
		start = len(b)
		return ctext.AlignRight(strconv.AppendUint(b, uint64(n), 16), start, width)
	}
	var room [8]byte
	data := v.data
	end := "" // the bytes after data in the block
	switch v.typ {
	case Type64, TypeU64, TypeDouble:
		binary.NativeEndian.PutUint64(room[:], v.bits)
		data = room[:]
	case TypeFloat:
		binary.NativeEndian.PutUint32(room[:], uint32(v.bits))
		data = room[:4]
	case TypeString:
		if end = "\x00"; len(data) < len(room) {
			data = room[:copy(room[:], data)+1]
			end = ""
		}
	}
	size := len(data) + len(end)
	done := false
	sep := func() {
		if done {
			b = append(b, ' ')
		}
		done = true
	}
	// An aggregate of a number's length is shown as that number too, in the
	// byte order of this machine as it was in memory.
	switch size {
	case 8:
		n := binary.NativeEndian.Uint64(data)
		start := len(b)
		b = ctext.AlignRight(strconv.AppendUint(b, n, 10), start, width)
		done = true
		if f := math.Float64frombits(n); f == f {
			sep()
			start = len(b)
			b = ctext.AlignRight(ctext.AppendFloat(b, f, 'g', 16), start, width)
		}
	case 4:
		if f := math.Float32frombits(binary.NativeEndian.Uint32(data)); f == f {
			start := len(b)
			b = ctext.AlignRight(ctext.AppendFloat(b, float64(f), 'g', 8), start, width)
			done = true
		}
	}
	if end == "" && printable(data) {
		sep()
		b = ctext.AppendSpaces(b, width-size-2)
		b = append(append(append(b, '"'), data...), '"')
	}
	b = ctext.AppendSpaces(b, width-2*size-2)
	sep()
	b = appendHex(append(b, '['), data)
	if end != "" {
		b = append(b, "00"...)
	}
	return append(b, ']')
}

// appendEvents prints a summary of v's event records.
func (v Value) appendEvents(b []byte, highRes bool, loc *time.Location) []byte {
	s := summarizeEvents(v.data, highRes)
	b = strconv.AppendInt(append(b, '['), int64(s.records), 10)
	b = append(b, " event record"...)
	if s.records != 1 {
		b = append(b, 's')
	}
	if s.missed > 0 {
		b = strconv.AppendInt(append(b, " ("...), int64(s.missed), 10)
		b = append(b, " missed)"...)
	}
	if s.records > 0 {
		b = append(b, " timestamp"...)
		if s.records > 1 {
			b = append(b, 's')
		}
		b = appendEventTime(append(b, ' '), s.first, highRes, loc)
		if s.records > 1 {
			b = appendEventTime(append(b, "..."...), s.last, highRes, loc)
		}
	}
	return append(b, ']')
}

func appendEventTime(b []byte, at Timestamp, highRes bool, loc *time.Location) []byte {
	if highRes {
		return at.AppendHighResStamp(b, loc)
	}
	return at.AppendStamp(b, loc)
}

func printable(data []byte) bool {
	for _, c := range data {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// AppendStamp appends the time of day of ts in loc to the millisecond,
// 14:03:21.250 (pmPrintStamp(3)).
func (ts Timestamp) AppendStamp(b []byte, loc *time.Location) []byte {
	return ctext.AppendDigits(ts.appendClock(b, loc), uint32(ts.Nsec)/1e6, 3)
}

// AppendHighResStamp appends the time of day of ts in loc to the nanosecond
// (pmPrintHighResStamp(3)).
func (ts Timestamp) AppendHighResStamp(b []byte, loc *time.Location) []byte {
	return ctext.AppendDigits(ts.appendClock(b, loc), uint32(ts.Nsec), 9)
}

// appendClock appends hours, minutes and seconds and the point after them.
func (ts Timestamp) appendClock(b []byte, loc *time.Location) []byte {
	hour, minute, sec := time.Unix(ts.Sec, 0).In(loc).Clock()
	return append(b, byte('0'+hour/10), byte('0'+hour%10), ':',
		byte('0'+minute/10), byte('0'+minute%10), ':',
		byte('0'+sec/10), byte('0'+sec%10), '.')
}

// AppendPrint appends the two lines by which the tools describe a metric
// (pmPrintDesc(3)): its type, instance domain, semantics and units. Unless full is set, a metric
// that is not supported has the first line only, without its domain.
func (d *Desc) AppendPrint(b []byte, full bool) []byte {
	b = append(append(b, "    Data Type: "...), d.Type.words()...)
	if d.Type == TypeNoSupport && !full {
		return append(b, '\n')
	}
	b = append(append(b, "  InDom: "...), d.InDom.String()...)
	b = strconv.AppendUint(append(b, " 0x"...), uint64(d.InDom), 16)
	sem := d.Sem.String()
	if b = append(append(b, "\n    Semantics: "...), sem...); sem == "???" {
		b = append(strconv.AppendInt(append(b, " ("...), int64(d.Sem), 10), ')')
	}
	b = append(b, "  Units: "...)
	start := len(b)
	if b = d.Units.AppendText(b); len(b) == start {
		b = append(b, "none"...)
	}
	return append(b, '\n')
}

// words describes a type in words.
func (t Type) words() string {
	switch t {
	case Type32:
		return "32-bit int"
	case TypeU32:
		return "32-bit unsigned int"
	case Type64:
		return "64-bit int"
	case TypeU64:
		return "64-bit unsigned int"
	case TypeFloat:
		return "float"
	case TypeDouble:
		return "double"
	case TypeString:
		return "string"
	case TypeAggregate:
		return "aggregate"
	case TypeAggregateStatic:
		return "static aggregate"
	case TypeEvent:
		return "event record array"
	case TypeHighResEvent:
		return "highres event record array"
	case TypeNoSupport:
		return "Not Supported"
	}
	return "??? (" + strconv.Itoa(int(t)) + ")"
}
