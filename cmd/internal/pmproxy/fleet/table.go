package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// Limits and intervals of tables.
const (
	// MaxHosts is the number of hosts of a table; more are an error.
	MaxHosts = 20_000
	// Points is the number of points in the history of a host.
	Points = 60
	// Step is the time between two points, unless a request has another window.
	Step = time.Minute
	// MinWindow and MaxWindow limit the window of a request.
	MinWindow = 5 * time.Minute
	MaxWindow = 31 * 24 * time.Hour

	current  = 5 // newest points whose values count as those of now
	again    = 5 // newest points that a refresh requests again: values may arrive late
	factsAge = time.Hour
	retry    = 15 * time.Minute // until missing facts are looked for again
)

var errTooMany = fmt.Errorf("there are more than %d hosts", MaxHosts)

// A snapshot is the table at a time. It does not change.
type snapshot struct {
	end    int64 // of the last point, in milliseconds
	step   int64
	hosts  []string // sorted
	rows   map[string]int
	labels []labels.Labels // of hosts; empty if they are not known
	cells  [][]float32     // by column: Points for each host, NaN if there is no value
	facts  *known
}

// known has the facts of hosts.
type known struct {
	at     [facts]time.Time // of the last query
	values [facts]map[string]float64
}

func (s *snapshot) start() int64 { return s.end - (Points-1)*s.step }

// history returns the values of a column of a host, nil for a host that is only recorded.
func (s *snapshot) history(col, row int) []float32 {
	if row*Points >= len(s.cells[col]) {
		return nil
	}
	return s.cells[col][row*Points : (row+1)*Points]
}

// now returns the newest value of a column of a host, NaN if there is none that counts as of now.
func (s *snapshot) now(col, row int) float64 {
	h := s.history(col, row)
	for i := len(h) - 1; i >= Points-current; i-- {
		if v := float64(h[i]); usable(v) {
			return v
		}
	}
	return math.NaN()
}

// newest returns the index of the newest point with a value of any column, -1 if there is none.
func (s *snapshot) newest(row int) int {
	for i := Points - 1; i >= 0; i-- {
		for c := range s.cells {
			if h := s.history(c, row); i < len(h) && usable(float64(h[i])) {
				return i
			}
		}
	}
	return -1
}

// trouble returns the trouble of a host, NaN if it has no values in the window.
func (s *snapshot) trouble(row int) float64 {
	switch i := s.newest(row); {
	case i < 0:
		return math.NaN()
	case i < Points-current:
		return silent
	}
	values := make([]float64, len(columns))
	for c := range columns {
		values[c] = s.now(c, row)
	}
	return Trouble(values)
}

// A builder makes a snapshot.
type builder struct {
	src   Source
	end   time.Time
	step  time.Duration
	names func(context.Context) ([]string, error) // of hosts
	old   *snapshot                               // whose points are used if they are at the same times, or nil
	now   time.Time
}

// build makes the snapshot.
func (b *builder) build(ctx context.Context) (*snapshot, error) {
	s := &snapshot{end: b.end.UnixMilli(), step: b.step.Milliseconds(), rows: map[string]int{}}
	shift := -1 // number of points by which the old snapshot is older
	if o := b.old; o != nil && o.step == s.step && o.end <= s.end && (s.end-o.end)%s.step == 0 {
		if n := (s.end - o.end) / s.step; n < Points-again {
			shift = int(n)
		}
	}
	from := s.start()
	if shift >= 0 {
		from = s.end - int64(shift+again-1)*s.step
	}
	if b.names != nil {
		list, err := b.names(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range list {
			if err := s.add(name); err != nil {
				return nil, err
			}
		}
	}
	s.facts = &known{}
	if b.old != nil {
		*s.facts = *b.old.facts
	}
	raw := make([][]float64, len(columns))
	for c := range columns {
		err := b.src.Range(ctx, columns[c].query(b.step), time.UnixMilli(from), b.end, b.step, func(l labels.Labels, points []promql.FPoint) error {
			return s.put(&raw[c], c, l, points)
		})
		if err != nil {
			return nil, err
		}
	}
	if err := b.learn(ctx, s, raw); err != nil {
		return nil, err
	}
	s.finish(raw)
	if shift >= 0 {
		s.inherit(b.old, shift)
	}
	s.sort()
	return s, nil
}

// add adds a host.
func (s *snapshot) add(name string) error {
	if _, ok := s.rows[name]; ok || name == "" {
		return nil
	}
	if len(s.hosts) >= MaxHosts {
		return errTooMany
	}
	s.rows[name] = len(s.hosts)
	s.hosts = append(s.hosts, name)
	s.labels = append(s.labels, labels.EmptyLabels())
	return nil
}

// put stores the numbers of a series. Of several series of a host, as after a change of its labels, the largest number counts.
func (s *snapshot) put(cells *[]float64, col int, l labels.Labels, points []promql.FPoint) error {
	name := l.Get(HostLabel)
	if name == "" || len(points) == 0 {
		return nil
	}
	if err := s.add(name); err != nil {
		return err
	}
	row := s.rows[name]
	for len(*cells) < len(s.hosts)*Points {
		*cells = append(*cells, math.NaN())
	}
	mine := (*cells)[row*Points : (row+1)*Points]
	if col == 0 && (s.labels[row].IsEmpty() || usable(points[len(points)-1].F) && points[len(points)-1].T >= s.end-s.step) {
		s.labels[row] = l.Copy()
	}
	for _, p := range points {
		i := (p.T - s.start()) / s.step
		if i < 0 || i >= Points || !usable(p.F) {
			continue
		}
		if math.IsNaN(mine[i]) || p.F > mine[i] {
			mine[i] = p.F
		}
	}
	return nil
}

// learn queries the facts that hosts with values lack.
func (b *builder) learn(ctx context.Context, s *snapshot, raw [][]float64) error {
	for c := range columns {
		f := columns[c].per
		if f == nil {
			continue
		}
		age := b.now.Sub(s.facts.at[f.key])
		lacking := func() bool {
			return slices.ContainsFunc(s.hosts, func(name string) bool {
				row := s.rows[name]
				if (row+1)*Points > len(raw[c]) || s.facts.values[f.key][name] > 0 {
					return false
				}
				return slices.ContainsFunc(raw[c][row*Points:(row+1)*Points], usable)
			})
		}
		if age < retry || age < factsAge && !lacking() {
			continue
		}
		found := map[string]float64{}
		if age < factsAge {
			for name, v := range s.facts.values[f.key] {
				found[name] = v
			}
		}
		s.facts.at[f.key], s.facts.values[f.key] = b.now, found
		for i, expr := range f.exprs {
			if i > 0 && !lacking() {
				break
			}
			err := b.src.Range(ctx, expr, b.end, b.end, b.step, func(l labels.Labels, points []promql.FPoint) error {
				name := l.Get(HostLabel)
				if _, ok := s.rows[name]; ok && len(points) > 0 && found[name] == 0 && points[0].F > 0 {
					found[name] = points[0].F
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// finish makes cells of the numbers.
func (s *snapshot) finish(raw [][]float64) {
	s.cells = make([][]float32, len(columns))
	for c := range columns {
		col := &columns[c]
		cells := make([]float32, len(s.hosts)*Points)
		for row, name := range s.hosts {
			fact := math.NaN()
			if col.per != nil {
				if v, ok := s.facts.values[col.per.key][name]; ok {
					fact = v
				}
			}
			for i := row * Points; i < (row+1)*Points; i++ {
				v := math.NaN()
				if i < len(raw[c]) {
					v = col.value(raw[c][i], fact)
				}
				cells[i] = float32(v)
			}
		}
		s.cells[c] = cells
	}
}

// inherit takes the points that are missing from an old snapshot, which is older by shift points.
func (s *snapshot) inherit(old *snapshot, shift int) {
	for row, name := range s.hosts {
		from, ok := old.rows[name]
		if !ok {
			continue
		}
		if s.labels[row].IsEmpty() {
			s.labels[row] = old.labels[from]
		}
		for c := range s.cells {
			mine, theirs := s.history(c, row), old.history(c, from)
			for i := range Points - shift {
				if !usable(float64(mine[i])) {
					mine[i] = theirs[i+shift]
				}
			}
		}
	}
}

// sort brings hosts into the order of their names.
func (s *snapshot) sort() {
	order := make([]int, len(s.hosts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if s.hosts[a] < s.hosts[b] {
			return -1
		}
		return 1
	})
	hosts, sets := make([]string, len(order)), make([]labels.Labels, len(order))
	for i, from := range order {
		hosts[i], sets[i] = s.hosts[from], s.labels[from]
		s.rows[hosts[i]] = i
	}
	for c, cells := range s.cells {
		sorted := make([]float32, len(cells))
		for i, from := range order {
			copy(sorted[i*Points:(i+1)*Points], cells[from*Points:])
		}
		s.cells[c] = sorted
	}
	s.hosts, s.labels = hosts, sets
}

// heat is one value for each host and time.
type heat struct {
	start, step int64
	n           int
	hosts       []string
	rows        []Row
}

// newHeat evaluates an expression whose series are called by their hosts.
func newHeat(ctx context.Context, src Source, expr string, start, end time.Time, step time.Duration) (*heat, error) {
	h := &heat{start: start.UnixMilli(), step: step.Milliseconds(), n: int(end.Sub(start)/step) + 1}
	values := make([]float32, h.n)
	seen := map[string]bool{}
	err := src.Range(ctx, expr, start, end, step, func(l labels.Labels, points []promql.FPoint) error {
		name := l.Get(HostLabel)
		if name == "" {
			return nil
		}
		if seen[name] {
			return errors.New("the source has two results for a host")
		}
		if seen[name] = true; len(h.hosts) >= MaxHosts {
			return errTooMany
		}
		for i := range values {
			values[i] = float32(math.NaN())
		}
		for _, p := range points {
			if i := (p.T - h.start) / h.step; i >= 0 && i < int64(h.n) {
				values[i] = float32(p.F)
			}
		}
		if r, ok := NewRow(values); ok {
			h.hosts, h.rows = append(h.hosts, name), append(h.rows, r)
		}
		return nil
	})
	return h, err
}
