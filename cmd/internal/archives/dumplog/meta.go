package dumplog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
	"github.com/go-pcp/pcp/internal/hashorder"
	"github.com/go-pcp/pcp/pcptime"
)

func (d *dumper) printf(format string, args ...any) { d.b = fmt.Appendf(d.b, format, args...) }

// dumpLabel is -l and -L.
func (d *dumper) dumpLabel() {
	l := &d.label
	d.printf("Log Label (Log Format Version %d)\nPerformance metrics from host %s\n", l.Version, l.Host)
	d.labelTime("commencing", l.Start)
	if end, err := d.a.End(); err != nil {
		d.printf("    ending     UNKNOWN\n")
	} else {
		d.labelTime("ending", end)
	}
	if !d.longLabel {
		return
	}
	if l.TimeZone != "" {
		d.printf("Archive timezone: %s\n", l.TimeZone)
	}
	if l.ZoneInfo != "" {
		d.printf("Archive zoneinfo: %s\n", l.ZoneInfo)
	}
	if l.Features != 0 {
		d.printf("Archive features: 0x%x", l.Features)
		if unknown := l.Features &^ archive.FeatureQA; unknown != 0 {
			d.printf(" [unknown: %s]", featureBits(unknown))
		}
		d.printf("\n")
	}
	d.printf("PID for pmlogger: %d\n", l.PID)
}

// featureBits names bits: bit_3 | bit_0.
func featureBits(f uint32) string {
	var s []string
	for i := 31; i >= 0; i-- {
		if f&(1<<i) != 0 {
			s = append(s, "bit_"+strconv.Itoa(i))
		}
	}
	return strings.Join(s, " | ")
}

func (d *dumper) labelTime(what string, t pcp.Timestamp) {
	day := pcptime.Ctime(t, d.loc)
	d.printf("    %-10s %s ", what, day[:10])
	d.b = d.appendTime(d.b, t)
	d.printf(" %s", day[20:])
	if d.long >= 3 {
		d.printf(" %d", uint64(t.Sec))
	}
	d.printf("\n")
}

// dumpDescs is -d.
func (d *dumper) dumpDescs() {
	d.printf("\nDescriptions for Metrics in the Log ...\n")
	descs := d.meta.Descs()
	keys := make([]uint32, len(descs))
	for i := range descs {
		keys[i] = uint32(descs[i].PMID)
	}
	for _, i := range d.inOrder(keys) {
		desc := &descs[i]
		d.printf("PMID: %s (", desc.PMID)
		if names := d.names(desc.PMID); len(names) > 0 {
			d.b = appendNames(d.b, names)
		} else {
			d.printf("<noname>")
		}
		d.printf(")\n")
		d.b = report.AppendDesc(d.b, desc)
		d.flush(d.writeAt)
	}
}

// inOrder returns the indices of identifiers in the order of the output: that of C's hash tables, or sorted since PCP 7.
func (d *dumper) inOrder(keys []uint32) []int {
	if !d.env.Seven() {
		return hashorder.Of(keys)
	}
	list := make([]int, len(keys))
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(keys[i], keys[j]) })
	return list
}

// dumpLabels is -e.
func (d *dumper) dumpLabels() {
	d.printf("\nMetric Labels in the Log ...\n")
	var last pcp.Timestamp
	for _, l := range d.meta.LabelRecords() {
		if l.Time.Sub(pcp.Timestamp{}) <= 0 {
			continue // as in the C tool, which begins after the epoch
		}
		if l.Time != last {
			d.b = append(d.appendStamp(d.b, l.Time), '\n')
			last = l.Time
		}
		d.b = report.AppendLabelSets(d.b, l.Ident, l.Level, l.Sets)
		d.flush(d.writeAt)
	}
}

// dumpTexts is -h.
func (d *dumper) dumpTexts() {
	d.printf("\nMetric Help Text in the Log ...\n")
	for _, t := range d.meta.Texts() {
		if t.Kind&pcp.TextPMID != 0 {
			d.printf("PMID: %s", pcp.PMID(t.Ident))
		} else {
			d.printf("InDom: %s", pcp.InDom(t.Ident))
		}
		if t.Kind&pcp.TextOneLine != 0 {
			d.printf(" [%s]\n", t.Text)
		} else {
			d.printf("\n%s\n", t.Text)
		}
		d.flush(d.writeAt)
	}
}

// dumpInDoms is -i.
func (d *dumper) dumpInDoms() {
	d.printf("\nInstance Domains in the Log ...\n")
	indoms := d.meta.InDoms()
	keys := make([]uint32, len(indoms))
	for i := range indoms {
		keys[i] = uint32(indoms[i])
	}
	for _, i := range d.inOrder(keys) {
		indom := indoms[i]
		d.printf("InDom: %s\n", indom)
		for rec := range d.meta.History(indom) {
			d.b = d.appendStamp(d.b, rec.Time)
			d.printf(" %d instances\n", len(rec.Instances))
			for _, in := range rec.Instances {
				d.b = strconv.AppendInt(append(d.b, "   "...), int64(in.Inst), 10)
				d.b = append(append(append(d.b, ` or "`...), in.Name...), "\"\n"...)
			}
			d.flush(d.writeAt)
		}
	}
}

// dumpDiskInDoms is -I.
func (d *dumper) dumpDiskInDoms() int {
	d.printf("%s", d.heading("Instance Domains on-disk ...\n"))
	mr, closer, err := d.a.OpenMeta()
	if err != nil {
		d.complain("dumpDiskInDom: %s\n", cli.ErrText(err))
		return 1
	}
	defer closer.Close()
	for {
		rec, err := mr.Next()
		if errors.Is(err, io.EOF) {
			return 0
		}
		if err != nil {
			d.complain("dumpDiskInDom: %s\n", cli.ErrText(err))
			return 1
		}
		delta := rec.Type == archive.MetaInDomDelta
		if rec.Type != archive.MetaInDom && rec.Type != archive.MetaInDomV2 && !delta {
			continue
		}
		d.b = d.appendStamp(d.b, rec.Time)
		d.printf(" InDom: %s", rec.InDom)
		if delta {
			d.printf(" delta")
		}
		d.printf(" %d instances\n", len(rec.Instances))
		for _, c := range rec.Instances {
			switch {
			case c.Name == nil:
				d.printf("   del %d\n", c.Inst)
			case delta:
				d.printf("   add %d or \"%s\"\n", c.Inst, c.Name)
			default:
				d.printf("   %d or \"%s\"\n", c.Inst, c.Name)
			}
		}
		d.flush(d.writeAt)
	}
}

// dumpIndex is -t.
func (d *dumper) dumpIndex() {
	d.printf("%s", d.heading("Temporal Index\n"))
	if d.long > 0 {
		d.printf("\t\t")
	}
	if d.long >= 2 {
		d.printf("\t\t")
	}
	if d.label.Version == archive.Version3 {
		d.printf("\t")
	}
	d.printf("\t\tLog Vol    end(meta)     end(log)\n")
	metaSize, dataSize := int64(-1), int64(-1)
	list := d.a.Index()
	for i := range list {
		e := &list[i]
		d.b = d.appendStamp(d.b, e.Time)
		d.printf("\t  %5d  %11d  %11d\n", e.Vol, e.Meta, e.Data)
		if i == 0 {
			metaSize = fileSize(d.a.Path() + ".meta")
		}
		if i == 0 || e.Vol != list[i-1].Vol {
			if dataSize = fileSize(d.a.Path() + "." + strconv.Itoa(int(e.Vol))); dataSize < 0 {
				d.printf("\t\tWarning: file missing for log volume %d\n", e.Vol)
			}
		}
		if e.Time.Sec < 0 || e.Time.Nsec < 0 || e.Time.Nsec > 999999999 {
			d.printf("\t\tError: illegal timestamp value (%d sec, %d nsec)\n", e.Time.Sec, e.Time.Nsec)
		}
		if metaSize != -1 && e.Meta > metaSize {
			d.printf("\t\tError: offset to meta file past end of file (%d)\n", metaSize)
		}
		if dataSize != -1 && e.Data > dataSize {
			d.printf("\t\tError: offset to log file past end of file (%d)\n", dataSize)
		}
		if i > 0 {
			d.compareEntries(&list[i-1], e)
		}
		d.flush(d.writeAt)
	}
}

// compareEntries reports inconsistencies between two entries of the index.
func (d *dumper) compareEntries(last, e *archive.IndexEntry) {
	if e.Time.Compare(last.Time) < 0 {
		d.printf("\t\tError: timestamp went backwards in time ")
		d.b = d.appendTime(d.b, last.Time)
		d.b = append(d.b, " -> "...)
		d.b = append(d.appendTime(d.b, e.Time), '\n')
	}
	if e.Vol < last.Vol {
		d.printf("\t\tError: volume number decreased\n")
	}
	if e.Vol == last.Vol && e.Meta < last.Meta {
		d.printf("\t\tError: offset to meta file decreased\n")
	}
	if e.Vol == last.Vol && e.Data < last.Data {
		d.printf("\t\tError: offset to log file decreased\n")
	}
}

func fileSize(path string) int64 {
	n, err := archive.FileSize(path)
	if err != nil {
		return -1
	}
	return n
}

// rawDump is -v.
func rawDump(env *cli.Env, path string) int {
	f, err := os.Open(path)
	if err != nil {
		return env.Fatalf("Cannot open \"%s\": %s", path, cli.ErrText(err))
	}
	defer f.Close()
	d := &dumper{env: env, writeAt: 256 << 10}
	d.printf("Raw dump of physical archive file \"%s\" ...\n", path)
	d.raw(f)
	d.flush(0)
	if d.err != nil {
		return env.OutputFailed(d.err)
	}
	return 0
}
