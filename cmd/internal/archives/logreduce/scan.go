package logreduce

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A scan reads all records of the input once, interval by interval.
type scan struct {
	in       *archive.Scanner
	rec      *archive.Record
	pending  bool   // rec is after the last interval
	interval uint32 // number of the interval
	metrics  map[pcp.PMID]*metric
	places   []*metric // of the last record; mostly unchanged

	// The layout of the last record, 0 if unknown, and its interval.
	layout int
	noted  uint32
}

// validStamp reports whether the time of a record is valid. A fraction of a second or more would
// put the record into a different interval than its neighbours.
func validStamp(body []byte, version int) bool {
	if version >= archive.Version3 {
		return binary.BigEndian.Uint32(body[8:]) < 1e9
	}
	return binary.BigEndian.Uint32(body[4:]) < 1e6
}

// A finding is the result of scanning an interval.
type finding struct {
	marks []pcp.Timestamp
	err   error
}

// A scanMessage is an error with the words of the C tool.
type scanMessage string

func (m scanMessage) Error() string { return string(m) }

// run scans interval after interval, concurrently with the fetching of their values:
// its findings about instances may be used between an answer and the next request.
func (s *scan) run(ends <-chan pcp.Timestamp, found chan<- finding) {
	for end := range ends {
		marks, err := s.look(end)
		found <- finding{marks, err}
	}
	s.in.Close()
	close(found)
}

// look notes the instances that are recorded up to a time, and finds the marks. Like
// the C tool it also includes a mark that is the first record after that time, which it
// then finds again.
func (s *scan) look(end pcp.Timestamp) (marks []pcp.Timestamp, err error) {
	s.interval++
	for {
		if !s.pending {
			rec, err := s.in.Next()
			if errors.Is(err, io.EOF) {
				return marks, nil
			}
			if err == nil && rec.Body != nil && !validStamp(rec.Body, rec.Version) {
				err = pcp.ErrLogRec
			}
			if err != nil {
				return nil, scanMessage("doscan: Error: pmFetch failed: " + cli.ErrText(err))
			}
			s.rec = rec
		}
		s.pending = false
		if len(s.rec.Sets) == 0 {
			marks = append(marks, s.rec.Time)
		}
		if s.rec.Time.Compare(end) > 0 {
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
	// All records of a layout have the same metrics for values in blocks.
	again := s.rec.Layout != 0 && s.rec.Layout == s.layout && s.noted == s.interval
	s.layout, s.noted = s.rec.Layout, s.interval
	for i := range s.rec.Sets {
		set := &s.rec.Sets[i]
		if again && set.ValFmt != pcp.ValInSitu {
			continue
		}
		if i == len(s.places) {
			s.places = append(s.places, nil)
		}
		m := s.places[i]
		if m == nil || m.id != set.PMID {
			var known bool
			if m, known = s.metrics[set.PMID]; !known && set.Len > 0 {
				return scanMessage("scan: Arrgh, cannot find pid " + set.PMID.String() + " in pidlist[]")
			}
			if m == nil {
				continue
			}
			s.places[i] = m
		}
		if set.Len > 0 {
			m.seen.note(s.rec.Values(set), s.interval)
		}
	}
	return nil
}

// rewrite fills x.result from the fetched values of the instances that were recorded in
// the interval, or never had a value in the output.
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
