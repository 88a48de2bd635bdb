package mmvdump

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/mmv"
)

// Sizes of records: see package mmv. Part of the file format; do not change.
const (
	headerSize    = 40
	tocSize       = 16
	inDomSize     = 32
	instance1Size = 80
	instance2Size = 24
	metric1Size   = 104
	metric2Size   = 48
	valueSize     = 32
	stringSize    = mmv.StringMax
	labelSize     = 256
)

// Sections of a file (mmv_toc_type_t).
const (
	tocInDoms    = 1
	tocInstances = 2
	tocMetrics   = 3
	tocValues    = 4
	tocStrings   = 5
	tocLabels    = 6
)

// pageSize is the granularity of the C tool's mapping: bytes between the end of the
// file and the end of the page are 0.
const pageSize = 4096

// A dumper prints a file like the C tool, including errors as it finds them.
type dumper struct {
	w    io.Writer
	file []byte
	size uint64
	now  func() time.Time

	version int
	toc     int // its index
}

func (d *dumper) printf(format string, args ...any) { fmt.Fprintf(d.w, format, args...) }

// bad prints an error and returns false.
func (d *dumper) bad(format string, args ...any) bool {
	d.printf(format+"\n", args...)
	return false
}

// fits reports whether size bytes at an offset are in the file.
func (d *dumper) fits(at uint64, size int) bool { return at <= d.size && uint64(size) <= d.size-at }

func (d *dumper) u32(at uint64) uint32 { return binary.NativeEndian.Uint32(d.file[at:]) }
func (d *dumper) u64(at uint64) uint64 { return binary.NativeEndian.Uint64(d.file[at:]) }

// text returns the string at an offset up to its NUL, without a limit on its length.
func (d *dumper) text(at uint64) []byte {
	if at >= d.size {
		return nil
	}
	return ctext.Bytes(d.file[at:])
}

// record returns the text of a string record.
func (d *dumper) record(at uint64) []byte {
	b := d.text(at)
	return b[:min(len(b), stringSize-1)]
}

// dump prints the whole file. It reports whether all of it is valid.
func (d *dumper) dump(path string) bool {
	if d.size < headerSize {
		return d.bad("Bad file size: too small for a header")
	}
	if string(d.file[:4]) != "MMV\x00" {
		return d.bad("Bad magic: %s", d.file[:3])
	}
	d.version = int(int32(d.u32(4)))
	if d.version < mmv.Version1 || d.version > mmv.Version3 {
		return d.bad("Version %d not supported", d.version)
	}
	g1, g2 := d.u64(8), d.u64(16)
	tocs, flags, process, cluster := int32(d.u32(24)), d.u32(28), int32(d.u32(32)), int32(d.u32(36))
	d.printf("MMV file   = %s\n", path)
	d.printf("Version    = %d\n", d.version)
	d.printf("Generated  = %d\n", g1)
	if g1 != g2 {
		d.printf("Generated2 = %d\n", g2)
		return d.bad("Mismatched generation numbers (%d/%d)", g1, g2)
	}
	d.printf("TOC count  = %d\n", uint32(tocs))
	if tocs < 2 {
		return d.bad("Bad tocs: invalid table of contents count (%d)", tocs)
	}
	d.printf("Cluster    = %d\n", uint32(cluster))
	if cluster < 0 || cluster > mmv.MaxCluster {
		return d.bad("Bad cluster: %d is not a valid cluster ID", cluster)
	}
	d.printf("Process    = %d\n", process)
	d.printf("Flags      = 0x%x (%s)\n", flags, flagNames(flags))
	if d.size < headerSize+uint64(tocs)*tocSize {
		return d.bad("Bad file size: too small for %d TOC entries", tocs)
	}
	good := true
	for d.toc = range int(tocs) {
		if !d.section(uint64(headerSize + d.toc*tocSize)) {
			good = false
		}
	}
	return good
}

// flagNames lists the flags of a file.
func flagNames(flags uint32) string {
	if flags == 0 {
		return "none"
	}
	var names []string
	for i, name := range []string{"noprefix", "process", "sentinel"} {
		if bit := uint32(1) << i; flags&bit != 0 {
			names = append(names, name)
			flags &^= bit
		}
	}
	if flags != 0 {
		names = append(names, fmt.Sprintf("unknown=%x", flags))
	}
	return strings.Join(names, ", ")
}

// section prints the section of an entry of the table of contents.
func (d *dumper) section(base uint64) bool {
	typ, count, at := d.u32(base), int32(d.u32(base+4)), d.u64(base+8)
	if count == 0 {
		d.bad("Bad TOC[%d]: invalid entry count %d", d.toc, count)
		return true // as in C
	}
	head := func(what string, unsigned bool) {
		if unsigned {
			d.printf("\nTOC[%d]: %s offset %d (%d entries)\n", d.toc, what, at, count)
		} else {
			d.printf("\nTOC[%d]: %s offset %d (%d entries)\n", d.toc, what, int64(at), count)
		}
	}
	where := fmt.Sprintf("offset %d, ", base)
	var each func(i int, at uint64) bool
	var size int
	switch typ {
	case tocInDoms:
		head(where+"indoms", true)
		each, size = d.inDom, inDomSize
	case tocInstances:
		head(where+"instances", false)
		each, size = func(i int, this uint64) bool { return d.instance2(i, this, at) }, instance2Size
		if d.version == mmv.Version1 {
			each, size = d.instance1, instance1Size
		}
	case tocMetrics:
		head("toc "+where+"metrics", false)
		if each, size = d.metric, metric2Size; d.version == mmv.Version1 {
			size = metric1Size
		}
	case tocValues:
		head(where+"values", true)
		if each, size = d.value2, valueSize; d.version == mmv.Version1 {
			each = d.value1
		}
	case tocStrings:
		head(where+"string", true)
		each, size = func(i int, _ uint64) bool { return d.stringRecord(i, at) }, stringSize
	case tocLabels:
		head(where+"labels", false)
		each, size = d.label, labelSize
	default:
		return d.bad("Unrecognised TOC[%d] type: 0x%x", d.toc, typ)
	}
	for i := range max(int(count), 0) {
		if !each(i, at+uint64(i)*uint64(size)) {
			return false
		}
	}
	return true
}

// help prints the help texts of an indom or metric, whose offsets are at.
func (d *dumper) help(what string, i int, at uint64) bool {
	for k, t := range [2]struct{ name, bad string }{{"shorttext", "oneline"}, {"helptext", "help"}} {
		text := d.u64(at + uint64(8*k))
		if text == 0 {
			d.printf("       (no %s)\n", t.name)
			continue
		}
		if !d.fits(text, stringSize) {
			return d.bad("Bad file size: too small for toc[%d] %s[%d] %s", d.toc, what, i, t.bad)
		}
		d.printf("       %s=%s\n", t.name, d.record(text))
	}
	return true
}

func (d *dumper) inDom(i int, at uint64) bool {
	if !d.fits(at, inDomSize) {
		return d.bad("Bad file size: too small for toc[%d] indom[%d]", d.toc, i)
	}
	d.printf("  [%d/%d] %d instances, starting at offset %d\n", d.u32(at), at, int32(d.u32(at+4)), int64(d.u64(at+8)))
	return d.help("indom", i, at+16)
}

func (d *dumper) instance1(i int, at uint64) bool {
	if !d.fits(at, instance1Size) {
		return d.bad("\nBad file size: too small for toc[%d] inst[%d]", d.toc, i)
	}
	inDom := d.u64(at)
	if !d.fits(inDom, inDomSize) {
		return d.bad("\nBad file size: too small for toc[%d] indom[%d]", d.toc, i)
	}
	d.printf("  [%d/%d] instance = [%d or \"%s\"]\n", d.u32(inDom), at, int32(d.u32(at+12)), d.text(at+16))
	return true
}

// instance2 prints the offset that the instance would have in a section of
// version 1, as the C tool does.
func (d *dumper) instance2(i int, at, section uint64) bool {
	if !d.fits(at, instance2Size) {
		return d.bad("\nBad file size: too small for toc[%d] inst[%d]", d.toc, i)
	}
	inDom, name := d.u64(at), d.u64(at+16)
	switch {
	case !d.fits(inDom, inDomSize):
		return d.bad("\nBad file size: too small for toc[%d] inst[%d] indom", d.toc, i)
	case !d.fits(name, stringSize):
		return d.bad("\nBad file size: too small for toc[%d] inst[%d] name", d.toc, i)
	case name == 0:
		return d.bad("\nBad file: invalid offset for toc[%d] inst[%d] name", d.toc, i)
	}
	d.printf("  [%d/%d] instance = [%d or \"%s\"]\n", d.u32(inDom), section+uint64(i)*instance1Size, int32(d.u32(at+12)), d.record(name))
	return true
}

// metric prints a metric of either form: version 2 has the offset of the name in place
// of the name.
func (d *dumper) metric(i int, at uint64) bool {
	size, rest := metric2Size, at+8
	if d.version == mmv.Version1 {
		size, rest = metric1Size, at+mmv.NameMax
	}
	if !d.fits(at, size) {
		return d.bad("Bad file size: too small for toc[%d] metric[%d]", d.toc, i)
	}
	name := d.text(at)
	if d.version != mmv.Version1 {
		nameAt := d.u64(at)
		switch {
		case !d.fits(nameAt, stringSize):
			return d.bad("Bad file size: too small for toc[%d] metric[%d] name", d.toc, i)
		case nameAt == 0:
			return d.bad("Bad file: invalid offset for toc[%d] metric[%d] name", d.toc, i)
		}
		name = d.record(nameAt)
	}
	d.printf("  [%d/%d] %s\n", d.u32(rest), at, name)
	typ, sem := d.u32(rest+4), d.u32(rest+8)
	d.printf("       type=%s (0x%x), sem=%s (0x%x), pad=0x%x\n", typeName(int32(typ)), typ, semName(int32(sem)), sem, d.u32(rest+20))
	d.printf("       units=%s\n", pcp.UnpackUnits(d.u32(rest+12)))
	if inDom := d.u32(rest + 16); inDom != 0 && inDom != math.MaxUint32 {
		d.printf("       indom=%d\n", int32(inDom))
	} else {
		d.printf("       (no indom)\n")
	}
	return d.help("metric", i, rest+24)
}

func typeName(typ int32) string {
	switch mmv.Type(typ) {
	case mmv.TypeI32:
		return "32-bit int"
	case mmv.TypeU32:
		return "32-bit unsigned int"
	case mmv.TypeI64:
		return "64-bit int"
	case mmv.TypeU64:
		return "64-bit unsigned int"
	case mmv.TypeFloat:
		return "float"
	case mmv.TypeDouble:
		return "double"
	case mmv.TypeString:
		return "string"
	case mmv.TypeElapsed:
		return "elapsed"
	}
	return "?"
}

func semName(sem int32) string {
	switch pcp.Sem(sem) {
	case pcp.SemCounter, pcp.SemInstant, pcp.SemDiscrete:
		return pcp.Sem(sem).String()
	}
	return "?"
}

func (d *dumper) value1(i int, at uint64) bool {
	if !d.fits(at, valueSize) {
		return d.bad("Bad file size: too small for toc[%d] value[%d]", d.toc, i)
	}
	metric := d.u64(at + 16)
	if !d.fits(metric, metric1Size) {
		return d.bad("Bad file size: toc[%d] value[%d] metric offset", d.toc, i)
	}
	rest := metric + mmv.NameMax
	d.printf("  [%d/%d] %s", d.u32(rest), at, d.text(metric))
	if inDom := d.u32(rest + 16); inDom != 0 && inDom != math.MaxUint32 {
		inst := d.u64(at + 24)
		if !d.fits(inst, instance1Size) {
			return d.bad("\nBad file size: toc[%d] value[%d] inst offset", d.toc, i)
		}
		d.printf("[%d or \"%s\"]", int32(d.u32(inst+12)), d.text(inst+16))
	}
	d.value(i, at, int32(d.u32(rest+4)))
	return true
}

func (d *dumper) value2(i int, at uint64) bool {
	if !d.fits(at, valueSize) {
		return d.bad("Bad file size: too small for toc[%d] value[%d]", d.toc, i)
	}
	metric := d.u64(at + 16)
	if !d.fits(metric, metric2Size) {
		return d.bad("Bad file size: toc[%d] value[%d] metric offset", d.toc, i)
	}
	name := d.u64(metric)
	switch {
	case !d.fits(name, stringSize):
		return d.bad("Bad file size: too small for toc[%d] value[%d] mname", d.toc, i)
	case name == 0:
		return d.bad("Bad file: invalid offset for toc[%d] value[%d] mname", d.toc, i)
	}
	rest := metric + 8
	d.printf("  [%d/%d] %s", d.u32(rest), at, d.record(name))
	if inDom := d.u32(rest + 16); inDom != 0 && inDom != math.MaxUint32 {
		inst := d.u64(at + 24)
		if !d.fits(inst, instance2Size) {
			return d.bad("\nBad file size: toc[%d] value[%d] inst offset", d.toc, i)
		}
		name := d.u64(inst + 16)
		switch {
		case !d.fits(name, stringSize):
			return d.bad("Bad file size: too small for toc[%d] value[%d] iname", d.toc, i)
		case name == 0:
			return d.bad("Bad file: invalid offset for toc[%d] metric[%d] iname", d.toc, i)
		}
		d.printf("[%d or \"%s\"]", int32(d.u32(inst+12)), d.text(name))
	}
	d.value(i, at, int32(d.u32(rest+4)))
	return true
}

// value prints the value in the record at an offset. Errors in it do not affect the
// exit status, as in C.
func (d *dumper) value(i int, at uint64, typ int32) {
	bits, extra := d.u64(at), int64(d.u64(at+8))
	switch mmv.Type(typ) {
	case mmv.TypeI32:
		d.printf(" = %d\n", int32(d.u32(at)))
	case mmv.TypeU32:
		d.printf(" = %d\n", d.u32(at))
	case mmv.TypeI64:
		d.printf(" = %d\n", int64(bits))
	case mmv.TypeU64:
		d.printf(" = %d\n", bits)
	case mmv.TypeFloat:
		d.printf(" = %s\n", fixed(float64(math.Float32frombits(d.u32(at)))))
	case mmv.TypeDouble:
		d.printf(" = %s\n", fixed(math.Float64frombits(bits)))
	case mmv.TypeString:
		if extra < 0 || !d.fits(uint64(extra), stringSize) {
			d.printf(" = ?\n")
			d.bad("Bad file size: toc[%d] str value[%d] extra", d.toc, i)
			return
		}
		d.printf(" = \"%s\"\n", d.text(uint64(extra)))
	case mmv.TypeElapsed:
		t := int64(bits)
		if extra < 0 { // computed in floating point, as in C
			now := d.now()
			t = int64(float64(t) + (float64(now.Unix())*1e6 + float64(now.Nanosecond()/1000) + float64(extra)))
		}
		d.printf(" = %d (value=%d/extra=%d)", t, int64(bits), extra)
		if extra > 0 {
			d.printf("\nBad (positive) ELAPSED 'extra' value found!")
		}
		d.printf("\n")
	default:
		d.printf("Unknown type %d\n", typ)
	}
}

// fixed formats f as %f does in C.
func fixed(f float64) string { return string(ctext.AppendFloat(nil, f, 'f', 6)) }

// stringRecord prints a string of the section at an offset. As in C, the check that it
// fits uses the size of a value in place of that of a string; a part after the end of
// the file reads as empty up to the end of the page.
func (d *dumper) stringRecord(i int, section uint64) bool {
	at := section + uint64(i)*stringSize
	mapped := (d.size + pageSize - 1) &^ (pageSize - 1)
	if !d.fits(section+uint64(i)*valueSize, stringSize) || at >= mapped {
		return d.bad("Bad file size: toc[%d] string[%d]", d.toc, i)
	}
	d.printf("  [%d/%d] %s\n", i+1, at, d.text(at))
	return true
}

func (d *dumper) label(i int, at uint64) bool {
	if !d.fits(at, labelSize) {
		return d.bad("Bad file size: too small for toc[%d] metric[%d]", d.toc, i)
	}
	d.printf("  [%d/%d] %s\n", i+1, at, d.text(at+12))
	d.printf("        flags=0x%x, identity=0x%x\n", d.u32(at), d.u32(at+4))
	d.printf("        internal=0x%x\n", d.u32(at+8))
	return true
}
