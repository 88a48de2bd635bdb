package pmlogger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// An output is the archive that a recorder writes, and after a rotation the next one.
type output struct {
	w    *archive.Writer // nil before create
	base string
	last pcp.Timestamp // time of the last record
	used bool          // there is a sample in it
	by   author
	from *collector
	log  journal

	count tally
	space space

	metaBytes int64 // Config.MetaBytes
}

// An author has what an archive records about its writer.
type author struct {
	version   int
	host, url string // Config.Host and Config.URL
	logger    string // Config.LoggerHost
	port      int
}

// prologue returns the contents of the prologue and of the epilogue of an archive, without the collector's part.
func (a *author) prologue(base string) *archive.Logger {
	path, err := filepath.Abs(base)
	if err != nil {
		path = base
	}
	if a.url != "" {
		path = a.url
	}
	host := a.logger
	if host == "" {
		if host, err = os.Hostname(); err != nil {
			host = "unknown"
		}
	}
	return &archive.Logger{PID: int32(os.Getpid()), Host: host, Port: uint32(a.port), Archive: path}
}

// create creates the first archive.
func (o *output) create(ctx context.Context) error {
	w, start, err := o.begin(ctx, o.base, pcp.Timestamp{}, archive.Label{})
	if err != nil {
		return err
	}
	o.w, o.last = w, start
	return nil
}

// begin creates an archive and writes its prologue, not before a given time. If the
// collector cannot be asked, the zone is that of another label.
func (o *output) begin(ctx context.Context, base string, from pcp.Timestamp, other archive.Label) (*archive.Writer, pcp.Timestamp, error) {
	label := archive.Label{
		PID: int32(os.Getpid()), Host: o.from.host, Version: o.by.version,
		TimeZone: other.TimeZone, ZoneInfo: other.ZoneInfo,
	}
	if o.by.host != "" {
		label.Host = o.by.host
	}
	now := pcp.TimestampOf(time.Now())
	if t, zone, info, ok := o.from.zone(ctx); ok {
		now, label.TimeZone, label.ZoneInfo = t, zone, info
	} else if t, _, _, ok := o.from.process(ctx); ok {
		now = t // not our time, before which a host whose clock is behind could not be recorded
	}
	if now.Compare(from) < 0 {
		now = from
	}
	w, err := archive.Create(base, archive.WriterConfig{Label: label, MetaBytes: o.metaBytes, WaitForSpace: true})
	if err != nil {
		return nil, now, err
	}
	l := o.by.prologue(base)
	_, l.PMCDPID, l.SeqNum, _ = o.from.process(ctx)
	if err := w.WritePrologue(now, l); err != nil {
		return nil, now, errors.Join(err, w.Discard())
	}
	if err := w.Flush(); err != nil {
		return nil, now, errors.Join(err, w.Discard())
	}
	return w, now, nil
}

// epilogue returns the epilogue of the archive, and its time.
func (o *output) epilogue(ctx context.Context) (pcp.Timestamp, *archive.Logger) {
	l := o.by.prologue(o.base)
	t, pid, seq, _ := o.from.process(ctx)
	l.PMCDPID, l.SeqNum = pid, seq
	if t.Compare(o.last) <= 0 {
		t = o.last.Add(archive.MarkGap)
	}
	return t, l
}

// close writes the epilogue of the archive, and closes it.
func (o *output) close(ctx context.Context) error {
	t, l := o.epilogue(ctx)
	if err := o.w.WriteEpilogue(t, l); err != nil {
		o.log.printf("Warning: problem writing archive epilogue: %v\n", err)
	}
	return o.w.Close()
}

// rotate ends the archive and continues in another one, as Recorder.Rotate describes.
func (o *output) rotate(ctx context.Context, base string) error {
	if same, err := samePath(base, o.base); err != nil || same {
		if err == nil {
			err = fmt.Errorf("%s: it is the archive that is written: %w", base, errInvalid)
		}
		return fmt.Errorf("rotate: %w", err)
	}
	// Data held in memory belongs to the old archive.
	err := o.w.Flush()
	if e := o.space.check(err, o.base); e != nil || err != nil {
		return fmt.Errorf("rotate: %w", err)
	}
	end, last := o.epilogue(ctx)
	old, label := o.w, o.w.Label()
	w, start, err := o.begin(ctx, base, end.Add(archive.MarkGap), label)
	if err != nil {
		return fmt.Errorf("rotate: %w", err)
	}
	if err := errors.Join(old.WriteEpilogue(end, last), old.Close()); err != nil {
		o.log.printf("Warning: problem writing archive epilogue: %v\n", err)
	}
	_, at, _ := old.Position()
	o.count.begin(at)
	o.w, o.last, o.base = w, start, base
	return nil
}

// samePath reports whether two base names are of the same archive.
func samePath(a, b string) (bool, error) {
	a, err := filepath.Abs(a)
	if err != nil {
		return false, err
	}
	b, err = filepath.Abs(b)
	return a == b, err
}

// stamp returns the time of the next record: that of its values, unless it is before the last record, or before
// the mark that a restarted agent needs. If a clock was set back, records are a millisecond apart until it has caught up, since
// readers of series and databases keep one value for a time.
func (o *output) stamp(t pcp.Timestamp, restarted bool) pcp.Timestamp {
	if t.Compare(o.last) < 0 {
		// A clock was set back. Records of an archive are in order of time.
		o.log.printf("pmlogger: the time of the collector went back by %.6f sec, the record gets the time after the last one\n", o.last.Sub(t))
		t = o.last.Add(time.Millisecond)
	}
	if mark := o.last.Add(archive.MarkGap); restarted && t.Compare(mark) < 0 {
		t = mark // after the mark
	}
	return t
}

// put writes a record with room for its length words, and returns its length.
func (o *output) put(t pcp.Timestamp, record []byte) (int64, error) {
	vol, before, _ := o.w.Position()
	if err := o.w.WriteFramed(t, record); err != nil {
		return 0, err
	}
	now, after, _ := o.w.Position()
	if now != vol { // a limit of the format or the system
		o.count.bytes += before
		before = int64(archive.LabelSize(o.w.Label().Version))
	}
	o.last, o.used = t, true
	return after - before, nil
}

// atLimit marks the error of a file that reaches its limit, unless a new archive would reach
// it with the first sample again.
func (o *output) atLimit(err error) error {
	if o.used && errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// mark writes a mark: values before and after it are not related.
func (o *output) mark() error {
	if o.last.IsZero() {
		return nil
	}
	t := o.last.Add(archive.MarkGap)
	o.last = t
	return o.w.Mark(t)
}

// flush writes the data in memory. A full file system is not an error.
func (o *output) flush() error { return o.space.check(o.w.Flush(), o.base) }

// room reports whether to take a sample.
func (o *output) room() (bool, error) { return o.space.roomFor(o.w, o.base) }

// size returns the size of the volume.
func (o *output) size() int64 {
	_, at, _ := o.w.Position()
	return at
}

// sampled counts a sample, and ends the recorder or the volume at its limit.
func (o *output) sampled() error {
	at := o.size()
	if err := o.count.sample(at); err != nil {
		return err
	}
	if o.count.full() {
		if err := o.newVolume("sample counter"); err != nil {
			return err
		}
		at = o.size()
	}
	if o.count.large(at) {
		return o.newVolume("sample byte size")
	}
	return nil
}

// newVolume starts a volume, and logs the reason. Without space for it the old one
// continues until the next sample.
func (o *output) newVolume(why string) error {
	at := o.size()
	if o.count.spent(at) {
		return ErrByteLimit
	}
	if err := o.w.NewVolume(); err != nil {
		return o.space.check(err, o.base)
	}
	o.count.begin(at)
	vol, _, _ := o.w.Position()
	o.log.printf("New log volume %d, via %s at %s\n", vol, why, time.Now().Format(time.ANSIC))
	return nil
}
