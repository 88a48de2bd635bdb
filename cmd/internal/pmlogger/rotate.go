package pmlogger

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
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
	if r.out.w == nil {
		return errNotRunning
	}
	if err := r.out.rotate(ctx, base); err != nil {
		return err
	}
	r.dict.begin(r.out.w)
	now := time.Now()
	r.out.count.restart(now)
	r.plan.renew(now)
	r.log.printf("New archive %s at %s\n", base, now.Format(time.ANSIC))
	return nil
}

var (
	errNotRunning = errors.New("the recorder does not run")
	errInvalid    = -pcp.Error(syscall.EINVAL)
)
