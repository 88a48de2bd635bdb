// Package overlap finds the parts of archives to read if several recorders have recorded a host at the same time.
//
// Recorders that share hosts give their archives names of a time and of the recorder. For a minute two may record a host: their
// archives overlap. Each moment is then read from the archive that began last, of those that reach it.
package overlap

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
)

// gap is the time between the end of a part and the mark behind it, archive.MarkGap.
const gap = time.Millisecond

// An Archive has the facts about an archive that decide.
type Archive struct {
	Path  string
	Start pcp.Timestamp
	End   func() (pcp.Timestamp, error) // called if an overlap depends on it
}

// A Part is an archive, or of two that overlap the records between two times.
type Part struct {
	Index    int           // of the archive
	From, To pcp.Timestamp // from From on, and before To; zero means no limit
}

// Whole reports whether the part is all of its archive.
func (p *Part) Whole() bool { return p.From.IsZero() && p.To.IsZero() }

// Parts returns the parts of archives, which are sorted by start. They follow each other in time. Archives with other names are
// read as wholes, also if they overlap.
func Parts(archives []Archive) []Part {
	whole := make([]Part, len(archives))
	for i := range archives {
		whole[i].Index = i
	}
	ends, ok := ends(archives)
	if !ok {
		return whole
	}
	var list []Part
	for i := 0; i < len(archives); {
		n, last := 1, ends[i]
		for i+n < len(archives) && archives[i+n].Start.Compare(last) <= 0 {
			if ends[i+n].Compare(last) > 0 {
				last = ends[i+n]
			}
			n++
		}
		if n == 1 {
			list = append(list, whole[i])
		} else {
			list = cut(list, archives, ends, i, i+n)
		}
		i += n
	}
	return list
}

// cut appends the parts of the archives first to last-1, which overlap, given their ends.
func cut(list []Part, archives []Archive, ends []pcp.Timestamp, first, last int) []Part {
	type point struct {
		at    pcp.Timestamp
		i     int
		begin bool
	}
	var points []point
	for i := first; i < last; i++ {
		points = append(points, point{archives[i].Start, i, true}, point{ends[i], i, false})
	}
	slices.SortStableFunc(points, func(a, b point) int {
		// An archive without records behind its start begins before it ends.
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.i, b.i), cmp.Compare(bit(b.begin), bit(a.begin)))
	})
	var active []int // those that have begun and not ended
	var p *Part      // of the last of active
	finish := func(to pcp.Timestamp) {
		if p != nil && (p.From.IsZero() || to.IsZero() || p.From.Compare(to) < 0) {
			p.To = to
			list = append(list, *p)
		}
		p = nil
	}
	for _, x := range points {
		if x.begin {
			finish(x.at.Add(-gap))
			active = append(active, x.i)
			p = &Part{Index: x.i}
			continue
		}
		owner := len(active) > 0 && active[len(active)-1] == x.i
		active = slices.DeleteFunc(active, func(i int) bool { return i == x.i })
		if !owner {
			continue
		}
		finish(pcp.Timestamp{})
		if len(active) > 0 {
			p = &Part{Index: active[len(active)-1], From: x.at.Add(2 * gap)}
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
func ends(archives []Archive) ([]pcp.Timestamp, bool) {
	if len(archives) < 2 {
		return nil, false
	}
	by := make([]string, len(archives))
	several := false
	for i, a := range archives {
		name, ok := recorder(a.Path)
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
		ends[i] = a.Start
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
