package pmlogger

import (
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// holdBytes is the maximum size of data that a Recorder holds in memory while the file
// system is full, not counting one further sample.
const holdBytes = 8 << 20

// errNoRoom is the error of a dropped sample: -ENOSPC.
var errNoRoom = -pcp.Error(syscall.ENOSPC)

// roomFor reports whether to take a sample: there is room on the file system, or in memory
// for unwritten data. It tries to write the data in memory.
func (r *Recorder) roomFor() (bool, error) {
	if !r.full || r.w.Held() < r.hold {
		return true, nil
	}
	if err := r.flush(); err != nil || !r.full {
		return err == nil, err
	}
	if r.dropped++; r.dropped == 1 {
		r.log.printf("%s: %d bytes wait in memory for space, samples are dropped from now on\n", r.name, r.w.Held())
	}
	return false, nil
}

// flush writes the data in memory. A full file system is not an error; it is logged
// once, and the write is retried with each sample.
func (r *Recorder) flush() error { return r.noted(r.w.Flush()) }

// noted treats a full file system as a temporary problem. It returns other errors.
func (r *Recorder) noted(err error) error {
	switch {
	case err == nil:
		if r.full {
			r.full = false
			r.log.printf("%s: there is space again for archive %s at %s, %d samples were dropped\n", r.name, r.cfg.Archive, time.Now().Format(time.ANSIC), r.dropped)
			r.dropped = 0
		}
		return nil
	case !archive.NoSpace(err):
		return err
	}
	if !r.full {
		r.full = true
		r.log.printf("%s: Error: %v\n%s: the recorder goes on, and writes when there is space again\n", r.name, err, r.name)
	}
	if r.cfg.Full != nil {
		r.cfg.Full(err)
	}
	return nil
}
