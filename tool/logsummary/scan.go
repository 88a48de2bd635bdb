package logsummary

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/replay"
	"github.com/go-pcp/pcp/tool/cli"
)

// blockBase is where offsets of blocks count from, in bytes before the contents
// of a record. Part of the file format; do not change.
const blockBase = 12

// A fatalError is a value that makes the tool give up.
type fatalError struct {
	warning string // what -v says of it
}

func (e *fatalError) Error() string { return "value without a number" }

// A set is where the values of a metric are in a record.
type set struct {
	m      *metric
	values int32 // offset of the first value in the record
	n      int32
	inSitu bool
}

// A record is one in a batch: its sets, those of each worker in the batch's own
// list or in the shape of the record. One without any is a mark.
type record struct {
	now        int64
	start, end int // in the batch
	mark       bool
	shape      *shape
	sets       [workers][2]int32 // in batch.sets
}

// A batch is a number of records, and for each worker what to do with them.
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

// A scanner reads records and hands out their sets.
type scanner struct {
	t       *tool
	second  bool // pass
	version int
	base    pcp.Timestamp
	scratch pcp.Result
	load    [workers]int // values in a record of the metrics of each worker
	elapsed [workers]interval
	shapes  shapes
	prev    *metric // of the set before
	head    *metric // of the first set of the last record

	batch  *batch
	free   chan *batch
	work   [workers]chan *batch
	wg     sync.WaitGroup
	inline bool
	fatal  atomic.Pointer[fatalError]
}

// scan takes in the records of the window.
func (t *tool) scan(set *replay.Set, second bool) error {
	s := &scanner{t: t, second: second, base: t.base}
	// Warnings come in the order of the records.
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
	src := records{list: set.Archives()}
	defer src.close()
	origin, finish := s.t.window.Start, s.t.window.Finish
	var progress *cli.Progress
	if !s.inline { // else there may be warnings
		progress = cli.NewProgress(s.t.env, s.t.env.ProgName(), 0)
		defer progress.Clear()
	}
	if err := src.seek(origin); err != nil {
		return err
	}
	for s.fatal.Load() == nil {
		body, now, err := src.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		n := int32(0)
		if body != nil {
			s.version = src.version
			var ok bool
			if now, n, ok = archive.RecordTime(body, s.version); !ok || n < 0 {
				return archive.DecodeResult(&s.scratch, body, s.version)
			}
		}
		// What comes against the direction of time is passed over, and what
		// comes late ends it, but only if it is a good record.
		early, late := now.Compare(origin) < 0, micro(now).Compare(finish) > 0
		if early || late || !s.take(body, s.relative(now), int(n), false) {
			if body != nil {
				if err := archive.DecodeResult(&s.scratch, body, s.version); err != nil {
					return err
				}
			}
			switch {
			case early:
				continue
			case late:
				return nil
			}
			s.take(body, s.relative(now), int(n), true)
		}
		origin = now
		if s.inline || len(s.batch.buf) >= batchSize {
			s.flush()
			progress.Set(int64(1000*now.Sub(s.t.window.Start)), int64(1000*finish.Sub(s.t.window.Start)))
		}
	}
	return nil
}

// relative returns a time as instances have it. What is 70,000 years away from
// 1970 stays there.
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

// headSize returns the length of what comes before the sets of a record.
func headSize(version int) int {
	if version >= archive.Version3 {
		return 16
	}
	return 12
}

// take puts a record of n sets into the batch. It reports whether the record is
// one as pmlogger writes them: all within it, and the blocks in the order of
// their values without gaps. Of others, which may be in order too, it takes
// nothing unless checked.
func (s *scanner) take(body []byte, now int64, n int, checked bool) bool {
	b := s.batch
	rec := record{now: now, start: len(b.buf)}
	if n == 0 {
		if body != nil && !checked && len(body) != headSize(s.version) {
			return false
		}
		rec.mark = true
		b.records = append(b.records, rec)
		return true
	}
	if !checked {
		if rec.shape = s.shapes.find(body, n, s.version); rec.shape != nil {
			b.buf = append(b.buf, body...)
			rec.end = len(b.buf)
			b.records = append(b.records, rec)
			if rec.shape.errors && s.t.warn {
				s.warnErrors(body, n)
			}
			return true
		}
	}
	lens := [workers]int{len(b.sets[0]), len(b.sets[1])}
	undo := func() bool {
		for w, l := range lens {
			b.sets[w] = b.sets[w][:l]
		}
		return false
	}
	at := headSize(s.version)
	first, want, failed := 0, 0, false // the first block, the next one, is there an error
	for i := range n {
		if len(body)-at < 12 && (len(body)-at < 8 || int32(binary.BigEndian.Uint32(body[at+4:])) > 0) {
			return undo()
		}
		word := binary.BigEndian.Uint64(body[at:])
		id, k := pcp.PMID(word>>32), int(int32(word))
		if at += 8; k <= 0 {
			failed = failed || k < 0
			continue
		}
		format := pcp.ValFmt(binary.BigEndian.Uint32(body[at:]))
		at += 4
		if 8*uint64(k) > uint64(len(body)-at) {
			return undo()
		}
		values := body[at : at+8*k]
		at += 8 * k
		if format != pcp.ValInSitu && !checked {
			if format != pcp.ValDPtr && format != pcp.ValSPtr {
				return undo()
			}
			if want == 0 {
				if want = int(binary.BigEndian.Uint32(values[4:]))*4 - blockBase; want < at {
					return undo()
				}
				first = want
			}
			if want = blocks(body, values, want); want < 0 {
				return undo()
			}
		}
		if m := s.metric(id, i == 0, k); m.known {
			b.sets[m.owner] = append(b.sets[m.owner], set{m, int32(at - 8*k), int32(k), format == pcp.ValInSitu})
		}
	}
	if !checked && (first != 0 && first != at || max(want, at) != len(body)) {
		return undo()
	}
	b.buf = append(b.buf, body...)
	rec.end = len(b.buf)
	for w, l := range lens {
		rec.sets[w] = [2]int32{int32(l), int32(len(b.sets[w]))}
	}
	b.records = append(b.records, rec)
	if failed && s.t.warn {
		s.warnErrors(body, n)
	}
	if !checked {
		s.shapes.learn(body, n, s.version, [workers][]set{b.sets[0][lens[0]:], b.sets[1][lens[1]:]}, failed)
	}
	return true
}

// blocks goes over the blocks of values, of which the first one must be at an
// offset of body, and returns where the next one must be; -1 if they are not as
// pmlogger writes them.
func blocks(body, values []byte, want int) int {
	for ; len(values) >= 8; values = values[8:] {
		if want < 0 || len(body)-want < 4 || int(binary.BigEndian.Uint32(values[4:]))*4-blockBase != want {
			return -1
		}
		word := binary.BigEndian.Uint32(body[want:])
		if t := pcp.Type(word >> 24); t == pcp.TypeEvent || t == pcp.TypeHighResEvent {
			return -1
		}
		size := int(word & 0xffffff)
		if size < 4 || size > len(body)-want {
			return -1
		}
		want += (size + 3) &^ 3
	}
	return want
}

// warnErrors warns of sets that have an error for values.
func (s *scanner) warnErrors(body []byte, n int) {
	at := headSize(s.version)
	for range n {
		id, k := pcp.PMID(binary.BigEndian.Uint32(body[at:])), int32(binary.BigEndian.Uint32(body[at+4:]))
		if at += 8; k > 0 {
			at += 4 + 8*int(k)
		}
		if k < 0 {
			what := "archive value"
			if s.second {
				what = "2nd pass archive"
			}
			s.t.warnf(id, "failed in %s fetch: %s", what, cli.ErrText(pcp.Error(k)))
		}
	}
}

// metric returns that of a set. Records look alike, so it tries first what came
// behind the metric of the set before last time.
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

// run does what a batch has for a worker.
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
		if rec.shape != nil {
			sets = rec.shape.sets[w]
		}
		for k := range sets {
			if !s.do(&sets[k], rec.now, body, w) {
				return
			}
		}
	}
}

// do takes in the values of a set.
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

// first takes in the first values of a metric.
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

// add takes in the first value of an instance.
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

// update takes in more values of a metric.
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

// distribute takes in values in the second pass.
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
