package archives

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/internal/fileversion"
)

// errDamaged is the error of an invalid record in the index. The index is then rebuilt.
var errDamaged = errors.New("the index of series is damaged")

// Layout of the index: names of buckets, keys and values. All numbers in keys are big-endian. A change of the
// layout must change indexVersion; existing indexes are then rebuilt.
//
//	info   "version", "next"                     version; the next number of anything
//	arch   path                                  archiveRecord
//	has    archive                               the series of an archive, with their PMIDs
//	src    identifier of a source                source, set of labels
//	sid    identifier of a series                series
//	ser    series                                seriesRecord
//	name   name NUL series
//	dom    source, instance domain, series
//	inst   source, instance domain, identifier, number    set of labels, name
//	iid    identifier of an instance, source, instance domain, number
//	iname  name NUL source, instance domain
//	setid  digest of a set of labels             set
//	set    set                                   labels
//	label  name NUL value NUL set
//	setser set, series
//	setdom set, source, instance domain
//	expr   identifier                            sequence, query, descriptor
//	exprs  sequence                              identifier
const indexVersion = fileversion.SeriesIndex

// buckets lists the names of all buckets.
var buckets = [...]string{
	"info", "arch", "has", "src", "sid", "ser", "name", "dom", "inst", "iid", "iname", "setid", "set", "label", "setser", "setdom", "expr", "exprs",
}

func u32(b []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(b, n) }

func putString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func putTime(b []byte, t pcp.Timestamp) []byte {
	return binary.AppendUvarint(binary.AppendVarint(b, t.Sec), uint64(t.Nsec))
}

// A decoder decodes a value of the index. It keeps its first error.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

// number decodes a number of 32 bits.
func (d *decoder) number() uint32 {
	v := d.uvarint()
	if v > math.MaxUint32 {
		d.bad = true
	}
	return uint32(v)
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) text() string { return string(d.bytes(d.uvarint())) }

func (d *decoder) time() pcp.Timestamp {
	t := pcp.Timestamp{Sec: d.varint()}
	n := d.uvarint()
	if n > 999_999_999 {
		d.bad = true
		return t
	}
	t.Nsec = int32(n)
	return t
}

func (d *decoder) id() (id sid.ID) {
	copy(id[:], d.bytes(sid.Size))
	return id
}

// end returns errDamaged if anything was wrong or bytes are left.
func (d *decoder) end() error {
	if d.bad || len(d.b) > 0 {
		return errDamaged
	}
	return nil
}

// An archiveRecord is the index's record of an archive.
type archiveRecord struct {
	num        uint32
	meta       string // metadata file, with size and time
	volumes    string // volume files, likewise
	host       string
	source     uint32
	start, end pcp.Timestamp
	err        string // reason for ignoring the archive, or ""
}

func (a *archiveRecord) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(a.num))
	b = putString(putString(putString(b, a.meta), a.volumes), a.host)
	b = binary.AppendUvarint(b, uint64(a.source))
	return putString(putTime(putTime(b, a.start), a.end), a.err)
}

func (a *archiveRecord) decode(b []byte) error {
	d := decoder{b: b}
	*a = archiveRecord{
		num: d.number(), meta: d.text(), volumes: d.text(), host: d.text(), source: d.number(),
		start: d.time(), end: d.time(), err: d.text(),
	}
	return d.end()
}

// A seriesRecord is the index's record of a series.
type seriesRecord struct {
	id     sid.ID
	source uint32
	desc   pcp.Desc
	set    uint32
	name   string
}

func putDesc(b []byte, d pcp.Desc) []byte {
	b = binary.AppendUvarint(b, uint64(d.PMID))
	b = binary.AppendVarint(b, int64(d.Type))
	b = binary.AppendUvarint(b, uint64(d.InDom))
	b = binary.AppendVarint(b, int64(d.Sem))
	return binary.AppendUvarint(b, uint64(d.Units.Pack()))
}

func (d *decoder) desc() pcp.Desc {
	return pcp.Desc{
		PMID: pcp.PMID(d.number()), Type: pcp.Type(d.varint()), InDom: pcp.InDom(d.number()), Sem: pcp.Sem(d.varint()),
		Units: pcp.UnpackUnits(d.number()),
	}
}

func (s *seriesRecord) append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, s.id[:]...), uint64(s.source))
	b = binary.AppendUvarint(putDesc(b, s.desc), uint64(s.set))
	return putString(b, s.name)
}

func (s *seriesRecord) decode(b []byte) error {
	d := decoder{b: b}
	*s = seriesRecord{id: d.id(), source: d.number(), desc: d.desc(), set: d.number(), name: d.text()}
	return d.end()
}

// A seriesOf is a series of an archive, with the metric's PMID in that archive.
type seriesOf struct {
	series uint32
	pmid   pcp.PMID
}

// appendHas appends the series of an archive, which must be sorted.
func appendHas(b []byte, list []seriesOf) []byte {
	last := seriesOf{}
	for _, s := range list {
		b = binary.AppendUvarint(b, uint64(s.series-last.series))
		b = binary.AppendVarint(b, int64(s.pmid)-int64(last.pmid))
		last = s
	}
	return b
}

// eachHas calls f with the series of an archive until it returns false.
func eachHas(b []byte, f func(seriesOf) bool) error {
	d := decoder{b: b}
	var s seriesOf
	for len(d.b) > 0 {
		s.series += d.number()
		s.pmid = pcp.PMID(int64(s.pmid) + d.varint())
		if d.bad {
			return errDamaged
		}
		if !f(s) {
			return nil
		}
	}
	return d.end()
}

// appendSet appends labels.
func appendSet(b []byte, s pcp.LabelSet) []byte {
	for l := range s.All() {
		b = append(putString(putString(b, l.Name), l.Value), byte(l.Flags))
	}
	return b
}

// decodeSet returns labels.
func decodeSet(b []byte) ([]pcp.Label, error) {
	d := decoder{b: b}
	var list []pcp.Label
	for len(d.b) > 0 {
		l := pcp.Label{Name: d.text(), Value: d.text()}
		if f := d.bytes(1); len(f) == 1 {
			l.Flags = pcp.LabelFlags(f[0])
		}
		if d.bad {
			return nil, errDamaged
		}
		list = append(list, l)
	}
	return list, d.end()
}
