package replay

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/internal/overlap"
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

// parts returns the parts of archives, which are sorted by start. Those of recorders that share hosts are cut where they overlap.
// Other archives are read as wholes, and an overlap is an error, as in the C library.
func parts(archives []*archive.Archive) []part {
	all := make([]overlap.Archive, len(archives))
	for i, a := range archives {
		all[i] = overlap.Archive{Path: a.Path(), Start: a.Label().Start, End: a.End}
	}
	list := make([]part, 0, len(archives))
	for _, p := range overlap.Parts(all) {
		list = append(list, part{archives[p.Index], p.From, p.To})
	}
	return list
}
