package wire

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// Dump writes one PDU as annotated text: offset, words in hexadecimal, meaning.
//
//	0000 00000010               length 16
//	0004 00007004               DESC_REQ
//	0008 00000000               from 0
//	000c 0740001e               pmid 29.0.30
//
// It walks the layout itself, not through the decoders, and shows as much as it
// can of a malformed PDU; bytes without a meaning are marked "?". The first two
// columns hold every byte.
func Dump(w io.Writer, pdu []byte) error {
	d := dumper{w: bufio.NewWriter(w), b: pdu}
	n := d.word("length %d")
	t := Type(d.peek())
	d.line(4, "%v", t)
	d.line(4, "from %d", int32(d.peek()))
	d.body(t)
	d.more(len(d.b)-d.off, "?")
	if int(n) != len(pdu) {
		fmt.Fprintf(d.w, "     length %d, but there are %d bytes\n", n, len(pdu))
	}
	return d.w.Flush()
}

type dumper struct {
	w   *bufio.Writer
	b   []byte
	off int
}

// peek returns the current word, or 0 if there is none.
func (d *dumper) peek() uint32 { return d.at(d.off) }

func (d *dumper) at(off int) uint32 {
	if off < 0 || len(d.b)-off < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(d.b[off:])
}

// line writes up to n bytes, at most 16, with their meaning.
func (d *dumper) line(n int, format string, args ...any) {
	n = min(n, len(d.b)-d.off)
	if n <= 0 {
		return
	}
	var hex []byte
	for i, c := range d.b[d.off : d.off+n] {
		if i > 0 && i%4 == 0 {
			hex = append(hex, ' ')
		}
		hex = fmt.Appendf(hex, "%02x", c)
	}
	fmt.Fprintf(d.w, "%04x %-35s  ", d.off, hex)
	fmt.Fprintf(d.w, format, args...)
	d.w.WriteByte('\n')
	d.off += n
}

// word writes a word whose meaning holds its number, and returns it.
func (d *dumper) word(format string) uint32 {
	w := d.peek()
	d.line(4, format, int32(w))
	return w
}

// more writes n bytes as text, named what, in lines of 16.
func (d *dumper) more(n int, what string) {
	n = min(n, len(d.b)-d.off)
	for n > 0 {
		k := min(n, 16)
		d.line(k, "%s %q", what, d.b[d.off:d.off+k])
		n -= k
	}
}

// text writes a string of n bytes with the padding after it.
func (d *dumper) text(n uint32, what string) {
	left := len(d.b) - d.off
	if uint64(n) > uint64(left) {
		n = uint32(left)
	}
	d.more(valueset.Padded(int(n)), what)
}

func (d *dumper) pmid() { d.line(4, "pmid %v", pcp.PMID(d.peek())) }

func (d *dumper) indom() { d.line(4, "indom %v", pcp.InDom(d.peek())) }

// list calls f for each of n elements while there are bytes.
func (d *dumper) list(n uint32, f func()) {
	for i := uint32(0); i < n && int32(n) > 0 && d.off < len(d.b); i++ {
		f()
	}
}

func (d *dumper) desc() {
	d.pmid()
	d.line(4, "type %v", pcp.Type(d.peek()))
	d.indom()
	d.line(4, "semantics %v", pcp.Sem(d.peek()))
	u := pcp.UnpackUnits(d.peek())
	extra := ""
	if u.Extra != 0 {
		extra = fmt.Sprintf(", extra %d, scale %d", u.Extra.Unit(), u.Extra&7)
	}
	d.line(4, "units %d %d %d, scales %d %d %d%s",
		u.DimSpace, u.DimTime, u.DimCount, u.ScaleSpace, u.ScaleTime, u.ScaleCount, extra)
}

func (d *dumper) body(t Type) {
	switch t {
	case TypeError:
		d.word("code %d")
		if len(d.b)-d.off >= 4 {
			i := UnpackInfo(d.peek())
			d.line(4, "version %d, licensed %d, features %v", i.Version, i.Licensed, i.Features)
		}
	case TypeResult:
		d.word("%d s")
		d.word("%d µs")
		d.sets(d.word("%d sets"))
	case TypeHighResResult:
		n := d.word("%d sets")
		d.line(8, "%d s", int64(d.at(d.off))<<32|int64(d.at(d.off+4)))
		d.line(8, "%d ns", int64(d.at(d.off))<<32|int64(d.at(d.off+4)))
		d.sets(n)
	case TypeProfile:
		d.profile()
	case TypeFetch, TypeHighResFetch:
		d.word("context %d")
		d.line(8, "unused")
		d.list(d.word("%d pmids"), d.pmid)
	case TypeDescReq:
		d.pmid()
	case TypeDesc:
		d.desc()
	case TypeDescIDs:
		d.word("status %d")
		d.list(d.word("%d pmids"), d.pmid)
	case TypeDescs:
		d.list(d.word("%d descs"), d.desc)
	case TypeInstanceReq:
		d.indom()
		d.line(8, "unused")
		d.word("instance %d")
		d.text(d.word("%d bytes"), "name")
	case TypeInstance:
		d.indom()
		d.list(d.word("%d instances"), func() {
			d.word("instance %d")
			d.text(d.word("%d bytes"), "name")
		})
	case TypeTextReq:
		if kind := pcp.TextKind(d.at(d.off + 4)); kind&pcp.TextPMID != 0 {
			d.pmid()
		} else {
			d.indom()
		}
		d.word("kind %d")
	case TypeText:
		d.line(4, "pmid or indom")
		d.text(d.word("%d bytes"), "text")
	case TypeCreds:
		d.list(d.word("%d credentials"), func() {
			b := d.peek()
			d.line(4, "type %d, values %d %d %d", b>>24, b>>16&255, b>>8&255, b&255)
		})
	case TypePMNSIDs:
		d.word("status %d")
		d.list(d.word("%d pmids"), d.pmid)
	case TypePMNSNames:
		d.word("%d bytes, each name with a NUL")
		nstatus := d.word("%d statuses")
		d.list(d.word("%d names"), func() {
			if nstatus != 0 {
				d.word("status %d")
			}
			d.text(d.word("%d bytes"), "name")
		})
	case TypePMNSChild, TypePMNSTraverse:
		d.word("subtype %d")
		d.text(d.word("%d bytes"), "name")
	case TypeAttr:
		d.word("attribute %d")
		d.more(len(d.b)-d.off, "value")
	case TypeLabelReq:
		d.labelIdent()
	case TypeLabel:
		d.labelIdent()
		d.line(4, "unused")
		d.list(d.word("%d sets"), d.labelSet)
		d.more(len(d.b)-d.off, "json")
	case TypeLogRequest:
		d.word("request %d")
	case TypeLogControl:
		d.word("control %d")
		d.word("state %d")
		d.word("interval %d ms")
		d.list(d.word("%d metrics"), func() {
			d.pmid()
			d.list(d.word("%d instances"), func() { d.line(8, "  instance %d", int32(d.peek())) })
		})
	case TypeLogStatusV2:
		d.line(4, "unused")
		for _, what := range []string{"start", "last", "now"} {
			d.word(what + " %d s")
			d.word("%d µs")
		}
		d.logStatus()
		d.more(logHostV2, "host")
		d.more(logHostV2, "domain name")
		d.more(logZoneV2, "zone")
		d.more(logZoneV2, "zone of pmlogger")
	case TypeLogStatus:
		for _, what := range []string{"start", "last", "now"} {
			d.line(8, what+" %d s", int64(d.at(d.off))|int64(d.at(d.off+4))<<32)
			d.word("%d ns")
		}
		d.logStatus()
		for range 6 {
			d.word("%d bytes")
		}
		d.more(len(d.b)-d.off, "strings")
	}
}

// logStatus writes the common part of both forms of a status.
func (d *dumper) logStatus() {
	d.word("state %d")
	d.word("volume %d")
	d.line(8, "%d bytes", int64(d.at(d.off))<<32|int64(d.at(d.off+4)))
}

func (d *dumper) profile() {
	d.word("context %d")
	d.word("state %d")
	n := d.word("%d indoms")
	d.line(4, "unused")
	insts := uint32(0)
	d.list(n, func() {
		d.indom()
		d.word("state %d")
		insts += d.word("%d instances")
		d.line(4, "unused")
	})
	d.list(insts, func() { d.word("instance %d") })
}

func (d *dumper) labelIdent() {
	switch kind := pcp.LabelFlags(d.at(d.off + 4)); {
	case kind&(pcp.LabelCluster|pcp.LabelItem) != 0:
		d.pmid()
	case kind&(pcp.LabelInDom|pcp.LabelInstances) != 0:
		d.indom()
	default:
		d.word("domain %d")
	}
	d.word("level %d")
}

func (d *dumper) labelSet() {
	d.word("instance %d")
	n := d.word("%d labels")
	d.line(4, "json at %04x", d.peek())
	d.word("%d bytes")
	d.list(n, func() {
		a, b := d.at(d.off), d.at(d.off+4)
		d.line(8, "name %d+%d, flags %#x, value %d+%d", a>>16, a>>8&255, a&255, b>>16, b&0xffff)
	})
}

// sets writes n value sets and then the blocks that they refer to, in the
// order of their positions.
func (d *dumper) sets(n uint32) {
	var blocks []int
	d.list(n, func() {
		d.pmid()
		if n := int32(d.peek()); n < 0 {
			d.word("error %d")
			return
		}
		numval := d.word("%d values")
		if numval == 0 {
			return
		}
		valfmt := d.word("format %d")
		d.list(numval, func() {
			d.word("  instance %d")
			if valfmt == uint32(pcp.ValInSitu) {
				d.word("  value %d")
				return
			}
			at := int64(d.peek()) * 4
			d.line(4, "  value at %04x", at)
			blocks = append(blocks, int(at))
		})
	})
	slices.Sort(blocks)
	for _, at := range slices.Compact(blocks) {
		if at < d.off || at > len(d.b)-4 {
			continue
		}
		d.more(at-d.off, "?")
		head := d.peek()
		t, size := valueset.SplitHead(head)
		d.line(4, "block of %d bytes, %v", size, t)
		d.block(t, max(size-valueset.BlockHead, 0))
	}
}

func (d *dumper) block(t pcp.Type, size int) {
	hi, lo := d.at(d.off), d.at(d.off+4)
	bits := uint64(hi)<<32 | uint64(lo)
	switch {
	case size == 4 && t == pcp.TypeFloat:
		d.line(4, "  %v", math.Float32frombits(hi))
	case size == 8 && t == pcp.Type64:
		d.line(8, "  %d", int64(bits))
	case size == 8 && t == pcp.TypeU64:
		d.line(8, "  %d", bits)
	case size == 8 && t == pcp.TypeDouble:
		d.line(8, "  %v", math.Float64frombits(bits))
	default:
		d.more(valueset.Padded(size), " ")
	}
}
