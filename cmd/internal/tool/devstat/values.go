package devstat

import (
	"maps"
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// A change is the values of a metric in two samples, by device.
type change struct {
	now, before map[string]pmcc.Value
}

// values are those of a sample.
type values struct {
	changes map[string]change // by metric
	devices []string          // in the order of the rows
	elapsed float64           // seconds since the sample before
}

// values returns those of the sample. It returns false if the table has no rows.
func (r *Report) values() (values, bool) {
	s := values{changes: make(map[string]change, len(r.table.Metrics)), elapsed: r.m.Elapsed()}
	for _, name := range r.table.Metrics {
		s.changes[name] = change{pmcc.ByName(r.m.Named(name)), pmcc.ByName(r.m.NamedBefore(name))}
	}
	for _, name := range r.table.Keys {
		if len(s.changes[name].before) == 0 {
			return s, false
		}
	}
	s.devices = slices.Sorted(maps.Keys(s.changes[r.table.Keys[0]].now))
	return s, true
}

// A Device is a device in a sample.
type Device struct {
	s       *values
	name    string
	unknown bool
}

// Elapsed is the time between the samples in seconds.
func (d *Device) Elapsed() float64 { return d.s.elapsed }

// Since returns the increase of a counter since the previous sample.
func (d *Device) Since(metric string) int64 {
	c := d.s.changes[metric]
	diff, ok := c.now[d.name].Minus(c.before[d.name])
	if !ok {
		d.unknown = true
	}
	return diff.Int()
}

// Rate returns its rate per second.
func (d *Device) Rate(metric string) float64 { return float64(d.Since(metric)) / d.s.elapsed }

// row returns the values of a device. They are not ok if its counters went backwards, and not known if one of
// its metrics has no value in one of the samples.
func (s *values) row(t *Table, name string) (row []float64, ok, known bool) {
	d := &Device{s: s, name: name}
	row, ok = t.Values(d)
	return row, ok, !d.unknown
}

// An aggregate is the row of -G.
type aggregate struct {
	count int
	row   []float64
}

func (a *aggregate) add(method string, row []float64) {
	if a.row == nil {
		a.row = make([]float64, len(row))
	}
	for i, v := range row {
		switch method { // minimum and maximum are of 0 too, as in C
		case "min":
			a.row[i] = min(a.row[i], v)
		case "max":
			a.row[i] = max(a.row[i], v)
		default:
			a.row[i] += v
		}
	}
}

func (a *aggregate) result(method string, columns int) []float64 {
	if a.row == nil {
		a.row = make([]float64, columns)
	}
	if method == "avg" && a.count > 0 {
		for i := range a.row {
			a.row[i] /= float64(a.count)
		}
	}
	return a.row
}
