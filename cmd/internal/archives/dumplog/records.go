package dumplog

import (
	"errors"
	"io"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// Records reads the records of archives that follow each other, with a mark between two of them.
type records struct {
	archives []*archive.Archive // by time
	dir      archive.Direction
	from     pcp.Timestamp

	r    *archive.Reader // nil before the first record of an archive
	i    int             // of the archive, counted in the direction of reading
	last pcp.Timestamp   // time of the last record
	none bool            // no record of this archive was read
	mark bool            // the last record was a mark

	made   pcp.Result // a mark that no archive has
	isMade bool       // next returned it
}

func (s *records) current() *archive.Archive {
	if s.dir == archive.Backward {
		return s.archives[len(s.archives)-1-s.i]
	}
	return s.archives[s.i]
}

// next returns the next record, which is valid until the next call, or io.EOF.
func (s *records) next() (*pcp.Result, error) {
	s.isMade = false
	for {
		if s.r == nil {
			s.r, s.none = s.current().NewReader(), true
			if err := s.r.Seek(s.from, s.dir); err != nil {
				return nil, err
			}
		}
		res, err := s.r.Next()
		switch {
		case err == nil:
			s.none, s.last, s.mark = false, res.Time, len(res.Sets) == 0
			return res, nil
		case !errors.Is(err, io.EOF) || s.i+1 == len(s.archives):
			return nil, err
		}
		s.close()
		if s.i++; !s.none && !s.mark {
			return s.between(), nil
		}
	}
}

// between returns the mark next to an archive that was read to its end.
func (s *records) between() *pcp.Result {
	after := time.Millisecond
	if s.dir == archive.Backward {
		after = -after
	}
	s.made, s.isMade = pcp.Result{Time: s.last.Add(after)}, true
	return &s.made
}

// body returns the bytes of the record that next returned, without its lengths. They are nil for a mark that no archive has.
func (s *records) body() []byte {
	if s.isMade {
		return nil
	}
	return s.r.Body()
}

// size returns the length of the record that next returned, with its lengths.
func (s *records) size() int {
	if !s.isMade {
		return len(s.r.Body()) + 8
	}
	if s.archives[0].Version() == archive.Version3 {
		return 24
	}
	return 20
}

func (s *records) close() {
	if s.r != nil {
		s.r.Close()
		s.r = nil
	}
}
