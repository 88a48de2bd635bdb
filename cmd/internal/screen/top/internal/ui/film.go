package ui

import (
	"math"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
)

// historySize is the number of samples that the graphs can show.
const historySize = 600

// A film has the samples taken so far, and shows one of them. Of a live source it keeps the last ones on a tape; an
// archive has them all.
type film struct {
	now    *model.Snapshot // the snapshot shown; nil before the first sample
	hist   *model.History  // of the graphs
	tape   model.Tape
	at     int               // the index on the tape of the snapshot shown, -1 for the newest
	freed  []*model.Snapshot // to be used again by the sampler
	buffer []float64         // of values
}

func newFilm() *film { return &film{hist: model.NewHistory(historySize), at: -1} }

// past reports whether the user has left the newest sample of a live source.
func (f *film) past() bool { return f.at >= 0 }

// before adds samples that are older than the next one, for the graphs only.
func (f *film) before(list []*model.Snapshot) {
	if len(list) > 0 {
		f.hist.Reset()
	}
	for _, s := range list {
		f.hist.Push(s)
		f.freed = append(f.freed, s)
	}
}

// replace shows a sample of an archive.
func (f *film) replace(s *model.Snapshot) {
	f.hist.Push(s)
	f.freed = append(f.freed, f.now)
	f.now = s
}

// push adds a sample to the tape. If the user has paused, the snapshot shown stays as long as the tape has
// it.
func (f *film) push(s *model.Snapshot) {
	f.hist.Push(s)
	gone := f.tape.Push(s)
	if f.at >= 0 {
		f.at = max(0, f.at-len(gone))
	}
	f.freed = append(f.freed, gone...)
	f.show(f.at)
}

// show shows the snapshot of an index on the tape, -1 being the newest.
func (f *film) show(at int) {
	f.at = at
	switch n := f.tape.Len(); {
	case n == 0:
	case at < 0 || at >= n:
		f.now = f.tape.At(n - 1)
	default:
		f.now = f.tape.At(at)
	}
}

// step shows the snapshot n places away on the tape, and reports whether the tape goes back that far.
func (f *film) step(n int) bool {
	newest := f.tape.Len() - 1
	at := f.at
	if at < 0 {
		at = newest
	}
	at += n
	f.show(max(0, min(at, newest)))
	return at >= 0
}

// jump shows the snapshot of a time, and reports whether the tape goes back that far.
func (f *film) jump(at pcp.Timestamp) bool {
	f.show(f.tape.Find(at))
	return at.Compare(f.tape.At(0).Time) >= 0
}

// span returns the times of the first and the last snapshot on the tape, if there are any.
func (f *film) span() (first, last pcp.Timestamp, ok bool) {
	n := f.tape.Len()
	if n == 0 {
		return first, last, false
	}
	return f.tape.At(0).Time, f.tape.At(n - 1).Time, true
}

// recycle returns the snapshots that are not needed any more.
func (f *film) recycle() []*model.Snapshot {
	list := f.freed
	f.freed = nil
	return list
}

// end returns the number in the history of the sample shown.
func (f *film) end() int64 {
	if f.now == nil {
		return 0
	}
	return f.hist.Find(f.now.Time)
}

// values returns the history of a series for a graph of n columns. They are valid until the next call.
func (f *film) values(kind model.Series, name string, n int) []float64 {
	f.buffer = f.hist.Values(f.buffer[:0], model.Key{Kind: kind, Name: name}, f.end(), n)
	return f.buffer
}

// sum adds up the newest n values of several series.
func (f *film) sum(n int, kinds ...model.Series) []float64 {
	total := make([]float64, n)
	for i := range total {
		total[i] = math.NaN()
	}
	for _, k := range kinds {
		for i, v := range f.values(k, "", n) {
			if !math.IsNaN(v) {
				total[i] = zero(total[i]) + v
			}
		}
	}
	return total
}
