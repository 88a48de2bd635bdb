package archive

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/internal/compressed"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
)

// Traces have the layout of the C library, without its flags for memory to free.

// openFile opens a file of the archive, and traces it.
func (a *Archive) openFile(path string) (*compressed.File, error) {
	f, err := a.mem.Open(path)
	if err == nil && a.debug.On(debugname.Archive) {
		how := "no decompress"
		if f.Compressed() {
			_, suffix := compressed.SplitSuffix(f.Name())
			how = "decompress: " + decompressor(suffix)
		}
		a.debug.Printf("__pmFopen(\"%s\", \"r\"): %s\n", path, how)
	}
	return f, err
}

// decompressor returns the C library's name of the method to expand files with a suffix.
func decompressor(suffix string) string {
	switch strings.TrimPrefix(suffix, ".") {
	case "xz", "lzma":
		return "xz"
	case "bz2", "bz":
		return "bzip2"
	}
	return "gzip"
}

// finder returns the name of the C library's function that looks for the files of an archive.
func finder(log *debug.Log) string {
	if log.On(debugname.Version7) {
		return "__pmLogFindOpen"
	}
	return "__pmLogOpen"
}

// traceFile traces a file of the archive in the directory.
func (a *Archive) traceFile(path string) {
	if a.debug.On(debugname.Archive) {
		a.debug.Printf("%s: inspect file \"%s\"\n", finder(a.debug), strings.TrimPrefix(path, "./"))
	}
}

// traceFailed traces which step failed when the archive was opened: version 7 of the C library does.
func (a *Archive) traceFailed(path, step string, err error) {
	if a.debug.On(debugname.Archive) && a.debug.On(debugname.Version7) {
		a.debug.Printf("__pmLogOpen(..., %s, ...): %s: %v\n", path, step, pcp.Code(err))
	}
}

// traceMissing traces missing files.
func (a *Archive) traceMissing(base string, p parts) {
	if !a.debug.On(debugname.Archive) {
		return
	}
	if len(a.vols) == 0 {
		a.debug.Printf("%s: Not found: data file \"%s.0\" (or similar)\n", finder(a.debug), base)
	}
	if p.meta == "" {
		a.debug.Printf("%s: Not found: metadata file \"%s.meta\"\n", finder(a.debug), base)
	}
}

// traceLabel traces the label of a file, checked as that of volume vol, or its error.
func (a *Archive) traceLabel(src *compressed.File, vol int32) {
	if a.debug.On(debugname.Archive) {
		traceLabel(a.debug, src, vol)
	}
}

// TraceLabel prints the label of a file to log for -D log, or its error as the label of
// volume vol, [VolIndex] or [VolMeta].
func (f *File) TraceLabel(log *debug.Log, vol int32) {
	if log.On(debugname.Archive) {
		traceLabel(log, f.f, vol)
	}
}

func traceLabel(log *debug.Log, src *compressed.File, vol int32) {
	b := make([]byte, labelSize3)
	n, err := src.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		log.Printf("__pmLogLoadLabel: %v\n", err)
		return
	}
	b = b[:n]
	if bad := unreadable(b); bad != "" {
		log.Printf("__pmLogLoadLabel: %s\n", bad)
		return
	}
	text := fmt.Appendf(nil, "__pmLogChkLabel: fd=%d vol=%d ", src.Descriptor(), vol)
	version := int(pcp.ErrLabel)
	l, err := DecodeLabel(b)
	switch magic := binary.BigEndian.Uint32(b[4:]) &^ 0xff; {
	case magic != labelMagic:
		text = fmt.Appendf(text, "label magic %#x not %#x as expected", magic, labelMagic)
	case err != nil:
		text = fmt.Appendf(text, "%v", err)
	case l.Vol != vol:
		text = fmt.Appendf(text, "label volume %d not %d as expected", l.Vol, vol)
	default:
		version = l.Version
		text = appendLabel(text, log, &l)
	}
	if log.On(debugname.Version7) {
		text = fmt.Appendf(text, " version=%d", version)
	}
	log.Write(append(text, '\n'))
}

// appendLabel appends the fields of a label.
func appendLabel(text []byte, log *debug.Log, l *Label) []byte {
	text = fmt.Appendf(text, "[magic=%#08x version=%d vol=%d", labelMagic|l.Version, l.Version, l.Vol)
	if log.On(debugname.Version7) {
		switch l.Vol {
		case VolMeta:
			text = append(text, " (meta)"...)
		case VolIndex:
			text = append(text, " (index)"...)
		}
	}
	text = l.Start.AppendHighResStamp(fmt.Appendf(text, " pid=%d start=", l.PID), log.Zone())
	if l.Features != 0 {
		text = fmt.Appendf(text, " features=%#x", l.Features)
	}
	text = fmt.Appendf(text, " host=%s tz=%s", l.Host, l.TimeZone)
	if l.ZoneInfo != "" {
		text = fmt.Appendf(text, " zoneinfo=%s", l.ZoneInfo)
	}
	return append(text, ']')
}

// unreadable returns the reason if b does not begin with a complete label, in the words of
// __pmLogLoadLabel in the C library, otherwise "".
func unreadable(b []byte) string {
	const header, trailer = 8, 4
	if len(b) < header {
		return "file is empty"
	}
	have, version := binary.BigEndian.Uint32(b), int(b[7])
	want := LabelSize(version)
	if want == 0 {
		return fmt.Sprintf("label version %d not supported", version)
	}
	if int64(have) != int64(want) {
		return fmt.Sprintf("bad header len=%d (expected %d)", have, want)
	}
	if body := want - header - trailer; len(b)-header < body {
		return fmt.Sprintf("bad label read len=%d: expected %d", len(b)-header, body)
	}
	end := b[want-trailer : min(len(b), want)]
	var length uint32
	if len(end) == trailer {
		length = binary.BigEndian.Uint32(end)
	}
	if int64(length) != int64(want) {
		return fmt.Sprintf("trailer read -> %d (expect %d) or bad trailer len=%d (expected %d)", len(end), trailer, length, want)
	}
	return ""
}

// traceVolume traces a change of the volume.
func (a *Archive) traceVolume(number int) {
	a.mu.Lock()
	same := a.traced == number
	a.traced = number
	a.mu.Unlock()
	if !same && a.debug.On(debugname.Archive) {
		a.debug.Printf("__pmLogChangeVol: change to volume %d\n", number)
	}
}

// traceRead traces the record found in a direction, or the error.
func (r *Reader) traceRead(dir Direction, err error) {
	log := r.a.debug
	if err == nil && log.On(debugname.PDU) {
		r.traceResult()
	}
	if !log.On(debugname.Archive) {
		return
	}
	mode, end := "forw", "AFTER end"
	if dir == Backward {
		mode, end = "back", "BEFORE start"
	}
	b := fmt.Appendf(nil, "__pmLogRead: mode=%s vol=%d posn=%d ", mode, r.v.number, r.vr.off)
	switch {
	case err == io.EOF:
		b = append(b, end...)
	case err != nil:
		b = fmt.Appendf(b, "\nError: %v", err)
	default:
		body := reader{b: r.vr.body}
		t := body.stamp(r.vr.version)
		b = append(b, '@')
		b = t.AppendHighResStamp(b, log.Zone())
		b = fmt.Appendf(b, " (t=%.6f) len=header+%d+trailer", t.Sub(r.a.label.Start), len(r.vr.body))
	}
	log.Write(append(b, '\n'))
}

// traceResult dumps the record that was found (__pmDumpResult). As in the C library it prints no
// names of instances.
func (r *Reader) traceResult() {
	log := r.a.debug
	var res pcp.Result
	if err := DecodeResult(&res, r.vr.body, r.vr.version); err != nil {
		return // the reader of the record gets the error
	}
	b := fmt.Appendf(nil, "__pmResult dump from %p timestamp: %d.%09d ", &r.vr.body[0], res.Time.Sec, res.Time.Nsec)
	b = res.Time.AppendHighResStamp(b, log.Zone())
	b = fmt.Appendf(b, " numpmid: %d\n", len(res.Sets))
	for i := range res.Sets {
		vs := &res.Sets[i]
		names := "<noname>"
		if list := r.a.meta.Names(vs.PMID); len(list) > 0 {
			names = strings.Join(list, ", ")
		}
		b = fmt.Appendf(b, "  %v (%s):", vs.PMID, names)
		switch {
		case vs.Err != 0:
			b = fmt.Appendf(b, " %v\n", vs.Err)
			continue
		case len(vs.Values) == 0:
			b = append(b, " No values returned!\n"...)
			continue
		}
		desc, err := r.a.meta.Desc(vs.PMID)
		b = fmt.Appendf(b, " numval: %d valfmt: %d vlist[]:\n", len(vs.Values), vs.ValFmt)
		for _, v := range vs.Values {
			if len(vs.Values) > 1 || v.Inst != pcp.InNull {
				b = fmt.Appendf(b, "    inst [%d or ???] value ", v.Inst)
			} else {
				b = append(b, "   value "...)
			}
			as := v.Type()
			if err == nil {
				v, as = Retype(v, desc.Type), desc.Type
			}
			b = append(v.AppendPrint(b, as, 1, log.Zone()), '\n')
		}
	}
	log.Write(b)
}

// traceRecord traces a record of metadata that was read.
func (m *MetaReader) traceRecord(rec *MetaRecord) {
	var b []byte
	stamp := func() { b = rec.Time.AppendHighResStamp(b, m.debug.Zone()) }
	switch rec.Type {
	case MetaDesc:
		for _, name := range rec.Names {
			b = fmt.Appendf(b, "__pmLogLoadMeta: PMID: %s name: %s\n", rec.Desc.PMID, name)
		}
	case MetaInDomV2, MetaInDom, MetaInDomDelta:
		if len(rec.Instances) == 0 {
			return
		}
		b = fmt.Appendf(b, "addindom( ..., %s, ", rec.InDom)
		stamp()
		b = fmt.Appendf(b, ", type=%s, numinst=%d)\n", rec.Type.name(), len(rec.Instances))
	case MetaLabelV2, MetaLabel:
		b = fmt.Appendf(b, "addlabel( ..., %d, %d, ", uint32(rec.Level), rec.Ident)
		stamp()
		b = fmt.Appendf(b, ", nsets=%d)\n", len(rec.Labels))
	case MetaText:
		what := pcp.PMID(rec.Ident).String()
		if rec.TextKind&pcp.TextInDom != 0 {
			what = pcp.InDom(rec.Ident).String() + " (indom)"
		}
		kind := "HELP"
		if rec.TextKind&pcp.TextOneLine != 0 {
			kind = "ONELINE"
		}
		b = fmt.Appendf(b, "addtext( ..., %s, %s)\n", what, kind)
	}
	m.debug.Write(b)
}

// name names t as the C library does.
func (t MetaType) name() string {
	switch t {
	case MetaDesc:
		return "DESC"
	case MetaInDomV2:
		return "INDOM_V2"
	case MetaLabelV2:
		return "LABEL_V2"
	case MetaText:
		return "TEXT"
	case MetaInDom:
		return "INDOM"
	case MetaInDomDelta:
		return "INDOM_DELTA"
	case MetaLabel:
		return "LABEL"
	}
	return "???"
}
