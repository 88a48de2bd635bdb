package pmie

import (
	"math"

	"github.com/go-pcp/pcp"
)

// A Published is a rule as a metric without instances.
type Published struct {
	Name  string
	Desc  pcp.Desc // without an identifier; of TypeNoSupport if the rule has no number
	Value float64  // NaN or infinite if there is no number now
	Err   pcp.Error
}

// Published returns the arguments of the coming calls of Publish, the rules of each interval in
// a separate list. They have no values yet.
func (e *Engine) Published() [][]Published {
	list := make([][]Published, len(e.get.tasks))
	for i, t := range e.get.tasks {
		list[i] = t.published(nil)
	}
	return list
}

// published appends the current values of the rules of a task.
func (t *task) published(list []Published) []Published {
	for _, r := range t.rules {
		p := Published{Name: r.Name, Desc: r.X.Describe(), Value: math.NaN()}
		if r.X.Valid > 0 {
			p.Value = r.X.Newest()
		} else {
			p.Err = pcp.ErrValue
		}
		list = append(list, p)
	}
	return list
}

// publish passes the values of a task's rules to Publish.
func (e *Engine) publish(t *task) {
	e.published = t.published(e.published[:0])
	if err := e.cfg.Publish(e.published); err != nil {
		e.fail(err)
	}
}
