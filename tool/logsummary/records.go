package logsummary

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// markGap is how far behind the end of an archive the mark is that stands
// between it and the next one.
const markGap = time.Millisecond

// records reads the records of archives one after the other.
type records struct {
	list    []*archive.Archive // by start
	cur     int
	version int
	rd      *archive.Reader
	marked  bool // the mark behind the archive was read
}

// seek goes to a time, or shortly before it.
func (s *records) seek(to pcp.Timestamp) error {
	for s.cur+1 < len(s.list) && s.list[s.cur+1].Label().Start.Compare(to) < 0 {
		s.cur++
	}
	s.use()
	return s.rd.Approach(to, archive.Forward)
}

func (s *records) use() {
	s.rd, s.version = s.list[s.cur].NewReader(), s.list[s.cur].Version()
}

func (s *records) close() {
	if s.rd == nil {
		return
	}
	s.rd.Close()
	s.rd = nil
	if len(s.list) > 1 {
		s.list[s.cur].CloseIdle()
	}
}

// next returns the contents of the next record, valid until the next call, or
// none and the time of a mark between archives.
func (s *records) next() ([]byte, pcp.Timestamp, error) {
	for {
		body, err := s.rd.Step(archive.Forward)
		if err == nil || !errors.Is(err, io.EOF) || s.cur+1 == len(s.list) {
			return body, pcp.Timestamp{}, err
		}
		end, err := s.list[s.cur].End()
		if err != nil {
			return nil, end, err
		}
		if !s.marked {
			s.marked = true
			return nil, end.Add(markGap), nil
		}
		s.close()
		s.cur++
		s.use()
		s.marked = false
		if err := s.rd.MoveToEnd(archive.Backward); err != nil {
			return nil, end, err
		}
		if a := s.list[s.cur]; end.Compare(a.Label().Start) > 0 {
			return nil, end, fmt.Errorf("%s and %s: %w", s.list[s.cur-1].Path(), a.Path(), pcp.ErrLogOverlap)
		}
	}
}
