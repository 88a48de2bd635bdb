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

// A series is a series of the database while it has samples. There may be a million of them.
type series struct {
	base   *base          // its labels
	family *remote.Family // with its name
	last   int64          // time of its last sample
	window *window
	entry  uint32 // number in that window
	bytes  uint32 // estimate of the size of the labels
	any    bool   // it has a last sample
	dead   bool   // its end is marked
	sent   bool   // it was in a window
	about  bool   // it describes a metric, and is not counted
}

// A base is the labels of series that differ only in their names.
type base struct {
	labels []remote.Label // as they are sent, with the name of one of the series
	name   int            // the index of the name
}

// append appends the labels of the series to a list.
func (s *series) append(list []remote.Label) []remote.Label {
	n := len(list)
	list = append(list, s.base.labels...)
	list[n+s.base.name].Value = s.family.Name
	return list
}

// A window collects the samples of a span of time, in the order of the records.
type window struct {
	after int64 // the end of the window before, or noTime
	end   int64 // time of the last record

	first int64
	about int // samples of descriptions
	full  bool
	memory
}

// A memory is the memory of the contents of a window, and of the requests with them.
type memory struct {
	list    []*series
	counts  []int32
	entries []uint32 // of each sample
	samples []remote.Sample

	at     []int32
	room   []remote.Sample
	labels []remote.Label
	series []remote.Series
	parts  []part
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

// clear makes the memory empty. It keeps nothing of an archive alive.
func (m *memory) clear() {
	clear(m.list)
	clear(m.labels)
	clear(m.series)
	clear(m.parts)
	m.list, m.counts, m.entries, m.samples = m.list[:0], m.counts[:0], m.entries[:0], m.samples[:0]
	m.labels, m.series, m.parts = m.labels[:0], m.series[:0], m.parts[:0]
}

// rest releases the memory of an empty window, which the next samples allocate again.
func (w *window) rest() { w.memory = memory{} }

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

// sized returns an empty slice with room for n elements, that of s if it has the room.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, 0, n+n/8)
	}
	return s[:0]
}

// split groups the samples by series, and the series into requests. They are valid until the window is reset.
func (w *window) split() []part {
	w.room = sized(w.room, len(w.samples))[:len(w.samples)]
	w.at = sized(w.at, len(w.counts))[:len(w.counts)]
	sum := int32(0)
	for i, n := range w.counts {
		w.at[i] = sum
		sum += n
	}
	for i, e := range w.entries {
		w.room[w.at[e]] = w.samples[i]
		w.at[e]++
	}
	labels := 0
	for _, s := range w.list {
		labels += len(s.base.labels)
	}
	w.labels, w.series, w.parts = sized(w.labels, labels), sized(w.series, len(w.list)), w.parts[:0]
	p, from := part{}, 0
	bytes, about := 0, 0
	end := func() {
		p.list = w.series[from:len(w.series):len(w.series)]
		w.parts = append(w.parts, p)
		p, from, bytes, about = part{}, len(w.series), 0, 0
	}
	for i, s := range w.list {
		n := int(w.counts[i])
		size := int(s.bytes) + n*sampleBytes
		if len(w.series) > from && (p.samples+about+n > partSamples || bytes+size > partBytes) {
			end()
		}
		first := len(w.labels)
		w.labels = s.append(w.labels)
		stop, until := len(w.labels), int(w.at[i])
		w.series = append(w.series, remote.Series{
			Labels: w.labels[first:stop:stop], Family: s.family, Samples: w.room[until-n : until : until],
		})
		if s.about {
			about += n
		} else {
			p.samples += n
		}
		bytes += size
	}
	if len(w.series) > from {
		end()
	}
	return w.parts
}
