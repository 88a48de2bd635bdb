package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// A written is an archive of a test.
type written struct {
	name       string
	start, end float64
	values     []float64 // times of records; the values are these in milliseconds
}

// write writes an archive of a recorder, with a record each second, or in parts of its time none.
func (x *written) write(t *testing.T, dir string, skip func(sec float64) bool) {
	t.Helper()
	w := writer(t, filepath.Join(dir, x.name), "h", x.start, 3)
	for sec := x.start; sec <= x.end; sec++ {
		if !skip(sec) {
			put(t, w, sec, int(math.Round(sec*1000)))
			x.values = append(x.values, sec)
		}
	}
	x.end = x.values[len(x.values)-1]
	must(t, w.Close())
}

// read returns the times of all records with values, and of marks, in a direction. Each record must have its value.
func read(t *testing.T, s *Set, mode Mode) (times, marks []float64) {
	t.Helper()
	c := s.NewCursor()
	defer c.Close()
	when := at(-1)
	if mode == Back {
		when = at(1e6)
	}
	must(t, c.SetMode(mode, &when, 0))
	var res pcp.Result
	for {
		err := c.Next(context.Background(), false, &res)
		if errors.Is(err, pcp.ErrEOL) {
			break
		}
		must(t, err)
		sec := seconds(res.Time, at(0))
		if len(res.Sets) == 0 {
			marks = append(marks, sec)
			continue
		}
		times = append(times, sec)
		if v := res.Sets[0].Values[0].As(pcp.TypeU32).Uint32(); math.Round(sec*1000) != float64(v) {
			t.Errorf("at %v: value %d", sec, v)
		}
	}
	if mode == Back {
		slices.Reverse(times)
		slices.Reverse(marks)
	}
	return times, marks
}

// scanAll returns the times of records with values, and of marks, not before a time, as a Scanner reads them.
func scanAll(t *testing.T, s *Set, from float64) (times, marks []float64) {
	t.Helper()
	sc := archive.NewScanner(s.Archives()...)
	defer sc.Close()
	if from > 0 {
		must(t, sc.Seek(at(from)))
	}
	for rec, err := range sc.Records() {
		must(t, err)
		switch sec := seconds(rec.Time, at(0)); {
		case sec < from:
		case len(rec.Sets) == 0:
			marks = append(marks, sec)
		default:
			times = append(times, sec)
		}
	}
	return times, marks
}

// TestOverlap reads random archives of recorders that share a host: each moment from the archive that began last.
func TestOverlap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, longtest.Seed(t)))
	for range longtest.N(50, 2000) {
		dir := t.TempDir()
		var all []*written
		for r := range 1 + rnd.IntN(3) {
			at := float64(rnd.IntN(60))
			for i := range 1 + rnd.IntN(4) {
				x := &written{name: fmt.Sprintf("20260101.00.%02d-r%d", i, r), start: math.Floor(at) + float64(len(all)+1)*0.01}
				x.end = x.start + float64(rnd.IntN(60))
				at = x.end + 2 + float64(rnd.IntN(40))
				gap := x.start + float64(rnd.IntN(60))
				x.write(t, dir, func(sec float64) bool { return sec > gap && sec < gap+10 })
				all = append(all, x)
			}
		}
		slices.SortFunc(all, func(a, b *written) int { return cmp.Compare(a.start, b.start) })
		owner := func(sec float64) (of *written) {
			for _, x := range all {
				if x.start <= sec+1e-6 && sec <= x.end+1e-6 {
					of = x
				}
			}
			return of
		}
		var want []float64
		for _, x := range all {
			for _, sec := range x.values {
				if owner(sec) == x {
					want = append(want, sec)
				}
			}
		}
		slices.Sort(want)
		near := func(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }
		s, err := Open(dir, Options{})
		must(t, err)
		var marks [2][]float64
		for i, mode := range []Mode{Forw, Back} {
			var got []float64
			got, marks[i] = read(t, s, mode)
			if !slices.EqualFunc(got, want, near) {
				t.Fatalf("mode %d: archives %+v: records at %v, want %v", mode, list(all), got, want)
			}
		}
		// A Scanner reads the same records and marks, from any time on.
		for _, from := range []float64{0, rnd.Float64() * 200} {
			records, between := scanAll(t, s, from)
			later := func(list []float64) []float64 {
				return slices.DeleteFunc(slices.Clone(list), func(sec float64) bool { return sec < from })
			}
			if !slices.EqualFunc(records, later(want), near) || from == 0 && !slices.EqualFunc(between, marks[0], near) {
				t.Fatalf("archives %+v: a scanner from %v reads %v and marks %v, want %v and %v", list(all), from, records, between, later(want), marks[0])
			}
		}
		if len(marks[0]) != len(marks[1]) {
			t.Fatalf("archives %v: marks at %v, backwards %v", list(all), marks[0], marks[1])
		}
		last := want[len(want)-1]
		if end, err := s.End(); err != nil || !near(seconds(end, at(0)), last) {
			t.Fatalf("archives %v: end %v, %v, want %v", list(all), end, err, last)
		}
		turn(t, s, rnd, want)
		interpolated(t, s, want, marks[0])
		must(t, s.Close())
	}
}

func list(all []*written) (text []string) {
	for _, x := range all {
		text = append(text, fmt.Sprintf("%s %g to %g", x.name, x.start, x.end))
	}
	return text
}

// turn reads forwards and backwards by turns.
func turn(t *testing.T, s *Set, rnd *rand.Rand, want []float64) {
	t.Helper()
	c := s.NewCursor()
	defer c.Close()
	var res pcp.Result
	for range 20 {
		i := rnd.IntN(len(want))
		when := at(want[i])
		for j, mode := range []Mode{Forw, Back} {
			must(t, c.SetMode(mode, &when, 0))
			for k := range 5 {
				n := i + k
				if j == 1 {
					n = i - k
				}
				if n < 0 || n >= len(want) {
					break
				}
				must(t, c.Fetch(context.Background(), []pcp.PMID{counterID}, nil, false, &res))
				if got := seconds(res.Time, at(0)); got-want[n] > 1e-6 || want[n]-got > 1e-6 {
					t.Fatalf("mode %d from %v: record %d at %v, want %v", mode, want[i], k, got, want[n])
				}
			}
		}
	}
}

// interpolated checks interpolated values, which are times.
func interpolated(t *testing.T, s *Set, times, marks []float64) {
	t.Helper()
	for _, step := range []float64{0.5, -0.5} {
		c := s.NewCursor()
		first, last := times[0], times[len(times)-1]
		when := at(first)
		if step < 0 {
			when = at(last)
		}
		must(t, c.SetMode(Interp, &when, time.Duration(step*1e9)))
		var res pcp.Result
		for {
			err := c.Fetch(context.Background(), []pcp.PMID{counterID}, nil, false, &res)
			if errors.Is(err, pcp.ErrEOL) {
				break
			}
			must(t, err)
			sec := seconds(res.Time, at(0))
			i, _ := slices.BinarySearch(times, sec+1e-6)
			// As in C, there is no value either where a mark is in the same step.
			near := func(m float64) bool {
				return i > 0 && i < len(times) && m >= min(times[i-1], sec-1) && m <= max(times[i], sec+1)
			}
			between := i > 0 && i < len(times) && sec-times[i-1] > 1e-6 && !slices.ContainsFunc(marks, near)
			if vs := res.Sets[0]; len(vs.Values) > 0 {
				if d := float64(vs.Values[0].As(pcp.TypeU32).Uint32())/1000 - sec; d > 0.002 || d < -0.002 {
					t.Fatalf("step %v at %v: %v", step, sec, vs.Values[0])
				}
			} else if between {
				t.Fatalf("step %v at %v: no value between %v and %v", step, sec, times[i-1], times[i])
			}
		}
		c.Close()
	}
}
