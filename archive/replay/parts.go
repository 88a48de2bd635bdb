package replay

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// A part is an archive of a set, or of two that overlap the records between two times. The parts of a set follow each other
// in time.
type part struct {
	*archive.Archive
	from, to pcp.Timestamp // from from on, and before to; zero means no limit
}

// start returns the time of the first record, or a time before it.
func (p *part) start() pcp.Timestamp {
	if p.from.IsZero() {
		return p.Label().Start
	}
	return p.from
}

// mark returns the time of the mark that follows the part in a direction.
func (p *part) mark(dir archive.Direction) (pcp.Timestamp, error) {
	switch {
	case dir == backward:
		return p.start().Add(-archive.MarkGap), nil
	case !p.to.IsZero():
		return p.to, nil
	}
	end, err := p.End()
	return end.Add(archive.MarkGap), err
}

// outside reports whether a time is before the part in reading in a direction, or behind it.
func (p *part) outside(t pcp.Timestamp, dir archive.Direction) (before, behind bool) {
	before = !p.from.IsZero() && t.Compare(p.from) < 0
	behind = !p.to.IsZero() && t.Compare(p.to) >= 0
	if dir == backward {
		before, behind = behind, before
	}
	return before, behind
}

// rewind moves a reader of the archive to the start of the part in a direction.
func (p *part) rewind(rd *archive.Reader, dir archive.Direction) error {
	switch {
	case dir == forward && !p.from.IsZero():
		return rd.Seek(p.from, dir)
	case dir == backward && !p.to.IsZero():
		return rd.Seek(p.to, dir)
	}
	return rd.Rewind(dir)
}

// parts returns the parts of archives, which are sorted by start. Archives of recorders that share hosts can overlap: their names are
// a time and the name of the recorder. Each moment is then read from the archive that began last, of those that reach it.
// Other archives are read as wholes, and an overlap is an error, as in the C library.
func parts(archives []*archive.Archive) []part {
	whole := make([]part, len(archives))
	for i, a := range archives {
		whole[i] = part{Archive: a}
	}
	ends, ok := ends(archives)
	if !ok {
		return whole
	}
	var list []part
	for i := 0; i < len(archives); {
		n, last := 1, ends[i]
		for i+n < len(archives) && archives[i+n].Label().Start.Compare(last) <= 0 {
			if ends[i+n].Compare(last) > 0 {
				last = ends[i+n]
			}
			n++
		}
		if n == 1 {
			list = append(list, whole[i])
		} else {
			list = cut(list, archives[i:i+n], ends[i:i+n])
		}
		i += n
	}
	return list
}

// cut appends the parts of archives that overlap, given their ends.
func cut(list []part, archives []*archive.Archive, ends []pcp.Timestamp) []part {
	type point struct {
		at    pcp.Timestamp
		i     int
		begin bool
	}
	var points []point
	for i, a := range archives {
		points = append(points, point{a.Label().Start, i, true}, point{ends[i], i, false})
	}
	slices.SortStableFunc(points, func(a, b point) int {
		// An archive without records behind its start begins before it ends.
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.i, b.i), cmp.Compare(bit(b.begin), bit(a.begin)))
	})
	var active []int // those that have begun and not ended
	var p *part      // of the last of active
	finish := func(to pcp.Timestamp) {
		if p != nil && (p.from.IsZero() || to.IsZero() || p.from.Compare(to) < 0) {
			p.to = to
			list = append(list, *p)
		}
		p = nil
	}
	for _, x := range points {
		if x.begin {
			finish(x.at.Add(-archive.MarkGap))
			active = append(active, x.i)
			p = &part{Archive: archives[x.i]}
			continue
		}
		owner := len(active) > 0 && active[len(active)-1] == x.i
		active = slices.DeleteFunc(active, func(i int) bool { return i == x.i })
		if !owner {
			continue
		}
		finish(pcp.Timestamp{})
		if len(active) > 0 {
			p = &part{Archive: archives[active[len(active)-1]], from: x.at.Add(2 * archive.MarkGap)}
		}
	}
	return list
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ends returns the ends of archives, as far as an overlap depends on them: only those of archives that an archive of another recorder
// follows before the next one of the same. Other ends are the starts of the archives. It returns false if the names
// show that there is only one recorder, or an end is not known.
func ends(archives []*archive.Archive) ([]pcp.Timestamp, bool) {
	if len(archives) < 2 {
		return nil, false
	}
	by := make([]string, len(archives))
	several := false
	for i, a := range archives {
		name, ok := recorder(a.Path())
		if !ok {
			return nil, false
		}
		by[i] = name
		several = several || name != by[0]
	}
	if !several {
		return nil, false
	}
	ends := make([]pcp.Timestamp, len(archives))
	end := func(i int) bool {
		e, err := archives[i].End()
		ends[i] = e
		return err == nil
	}
	var last pcp.Timestamp
	for i, a := range archives {
		ends[i] = a.Label().Start
		followed := i+1 < len(archives) && by[i+1] != by[i]
		if (followed || ends[i].Compare(last) <= 0) && !end(i) {
			return nil, false
		}
		if ends[i].Compare(last) > 0 {
			last = ends[i]
		}
	}
	return ends, true
}

// nameLayout is the layout of the times in the names of archives.
const nameLayout = "20060102.15.04"

// recorder returns the part of an archive's name after the time. It returns false if the name has another form.
func recorder(name string) (by string, ok bool) {
	name = path.Base(filepath.ToSlash(name))
	at, by, _ := strings.Cut(name, "-")
	if len(at) != len(nameLayout) {
		return "", false
	}
	_, err := time.Parse(nameLayout, at)
	return by, err == nil
}
