package logextract

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A merger is the state of merging the inputs.
type merger struct {
	version int  // of the output
	written int  // records and marks
	started bool // a record is written

	current  pcp.Timestamp // of the last record or mark
	volStart pcp.Timestamp

	flushAt int64         // offset after which the index gets an entry
	indexed pcp.Timestamp // time of the last one
	oldData int64         // offset of the last record, or of its end if it has an entry
	oldMeta int64         // end of the metadata before the last record
	copier  *archive.Copier
	buf     []byte // of metadata
}

// indexBytes is the number of bytes between entries of the index.
const indexBytes = 100_000

// merge copies the selected data of the inputs, in the order of time.
func (x *extractor) merge() error {
	x.flushAt = indexBytes
	x.progress = cli.NewProgress(x.env, x.env.ProgName(), x.watch())
	defer x.progress.Clear()
	seek := x.winStart.Sec >= 0
	live := 0
	for _, in := range x.inputs {
		if !in.empty {
			live++
		}
	}
	// With several inputs, marks depend on the records before the window.
	if seek && live == 1 {
		x.firstInput().vols.seek(x.winStart)
	}
	for x.samples < 0 || x.written < x.samples {
		_, _, x.oldMeta = x.out.Position()
		if more, err := x.readAhead(); err != nil || !more {
			if err != nil {
				return err
			}
			break
		}
		in := x.earliest()
		now := in.last
		if in.have {
			now = in.rec.Time
		}
		if now.Compare(x.end) > 0 {
			break
		}
		if x.bounded && now.Compare(x.winEnd) > 0 {
			if !x.daily || !x.nextDay() {
				break
			}
			if err := x.skipDay(); err != nil {
				return err
			}
			continue
		}
		x.current = now
		if !in.have {
			if err := x.endInput(in); err != nil {
				return err
			}
			continue
		}
		if err := x.writeRecord(in); err != nil {
			return err
		}
		in.have = false
	}
	if !x.started {
		x.complain("Warning: no qualifying records found.")
		return errAbandon
	}
	var err error
	if !x.seven || x.indexed != x.current {
		_, data, meta := x.out.Position()
		err = x.out.IndexAt(x.current, meta, min(x.oldData, data))
	}
	if err == nil {
		err = x.out.Close()
	}
	if err != nil {
		return x.writeFailed("__pmLogPutResult: log data", err)
	}
	return nil
}

// readAhead reads the next selected record of each input. It returns false at the end
// of all inputs.
func (x *extractor) readAhead() (more bool, err error) {
	for _, in := range x.inputs {
		if in.ended {
			continue
		}
		if !in.mark && !in.have {
			if err := x.read(in); err != nil {
				return false, err
			}
		}
		more = more || !in.ended
	}
	return more, nil
}

// read reads the next selected record of an input.
func (x *extractor) read(in *input) error {
	version := in.a.Version()
	for {
		body, err := in.vols.next()
		var r record
		if err == nil {
			// Records before the window are only examined for the state of pmcd.
			t, n, ok := archive.RecordTime(body, version)
			if ok && n != 5 && t.Compare(x.winStart) < 0 {
				in.last = t
				in.number++
				continue
			}
			if r, err = in.scanner.scan(body, version, x.md.metric); err != nil {
				err = &badRecord{in.vols.offset(), in.vols.size, pcp.ErrLogRec}
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				x.complain("Error: __pmLogRead[log %s]: %s", in.name, errText(err))
				x.report(err)
				if !errors.Is(err, pcp.ErrLogRec) {
					return errAbandon
				}
			}
			in.scanner = nil // its cache of layouts may be large
			if x.started {
				in.mark = true
			} else {
				in.ended = true
			}
			return nil
		}
		in.last = r.Time
		in.number++
		if len(r.Sets) == 5 {
			in.pmcd(&r, func(what string, err error) {
				x.complain("Warning: failed to get %s from %s at record %d: %s", what, in.name, in.number, errText(err))
			})
		}
		if r.Time.Compare(x.winStart) < 0 {
			continue
		}
		if len(r.Sets) > 0 && (x.sel != nil || len(x.md.skipped) > 0) && !x.pick(in.scanner, &r) {
			continue
		}
		in.rec, in.have = r, true
		return nil
	}
}

// pick reduces a record to the selected parts, and reports whether any are left.
func (x *extractor) pick(s *scanner, r *record) bool {
	s.parts, s.metrics, s.picks = s.parts[:0], s.metrics[:0], s.picks[:0]
	whole := true
	// As in version 6 of the C tool, the previously examined set, at first the last
	// one, decides whether instances are picked. In version 7 it is the set itself.
	stale := numval(&r.Sets[len(r.Sets)-1])
	for i := range r.Sets {
		set, m := &r.Sets[i], r.metrics[i]
		if x.seven {
			stale = numval(set)
		}
		if m.skip || x.sel != nil && m.want == nil {
			whole = false
			continue
		}
		p := archive.Part{Set: *set}
		if x.sel != nil && !m.want.all && stale > 0 {
			if p.Pick = s.find(r, set, m.want.insts); p.Pick == nil {
				stale = numval(set)
			} else {
				whole, stale = false, len(p.Pick)
			}
		}
		s.parts, s.metrics = append(s.parts, p), append(s.metrics, m)
	}
	if !whole {
		r.parts, r.metrics = s.parts, s.metrics
	}
	return len(s.parts) > 0
}

// find finds the values of instances in a set. It returns nil if these are all its
// values in the order in which they are.
func (s *scanner) find(r *record, set *archive.Set, insts []int32) []int {
	from := len(s.picks)
	if set.Len > 0 {
		values := r.Values(set)
		for _, inst := range insts {
			for k := range set.Len {
				if int32(be(values[8*k:])) == inst {
					s.picks = append(s.picks, k)
					break
				}
			}
		}
	}
	list := s.picks[from:]
	if len(list) == numval(set) && inOrder(list) {
		return nil
	}
	if len(list) == 0 {
		return []int{}
	}
	return list
}

// inOrder reports whether a list is 0, 1, 2...
func inOrder(list []int) bool {
	for i, k := range list {
		if k != i {
			return false
		}
	}
	return true
}

// earliest returns the input with the earliest record or mark.
func (x *extractor) earliest() *input {
	var first *input
	var when pcp.Timestamp
	for _, in := range x.inputs {
		var t pcp.Timestamp
		switch {
		case in.have:
			t = in.rec.Time
		case in.mark:
			t = in.last.Add(archive.MarkGap)
		default:
			continue
		}
		if first == nil || t.Compare(when) < 0 {
			first, when = in, t
		}
	}
	return first
}

// endInput handles the end of an input. It writes a mark, unless no other input has more records or the
// next record continues this input.
func (x *extractor) endInput(in *input) error {
	in.mark, in.ended = false, true
	if x.continues(in) {
		return nil
	}
	if !slices.ContainsFunc(x.inputs, func(other *input) bool { return !other.ended && !other.mark }) {
		return nil
	}
	in.last = in.last.Add(archive.MarkGap)
	return x.writeMark(in.last)
}

// continues reports whether the next records are from the same pmcd without
// interruption, according to prologue and epilogue.
func (x *extractor) continues(in *input) bool {
	if x.oldMarks || in.pid == -1 || in.seqnum == -1 {
		return false
	}
	var next *input
	for _, other := range x.inputs {
		if other != in && other.have && (next == nil || other.rec.Time.Compare(next.rec.Time) < 0) {
			next = other
		}
	}
	return next != nil && next.pid == in.pid && next.seqnum == in.seqnum
}

func (x *extractor) writeMark(t pcp.Timestamp) error {
	x.current = t
	if err := x.out.Mark(t); err != nil {
		x.complain("__pmLogWriteMark failed: %s", errText(err))
		return errAbandon
	}
	x.written++
	return nil
}

// nextDay moves the window of -w to the next day. It returns false if that is after the
// end.
func (x *extractor) nextDay() bool {
	x.winStart.Sec += secPerDay
	x.winEnd.Sec += secPerDay
	return x.winStart.Compare(x.end) <= 0
}

// skipDay drops records before the window and marks the gap.
func (x *extractor) skipDay() error {
	for _, in := range x.inputs {
		if in.have && in.rec.Time.Compare(x.winStart) < 0 {
			in.have = false
		}
	}
	if !x.started {
		return nil // no archive starts with a mark
	}
	return x.writeMark(x.current.Add(archive.MarkGap))
}

// writeRecord writes a record and the metadata that it needs.
func (x *extractor) writeRecord(in *input) error {
	r := &in.rec
	if x.seven {
		if left, err := x.cull(in, r); err != nil || !left {
			return err
		}
	}
	if !x.started {
		if err := x.out.SetStart(r.Time); err != nil {
			return x.writeFailed("__pmLogPutResult: log data", err)
		}
		x.started, x.volStart = true, r.Time
	}
	body := x.copier.Body(r.Record, r.parts)
	if x.wantsVolume(r.Time, int64(len(body)+frame)) {
		if err := x.newVolume(r.Time); err != nil {
			return err
		}
	}
	needIndex, err := x.writeMeta(r)
	if err != nil {
		return err
	}
	_, old, _ := x.out.Position()
	if err := x.out.WriteRecord(r.Time, body); err != nil {
		return x.writeFailed("__pmLogPutResult: log data", err)
	}
	x.written++
	_, now, meta := x.out.Position()
	x.oldData = old
	// A record with the time 0 has no entry, as in C.
	if (needIndex || old == int64(archive.LabelSize(x.version)) || now > x.flushAt) && r.Time.Compare(pcp.Timestamp{}) > 0 {
		if !x.seven || x.indexed != r.Time { // PCP 7 has one entry for a time
			if err := x.out.IndexAt(r.Time, x.oldMeta, old); err != nil {
				return x.writeFailed("__pmLogPutResult: log data", err)
			}
			x.indexed = r.Time
		}
		x.oldData, x.oldMeta = now, meta
		x.flushAt = now + indexBytes
	}
	return nil
}

// wantsVolume reports whether a record of a size in bytes needs a new volume. With -D appl5 it prints all reasons, as PCP 7 does.
func (x *extractor) wantsVolume(t pcp.Timestamp, size int64) bool {
	_, pos, _ := x.out.Position()
	limit := int64(math.MaxInt64)
	if x.version == archive.Version2 {
		limit = math.MaxInt32
	}
	if x.volumeBytes > 0 {
		limit = min(limit, x.volumeBytes)
	}
	records := x.volumeRecords > 0 && x.written > 0 && x.written%x.volumeRecords == 0
	bytes := pos+size > limit
	span := x.volumeTime > 0 && t.Sub(x.volStart) > x.volumeTime.Seconds()
	if x.traceVolumes {
		if records {
			fmt.Fprintf(x.env.Stderr, "vol switch record count %d\n", x.written)
		}
		if bytes {
			fmt.Fprintf(x.env.Stderr, "vol switch volume size %d now, next record %d bytes\n", pos, size)
		}
		if span {
			fmt.Fprintf(x.env.Stderr, "vol switch volume timespan after next record %.9f sec\n", t.Sub(x.volStart))
		}
	}
	return records || bytes || span
}

func (x *extractor) newVolume(t pcp.Timestamp) error {
	vol, _, _ := x.out.Position()
	if err := x.out.NewVolume(); err != nil {
		x.complain("Error: volume %d: %s", vol+1, errText(err))
		return errAbandon
	}
	local := t.Time().In(x.loc)
	x.complain("New log volume %d, at %s", vol+1, fmt.Sprintf("%s.%09d", local.Format("15:04:05"), t.Nsec))
	x.flushAt, x.volStart = indexBytes, t
	return nil
}

// watch makes all inputs report their progress, and returns the total number of bytes.
func (x *extractor) watch() (total int64) {
	for _, in := range x.inputs {
		if in.empty {
			continue
		}
		for _, number := range in.a.Volumes() {
			if n, err := archive.FileSize(in.a.Path() + "." + strconv.Itoa(number)); err == nil {
				total += n
			}
		}
		in.vols.done = func(n int64) { x.progress.Add(n) }
	}
	return total
}
