package check

import (
	"fmt"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// pass1 checks the temporal index against itself and the sizes of files.
func (c *Checker) pass1() {
	c.pass = 1
	c.tracef(1, "%s: start pass1 (check temporal index)\n", c.name)
	list := c.a.Index()
	if len(list) == 0 {
		c.report(Finding{
			Severity: Warning, File: c.name, Offset: -1, Text: "the temporal index is missing",
			Message: c.name + ": warning temporal index is missing\n",
		})
		return
	}
	before := c.index
	c.index = good
	p := indexCheck{c: c, label: int64(archive.LabelSize(c.a.Version())), metaSize: -1, dataSize: -1}
	p.size = 20
	if c.a.Version() >= archive.Version3 {
		p.size = 32
	}
	if n, err := archive.FileSize(c.name + ".meta"); err == nil {
		p.metaSize = n
	}
	for i := range list {
		p.odd = false
		if p.entry(i, list); p.odd && c.Seven && !p.reported {
			p.reported = true
			c.lastRecord(c.name+".index", p.label+int64(i)*p.size)
		}
	}
	if c.index == good {
		c.index = before
	}
}

// An indexCheck is pass 1 over one index.
type indexCheck struct {
	c        *Checker
	label    int64 // length of a label
	size     int64 // of an entry
	n        int   // number of the current entry, from 1
	metaSize int64
	dataSize int64 // of the current volume; -1 if there is none
	odd      bool  // the current entry
	reported bool  // the last valid entry
}

// word returns a part of a message, which differs in PCP 7.
func (p *indexCheck) word(six, seven string) string {
	if p.c.Seven {
		return seven
	}
	return six
}

func (p *indexCheck) bad(format string, args ...any) {
	c := p.c
	c.index, p.odd = bad, true
	c.found(Error, c.name+".index", p.label+int64(p.n-1)*p.size, fmt.Sprintf("[entry %d]", p.n), fmt.Sprintf(format, args...))
}

// entry checks entry i.
func (p *indexCheck) entry(i int, list []archive.IndexEntry) {
	c := p.c
	e := &list[i]
	p.n = i + 1
	volume := p.word("log", "data volume "+strconv.Itoa(int(e.Vol)))
	var last *archive.IndexEntry
	if i > 0 {
		last = &list[i-1]
	}
	if e.Vol < 0 {
		p.bad("illegal negative "+p.word("", "data ")+"volume number %d", e.Vol)
		p.dataSize = -1
	} else if last == nil || e.Vol != last.Vol {
		path := c.name + "." + strconv.Itoa(int(e.Vol))
		n, err := archive.FileSize(path)
		if p.dataSize = n; err != nil {
			p.dataSize = -1
			c.found(Error, path, -1, "", fmt.Sprintf("file missing for "+p.word("log", "data")+" volume %d", e.Vol))
		}
	}
	t := e.Time
	if t.Sec < 0 || t.Nsec < 0 {
		p.bad("illegal negative timestamp value (%d sec, %d nsec)", t.Sec, t.Nsec)
	}
	if t.Nsec > 999999999 {
		p.bad("illegal timestamp nsec value (%d sec, %d nsec)", t.Sec, t.Nsec)
	}
	// To pmlogcheck, which compares with a C size_t, a negative offset is large.
	if uint64(e.Meta) < uint64(p.label) || c.Strict && e.Meta < 0 {
		p.bad("offset to metadata (%d) before end of label record (%d)", e.Meta, p.label)
	}
	if p.metaSize != -1 && e.Meta > p.metaSize {
		p.bad("offset to metadata (%d) past end of file (%d)", e.Meta, p.metaSize)
	}
	if uint64(e.Data) < uint64(p.label) || c.Strict && e.Data < 0 {
		p.bad("offset to "+volume+" (%d) before end of label record (%d)", e.Data, p.label)
	}
	if p.dataSize != -1 && e.Data > p.dataSize {
		p.bad("offset to "+volume+" (%d) past end of file (%d)", e.Data, p.dataSize)
	}
	if c.start.Sec != 0 && t.Sub(c.start) < 0 {
		p.bad("timestamp (%s) less than "+p.word("log", "archive")+" label timestamp (%s)", stamp(t), stamp(c.start))
	}
	if last == nil {
		return
	}
	if t.Sub(last.Time) < 0 {
		p.bad("timestamp (%s) went backwards in time (from %s at [entry %d])", stamp(t), stamp(last.Time), i)
	}
	if e.Vol < last.Vol {
		p.bad(p.word("", "data ")+"volume number (%d) decreased (from %d at [entry %d])", e.Vol, last.Vol, i)
	}
	if e.Vol == last.Vol && e.Meta < last.Meta {
		p.bad("offset to metadata (%d) decreased (from %d at [entry %d])", e.Meta, last.Meta, i)
	}
	if e.Vol == last.Vol && e.Data < last.Data {
		p.bad("offset to "+volume+" (%d) decreased (from %d at [entry %d])", e.Data, last.Data, i)
	}
}

// stamp prints a time with all its digits, even if they make no sense.
func stamp(t pcp.Timestamp) string { return fmt.Sprintf("%d.%09d", t.Sec, t.Nsec) }
