package export

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
)

// highestPickle is the newest protocol of Python's pickle module that is known here.
const highestPickle = 5

const (
	pickleBatch = 1000      // number of elements of a list before each APPENDS
	pickleFrame = 64 * 1024 // a frame of protocol 4 ends with the first object that begins behind this many bytes
)

// A point is a value as Graphite has it: the name of a series, a time and a number.
type point struct {
	name  string
	time  int64 // in seconds
	value pcp.Value
}

// A pickler writes the output of Python's pickle.dumps for [(name, (time, value)), …]:
// opcodes of a stack machine, which numbers objects in case they are repeated.
//
//	protocol 0   (lp0\n (V<name>\np1\n (I<time>\nF<value>\n tp2\n tp3\n a … .
//	protocol 2   \x80\x02 ]q\0 ( X<len><name>q\1 J<time>G<value> \x86q\2 \x86q\3 … e .
//
// Protocol 1 has no header, and tuples as in 0; 4 and 5 number implicitly and put frames around it.
type pickler struct {
	b     []byte
	proto int
	memo  int // how many objects have a number
	frame int // where the frame that is being written begins, behind its header

	// short has the numbers of texts of at most one Latin character, for which Python has one
	// object each.
	short map[string]int
}

// appendPickle appends points in a protocol of 0 to highestPickle.
func appendPickle(b []byte, points []point, proto int) []byte {
	p := &pickler{b: b, proto: proto, short: make(map[string]int)}
	if proto >= 2 {
		p.b = append(p.b, 0x80, byte(proto))
	}
	p.openFrame()
	if proto == 0 {
		p.op("(l")
	} else {
		p.op("]")
	}
	p.put()
	switch {
	case proto == 0:
		for i := range points {
			p.point(&points[i])
			p.op("a")
		}
	case len(points) == 1:
		p.point(&points[0])
		p.op("a")
	default:
		for len(points) > 0 {
			n := min(len(points), pickleBatch)
			p.op("(")
			for i := range points[:n] {
				p.point(&points[i])
			}
			p.op("e")
			points = points[n:]
		}
	}
	p.op(".")
	p.closeFrame()
	return p.b
}

func (p *pickler) op(s string) { p.b = append(p.b, s...) }

const frameHeader = 9 // an opcode and the length

func (p *pickler) openFrame() {
	if p.proto >= 4 {
		p.b = append(p.b, 0x95, 0, 0, 0, 0, 0, 0, 0, 0)
		p.frame = len(p.b)
	}
}

func (p *pickler) closeFrame() {
	if p.proto < 4 {
		return
	}
	n := len(p.b) - p.frame
	if n < 4 { // too short for a frame
		p.b = append(p.b[:p.frame-frameHeader], p.b[p.frame:]...)
		return
	}
	binary.LittleEndian.PutUint64(p.b[p.frame-8:], uint64(n))
}

// boundary ends a frame that has become long; objects begin here.
func (p *pickler) boundary() {
	if p.proto >= 4 && len(p.b)-p.frame >= pickleFrame {
		p.closeFrame()
		p.openFrame()
	}
}

// put gives the object that was written its number.
func (p *pickler) put() {
	switch {
	case p.proto == 0:
		p.b = append(strconv.AppendInt(append(p.b, 'p'), int64(p.memo), 10), '\n')
	case p.proto >= 4:
		p.b = append(p.b, 0x94)
	case p.memo < 256:
		p.b = append(p.b, 'q', byte(p.memo))
	default:
		p.b = binary.LittleEndian.AppendUint32(append(p.b, 'r'), uint32(p.memo))
	}
	p.memo++
}

func (p *pickler) point(pt *point) {
	p.boundary()
	p.beginPair()
	p.text(pt.name)
	p.boundary()
	p.beginPair()
	p.integer(big.NewInt(pt.time))
	p.value(pt.value)
	p.endPair()
	p.endPair()
}

func (p *pickler) beginPair() {
	if p.proto < 2 {
		p.op("(")
	}
}

func (p *pickler) endPair() {
	if p.proto < 2 {
		p.op("t")
	} else {
		p.b = append(p.b, 0x86)
	}
	p.put()
}

func (p *pickler) value(v pcp.Value) {
	switch v.Type() {
	case pcp.Type32, pcp.Type64:
		p.integer(big.NewInt(v.Int64()))
	case pcp.TypeU32, pcp.TypeU64:
		p.integer(new(big.Int).SetUint64(v.Uint64()))
	case pcp.TypeFloat, pcp.TypeDouble:
		p.boundary()
		f, _ := v.Float64()
		if p.proto == 0 {
			p.b = append(append(append(p.b, 'F'), pytext.Float(f)...), '\n')
			return
		}
		p.b = binary.BigEndian.AppendUint64(append(p.b, 'G'), math.Float64bits(f))
	default:
		s, _ := v.Text()
		p.text(s)
	}
}

func (p *pickler) integer(n *big.Int) {
	p.boundary()
	if n.IsInt64() && n.Int64() >= math.MinInt32 && n.Int64() <= math.MaxInt32 {
		switch i := n.Int64(); {
		case p.proto == 0:
			p.b = append(strconv.AppendInt(append(p.b, 'I'), i, 10), '\n')
		case i >= 0 && i < 1<<8:
			p.b = append(p.b, 'K', byte(i))
		case i >= 0 && i < 1<<16:
			p.b = append(p.b, 'M', byte(i), byte(i>>8))
		default:
			p.b = binary.LittleEndian.AppendUint32(append(p.b, 'J'), uint32(int32(i)))
		}
		return
	}
	if p.proto < 2 {
		p.b = fmt.Appendf(p.b, "L%dL\n", n)
		return
	}
	raw := twosComplement(n)
	p.b = append(append(p.b, 0x8a, byte(len(raw))), raw...)
}

// twosComplement is n in as few bytes as hold it with its sign, the least significant first.
func twosComplement(n *big.Int) []byte {
	size := n.BitLen()/8 + 1
	m := new(big.Int).Set(n)
	if n.Sign() < 0 {
		m.Add(m, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	raw := m.FillBytes(make([]byte, size))
	for i, j := 0, len(raw)-1; i < j; i, j = i+1, j-1 {
		raw[i], raw[j] = raw[j], raw[i]
	}
	if len(raw) > 1 && n.Sign() < 0 && raw[len(raw)-1] == 0xff && raw[len(raw)-2]&0x80 != 0 {
		raw = raw[:len(raw)-1]
	}
	return raw
}

// get refers to an object that was written before.
func (p *pickler) get(number int) {
	switch {
	case p.proto == 0:
		p.b = append(strconv.AppendInt(append(p.b, 'g'), int64(number), 10), '\n')
	case number < 256:
		p.b = append(p.b, 'h', byte(number))
	default:
		p.b = binary.LittleEndian.AppendUint32(append(p.b, 'j'), uint32(number))
	}
}

func (p *pickler) text(s string) {
	p.boundary()
	if r, size := utf8.DecodeRuneInString(s); size == len(s) && r <= 0xff || s == "" {
		if n, ok := p.short[s]; ok {
			p.get(n)
			return
		}
		p.short[s] = p.memo
	}
	switch {
	case p.proto == 0:
		p.b = append(p.b, 'V')
		for _, r := range s {
			p.b = appendRawUnicode(p.b, r)
		}
		p.b = append(p.b, '\n')
	default:
		if !utf8.ValidString(s) {
			s = string([]rune(s))
		}
		if p.proto >= 4 && len(s) < 256 {
			p.b = append(p.b, 0x8c, byte(len(s)))
		} else {
			p.b = binary.LittleEndian.AppendUint32(append(p.b, 'X'), uint32(len(s)))
		}
		p.b = append(p.b, s...)
	}
	p.put()
}

// appendRawUnicode appends a character in Python's encoding raw-unicode-escape, with line ends
// escaped too.
func appendRawUnicode(b []byte, r rune) []byte {
	switch {
	case r > 0xffff:
		return fmt.Appendf(b, `\U%08x`, r)
	case r > 0xff, r == '\\', r == 0, r == '\n', r == '\r', r == 0x1a:
		return fmt.Appendf(b, `\u%04x`, r)
	}
	return append(b, byte(r))
}
