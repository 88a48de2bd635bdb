package logsummary

import (
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/replay"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A fatalError is a value that makes the tool give up.
type fatalError struct {
	warning string // message for -v
}

func (e *fatalError) Error() string { return "value without a number" }

// A set locates the values of a metric in a record.
type set struct {
	m      *metric
	values int32 // offset of the first value in the record
	n      int32
	inSitu bool
}

// A plan is the sets of a record for each worker.
type plan struct {
	sets   [workers][]set
	errors bool // there are sets with errors
}

// A record is a record in a batch: its sets, those of each worker in the batch's own
// list or in the plan of the records with the same layout. A record without sets is a
// mark.
type record struct {
	now        int64
	start, end int // in the batch
	mark       bool
	plan       *plan
	sets       [workers][2]int32 // in batch.sets
}

// A batch is a number of records, with the sets for each worker.
type batch struct {
	buf     []byte
	records []record
	sets    [workers][]set
	refs    atomic.Int32
}

const (
	workers   = 2
	batches   = 4
	batchSize = 256 << 10
)

// A scanner reads records and distributes their sets.
type scanner struct {
	t       *tool
	second  bool // pass
	base    pcp.Timestamp
	load    [workers]int // values in a record of the metrics of each worker
	elapsed [workers]interval
	plans   [archive.MaxLayouts + 1]*plan // by layout
	prev    *metric                       // of the set before
	head    *metric                       // of the first set of the last record

	batch  *batch
	free   chan *batch
	work   [workers]chan *batch
	wg     sync.WaitGroup
	inline bool
	fatal  atomic.Pointer[fatalError]
}

// scan processes the records of the window.
func (t *tool) scan(set *replay.Set, second bool) error {
	s := &scanner{t: t, second: second, base: t.base}
	// Warnings are in the order of the records.
	s.inline = t.warn || t.trace != 0 || runtime.GOMAXPROCS(0) == 1
	s.begin()
	err := s.read(set)
	s.end()
	if f := s.fatal.Load(); f != nil {
		return f
	}
	return err
}

func (s *scanner) begin() {
	if s.inline {
		s.batch = new(batch)
		return
	}
	s.free = make(chan *batch, batches)
	for range batches {
		s.free <- new(batch)
	}
	s.batch = <-s.free
	for w := range s.work {
		s.work[w] = make(chan *batch, batches)
		s.wg.Go(func() {
			for b := range s.work[w] {
				s.run(b, w)
				if b.refs.Add(-1) == 0 {
					s.free <- b
				}
			}
		})
	}
}

func (s *scanner) end() {
	s.flush()
	if s.inline {
		return
	}
	for _, c := range s.work {
		close(c)
	}
	s.wg.Wait()
}

// flush hands over the batch.
func (s *scanner) flush() {
	b := s.batch
	if s.inline {
		for w := range s.work {
			s.run(b, w)
		}
	} else {
		b.refs.Store(workers)
		for _, c := range s.work {
			c <- b
		}
		b = <-s.free
	}
	b.buf, b.records = b.buf[:0], b.records[:0]
	for w := range b.sets {
		b.sets[w] = b.sets[w][:0]
	}
	s.batch = b
}

// read reads the records of the window into batches.
func (s *scanner) read(set *replay.Set) error {
	in := archive.NewScanner(set.Archives()...)
	defer in.Close()
	origin, finish := s.t.window.Start, s.t.window.Finish
	var progress *cli.Progress
	if !s.inline { // else there may be warnings
		progress = cli.NewProgress(s.t.env, s.t.env.ProgName(), 0)
		defer progress.Clear()
	}
	if err := in.Seek(origin); err != nil {
		return err
	}
	for rec, err := range in.Records() {
		if err != nil {
			return err
		}
		// A record that goes back in time is skipped, and a record after the window
		// ends the scan.
		if rec.Time.Compare(origin) < 0 {
			continue
		}
		if micro(rec.Time).Compare(finish) > 0 {
			return nil
		}
		s.take(rec)
		origin = rec.Time
		if s.inline || len(s.batch.buf) >= batchSize {
			s.flush()
			progress.SetTime(rec.Time, s.t.window.Start, finish)
		}
		if s.fatal.Load() != nil {
			return nil
		}
	}
	return nil
}

// relative converts a time to the form that instances use. It clamps times 70,000 years
// away from 1970.
func (s *scanner) relative(t pcp.Timestamp) int64 {
	const most = math.MaxInt64 / 4_000_000
	sec := min(max(t.Sec, -most), most) - min(max(s.base.Sec, -most), most)
	return sec*1e6 + int64(t.Nsec/1000-s.base.Nsec/1000)
}

// absolute is the inverse of relative.
func absolute(base pcp.Timestamp, now int64) pcp.Timestamp {
	us := now%1e6 + int64(base.Nsec/1000)
	t := pcp.Timestamp{Sec: base.Sec + now/1e6 + us/1e6, Nsec: int32(us%1e6) * 1000}
	if t.Nsec < 0 {
		t.Sec, t.Nsec = t.Sec-1, t.Nsec+1e9
	}
	return t
}

// take adds a record to the batch.
func (s *scanner) take(in *archive.Record) {
	b := s.batch
	rec := record{now: s.relative(in.Time), start: len(b.buf), mark: len(in.Sets) == 0}
	b.buf = append(b.buf, in.Body...)
	rec.end = len(b.buf)
	p := s.plans[in.Layout]
	if rec.mark || p != nil {
		rec.plan = p
		b.records = append(b.records, rec)
		if p != nil && p.errors && s.t.warn {
			s.warnErrors(in.Sets)
		}
		return
	}
	lens := [workers]int{len(b.sets[0]), len(b.sets[1])}
	failed := false
	for i := range in.Sets {
		x := &in.Sets[i]
		if x.Len == 0 {
			failed = failed || x.Status < 0
			continue
		}
		if m := s.metric(x.PMID, i == 0, x.Len); m.known {
			b.sets[m.owner] = append(b.sets[m.owner], set{m, int32(x.At), int32(x.Len), x.ValFmt == pcp.ValInSitu})
		}
	}
	for w, l := range lens {
		rec.sets[w] = [2]int32{int32(l), int32(len(b.sets[w]))}
	}
	b.records = append(b.records, rec)
	if failed && s.t.warn {
		s.warnErrors(in.Sets)
	}
	if in.Layout != 0 {
		s.plans[in.Layout] = &plan{[workers][]set{slices.Clone(b.sets[0][lens[0]:]), slices.Clone(b.sets[1][lens[1]:])}, failed}
	}
}

// warnErrors warns about sets that have an error instead of values.
func (s *scanner) warnErrors(sets []archive.Set) {
	for i := range sets {
		if sets[i].Status < 0 {
			what := "archive value"
			if s.second {
				what = "2nd pass archive"
			}
			s.t.warnf(sets[i].PMID, "failed in %s fetch: %s", what, cli.ErrText(sets[i].Status))
		}
	}
}

// metric returns the metric of a set. Records look alike, so it first tries the metric
// that followed the previous set's metric last time.
func (s *scanner) metric(id pcp.PMID, first bool, values int) *metric {
	guess := &s.head
	if !first && s.prev != nil {
		guess = &s.prev.next
	}
	m := *guess
	if m == nil || m.desc.PMID != id {
		if m = s.t.metrics[id]; m == nil {
			m = s.newMetric(id, values)
		}
		*guess = m
	}
	s.prev = m
	return m
}

func (s *scanner) newMetric(id pcp.PMID, values int) *metric {
	m := &metric{desc: pcp.Desc{PMID: id}}
	s.t.metrics[id] = m
	desc, err := s.t.meta.Desc(id)
	if err != nil {
		s.t.warnf(id, "cannot find descriptor: %s", cli.ErrText(err))
		return m
	}
	m.desc = desc
	switch desc.Type {
	case pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64, pcp.TypeFloat, pcp.TypeDouble:
		m.known = true
	}
	m.counter = desc.Sem == pcp.SemCounter
	if !s.inline && s.load[1] < s.load[0] {
		m.owner = 1
	}
	s.load[m.owner] += values
	return m
}

// run processes a worker's part of a batch.
func (s *scanner) run(b *batch, w int) {
	if s.fatal.Load() != nil {
		return
	}
	for i := range b.records {
		rec := &b.records[i]
		if rec.mark {
			if s.t.trace != 0 && w == 0 {
				s.t.traceMark(rec.now)
			}
			for _, m := range s.t.started[w] {
				m.mark(rec.now)
			}
			continue
		}
		body := b.buf[rec.start:rec.end]
		sets := b.sets[w][rec.sets[w][0]:rec.sets[w][1]]
		if rec.plan != nil {
			sets = rec.plan.sets[w]
		}
		for k := range sets {
			if !s.do(&sets[k], rec.now, body, w) {
				return
			}
		}
	}
}

// do processes the values of a set.
func (s *scanner) do(x *set, now int64, body []byte, w int) bool {
	values := body[x.values : x.values+8*x.n]
	switch {
	case s.second:
		s.distribute(x, now, body, values)
		return true
	case !x.m.started:
		s.t.started[w] = append(s.t.started[w], x.m)
		return s.first(x, now, body, values)
	default:
		return s.update(x, now, body, values, &s.elapsed[w])
	}
}

// first processes the first values of a metric.
func (s *scanner) first(x *set, now int64, body, values []byte) bool {
	m := x.m
	m.start(s.t.sum)
	for ; len(values) >= 8; values = values[8:] {
		if !s.add(x, now, body, values) {
			return false
		}
	}
	return true
}

// add processes the first value of an instance.
func (s *scanner) add(x *set, now int64, body, value []byte) bool {
	m := x.m
	v, ok := number(m.desc.Type, body, binary.BigEndian.Uint32(value[4:]), x.inSitu)
	if !ok {
		s.fatal.CompareAndSwap(nil, &fatalError{s.t.warning(m.desc.PMID, "failed to extract value: %s", cli.ErrText(pcp.ErrConv))})
		return false
	}
	m.add(int32(binary.BigEndian.Uint32(value)), v, now, s.t.bins)
	if s.t.trace != 0 {
		s.t.traceFirst(m)
	}
	return true
}

// update processes further values of a metric.
func (s *scanner) update(x *set, now int64, body, values []byte, c *interval) bool {
	m, n := x.m, int(x.n)
	tries := 2
	for j := 0; j < n; j++ {
		if tries > 0 && s.t.trace == 0 {
			k := m.updateUsual(j, x, now, body, values, c)
			if k == n {
				return true
			}
			if k == j {
				tries--
			}
			j = k
		}
		pair := values[8*j:]
		k := m.locate(j, n, int32(binary.BigEndian.Uint32(pair)))
		if k < 0 {
			if !s.add(x, now, body, pair) {
				return false
			}
			continue
		}
		v, ok := number(m.desc.Type, body, binary.BigEndian.Uint32(pair[4:]), x.inSitu)
		if !ok {
			s.t.warnf(m.desc.PMID, "failed to extract value: %s", cli.ErrText(pcp.ErrConv))
			continue
		}
		if v != v {
			continue // not a number
		}
		if i := &m.insts[k]; s.t.trace != 0 {
			s.t.traced(m, i, v, now)
		} else if m.counter {
			m.countUp(i, v, now, s.t.unwrap)
		} else {
			m.observe(i, v, now)
		}
	}
	return true
}

// distribute processes values in the second pass.
func (s *scanner) distribute(x *set, now int64, body, values []byte) {
	m, n := x.m, int(x.n)
	if !m.started {
		return
	}
	for j := 0; len(values) >= 8; j, values = j+1, values[8:] {
		k := m.locate(j, n, int32(binary.BigEndian.Uint32(values)))
		if k < 0 {
			s.t.warnf(m.desc.PMID, "ignoring new instance found on second pass")
			continue
		}
		v, ok := number(m.desc.Type, body, binary.BigEndian.Uint32(values[4:]), x.inSitu)
		if !ok {
			s.t.warnf(m.desc.PMID, "failed to extract value: %s", cli.ErrText(pcp.ErrConv))
			continue
		}
		if v != v {
			continue // not a number
		}
		in, binned, ok := m.distribute(k, v, now, s.t.bins, s.t.unwrap)
		if ok && s.t.trace != 0 {
			s.t.traceBin(m, k, in, binned)
		}
	}
}
