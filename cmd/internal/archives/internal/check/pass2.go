package check

import (
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/hashorder"
)

// pass2 checks the descriptors.
func (c *Checker) pass2() {
	c.pass = 2
	c.tracef(1, "%s: start pass2\n", c.name)
	descs := c.a.Meta().Descs()
	keys := make([]uint32, len(descs))
	for i := range descs {
		keys[i] = uint32(descs[i].PMID)
	}
	for _, i := range hashorder.Of(keys) {
		c.desc(&descs[i])
	}
	if c.Strict || c.Seven {
		c.metaTimes()
	}
}

// names returns the names of a metric.
func (c *Checker) names(id pcp.PMID) []string {
	if c.Names != nil {
		return c.Names(id)
	}
	return c.a.Meta().Names(id)
}

// desc checks one descriptor.
func (c *Checker) desc(d *pcp.Desc) {
	file := c.name + ".meta"
	name := "unknown"
	if list := c.names(d.PMID); len(list) > 0 {
		name = list[0]
	} else {
		c.found(Warning, file, -1, "", fmt.Sprintf("PMID %s: no name in PMNS: %s", d.PMID, pcp.ErrPMID.Error()))
	}
	odd := func(format string, args ...any) {
		c.found(Warning, file, -1, "", fmt.Sprintf("%s [%s]: ", name, d.PMID)+fmt.Sprintf(format, args...)+" in pmDesc")
	}
	if d.Type == pcp.TypeNoSupport {
		return
	}
	if d.Type < pcp.Type32 || d.Type > pcp.TypeHighResEvent {
		odd("bad type (%d)", int32(d.Type))
	}
	// A derived metric has the instances of its operands, which is correct,
	// although pmlogcheck of PCP 6 reports it.
	derived := (c.Strict || c.Seven) && d.PMID.Domain() == pcp.DomainDynamic && d.PMID.Cluster()&2048 != 0 && d.PMID.Item() != 0
	if d.InDom != pcp.InDomNull && !derived && d.PMID.Domain() != d.InDom.Domain() {
		c.found(Warning, file, -1, "", fmt.Sprintf("%s [%s]: domain of pmid (%d) != domain of indom (%d)", name, d.PMID, d.PMID.Domain(), d.InDom.Domain()))
	}
	if d.Sem != pcp.SemCounter && d.Sem != pcp.SemInstant && d.Sem != pcp.SemDiscrete {
		odd("bad semantics (%d)", int32(d.Sem))
	}
	u := d.Units
	for _, dim := range []struct {
		name string
		dim  int
	}{{"Space", int(u.DimSpace)}, {"Time", int(u.DimTime)}, {"Count", int(u.DimCount)}} {
		if dim.dim < -2 || dim.dim > 2 {
			odd("bad dimension (%d) for %s", dim.dim, dim.name)
		}
	}
	if u.DimSpace == 0 && u.ScaleSpace != 0 {
		odd("non-zero scale (%d) with zero dimension for Space", u.ScaleSpace)
	}
	if u.ScaleSpace > pcp.SpaceEByte {
		odd("bad scale (%d) for Space", u.ScaleSpace)
	}
	if u.DimTime == 0 && u.ScaleTime != 0 {
		odd("non-zero scale (%d) with zero dimension for Time", u.ScaleTime)
	}
	if u.ScaleTime > pcp.TimeHour {
		odd("bad scale (%d) for Time", u.ScaleTime)
	}
	if u.DimCount == 0 && u.ScaleCount != 0 {
		odd("non-zero scale (%d) with zero dimension for Count", u.ScaleCount)
	}
}

// metaTimes checks the times of instance domains and labels.
func (c *Checker) metaTimes() {
	mr, closer, err := c.a.OpenMeta()
	if err != nil {
		return // it was open a moment ago
	}
	defer closer.Close()
	end, endErr := c.a.End()
	start := c.a.Label().Start
	var last pcp.Timestamp
	reported := false
	for n := 0; ; n++ {
		rec, err := mr.Next()
		if err != nil {
			return // pass 0 has reported the error
		}
		old := rec.Type == archive.MetaInDomV2 || rec.Type == archive.MetaLabelV2
		if c.Seven && old != (c.a.Version() < archive.Version3) {
			continue // pass 0 has reported the record
		}
		what, indom := "", rec.InDom
		switch rec.Type {
		case archive.MetaInDom, archive.MetaInDomDelta, archive.MetaInDomV2:
			what = "instance domain " + rec.InDom.String()
		case archive.MetaLabel, archive.MetaLabelV2:
			what, indom = "labels", pcp.InDom(rec.Level)
		default:
			continue
		}
		odd := func(format, seven string, other pcp.Timestamp) {
			if c.Seven {
				c.found(Warning, c.name+".meta", rec.Offset, fmt.Sprintf("[record %d]", n),
					fmt.Sprintf("pmInDom %s: timestamp %s %s %s", indom, c.nanoClock(rec.Time), seven, c.nanoClock(other)))
				if !reported {
					c.lastRecord(c.name+".meta", rec.Offset)
				}
				reported = true
				return
			}
			c.found(Warning, c.name+".meta", rec.Offset, fmt.Sprintf("[record %d]", n),
				fmt.Sprintf("%s: time %s %s %s", what, c.clock(rec.Time), format, c.clock(other)))
		}
		switch {
		case rec.Time.Sub(start) < 0:
			odd("before the start of the archive at", "before archive start", start)
		case endErr == nil && end.Sub(rec.Time) < 0:
			odd("after the end of the archive at", "after archive end", end)
		case last.Sec > 0 && rec.Time.Sub(last) < 0:
			odd("before that of the record before,", "before previous metadata timestamp", last)
		}
		last = rec.Time
	}
}

// nanoClock prints a time as PCP 7 prints times of metadata.
func (c *Checker) nanoClock(t pcp.Timestamp) string {
	return time.Unix(t.Sec, 0).In(c.loc).Format(time.TimeOnly) + fmt.Sprintf(".%09d", t.Nsec)
}

// clock prints a time with the day if the window is longer than one.
func (c *Checker) clock(t pcp.Timestamp) string {
	at := time.Unix(t.Sec, 0).In(c.loc)
	ms := fmt.Sprintf("%02d:%02d:%02d.%03d", at.Hour(), at.Minute(), at.Second(), t.Nsec/1000000)
	if !c.days {
		return ms
	}
	day := at.Format(time.ANSIC)
	return fmt.Sprintf("%s %s %4.4s", day[:10], ms, day[20:])
}
