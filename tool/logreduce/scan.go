package logreduce

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/tool/cli"
)

// A scan reads all records of the input once, up to the end of one interval
// after the other.
type scan struct {
	list     []*archive.Archive
	cur      int
	r        *archive.Reader
	sets     archive.SetScanner
	pending  bool   // the record in sets is behind the last interval
	interval uint32 // number of the interval
	metrics  map[pcp.PMID]*metric
	places   []*metric // of the last record: mostly the same again
}

func (s *scan) close() {
	if s.r != nil {
		s.r.Close()
		s.r = nil
	}
}

// next goes to the next record. Between archives there is a mark, a millisecond
// behind the end of the earlier one.
func (s *scan) next() error {
	if s.r == nil {
		s.r = s.list[s.cur].NewReader()
		if err := s.r.MoveToEnd(archive.Backward); err != nil {
			return err
		}
	}
	a := s.list[s.cur]
	body, err := s.r.Step(archive.Forward)
	if err == nil {
		if !s.sets.Start(body, a.Version()) || !validStamp(body, a.Version()) {
			return fmt.Errorf("%s: %w", a.Path(), pcp.ErrLogRec)
		}
		return nil
	}
	if !errors.Is(err, io.EOF) || s.cur+1 == len(s.list) {
		return err
	}
	s.close()
	s.cur++
	end, err := a.End()
	if err != nil {
		return err
	}
	s.sets = archive.SetScanner{Time: end.Add(time.Millisecond)}
	return nil
}

// validStamp reports whether the time of a record is one. A fraction of a second that is a second
// or more would put the record into another interval than its neighbours do.
func validStamp(body []byte, version int) bool {
	if version >= archive.Version3 {
		return binary.BigEndian.Uint32(body[8:]) < 1e9
	}
	return binary.BigEndian.Uint32(body[4:]) < 1e6
}

// A finding is what the scan of an interval came to.
type finding struct {
	marks []pcp.Timestamp
	err   error
}

// A scanMessage is an error with the words of the C tool.
type scanMessage string

func (m scanMessage) Error() string { return string(m) }

// run scans interval after interval, beside the fetching of their values: what
// it finds out about instances may be used between an answer and the next
// request.
func (s *scan) run(ends <-chan pcp.Timestamp, found chan<- finding) {
	for end := range ends {
		marks, err := s.look(end)
		found <- finding{marks, err}
	}
	s.close()
	close(found)
}

// look notes which instances are recorded up to a time, and finds the marks.
// Like the C tool it also has the mark that is the first record after that
// time, which it then comes upon again.
func (s *scan) look(end pcp.Timestamp) (marks []pcp.Timestamp, err error) {
	s.interval++
	for {
		if !s.pending {
			err := s.next()
			if errors.Is(err, io.EOF) {
				return marks, nil
			}
			if err != nil {
				return nil, scanMessage("doscan: Error: pmFetch failed: " + cli.ErrText(err))
			}
		}
		s.pending = false
		if s.sets.Sets == 0 {
			marks = append(marks, s.sets.Time)
		}
		if s.sets.Time.Compare(end) > 0 {
			s.pending = true
			return marks, nil
		}
		if err := s.note(); err != nil {
			return nil, err
		}
	}
}

// note notes the instances of the record.
func (s *scan) note() error {
	for i := 0; s.sets.Next(); i++ {
		if i == len(s.places) {
			s.places = append(s.places, nil)
		}
		m := s.places[i]
		if m == nil || m.id != s.sets.PMID {
			var known bool
			if m, known = s.metrics[s.sets.PMID]; !known && s.sets.Len > 0 {
				return scanMessage("scan: Arrgh, cannot find pid " + s.sets.PMID.String() + " in pidlist[]")
			}
			if m == nil {
				continue
			}
			s.places[i] = m
		}
		if n := s.sets.Len; n > 0 {
			m.seen.note(&s.sets, n, s.interval)
		}
	}
	if err := s.sets.Err(); err != nil {
		return scanMessage("doscan: Error: pmFetch failed: " + cli.ErrText(err))
	}
	return nil
}

// rewrite makes x.result of what was fetched: of the instances that were
// recorded in the interval, or never had a value in the output.
func (x *reducer) rewrite(in *pcp.Result) error {
	out := &x.result
	out.Reset()
	out.Time = in.Time
	for i := range in.Sets {
		vs, m := &in.Sets[i], x.metrics[i]
		if len(vs.Values) == 0 {
			out.AddError(vs.PMID, vs.Err)
			continue
		}
		first := true
		seen := &m.seen
		for k, v := range vs.Values {
			n := seen.find(v.Inst, seen.fetch, k)
			if n < 0 {
				x.complain("rewrite: Arrgh: cannot find inst %d in value_t list for %s (%s)", v.Inst, m.name, m.id)
				return errExit
			}
			if k < len(seen.fetch) {
				seen.fetch[k] = n
			} else {
				seen.fetch = append(seen.fetch, n)
			}
			if sl := &seen.slots[n]; seen.recorded(sl, x.scan.interval) || !sl.written {
				sl.written = true
			} else {
				continue
			}
			if m.out != m.desc.Type {
				wide, err := v.Extract(m.desc.Type, m.out)
				if err != nil {
					x.complain("rewrite: pmExtractValue failed for pmid %s value %d: %s", m.id, k, cli.ErrText(err))
					return errExit
				}
				v = wide.WithInst(v.Inst)
			}
			if first {
				out.AddSet(vs.PMID)
				first = false
			}
			out.Add(v)
		}
		if !first && m.out == m.desc.Type {
			out.Sets[len(out.Sets)-1].ValFmt = vs.ValFmt // of floating point numbers there are two
		}
	}
	return nil
}
