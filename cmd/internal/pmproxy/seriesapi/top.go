package seriesapi

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/query"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// MaxTop is the number of instances of a series that a request with the parameter top may choose.
const MaxTop = 1000

// A course follows the values of an instance: of a counter its rates.
type course struct {
	x     float64
	at    pcp.Timestamp
	begun bool
	peak  float64
	known bool // of peak
}

// next returns the value of a sample, or for a counter the rate since the sample before.
func (c *course) next(v *query.Value, counter bool) (float64, bool) {
	x, err := strconv.ParseFloat(string(v.Text), 64)
	if err != nil || x-x != 0 {
		return 0, false
	}
	if !counter {
		return x, true
	}
	dx, dt, begun := x-c.x, v.Time.Sub(c.at), c.begun
	c.x, c.at, c.begun = x, v.Time, true
	if dt < 0 { // the newest sample is first
		dx, dt = -dx, -dt
	}
	return dx / dt, begun && dt > 0 && dx >= 0
}

// A contest has the instances of a series.
type contest struct {
	counter bool
	courses map[sid.ID]*course
}

func (c *contest) course(inst sid.ID) *course {
	w := c.courses[inst]
	if w == nil {
		w = &course{}
		c.courses[inst] = w
	}
	return w
}

// winners returns the instances with the largest peaks, or nil if all are.
func (c *contest) winners(top int) map[sid.ID]bool {
	if len(c.courses) <= top {
		return nil
	}
	list := make([]sid.ID, 0, len(c.courses))
	for inst := range c.courses {
		list = append(list, inst)
	}
	slices.SortFunc(list, func(a, b sid.ID) int {
		x, y := c.courses[a], c.courses[b]
		if x.known != y.known {
			return cmp.Compare(btoi(y.known), btoi(x.known))
		}
		return cmp.Or(cmp.Compare(y.peak, x.peak), slices.Compare(a[:], b[:]))
	})
	chosen := make(map[sid.ID]bool, top)
	for _, inst := range list[:top] {
		chosen[inst] = true
	}
	return chosen
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// top returns the parameter top, or 0 without it.
func (q *request) top() (int, error) {
	text, ok := q.params.Get("top")
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxTop {
		return 0, badRequest(fmt.Sprintf("top: want a number from 1 to %d", MaxTop))
	}
	return n, nil
}

// largest answers with the values of the instances of each series whose largest values are the largest, of counters the
// largest rates, and with the number and the sum of the others at each time. It reads the values twice, so that its
// memory depends on the number of instances only. The C implementation has no such parameter.
func (q *request) largest(values iter.Seq2[*query.Value, error], wanted map[sid.ID]bool, top int) error {
	all := make(map[sid.ID]*contest)
	for v, err := range values {
		if err != nil {
			return err
		}
		if wanted != nil && !wanted[v.Instance] {
			continue
		}
		c := all[v.Series]
		if c == nil {
			d, err := q.engine.Describe(q.ctx, v.Series)
			if err != nil {
				return err
			}
			c = &contest{counter: d.Sem == pcp.SemCounter, courses: make(map[sid.ID]*course)}
			all[v.Series] = c
		}
		w := c.course(v.Instance)
		if x, ok := w.next(v, c.counter); ok && (!w.known || x > w.peak) {
			w.peak, w.known = x, true
		}
	}
	chosen := make(map[sid.ID]map[sid.ID]bool, len(all))
	for id, c := range all {
		chosen[id] = c.winners(top)
		c.courses = make(map[sid.ID]*course)
	}
	var others remainder
	for v, err := range values {
		if err != nil {
			return err
		}
		c := all[v.Series]
		if wanted != nil && !wanted[v.Instance] || c == nil { // a series that was added meanwhile
			continue
		}
		if v.Series != others.series || v.Time != others.at {
			if err := q.remainder(&others); err != nil {
				return err
			}
			others = remainder{series: v.Series, at: v.Time}
		}
		if set := chosen[v.Series]; set == nil || set[v.Instance] {
			if err := q.value(v); err != nil {
				return err
			}
			continue
		}
		if x, ok := c.course(v.Instance).next(v, c.counter); ok {
			others.sum += x
			others.n++
		}
	}
	return q.remainder(&others)
}

// A remainder is the number and the sum of the instances of a series that are left out, at a time.
type remainder struct {
	series sid.ID
	at     pcp.Timestamp
	n      int
	sum    float64
}

// remainder writes an element, unless none was left out.
func (q *request) remainder(r *remainder) error {
	if r.n == 0 {
		return nil
	}
	q.element()
	q.text(`{"series":`)
	q.id(r.series)
	q.text(`,"timestamp":`)
	q.timestamp(r.at)
	q.text(`,"others":` + strconv.Itoa(r.n) + `,"sum":"`)
	q.buf = strconv.AppendFloat(q.buf, r.sum, 'g', -1, 64)
	q.text(`"}`)
	return q.flush(q.ctx)
}
