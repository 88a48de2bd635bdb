package archive

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-pcp/pcp"
)

// A Direction is the direction in which records are read.
type Direction int

// Directions (PM_MODE_FORW, PM_MODE_BACK).
const (
	Forward  Direction = 1
	Backward Direction = -1
)

// A Reader reads the records of an archive, over all its volumes. There are two ways
// to do so. After [Reader.Seek], [Reader.Next] returns records decoded, those that the
// caller wants and no others. [Reader.Step] returns each record as bytes, in either
// direction at any time; it continues from the position that Seek, [Reader.SeekIndex],
// [Reader.MoveTo] or [Reader.Rewind] set.
type Reader struct {
	a      *Archive
	v      *volume
	vr     *VolumeReader
	dir    Direction
	origin pcp.Timestamp
	sought bool

	ahead   int64 // see ReadAhead
	quiet   bool  // changes of the volume are not traced
	between bool  // the origin is between two entries of the index
	res     pcp.Result
}

// NewReader returns a Reader that starts with the first record, or if its first call
// is Step backwards with the last one.
func (a *Archive) NewReader() *Reader {
	r := &Reader{a: a, dir: Forward, origin: a.label.Start}
	if a.ahead > 0 {
		r.ReadAhead(a.ahead)
	}
	return r
}

// minAhead is the minimum number of bytes to read at once: a page of a file.
const minAhead = 4 << 10

// ReadAhead sets the number of bytes to read at once; longer records take more. The default is good for
// reading one record after the other; a program that seeks to a few records far from each other is faster
// with less. It takes effect with the next volume, so it is for a new Reader.
func (r *Reader) ReadAhead(n int) { r.ahead = int64(max(n, minAhead)) }

// Close releases the resources of r.
func (r *Reader) Close() {
	if r.v != nil {
		r.a.release(r.v)
		r.v, r.vr = nil, nil
	}
}

// use changes to a volume, at its start.
func (r *Reader) use(number int) error {
	if r.v != nil && r.v.number == number {
		return nil
	}
	v, _, err := r.a.volume(number)
	if err != nil {
		return err
	}
	size, err := v.src.Size()
	if err != nil {
		r.a.release(v)
		return fmt.Errorf("%s.%d: %w", r.a.path, number, err)
	}
	r.Close()
	if r.a.debug != nil && !r.quiet {
		r.a.traceVolume(number)
	}
	r.v = v
	r.vr = &VolumeReader{
		w: window{r: v.src, size: r.ahead}, version: r.a.label.Version, size: size,
		label: int64(LabelSize(r.a.label.Version)), off: int64(LabelSize(r.a.label.Version)),
	}
	return nil
}

// try is use for callers that can do without a volume: it reports whether the
// volume has anything to read. If a volume exists but cannot be read that is an
// error for all callers; otherwise its contents would be missing silently.
func (r *Reader) try(number int) (bool, error) {
	err := r.use(number)
	if errors.Is(err, ErrNoVolume) {
		return false, nil
	}
	return err == nil, err
}

// step changes to the next volume in a direction that has records, io.EOF if
// there is none.
func (r *Reader) step(dir Direction) error {
	i, found := slices.BinarySearch(r.a.vols, r.v.number)
	switch {
	case dir == Backward:
		i--
	case found:
		i++
	}
	for ; i >= 0 && i < len(r.a.vols); i += int(dir) {
		ok, err := r.try(r.a.vols[i])
		if err != nil {
			return err
		}
		if ok {
			if dir == Backward {
				r.vr.SeekTo(r.vr.size)
			}
			return nil
		}
	}
	return io.EOF
}

// next finds the next record in a direction, over the ends of volumes, and does not
// move.
func (r *Reader) next(dir Direction) error {
	for {
		var err error
		if dir == Forward {
			err = r.vr.next()
		} else {
			err = r.vr.prev()
		}
		if r.a.debug != nil {
			r.traceRead(dir, err)
		}
		if err == nil {
			return nil
		}
		if err != io.EOF {
			return r.errorf(err)
		}
		if dir == Forward {
			// The volume may have grown.
			if size, err := r.v.src.Size(); err == nil && size > r.vr.size {
				r.vr.setSize(size)
				continue
			}
		}
		if err := r.step(dir); err != nil {
			return err
		}
	}
}

// errorf names the volume in an error.
func (r *Reader) errorf(err error) error {
	return fmt.Errorf("%s.%d: %w", r.a.path, r.v.number, err)
}

// read decodes the next record in a direction.
func (r *Reader) read(dir Direction) error {
	if err := r.next(dir); err != nil {
		return err
	}
	if err := r.vr.decode(&r.res, dir); err != nil {
		return r.errorf(err)
	}
	return nil
}

// Step reads the next record in a direction, regardless of its time. It returns the
// contents without length words and not decoded, for a [SetScanner] or a [Checker];
// they are valid until the next call. At the end of the archive it returns io.EOF, and
// may be called again.
func (r *Reader) Step(dir Direction) ([]byte, error) {
	if r.v == nil {
		if err := r.Rewind(dir); err != nil {
			return nil, err
		}
	}
	if err := r.next(dir); err != nil {
		return nil, err
	}
	r.vr.off += int64(dir) * (int64(len(r.vr.body)) + frame)
	return r.vr.body, nil
}

// Seek makes Next return the records not before a time, or with Backward not
// after it. Step in this direction returns these too, perhaps after a few others.
func (r *Reader) Seek(to pcp.Timestamp, dir Direction) error {
	whole, err := r.place(to, dir)
	if err != nil {
		return err
	}
	// The index has a position close to it, as often the end of a record as the
	// start. From there it searches against the direction.
	if whole && dir == Forward {
		r.back()
	}
	for {
		if err := r.read(-dir); err != nil {
			if err != io.EOF {
				r.vr.off = r.vr.stuck
			}
			return nil
		}
		d := r.res.Time.Sub(to)
		if d == 0 || dir == Forward && d < 0 || dir == Backward && d > 0 {
			return nil // Next reads this one again, and skips it if necessary
		}
	}
}

// back reads a record backwards. After an error the position is that of the C
// library.
func (r *Reader) back() {
	if err := r.read(Backward); err != nil && err != io.EOF {
		r.vr.off = r.vr.stuck
	}
}

// SeekIndex moves to a position for Step that is close to a time by the index, and
// reads at most one record there. Short reports whether Step in that direction has
// yet to reach the time. If not, the position may be past the time, and Step in the
// other direction leads to it.
func (r *Reader) SeekIndex(to pcp.Timestamp, dir Direction) (short bool, err error) {
	short, err = r.place(to, dir)
	if err == nil && short && dir == Forward {
		// The position in the index is as often the end of a record as the start.
		if _, err := r.Step(Backward); err != nil && err != io.EOF {
			r.vr.off = r.vr.stuck
		}
	}
	return short, err
}

// seekMode moves to the position of a time by the index that pmSetMode(3) of the C
// library chooses for reading forwards. Its tools for whole archives start there.
func (r *Reader) seekMode(to pcp.Timestamp) error {
	whole, err := r.place(to, Forward)
	if err == nil && whole && r.between {
		r.back()
	}
	return err
}

// Rewind moves to the start of Step in a direction: before the first record, or
// with Backward behind the last one.
func (r *Reader) Rewind(dir Direction) error {
	r.sought = true
	vols := r.a.vols
	for i := range vols {
		number := vols[i]
		if dir == Backward {
			number = vols[len(vols)-1-i]
		}
		ok, err := r.try(number)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		r.vr.SeekTo(r.vr.label)
		if dir == Backward {
			r.vr.SeekTo(r.vr.size)
		}
		return nil
	}
	return fmt.Errorf("%s: no volume can be read: %w", r.a.path, pcp.ErrLogFile)
}

// MoveTo moves to a position returned by [Reader.Position].
func (r *Reader) MoveTo(vol int, off int64) error {
	if err := r.use(vol); err != nil {
		return err
	}
	r.sought = true
	r.vr.SeekTo(off)
	return nil
}

// Next returns the next record, valid until the one after; io.EOF at the end.
// At the end of an archive that grows it may be called again.
func (r *Reader) Next() (*pcp.Result, error) {
	if !r.sought {
		if err := r.Seek(r.origin, r.dir); err != nil {
			return nil, err
		}
	}
	for {
		if err := r.read(r.dir); err != nil {
			return nil, err
		}
		d := r.res.Time.Sub(r.origin)
		if d < 0 && r.dir == Forward || d > 0 && r.dir == Backward {
			continue
		}
		r.origin = r.res.Time
		return &r.res, nil
	}
}

// Body returns the bytes of the record that Next returned, without its length
// words, valid as long as the record.
func (r *Reader) Body() []byte { return r.vr.Body() }

// Position returns the position of the reader: its volume, and the offset behind
// the last record, in the direction of reading.
func (r *Reader) Position() (vol int, off int64) { return r.v.number, r.vr.off }

// place moves to the position of the index closest to a time, which becomes the
// origin. Whole is set if the position is before the time in the direction of
// reading.
//
// It treats a wrong index as __pmLogSetTime in the C library does, so that both
// read as much of a damaged archive.
func (r *Reader) place(to pcp.Timestamp, dir Direction) (whole bool, err error) {
	a := r.a
	r.origin, r.dir, r.sought, r.between = to, dir, true, false
	if len(a.index) == 0 {
		return false, r.Rewind(dir)
	}
	j, match, tooBig := len(a.index), false, false
	first, last := int32(a.vols[0]), int32(a.vols[len(a.vols)-1])
	lastSize := int64(-1)
	for i := range a.index {
		e := &a.index[i]
		if e.Vol < first {
			continue
		}
		if e.Vol == last {
			if lastSize < 0 {
				if lastSize, err = a.volumeSize(int(last)); err != nil {
					return false, err
				}
			}
			if e.Data > lastSize {
				j, tooBig = i, true
				break
			}
		}
		if d := e.Time.Sub(r.origin); d >= 0 {
			j, match = i, d == 0
			break
		}
	}
	whole = true
	switch {
	case match:
		whole = r.dir == Forward
	case j < 1:
		j, dir = 0, Forward
	case j == len(a.index):
		j, dir = len(a.index)-1, Backward
		whole = r.dir == Forward
	default:
		r.between = true
		high := a.index[j].Time.Sub(r.origin)
		low := r.origin.Sub(a.index[j-1].Time)
		if high <= low && !tooBig {
			whole = r.dir == Backward
		} else {
			j--
			whole = r.dir == Forward
		}
	}
	if j, err = r.skipMissing(j, dir); err != nil {
		return false, err
	}
	r.vr.SeekTo(a.index[j].Data)
	return whole, nil
}

// volumeSize returns the size of a volume, 0 if it does not exist.
func (a *Archive) volumeSize(number int) (int64, error) {
	v, _, err := a.volume(number)
	if errors.Is(err, ErrNoVolume) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer a.release(v)
	n, err := v.src.Size()
	if err != nil {
		return 0, fmt.Errorf("%s.%d: %w", a.path, number, err)
	}
	return n, nil
}

// skipMissing opens the volume of entry j, or of the next one in a direction
// whose volume has records, or of one in the other direction, and returns the
// entry.
func (r *Reader) skipMissing(j int, dir Direction) (int, error) {
	ix := r.a.index
	bad := int32(-1)
	for range 2 {
		for k := j; k >= 0 && k < len(ix); k += int(dir) {
			if vol := ix[k].Vol; vol >= 0 && vol != bad {
				ok, err := r.try(int(vol))
				if err != nil {
					return 0, err
				}
				if ok {
					return k, nil
				}
				bad = vol
			}
		}
		dir = -dir
	}
	return 0, fmt.Errorf("%s: no volume for the time wanted: %w", r.a.path, pcp.ErrLogFile)
}

// End returns the time of the last record (pmGetArchiveEnd(3)). If the archive
// is cut that is the last complete record; without records it is an error. If
// volumes at the end cannot be read, it returns the reason and the time of the
// last record before them.
func (a *Archive) End() (pcp.Timestamp, error) {
	last := len(a.vols) - 1
	r := a.NewReader()
	r.quiet = true
	defer r.Close()
	var damaged error
	for i := last; i >= 0; i-- {
		ok, err := r.try(a.vols[i])
		if err != nil && damaged == nil {
			damaged = err
		}
		if !ok {
			continue
		}
		vr := r.vr
		if i == last {
			a.mu.Lock()
			end, same := a.end, vr.size == a.endSize
			a.mu.Unlock()
			if same {
				return end, nil
			}
		}
		if vr.size <= vr.label {
			continue
		}
		t, err := r.endOfVolume(a.vols[i])
		if err == nil {
			if i == last {
				a.mu.Lock()
				a.end, a.endSize = t, vr.size
				a.mu.Unlock()
			}
			return t, damaged
		}
		if !errors.Is(err, errTryOther) {
			return pcp.Timestamp{}, err
		}
	}
	if damaged != nil {
		return pcp.Timestamp{}, damaged
	}
	return pcp.Timestamp{}, fmt.Errorf("%s: no end: %w", a.path, pcp.ErrLogRec)
}

var errTryOther = errors.New("nothing in this volume")

// endOfVolume finds the last complete record of the volume in use.
func (r *Reader) endOfVolume(number int) (pcp.Timestamp, error) {
	vr := r.vr
	vr.SeekTo(vr.size)
	if vr.Prev(&r.res) == nil {
		return r.res.Time, nil
	}
	// The tail is cut: read from the last entry of the index within the file as
	// far as possible.
	start := int64(-1)
	for i := len(r.a.index) - 1; i >= 0; i-- {
		if e := &r.a.index[i]; int(e.Vol) == number && e.Data <= vr.size {
			start = e.Data
			break
		}
	}
	if start < 0 {
		return pcp.Timestamp{}, errTryOther
	}
	vr.SeekTo(start)
	if start > vr.label {
		if err := vr.Prev(&r.res); err != nil {
			return pcp.Timestamp{}, fmt.Errorf("%s.%d: %w", r.a.path, number, err)
		}
	}
	found := false
	var end pcp.Timestamp
	for vr.Next(&r.res) == nil {
		found, end = true, r.res.Time
	}
	if !found {
		return pcp.Timestamp{}, errTryOther
	}
	return end, nil
}
