package pmlogger

import (
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// holdBytes is how much a Recorder keeps in memory while the file system is full, at most,
// but for one sample more.
const holdBytes = 8 << 20

// errNoRoom is why a sample is dropped: -ENOSPC.
var errNoRoom = -pcp.Error(syscall.ENOSPC)

// roomFor reports whether a sample is to be taken: there is room on the file system, or in
// memory for what there is no room for. It tries to write what is in memory.
func (r *Recorder) roomFor() (bool, error) {
	if !r.full || r.w.Held() < r.hold {
		return true, nil
	}
	if err := r.flush(); err != nil || !r.full {
		return err == nil, err
	}
	if r.dropped++; r.dropped == 1 {
		r.printf("%s: %d bytes wait in memory for space, samples are dropped from now on\n", r.name, r.w.Held())
	}
	return false, nil
}

// flush writes what is in memory. If the file system is full, that is not an error, but
// said once: it is tried again with each sample.
func (r *Recorder) flush() error { return r.noted(r.w.Flush()) }

// noted takes a full file system as something that may pass. It returns other errors.
func (r *Recorder) noted(err error) error {
	switch {
	case err == nil:
		if r.full {
			r.full = false
			r.printf("%s: there is space again for archive %s at %s, %d samples were dropped\n", r.name, r.cfg.Archive, time.Now().Format(time.ANSIC), r.dropped)
			r.dropped = 0
		}
		return nil
	case !archive.NoSpace(err):
		return err
	}
	if !r.full {
		r.full = true
		r.printf("%s: Error: %v\n%s: the recorder goes on, and writes when there is space again\n", r.name, err, r.name)
	}
	if r.cfg.Full != nil {
		r.cfg.Full(err)
	}
	return nil
}
