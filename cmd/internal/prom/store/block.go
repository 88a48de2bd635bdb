package store

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/go-pcp/pcp/cmd/internal/columns"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
)

// A lazy is successive samples of a series that are decoded when they are read.
type lazy struct {
	before int // they precede this one of the samples of the series
	block  *series.Block
	column *series.BlockColumn
	times  []int64 // milliseconds, ascending without repetitions
	value  int     // number of the first value in the column
}

// An edge is the start or the end of a run of a track in a block.
type edge struct {
	at    int
	start bool
	n     int // the track's number in the block
}

// present is a track in a block.
type present struct {
	*track
	col   *series.BlockColumn
	first int // start of the current run
	run   int // number of the run
}

// block adds the samples of a block: as the method sample for each of them, except that values are not decoded.
func (r *reader) block(b *series.Block) error {
	ms := r.b.millis(b.Times)
	if ms == nil { // samples in the same millisecond
		return eachSample(&series.Sample{Series: r.m.ID, Block: b}, r.sample)
	}
	base, end := r.n, len(ms)
	r.n += end
	list := make([]present, 0, len(b.Columns))
	var edges []edge
	for i := range b.Columns {
		c := &b.Columns[i]
		tr, ok := r.byInst[instKey{c.Instance, c.Inst}]
		if !ok {
			tr = r.begin(c.Instance, c.Inst)
		}
		for _, run := range c.Runs {
			edges = append(edges, edge{run.From, true, len(list)})
			if run.To < end {
				edges = append(edges, edge{run.To, false, len(list)})
			}
		}
		list = append(list, present{track: tr, col: c, run: -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.n, b.n)) })

	// leave records that a track's run has ended before sample k.
	leave := func(p *present, k int) error {
		p.group, p.last = base+k, ms[k-1]
		if k-p.first > 1 {
			p.step = ms[k-1] - ms[k-2]
		}
		if p.track.column == nil {
			return nil
		}
		run := p.col.Runs[p.run]
		return r.b.addLazy(p.track.column, lazy{block: b, column: p.col, times: ms[p.first:k], value: run.Value})
	}
	pending := make([]*track, 0, len(r.tracks)) // current ones without a value in the sample
	for _, tr := range r.tracks {
		if !tr.stale && tr.group > 0 {
			pending = append(pending, tr)
		}
	}
	inside := 0 // tracks with values in the sample before
	for k := 0; k < end; {
		at := edges
		for len(edges) > 0 && edges[0].at == k {
			edges = edges[1:]
		}
		at = at[:len(at)-len(edges)]
		for _, e := range at {
			if e.start {
				continue
			}
			p := &list[e.n]
			if err := leave(p, k); err != nil {
				return err
			}
			pending = append(pending, p.track)
			inside--
		}
		known, before := inside > 0, base+k // the last sample with any of the instances
		if !known {
			before = 0
		}
		for _, e := range at {
			if !e.start {
				continue
			}
			p := &list[e.n]
			if p.group > 0 && !p.stale {
				known, before = true, max(before, p.group)
				p.step = ms[k] - p.last
				if i := slices.Index(pending, p.track); i >= 0 {
					pending = slices.Delete(pending, i, i+1)
				}
			}
			p.first, p.stale = k, false
			p.run++
			inside++
		}
		rest := pending[:0]
		for _, tr := range pending {
			if gone(tr, known, before, ms[k]) {
				if err := r.end(tr, ms[k]); err != nil {
					return err
				}
				continue
			}
			rest = append(rest, tr)
		}
		pending = rest
		switch {
		case len(pending) > 0:
			k++
		case len(edges) > 0:
			k = edges[0].at
		default:
			k = end
		}
	}
	for i := range list {
		if p := &list[i]; p.run >= 0 && p.col.Runs[p.run].To == end {
			if err := leave(p, end); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachSample calls f with a sample, or with each of its block.
func eachSample(s *series.Sample, f func(*series.Sample) error) (err error) {
	if s.Block == nil {
		return f(s)
	}
	s.Block.Samples(s.Series, func(one *series.Sample, failed error) bool {
		if err = failed; err == nil {
			err = f(one)
		}
		return err == nil
	})
	return err
}

// millis returns times in milliseconds, nil if two are the same.
func (b *builder) millis(times []int64) []int64 {
	if len(times) == len(b.nanos) && &times[0] == &b.nanos[0] {
		return b.ms
	}
	b.nanos, b.ms = times, make([]int64, len(times))
	for i, t := range times {
		b.ms[i] = t / 1e6
		if i > 0 && b.ms[i] <= b.ms[i-1] {
			b.ms = nil
			break
		}
	}
	return b.ms
}

// addLazy adds samples to a series.
func (b *builder) addLazy(c *column, l lazy) error {
	lo, _ := slices.BinarySearch(l.times, b.start)
	hi, found := slices.BinarySearch(l.times, b.end)
	if found {
		hi++
	}
	if lo >= hi {
		return nil
	}
	l.times, l.value = l.times[lo:hi], l.value+lo
	if last, ok := c.last(); ok && l.times[0] <= last {
		return l.each(func(t int64, v float64) error { return b.add(c, t, v) })
	}
	l.before = len(c.samples)
	c.lazy = append(c.lazy, l)
	return b.count(len(l.times))
}

// last returns the time of the last sample.
func (c *column) last() (int64, bool) {
	n, k := len(c.samples), len(c.lazy)
	if k > 0 && c.lazy[k-1].before == n {
		times := c.lazy[k-1].times
		return times[len(times)-1], true
	}
	if n == 0 {
		return 0, false
	}
	return c.samples[n-1].t, true
}

// decode replaces lazy samples by others.
func (c *column) decode() error {
	if len(c.lazy) == 0 {
		return nil
	}
	var list samples
	done := 0
	for i := range c.lazy {
		l := &c.lazy[i]
		list = append(list, c.samples[done:l.before]...)
		done = l.before
		if err := l.each(func(t int64, v float64) error {
			list = append(list, sample{t, v})
			return nil
		}); err != nil {
			return err
		}
	}
	c.samples, c.lazy = append(list, c.samples[done:]...), nil
	return nil
}

// each calls f with each sample.
func (l *lazy) each(f func(t int64, v float64) error) error {
	var r series.BlockReader
	r.Open(l.block, l.column)
	var floats []float64
	for at := 0; at < len(l.times); {
		list, err := r.Chunk(l.value + at)
		if err != nil {
			return err
		}
		floats = columns.Floats(floats, list[:min(len(list), len(l.times)-at)], l.block.Type)
		for _, v := range floats {
			if err := f(l.times[at], v); err != nil {
				return err
			}
			at++
		}
	}
	return nil
}

// A lazyIterator reads a series with lazy samples.
type lazyIterator struct {
	c      *column
	r      series.BlockReader
	open   *series.BlockColumn // that r reads
	l, s   int                 // numbers of the next lazy and the next sample
	at     int                 // in the lazy before l
	times  []int64             // of the values that are decoded
	values []float64
	pos    int // of the current one
	floats []float64
	own    []int64
	err    error
}

// reset begins with the first sample of a series.
func (it *lazyIterator) reset(c *column) {
	it.c, it.open, it.l, it.s, it.at, it.err = c, nil, 0, 0, 0, nil
	it.times, it.values, it.pos = nil, nil, -1
}

// fill decodes the next values, perhaps only those not before a time.
func (it *lazyIterator) fill(from int64) bool {
	it.times, it.values, it.pos = nil, nil, -1
	for it.err == nil {
		if it.l > 0 {
			l := &it.c.lazy[it.l-1]
			if it.at < len(l.times) && l.times[it.at] < from {
				k, _ := slices.BinarySearch(l.times[it.at:], from)
				it.at += k
			}
			if it.at < len(l.times) {
				it.chunk(l)
				return it.err == nil
			}
		}
		end := len(it.c.samples)
		if it.l < len(it.c.lazy) {
			end = it.c.lazy[it.l].before
		}
		if it.s < end {
			it.own, it.floats = it.own[:0], it.floats[:0]
			for _, s := range it.c.samples[it.s:end] {
				it.own, it.floats = append(it.own, s.t), append(it.floats, s.v)
			}
			it.s, it.times, it.values = end, it.own, it.floats
			return true
		}
		if it.l == len(it.c.lazy) {
			return false
		}
		it.l++
		it.at = 0
	}
	return false
}

// chunk decodes the next values of a lazy.
func (it *lazyIterator) chunk(l *lazy) {
	if it.open != l.column {
		it.r.Open(l.block, l.column)
		it.open = l.column
	}
	list, err := it.r.Chunk(l.value + it.at)
	if err != nil {
		it.err = fmt.Errorf("%s: %w", it.c.labels, err)
		return
	}
	n := min(len(list), len(l.times)-it.at)
	it.floats = columns.Floats(it.floats, list[:n], l.block.Type)
	it.times, it.values = l.times[it.at:it.at+n], it.floats
	it.at += n
}

// Next implements [chunkenc.Iterator].
func (it *lazyIterator) Next() chunkenc.ValueType {
	if it.pos++; it.pos < len(it.times) {
		return chunkenc.ValFloat
	}
	if !it.fill(0) {
		return chunkenc.ValNone
	}
	it.pos = 0
	return chunkenc.ValFloat
}

// A millisecond is a time. Go vet takes a Seek with an int64 for another method.
type millisecond = int64

// Seek implements [chunkenc.Iterator].
func (it *lazyIterator) Seek(t millisecond) chunkenc.ValueType {
	it.pos = max(it.pos, 0)
	for {
		if it.pos < len(it.times) && it.times[len(it.times)-1] >= t {
			k, _ := slices.BinarySearch(it.times[it.pos:], t)
			it.pos += k
			return chunkenc.ValFloat
		}
		if !it.fill(t) {
			return chunkenc.ValNone
		}
		it.pos = 0
	}
}

// At implements [chunkenc.Iterator].
func (it *lazyIterator) At() (int64, float64) { return it.times[it.pos], it.values[it.pos] }

// AtT implements [chunkenc.Iterator].
func (it *lazyIterator) AtT() int64 { return it.times[it.pos] }

// AtST implements [chunkenc.Iterator]. There are no start times.
func (it *lazyIterator) AtST() int64 { return 0 }

// AtHistogram implements [chunkenc.Iterator].
func (it *lazyIterator) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) {
	return it.AtT(), nil
}

// AtFloatHistogram implements [chunkenc.Iterator].
func (it *lazyIterator) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	return it.AtT(), nil
}

// Err implements [chunkenc.Iterator].
func (it *lazyIterator) Err() error { return it.err }
