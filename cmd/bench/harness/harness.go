// Package harness measures workloads on several sides in turn: the C implementation, an older commit of ours, this
// one, and the floor, a loop that only moves the same bytes.
//
// Each round measures every side once, and each round begins with another side, so that a busy moment of the machine
// affects them all. A [Row] keeps every sample; [Report.WriteTable] prints the smallest, the median and the largest.
package harness

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The names of the sides that the tables have columns for.
const (
	C      = "C"
	Before = "before" // an older commit
	Now    = "now"
	Floor  = "floor"
)

// A Sample is the cost of one operation.
type Sample struct {
	CPU  time.Duration `json:"cpu"`           // user and system time of all processes that take part on this side
	Wall time.Duration `json:"wall"`          // by the clock
	RSS  int64         `json:"rss,omitempty"` // the largest resident set in bytes, 0 if it was not measured
}

// A Side is one way to do a workload.
type Side struct {
	Name string
	// Measure does the workload and returns the mean cost of an operation.
	Measure func(context.Context) (Sample, error)
	// Once is for a side that takes minutes: only the first round measures it.
	Once bool
}

// A Workload is an operation that every side can do.
type Workload struct {
	Name string // such as trip.own
	Unit string // one operation, such as "fetch"
	Goal Goal

	// Open prepares the sides, and returns a note for the row, such as that their outputs differ, and a function that
	// frees their resources. A side that cannot be prepared is missing; an error means that none could.
	Open func(context.Context) (sides []Side, note string, stop func(), err error)
}

// A Result is what the rounds measured of one side.
type Result struct {
	Side    string   `json:"side"`
	Samples []Sample `json:"samples"`
	Failed  string   `json:"failed,omitempty"` // the error that ended the measurement of this side
}

// A Row is the result of one workload.
type Row struct {
	Name    string   `json:"name"`
	Unit    string   `json:"unit"`
	Goal    Goal     `json:"goal"`
	Results []Result `json:"results"`
	Note    string   `json:"note,omitempty"`
}

// Side returns the result of a side, nil if it has no samples.
func (r *Row) Side(name string) *Result {
	for i := range r.Results {
		if res := &r.Results[i]; res.Side == name && len(res.Samples) > 0 {
			return res
		}
	}
	return nil
}

// Run measures the workloads one after the other, each in so many rounds, and writes a line to log as each one
// finishes. A side that fails is left out from then on, and its row has the reason; so has the row of a workload that
// cannot be opened. The error is that of a context which ended; the rows are those that are complete.
func Run(ctx context.Context, log io.Writer, rounds int, workloads []Workload) ([]Row, error) {
	if rounds < 1 {
		return nil, fmt.Errorf("%d rounds: at least one is needed", rounds)
	}
	var rows []Row
	for _, w := range workloads {
		row := Row{Name: w.Name, Unit: w.Unit, Goal: w.Goal}
		sides, note, stop, err := w.Open(ctx)
		row.Note = note
		if err != nil {
			row.Note = err.Error()
		} else {
			row.Results = measure(ctx, rounds, sides)
			stop()
		}
		if ctx.Err() != nil {
			return rows, ctx.Err()
		}
		rows = append(rows, row)
		fmt.Fprintln(log, row.line())
	}
	return rows, nil
}

// measure has the sides measured in turn, until ctx ends.
func measure(ctx context.Context, rounds int, sides []Side) []Result {
	results := make([]Result, len(sides))
	for i, s := range sides {
		results[i].Side = s.Name
	}
	for round := range rounds {
		for k := range sides {
			i := (round + k) % len(sides)
			if results[i].Failed != "" || sides[i].Once && len(results[i].Samples) > 0 {
				continue
			}
			sample, err := sides[i].Measure(ctx)
			if ctx.Err() != nil {
				return results
			}
			if err != nil {
				results[i].Failed = err.Error()
				continue
			}
			results[i].Samples = append(results[i].Samples, sample)
		}
	}
	return results
}

// A Measure is what of a sample is compared.
type Measure func(Sample) float64

// CPU, Wall and RSS are the measures: nanoseconds of a processor, nanoseconds by the clock, and bytes.
func CPU(s Sample) float64 { return float64(s.CPU) }

// Wall is the time by the clock.
func Wall(s Sample) float64 { return float64(s.Wall) }

// RSS is the largest resident set.
func RSS(s Sample) float64 { return float64(s.RSS) }

// Spread returns the smallest, the median and the largest value of a measure.
func (r *Result) Spread(of Measure) (least, median, most float64) {
	v := make([]float64, len(r.Samples))
	for i, s := range r.Samples {
		v[i] = of(s)
	}
	slices.Sort(v)
	return v[0], middle(v), v[len(v)-1]
}

// Ratio returns the median of the ratios of two sides, round by round, and whether there is one.
func (r *Row) Ratio(side, over string, of Measure) (float64, bool) {
	a, b := r.Side(side), r.Side(over)
	if a == nil || b == nil {
		return 0, false
	}
	var v []float64
	for i := range max(len(a.Samples), len(b.Samples)) {
		// A side that was measured once is compared with each round of the other.
		x, y := of(a.Samples[min(i, len(a.Samples)-1)]), of(b.Samples[min(i, len(b.Samples)-1)])
		if y > 0 {
			v = append(v, x/y)
		}
	}
	if len(v) == 0 {
		return 0, false
	}
	slices.Sort(v)
	return middle(v), true
}

// middle returns the median of sorted values.
func middle(v []float64) float64 {
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}

// Select returns the workloads whose names match wants, and an error that lists all names if none does.
func Select(all []Workload, wants func(name string) bool) ([]Workload, error) {
	found := slices.DeleteFunc(slices.Clone(all), func(w Workload) bool { return !wants(w.Name) })
	if len(found) == 0 {
		var names []string
		for _, w := range all {
			names = append(names, w.Name)
		}
		return nil, fmt.Errorf("no workload is selected; there are %s", strings.Join(names, ", "))
	}
	return found, nil
}
