package pmcd

import "sync"

// spares is memory that requests have left for others. It may be used from many
// goroutines.
type spares struct {
	bigJobs     sync.Pool // of *fetchJob
	smallJobs   sync.Pool // of *fetchJob
	longReplies sync.Pool // of *[]byte
}

// maxKeepJob is how long a reply may be for the memory of its values to be
// kept for another fetch.
const maxKeepJob = 4 << 20

// bigJob returns memory for a fetch of many metrics, which no client keeps: few
// such fetches are under way at a time.
func (s *spares) bigJob() *fetchJob { return jobOf(&s.bigJobs) }

// smallJob returns memory for the fetches of a client that comes.
func (s *spares) smallJob() *fetchJob { return jobOf(&s.smallJobs) }

func jobOf(pool *sync.Pool) *fetchJob {
	if j, ok := pool.Get().(*fetchJob); ok {
		return j
	}
	return new(fetchJob)
}

// leaveBig and leaveSmall leave the memory of a job to others.
func (s *spares) leaveBig(j *fetchJob) { s.bigJobs.Put(j) }

func (s *spares) leaveSmall(j *fetchJob) { s.smallJobs.Put(j) }

// reply returns the memory of a long reply, or nil if there is none to spare.
func (s *spares) reply() []byte {
	if b, ok := s.longReplies.Get().(*[]byte); ok {
		return *b
	}
	return nil
}

// leaveReply leaves the memory of a reply to others, unless that is too much to
// be kept.
func (s *spares) leaveReply(b []byte) {
	if cap(b) <= maxKeepJob {
		b = b[:0]
		s.longReplies.Put(&b)
	}
}
