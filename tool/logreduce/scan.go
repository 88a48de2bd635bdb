package logreduce

import (
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
	places   []*metric
}

func (s *scan) open(list []*archive.Archive) { s.list = list }

func (s *scan) close() {
	if s.r != nil {
		s.r.Close()
		s.r = nil
	}
}

// next goes to the next record. Between archives there is a mark, a millisecond
// behind the end of the earlier one.
func (s *scan) next() error {
	for {
		if s.r == nil {
			s.r = s.list[s.cur].NewReader()
			if err := s.r.MoveToEnd(archive.Backward); err != nil {
				return err
			}
		}
		a := s.list[s.cur]
		body, err := s.r.Step(archive.Forward)
		if err == nil {
			if !s.sets.Start(body, a.Version()) {
				return fmt.Errorf("%s: %w", a.Path(), pcp.ErrLogRec)
			}
			return nil
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		if s.cur+1 == len(s.list) {
			return io.EOF
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
}

// look notes which instances are recorded up to a time, and copies the marks.
// Like the C tool it also copies the mark that is the first record after that
// time, which it then comes upon again.
func (x *reducer) look(end pcp.Timestamp) error {
	s := &x.scan
	s.interval++
	for {
		if !s.pending {
			err := s.next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				x.complain("doscan: Error: pmFetch failed: %s", cli.ErrText(err))
				return errExit
			}
		}
		s.pending = false
		if s.sets.Sets == 0 {
			if err := x.out.Mark(s.sets.Time); err != nil {
				x.complain("Error: __pmLogWriteMark v%d: %s", x.label.Version, cli.ErrText(err))
				return errExit
			}
		}
		if s.sets.Time.Compare(end) > 0 {
			s.pending = true
			return nil
		}
		if err := x.note(); err != nil {
			return err
		}
	}
}

// note notes the instances of the record.
func (x *reducer) note() error {
	s := &x.scan
	for i := 0; s.sets.Next(); i++ {
		if i == len(s.places) {
			s.places = append(s.places, nil)
		}
		m := s.places[i]
		if m == nil || m.id != s.sets.PMID {
			var known bool
			if m, known = x.byID[s.sets.PMID]; !known && s.sets.Len > 0 {
				x.complain("scan: Arrgh, cannot find pid %s in pidlist[]", s.sets.PMID)
				return errExit
			}
			if m == nil {
				continue
			}
			s.places[i] = m
		}
		if s.sets.Len == 0 {
			continue
		}
		seen := &m.seen
		for k := range s.sets.Len {
			inst := s.sets.Inst(k)
			n := seen.find(inst, seen.scan, k)
			if n < 0 {
				n = seen.add(inst)
			}
			if k < len(seen.scan) {
				seen.scan[k] = n
			} else {
				seen.scan = append(seen.scan, n)
			}
			seen.slots[n].interval = s.interval
		}
	}
	if err := s.sets.Err(); err != nil {
		x.complain("doscan: Error: pmFetch failed: %s", cli.ErrText(err))
		return errExit
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
			if sl := &seen.slots[n]; sl.interval == x.scan.interval || !sl.written {
				sl.written = true
			} else {
				continue
			}
			fmt := vs.ValFmt
			if m.out != m.desc.Type {
				wide, err := v.Extract(m.desc.Type, m.out)
				if err != nil {
					x.complain("rewrite: pmExtractValue failed for pmid %s value %d: %s", m.id, k, cli.ErrText(err))
					return errExit
				}
				v, fmt = wide.WithInst(v.Inst), pcp.ValDPtr
			}
			if first {
				out.AddSet(vs.PMID)
				out.Sets[len(out.Sets)-1].ValFmt = fmt
				first = false
			}
			out.Add(v)
		}
	}
	return nil
}
