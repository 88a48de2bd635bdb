package send

import (
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
)

// Limits of windows and requests. Those of windows and the order of series determine the requests of a window: a push that continues
// another one of a different version may send a part of a window twice if they change.
const (
	maxSamples  = 30      // of a series in a window
	maxWindow   = 1 << 20 // samples of a window; one record may exceed it
	maxSpan     = 30 * 60 * 1000
	partSamples = 30_000 // of a request
	partBytes   = 4 << 20
	sampleBytes = 18 // estimates for partBytes, the same for both versions of the protocol
	labelBytes  = 4
)

// A series is a series of the database while it has samples.
type series struct {
	remote.Series
	key    hashed // of its labels
	bytes  int    // estimate of the size of the labels
	last   int64  // time of its last sample
	any    bool   // it has a last sample
	dead   bool   // its end is marked
	sent   bool   // it was in a window
	about  bool   // it describes a metric, and is not counted
	window *window
	entry  uint32 // number in that window
}

// A window collects the samples of a span of time, in the order of the records.
type window struct {
	after int64 // the end of the window before, or noTime
	end   int64 // time of the last record

	first   int64
	list    []*series
	counts  []int32
	entries []uint32 // of each sample
	samples []remote.Sample
	about   int // samples of descriptions
	full    bool

	room  []remote.Sample
	parts []part
}

// noTime is a time before all others.
const noTime = -1 << 62

// A part is the series of one request.
type part struct {
	list    []remote.Series
	samples int // without those of descriptions
}

// reset makes the window empty.
func (w *window) reset(after int64) {
	for _, s := range w.list {
		s.window = nil
	}
	w.after, w.end, w.first, w.about, w.full = after, noTime, noTime, 0, false
	clear(w.list)
	w.list, w.counts, w.entries, w.samples = w.list[:0], w.counts[:0], w.entries[:0], w.samples[:0]
}

// rest releases the memory of an empty window, which the next samples allocate again.
func (w *window) rest() {
	w.list, w.counts, w.entries, w.samples, w.room, w.parts = nil, nil, nil, nil, nil, nil
}

// add adds a sample.
func (w *window) add(s *series, at int64, bits uint64) {
	if s.window != w {
		s.window, s.entry = w, uint32(len(w.list))
		w.list = append(w.list, s)
		w.counts = append(w.counts, 0)
	}
	n := &w.counts[s.entry]
	if *n++; *n >= maxSamples {
		w.full = true
	}
	if s.about {
		w.about++
	}
	w.entries = append(w.entries, s.entry)
	w.samples = append(w.samples, remote.Sample{Time: at, Bits: bits})
}

// complete reports whether the window must end before a record of a later time.
func (w *window) complete(next int64) bool {
	return w.full || len(w.samples) >= maxWindow || w.first != noTime && next-w.first >= maxSpan
}

// split groups the samples by series, and the series into requests. They are valid until the window is reset.
func (w *window) split() []part {
	if cap(w.room) < len(w.samples) {
		w.room = make([]remote.Sample, len(w.samples)+len(w.samples)/8)
	}
	room := w.room[:len(w.samples)]
	at := make([]int32, len(w.counts))
	sum := int32(0)
	for i, n := range w.counts {
		at[i] = sum
		sum += n
	}
	for i, e := range w.entries {
		room[at[e]] = w.samples[i]
		at[e]++
	}
	w.parts = w.parts[:0]
	var p part
	bytes, about := 0, 0
	for i, s := range w.list {
		n := int(w.counts[i])
		size := s.bytes + n*sampleBytes
		if len(p.list) > 0 && (p.samples+about+n > partSamples || bytes+size > partBytes) {
			w.parts = append(w.parts, p)
			p, bytes, about = part{}, 0, 0
		}
		one := s.Series
		one.Samples = room[int(at[i])-n : at[i] : at[i]]
		p.list = append(p.list, one)
		if s.about {
			about += n
		} else {
			p.samples += n
		}
		bytes += size
	}
	if len(p.list) > 0 {
		w.parts = append(w.parts, p)
	}
	return w.parts
}
