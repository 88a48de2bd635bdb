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

// Rotate ends the archive with its epilogue and continues in a new one with that base
// name, which must not exist. It must be called in the goroutine of Run, as by Call.
//
// No sample is lost or late. Metrics recorded once are recorded again, and all metadata are
// written to the new archive: it can be read without the old one. It starts after the end of
// the old one; if the collector is the same, pmlogextract joins the two without a mark.
// Samples and bytes of volumes count from zero, those of Config.Size continue.
//
// If the new archive cannot be created, Rotate returns an error, leaves no files, and the
// recorder continues in the old one. Errors at the end of the old archive are logged: it
// can be read up to its last complete record.
func (r *Recorder) Rotate(ctx context.Context, base string) error {
	if r.w == nil {
		return errNotRunning
	}
	if same, err := samePath(base, r.cfg.Archive); err != nil || same {
		if err == nil {
			err = fmt.Errorf("%s: it is the archive that is written: %w", base, errInvalid)
		}
		return fmt.Errorf("rotate: %w", err)
	}
	// Data held in memory belongs to the old archive.
	err := r.w.Flush()
	if e := r.noted(err); e != nil || err != nil {
		return fmt.Errorf("rotate: %w", err)
	}
	end, last := r.epilogue(ctx)
	old, label := r.w, r.w.Label()
	w, start, err := r.begin(ctx, base, end.Add(archive.MarkGap), label)
	if err != nil {
		return fmt.Errorf("rotate: %w", err)
	}
	if err := errors.Join(old.WriteEpilogue(end, last), old.Close()); err != nil {
		r.log.printf("Warning: problem writing archive epilogue: %v\n", err)
	}
	_, at, _ := old.Position()
	r.bytes += at
	r.w, r.last, r.cfg.Archive = w, start, base
	clear(r.written)
	clear(r.indoms)
	clear(r.labels)
	clear(r.texts)
	now := time.Now()
	r.samples = 0
	if d := r.cfg.Volume.Time; d > 0 {
		r.volume = now.Add(d)
	}
	r.plan.renew(now)
	r.log.printf("New archive %s at %s\n", base, now.Format(time.ANSIC))
	return nil
}

var (
	errNotRunning = errors.New("the recorder does not run")
	errInvalid    = -pcp.Error(syscall.EINVAL)
)

// samePath reports whether two base names are of the same archive.
func samePath(a, b string) (bool, error) {
	a, err := filepath.Abs(a)
	if err != nil {
		return false, err
	}
	b, err = filepath.Abs(b)
	return a == b, err
}

// create creates the first archive.
func (r *Recorder) create(ctx context.Context) error {
	w, start, err := r.begin(ctx, r.cfg.Archive, pcp.Timestamp{}, archive.Label{})
	if err != nil {
		return err
	}
	r.w, r.last = w, start
	return nil
}

// begin creates an archive and writes its prologue, not before a given time. If the
// collector cannot be asked, the zone is that of another label.
func (r *Recorder) begin(ctx context.Context, base string, from pcp.Timestamp, other archive.Label) (*archive.Writer, pcp.Timestamp, error) {
	label := archive.Label{
		PID: int32(os.Getpid()), Host: r.host, Version: r.cfg.Version,
		TimeZone: other.TimeZone, ZoneInfo: other.ZoneInfo,
	}
	if r.cfg.Host != "" {
		label.Host = r.cfg.Host
	}
	now := pcp.TimestampOf(time.Now())
	if t, zone, info, ok := r.zone(ctx); ok {
		now, label.TimeZone, label.ZoneInfo = t, zone, info
	}
	if now.Compare(from) < 0 {
		now = from
	}
	w, err := archive.Create(base, archive.WriterConfig{Label: label, WaitForSpace: true})
	if err != nil {
		return nil, now, err
	}
	if err := w.WritePrologue(now, r.logger(ctx, base, nil)); err != nil {
		return nil, now, errors.Join(err, w.Discard())
	}
	if err := w.Flush(); err != nil {
		return nil, now, errors.Join(err, w.Discard())
	}
	return w, now, nil
}

// epilogue returns the epilogue of the archive, and its time.
func (r *Recorder) epilogue(ctx context.Context) (pcp.Timestamp, *archive.Logger) {
	t := r.last.Add(archive.MarkGap)
	l := r.logger(ctx, r.cfg.Archive, &t)
	if t.Compare(r.last) <= 0 {
		t = r.last.Add(archive.MarkGap)
	}
	return t, l
}
