package dumplog

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pcptime"
)

// A metric holds the precomputed data for printing the values of a metric.
type metric struct {
	id    pcp.PMID
	desc  pcp.Desc
	known bool
	head  []byte     // "    60.0.4 (disk.dev.read):"
	insts *instances // nil if it has a single value

	// Of the last record: the instances in the order of the values, and
	// their texts.
	view  archive.InDomView
	order []int32
	texts [][]byte
}

// instances are those of one instance domain, with their texts.
type instances struct {
	indom pcp.InDom
	view  archive.InDomView
	at    pcp.Timestamp // of view
	known bool          // at is set
	texts map[int32]instText
}

type instText struct {
	name string
	ok   bool
	text []byte // `        inst [1 or "sda"] value `
}

const indent = "       " // before an instance

func (d *dumper) metric(id pcp.PMID) *metric {
	if m := d.metricsOf[id]; m != nil {
		return m
	}
	m := &metric{id: id}
	m.head = id.AppendText(append(m.head, "    "...))
	m.head = append(appendNames(append(m.head, " ("...), d.names(id)), "):"...)
	if desc, err := d.meta.Desc(id); err == nil {
		m.desc, m.known = desc, true
		if desc.InDom != pcp.InDomNull {
			m.insts = d.instancesOf(desc.InDom)
		}
	}
	d.metricsOf[id] = m
	return m
}

func (d *dumper) instancesOf(indom pcp.InDom) *instances {
	in := d.indoms[indom]
	if in == nil {
		in = &instances{indom: indom, texts: make(map[int32]instText)}
		d.indoms[indom] = in
	}
	return in
}

// appendNames appends the names of a metric.
func appendNames(b []byte, names []string) []byte {
	if len(names) == 0 {
		return append(b, "<nonames>"...)
	}
	for i, n := range names {
		if i > 0 {
			b = append(b, " or "...)
		}
		b = append(b, n...)
	}
	return b
}

// record dumps one record, which takes size bytes in the volume.
func (d *dumper) record(res *pcp.Result, size int) {
	b := d.b
	if d.sizes {
		b = strconv.AppendInt(append(b, '['), int64(size), 10)
		b = append(b, " bytes]\n"...)
	}
	b = d.appendStamp(b, res.Time)
	if len(res.Sets) == 0 {
		d.b = append(b, "  <mark>\n"...)
		return
	}
	b = strconv.AppendInt(append(b, ' '), int64(len(res.Sets)), 10)
	b = append(b, " metric"...)
	if len(res.Sets) > 1 {
		b = append(b, 's')
	}
	b = append(b, '\n')
	d.now = res.Time
	for i := range res.Sets {
		vs := &res.Sets[i]
		if i >= len(d.last) {
			d.last = append(d.last, nil)
		}
		m := d.last[i]
		if m == nil || m.id != vs.PMID {
			m = d.metric(vs.PMID)
			d.last[i] = m
		}
		switch {
		case len(vs.Values) == 0 && vs.Err == 0:
			b = append(append(b, m.head...), " No values returned!\n"...)
		case len(vs.Values) == 0:
			b = append(append(append(append(b, m.head...), ' '), vs.Err.Error()...), '\n')
		case m.known && (m.desc.Type == pcp.TypeEvent || m.desc.Type == pcp.TypeHighResEvent):
			for j := range vs.Values {
				b = d.appendEvent(b, m, vs.Values[j])
			}
		default:
			b = d.appendValues(b, m, vs)
		}
	}
	d.b = b
}

// appendValues dumps the values of one metric.
func (d *dumper) appendValues(b []byte, m *metric, vs *pcp.ValueSet) []byte {
	b = append(b, m.head...)
	typ := m.desc.Type
	if !m.known {
		// The most usual that it could be.
		typ = pcp.TypeAggregate
		if vs.ValFmt == pcp.ValInSitu {
			typ = pcp.Type32
		}
	}
	many := len(vs.Values) > 1
	if many {
		b = append(b, '\n')
	}
	if m.insts == nil {
		for j := range vs.Values {
			if many {
				b = append(b, indent...)
			}
			b = appendValue(append(b, " value "...), &vs.Values[j], typ, d.loc)
		}
		return b
	}
	view := d.view(m.insts)
	if m.view != view {
		m.view, m.order, m.texts = view, m.order[:0], m.texts[:0]
	}
	for j := range vs.Values {
		v := &vs.Values[j]
		var text []byte
		if j < len(m.order) && m.order[j] == v.Inst {
			text = m.texts[j]
		} else {
			text = m.insts.text(v.Inst)
			if j < len(m.order) {
				m.order, m.texts = m.order[:j], m.texts[:j]
			}
			m.order, m.texts = append(m.order, v.Inst), append(m.texts, text)
		}
		if !many {
			text = text[len(indent):]
		}
		b = appendValue(append(b, text...), v, typ, d.loc)
	}
	return b
}

// view returns an instance domain as of the record.
func (d *dumper) view(in *instances) archive.InDomView {
	if !in.known || in.at != d.now {
		in.view, in.at, in.known = d.meta.View(in.indom, d.now), d.now, true
	}
	return in.view
}

// text returns the text before the value of an instance.
func (in *instances) text(inst int32) []byte {
	name, ok := in.view.Name(inst)
	t, have := in.texts[inst]
	if have && t.name == name && t.ok == ok {
		return t.text
	}
	t = instText{name: name, ok: ok}
	b := strconv.AppendInt(append(t.text, indent+" inst ["...), int64(inst), 10)
	if ok {
		b = append(append(append(b, ` or "`...), name...), '"')
	} else {
		b = append(b, " or ???"...)
	}
	t.text = append(b, "] value "...)
	in.texts[inst] = t
	return t.text
}

// appendValue appends a value and the end of the line.
func appendValue(b []byte, v *pcp.Value, typ pcp.Type, loc *time.Location) []byte {
	t := v.Type()
	if t == pcp.TypeUnknown && typ.InSitu() {
		t = typ
	}
	if t == typ {
		switch t {
		case pcp.TypeU32:
			return append(strconv.AppendUint(b, uint64(v.Uint32()), 10), '\n')
		case pcp.TypeU64:
			return append(strconv.AppendUint(b, v.Uint64(), 10), '\n')
		case pcp.Type32:
			return append(strconv.AppendInt(b, int64(v.Int32()), 10), '\n')
		case pcp.Type64:
			return append(strconv.AppendInt(b, v.Int64(), 10), '\n')
		}
	}
	if t == pcp.Type32 && typ != t {
		u := archive.Retype(*v, typ)
		v = &u
	}
	return append(v.AppendPrint(b, typ, 1, loc), '\n')
}

// pick sets res to the requested sets of raw, in the requested order, and returns their
// size in bytes as a record.
func (d *dumper) pick(res, raw *pcp.Result, ids []pcp.PMID, body []byte) int {
	version := d.label.Version
	head := 12
	if version == archive.Version3 {
		head = 16
	}
	res.Reset()
	res.Time = raw.Time
	size := head + 8
	at := make([]int, len(raw.Sets)) // where each set is in body
	off := head
	for i := range raw.Sets {
		at[i] = off
		off += 8
		if n := len(raw.Sets[i].Values); n > 0 {
			off += 4 + 8*n
		}
	}
	for _, id := range ids {
		for i := range raw.Sets {
			vs := &raw.Sets[i]
			if vs.PMID != id {
				continue
			}
			res.Sets = append(res.Sets, *vs)
			size += 8
			if n := len(vs.Values); n > 0 {
				size += 4 + 8*n
				for j := 0; j < n && vs.ValFmt != pcp.ValInSitu; j++ {
					block := int(binary.BigEndian.Uint32(body[at[i]+16+8*j:]))*4 - 12
					size += (int(binary.BigEndian.Uint32(body[block:])&pcp.ValLenMax) + 3) &^ 3
				}
			}
			break
		}
	}
	return size
}

// A clock formats times of day, many of which are in the same minute.
type clock struct {
	loc    *time.Location
	minute int64 // seconds since the epoch, at the start of text's minute
	text   []byte
}

// appendTime appends hours, minutes, seconds and a fraction with as many digits as the
// archive version has.
func (d *dumper) appendTime(b []byte, t pcp.Timestamp) []byte {
	c := &d.clock
	s := t.Sec - c.minute
	if c.text == nil || s < 0 || s >= 60 {
		at := time.Unix(t.Sec, 0).In(c.loc)
		hour, minute, sec := at.Clock()
		c.minute = t.Sec - int64(sec)
		c.text = fmt.Appendf(c.text[:0], "%02d:%02d:", hour, minute)
		s = int64(sec)
	}
	b = append(append(b, c.text...), byte('0'+s/10), byte('0'+s%10), '.')
	n, digits := int64(t.Nsec), 9
	if d.label.Version != archive.Version3 {
		n, digits = n/1000, 6
	}
	if n < 0 || n > 999999999 || digits == 6 && n > 999999 {
		return fmt.Appendf(b, "%0*d", digits, n) // a damaged stamp
	}
	return ctext.AppendDigits(b, uint32(n), digits)
}

// appendStamp appends a time and the additions of -x.
func (d *dumper) appendStamp(b []byte, t pcp.Timestamp) []byte {
	if d.long == 0 {
		return d.appendTime(b, t)
	}
	day := pcptime.Ctime(t, d.loc)
	b = d.appendTime(append(append(b, day[:10]...), ' '), t)
	b = append(append(b, ' '), day[20:]...)
	if d.long >= 2 {
		digits := 6
		if d.label.Version == archive.Version3 {
			digits = 9
		}
		b = fmt.Appendf(b, " (%.*f)", digits, t.Sub(d.label.Start))
	}
	if d.long >= 3 {
		b = strconv.AppendUint(append(b, ' '), uint64(t.Sec), 10)
	}
	return b
}
