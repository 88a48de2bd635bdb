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

// A space watches whether the file system has room for an archive, and limits the data kept in memory while it
// is full.
type space struct {
	limit   int64           // of bytes in memory
	tell    func(err error) // Config.Full
	log     journal
	full    bool
	dropped int // samples dropped since it is full
}

// A holder holds data in memory until it can write them, as an archive.Writer does.
type holder interface {
	Held() int64
	Flush() error
}

// roomFor reports whether to take a sample: there is room on the file system, or in memory
// for unwritten data. It tries to write the data in memory.
func (s *space) roomFor(h holder, base string) (bool, error) {
	if !s.full || h.Held() < s.limit {
		return true, nil
	}
	if err := s.check(h.Flush(), base); err != nil || !s.full {
		return err == nil, err
	}
	if s.dropped++; s.dropped == 1 {
		s.log.printf("pmlogger: %d bytes wait in memory for space, samples are dropped from now on\n", h.Held())
	}
	return false, nil
}

// check treats a full file system as a temporary problem: it is logged once, and writing is retried with each
// sample. It returns other errors. The base name of the archive is for the message.
func (s *space) check(err error, base string) error {
	switch {
	case err == nil:
		if s.full {
			s.full = false
			s.log.printf("pmlogger: there is space again for archive %s at %s, %d samples were dropped\n", base, time.Now().Format(time.ANSIC), s.dropped)
			s.dropped = 0
		}
		return nil
	case !archive.NoSpace(err):
		return err
	}
	if !s.full {
		s.full = true
		s.log.printf("pmlogger: Error: %v\npmlogger: the recorder goes on, and writes when there is space again\n", err)
	}
	if s.tell != nil {
		s.tell(err)
	}
	return nil
}
