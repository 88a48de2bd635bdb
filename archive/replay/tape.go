package replay

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

const (
	forward  = archive.Forward
	backward = archive.Backward
)

// A tape reads the records of a set one after the other, in either direction,
// with the marks between the archives.
type tape struct {
	set    *Set
	cur    int // the archive
	before int // the previous archive, which may have files open
	rd     *archive.Reader
	// mark is the direction in which the mark next to the archive was just read;
	// 0 at any other position.
	mark archive.Direction

	scan archive.SetScanner // the record

	// Records of a volume known to be good: interpolation reads many of them
	// several times.
	check    archive.Checker
	good     place
	goodUpTo int64
}

// A place is a position on a tape, between two records.
type place struct {
	arch int32
	vol  int32
	off  int64
	mark archive.Direction // as in tape
}

// use changes to an archive, at any place. The files of the previous archive stay
// open: a search often ends in the next one, and replay continues in this.
func (t *tape) use(i int) {
	if t.rd != nil && t.cur == i {
		return
	}
	if t.rd != nil {
		t.rd.Close()
		if t.before != t.cur && t.before != i {
			t.set.parts[t.before].CloseIdle()
		}
		t.before = t.cur
	} else {
		t.before = i
	}
	t.cur, t.rd = i, t.set.parts[i].NewReader()
}

func (t *tape) close() {
	if t.rd == nil {
		return
	}
	t.rd.Close()
	t.rd = nil
	if len(t.set.parts) > 1 {
		t.set.parts[t.cur].CloseIdle()
		t.set.parts[t.before].CloseIdle()
	}
}

// tell returns the current position.
func (t *tape) tell() place {
	vol, off := t.rd.Position()
	return place{int32(t.cur), int32(vol), off, t.mark}
}

// seek moves to a position returned by tell.
func (t *tape) seek(p place) error {
	t.use(int(p.arch))
	t.mark = p.mark
	return t.rd.MoveTo(int(p.vol), p.off)
}

// approach moves to a place from which read returns the records not before a
// time, or backwards not after it, perhaps after a few others.
func (t *tape) approach(to pcp.Timestamp, dir archive.Direction) error {
	t.choose(to, dir)
	return t.rd.Seek(to, dir)
}

// near moves to the position of the index closest to a time. Short reports
// whether reading has yet to reach it.
func (t *tape) near(to pcp.Timestamp, dir archive.Direction) (short bool, err error) {
	t.choose(to, dir)
	return t.rd.SeekIndex(to, dir)
}

// choose moves to the archive that contains a time.
func (t *tape) choose(to pcp.Timestamp, dir archive.Direction) {
	list := t.set.parts
	i := 0
	if dir == backward {
		// The mark before an archive counts as behind its start.
		to := to.Add(archive.MarkGap)
		for i+1 < len(list) && list[i+1].start().Compare(to) <= 0 {
			i++
		}
	} else {
		for i+1 < len(list) && list[i+1].start().Compare(to) < 0 {
			i++
		}
	}
	t.use(i)
	t.mark = 0
}

// markTime returns the time of the mark next to the archive.
func (t *tape) markTime(dir archive.Direction) (pcp.Timestamp, error) {
	return t.set.parts[t.cur].mark(dir)
}

// read reads the next record into scan; io.EOF at the ends of the set. An archive
// that overlaps with the previous one gives pcp.ErrLogOverlap; after it reading
// continues.
func (t *tape) read(dir archive.Direction) error {
	if t.mark != 0 && t.mark != dir {
		// The direction changed right behind a mark: it is read once more.
		at, err := t.markTime(t.mark)
		t.mark = 0
		t.scan = archive.SetScanner{Time: at}
		return err
	}
	for {
		p := &t.set.parts[t.cur]
		body, err := t.step(p, dir)
		if err == nil {
			t.mark = 0
			if err := t.verify(len(body), dir); err != nil {
				return fmt.Errorf("%s: %w", p.Path(), err)
			}
			return nil
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		next := t.cur + int(dir)
		if next < 0 || next >= len(t.set.parts) {
			return io.EOF
		}
		if t.mark == 0 {
			at, err := t.markTime(dir)
			if err != nil {
				return err
			}
			t.mark = dir
			t.scan = archive.SetScanner{Time: at}
			return nil
		}
		earlier := &t.set.parts[min(t.cur, next)]
		later := &t.set.parts[max(t.cur, next)]
		t.use(next)
		t.mark = 0
		if err := t.set.parts[next].rewind(t.rd, dir); err != nil {
			return err
		}
		if !earlier.to.IsZero() || !later.from.IsZero() {
			continue // they are cut
		}
		end, err := earlier.End()
		if err != nil {
			return err
		}
		if end.Compare(later.Label().Start) > 0 {
			return fmt.Errorf("%s and %s: %w", earlier.Path(), later.Path(), pcp.ErrLogOverlap)
		}
	}
}

// step reads the next record of a part into scan; io.EOF at its end.
func (t *tape) step(p *part, dir archive.Direction) (body []byte, err error) {
	if p.from.IsZero() && p.to.IsZero() {
		if body, err = t.rd.Step(dir); err == nil {
			t.scan.Start(body, p.Version())
		}
		return body, err
	}
	for {
		vol, off := t.rd.Position()
		if body, err = t.rd.Step(dir); err != nil {
			return nil, err
		}
		t.scan.Start(body, p.Version())
		before, behind := p.outside(t.scan.Time, dir)
		if behind {
			if err := t.rd.MoveTo(vol, off); err != nil { // the other direction continues there
				return nil, err
			}
			return nil, io.EOF
		}
		if !before {
			return body, nil
		}
	}
}

// frame is the number of bytes of a record in addition to its contents.
const frame = 8

// verify checks the whole record that was just read, of n bytes: as in the C
// library damage to any metric ends reading, not only to wanted ones.
func (t *tape) verify(n int, dir archive.Direction) error {
	vol, at := t.rd.Position()
	from, to := at-int64(n)-frame, at
	if dir == backward {
		from, to = at, at+int64(n)+frame
	}
	here := int(t.good.arch) == t.cur && int(t.good.vol) == vol
	if here && from >= t.good.off && to <= t.goodUpTo {
		return nil
	}
	if err := t.check.Check(&t.scan); err != nil {
		return err
	}
	switch {
	case here && from == t.goodUpTo:
		t.goodUpTo = to
	case here && to == t.good.off:
		t.good.off = from
	default:
		t.good, t.goodUpTo = place{arch: int32(t.cur), vol: int32(vol), off: from}, to
	}
	return nil
}

// isMark reports whether the record is a mark.
func (t *tape) isMark() bool { return t.scan.Sets == 0 }
