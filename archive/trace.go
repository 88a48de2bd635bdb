package archive

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/internal/compressed"
	"github.com/go-pcp/pcp/debug"
)

// What is traced is in the layout of the C library, without its numbers of files,
// and without the flags that say which memory it has to free.

// openFile opens a file of the archive, and traces it.
func (a *Archive) openFile(path string) (*compressed.File, error) {
	f, err := a.mem.Open(path)
	if err == nil && a.debug.On(debug.Archive) {
		how := "no decompress"
		if f.Compressed() {
			_, suffix := compressed.SplitSuffix(f.Name())
			how = "decompress: " + decompressor(suffix)
		}
		a.debug.Printf("__pmFopen(\"%s\", \"r\"): %s\n", path, how)
	}
	return f, err
}

// decompressor returns what the C library calls the way to expand files with a suffix.
func decompressor(suffix string) string {
	switch strings.TrimPrefix(suffix, ".") {
	case "xz", "lzma":
		return "xz"
	case "bz2", "bz":
		return "bzip2"
	}
	return "gzip"
}

// traceFile traces that the directory has a file of the archive.
func (a *Archive) traceFile(path string) {
	if a.debug.On(debug.Archive) {
		a.debug.Printf("__pmLogOpen: inspect file \"%s\"\n", strings.TrimPrefix(path, "./"))
	}
}

// traceMissing traces which files there are not.
func (a *Archive) traceMissing(base string, p parts) {
	if !a.debug.On(debug.Archive) {
		return
	}
	if len(a.vols) == 0 {
		a.debug.Printf("__pmLogOpen: Not found: data file \"%s.0\" (or similar)\n", base)
	}
	if p.meta == "" {
		a.debug.Printf("__pmLogOpen: Not found: metadata file \"%s.meta\"\n", base)
	}
}

// traceLabel traces the label of a file that is to be that of a volume.
func (a *Archive) traceLabel(l Label, vol int32) {
	if !a.debug.On(debug.Archive) {
		return
	}
	if l.Vol != vol {
		a.debug.Printf("__pmLogChkLabel: vol=%d label volume %d not %d as expected\n", vol, l.Vol, vol)
		return
	}
	b := fmt.Appendf(nil, "__pmLogChkLabel: vol=%d [magic=%#08x version=%d vol=%d pid=%d start=",
		vol, labelMagic|l.Version, l.Version, l.Vol, l.PID)
	b = l.Start.AppendHighResStamp(b, a.debug.Zone())
	if l.Features != 0 {
		b = fmt.Appendf(b, " features=%#x", l.Features)
	}
	b = fmt.Appendf(b, " host=%s tz=%s", l.Host, l.TimeZone)
	if l.ZoneInfo != "" {
		b = fmt.Appendf(b, " zoneinfo=%s", l.ZoneInfo)
	}
	a.debug.Write(append(b, "]\n"...))
}

// traceVolume traces which volume is read from now on.
func (a *Archive) traceVolume(number int) {
	a.mu.Lock()
	same := a.traced == number
	a.traced = number
	a.mu.Unlock()
	if !same && a.debug.On(debug.Archive) {
		a.debug.Printf("__pmLogChangeVol: change to volume %d\n", number)
	}
}

// traceRead traces the record that was found in a direction, or why there is none.
func (r *Reader) traceRead(dir Direction, err error) {
	log := r.a.debug
	if !log.On(debug.Archive) {
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
